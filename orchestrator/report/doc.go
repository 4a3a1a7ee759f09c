// Package report describes the state of a workspace: one row for each analyzer, with a score from 0 to 1, a status, and
// what to do, with file and line.
//
// It is pure: Analyze reads Facts that package gather collected, and runs, reads and writes nothing. No model takes
// part in it. The same facts give the same report, byte for byte.
//
// # Scores
//
// An analyzer has parts, each with a weight and a value from 0 to 1; the score is the weighted mean of the values. The
// comment on a part's function and docs/report.md say how its value is computed. A part without a subject, such as
// links where there are none, does not count. Fixing what a detail is about never lowers a score: a part that depends
// on another one is 0 as long as that one is missing, and shares count only what exists.
//
// The status follows the gravest detail, not the number: fail for what is missing or broken, warn for what should be
// fixed, and pass otherwise. Notes are for people who want to do more. An analyzer with an unmeasured part has no
// score, and is never pass: its status is unknown unless what was measured is worse.
//
// # What is trusted
//
// Nothing that a workspace or a tool in a box says. Every text of a detail is one line of bounded length without
// control characters, and Prompt puts all of them into one quotation.
package report

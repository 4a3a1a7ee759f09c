// Package report says how a workspace stands: a row for each analyzer, with a score from 0 to 1, a status, and
// what is to be done, with file and line.
//
// It is pure: Analyze reads Facts that package gather collected, and runs, reads and writes nothing. No model has
// a part in it. The same facts give the same report, byte for byte.
//
// # Scores
//
// An analyzer is made of parts, each with a weight and a value from 0 to 1; the score is the mean of the values by
// weight. What a value is made of stands at the function of its part, and in docs/report.md. A part without a subject,
// such as links where there are none, does not count. Fixing what a detail is about never lowers a score: a part that
// depends on another one is 0 as long as that one is missing, and shares are of what is there.
//
// The status follows the gravest detail, not the number: fail for what is missing or broken, warn for what should be
// fixed, pass otherwise. Notes are for whoever wants to go on. An analyzer of which a part was not measured has no
// score, and is never pass: its status is unknown unless what was measured is worse.
//
// # What is trusted
//
// Nothing that a workspace or a tool in a box says. Every text of a detail is one line of bounded length without
// control characters, and Prompt puts all of them into one quotation.
package report

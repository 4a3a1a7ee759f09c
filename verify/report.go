package verify

import (
	"context"
	"slices"

	"agent/sandbox/egress"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/policy"
)

// What the checks and a report have in common, under the names by which the rest of the
// tree knows it.
type (
	// A Verdict is how a gate, a candidate or a run was judged.
	Verdict = check.Verdict
	// A Finding is one thing that a gate has against a file.
	Finding = check.Finding
	// A Gate is the result of one verification step on a candidate.
	Gate = check.Gate
	// Smoke says how the smoke test starts the program.
	Smoke = check.Smoke
)

// The verdicts. Infra is never charged to the patch.
const (
	Pass      = check.Pass
	Fail      = check.Fail
	Policy    = check.Policy
	Timeout   = check.Timeout
	OOM       = check.OOM
	Infra     = check.Infra
	Conflict  = check.Conflict
	Cancelled = check.Cancelled
	Budget    = check.Budget
)

// An Unproven is something that the gates of a candidate did not judge. It changes no
// verdict: a candidate in which no test ran may pass, and this is what says so.
type Unproven struct {
	// The gate that would have judged it; for a language that no gate reads, syntax.
	Gate string `json:"gate"`
	// Why, for programs.
	Kind UnprovenKind `json:"kind"`
	// Why, a sentence for people. Where no test ran at all it begins with that.
	Reason string `json:"reason"`
	// The gate judged something else. Without it the gate judged nothing.
	Part bool `json:"part,omitempty"`
}

// An UnprovenKind says why something was not judged.
type UnprovenKind string

// The kinds.
const (
	NoTests      UnprovenKind = "no-tests"      // the workspace has none
	NoRunner     UnprovenKind = "no-runner"     // there are test files, and nothing here runs them
	TestScript   UnprovenKind = "script"        // a script would run the tests, in a way that is not understood here
	NotInstalled UnprovenKind = "not-installed" // the tool is named and not there
	NotCollected UnprovenKind = "not-collected" // the test files do not load
	NoneFound    UnprovenKind = "none-found"    // the runner ran, and found none in the test files
	AllSkipped   UnprovenKind = "all-skipped"   // every test was skipped
	NotJudged    UnprovenKind = "not-judged"    // the tool ran, and its result could not be compared
	NotRun       UnprovenKind = "not-run"       // another gate ended the judgement before
	NoGate       UnprovenKind = "no-gate"       // no gate reads the language of a changed file
	// A part of what the workspace depends on could not be installed, and everything was judged without it.
	NoDependencies UnprovenKind = "no-dependencies"
	// It was measured, and no changed line of the file was executed.
	NotExecuted UnprovenKind = "not-executed"
	Unknown     UnprovenKind = "unknown" // it was not recorded
)

// NothingRan reports whether a gate judged nothing, whatever its verdict.
func NothingRan(list []Unproven, gate string) bool {
	return slices.ContainsFunc(list, func(u Unproven) bool { return u.Gate == gate && !u.Part })
}

// A Skip is a gate that does not apply, with the reason.
type Skip struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// A Report is the judgement of one candidate.
type Report struct {
	Verdict check.Verdict
	Gates   []check.Gate
	Skipped []Skip
	// With the format gate's output: these bytes were judged, so only these
	// may be promoted.
	Changeset workspace.Changeset
	// What a person should see although every gate passed: tests that the patch
	// rewrote, and that fail on it as they were, and a change that nothing has executed.
	Holds []policy.Hold
	// What no gate judged; empty, not nil, when all was.
	Unproven []Unproven
	// How many of the changed lines were executed, for each file of which that was
	// measured; empty, not nil, for none.
	Executed []Execution

	// Baseline is what the gates found in a candidate that passed, to be kept for the
	// run after its promotion; nil when nothing is worth it.
	Baseline Keeper `json:"-"`
}

// A Keeper has something that only a later run asks for. The verdict does not wait
// for it: the caller keeps it, in a goroutine of its own if it likes.
type Keeper interface {
	// Keep stores it. An error costs time later and nothing else.
	Keep(ctx context.Context) error
}

// An Event tells that a gate began or ended, for live progress, or what left a box.
type Event struct {
	Gate string
	// A request that has ended, for the record; nil for the other events. Gate is
	// then the purpose of its box, as "baseline-tests".
	Request *egress.Request
	// The gate runs on the unpatched snapshot; its Verdict is then no judgement
	// of the patch.
	Baseline bool
	Done     bool
	// Set when Done; "" when the gate was skipped in the end.
	Verdict check.Verdict
	// Set when Done.
	Seconds float64
	// As Gate.Detail, or what is going on.
	Detail string
	// Set when Done: the gate passes because nothing ran in it.
	Idle bool
}

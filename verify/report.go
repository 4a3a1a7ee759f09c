package verify

import (
	"context"
	"slices"
	"strings"

	"agent/sandbox/egress"
	"agent/sandbox/workspace"
	"agent/verify/audit"
	"agent/verify/check"
	"agent/verify/node"
	"agent/verify/owngate"
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
	// A Skip is a gate that does not apply, with the reason.
	Skip = check.Skip
	// Smoke says how the smoke test starts the program.
	Smoke = check.Smoke
	// A CustomGate is a gate that the workspace defines.
	CustomGate = owngate.Gate
	// An Unproven is something that the gates of a candidate did not judge.
	Unproven = audit.Unproven
	// An UnprovenKind says why something was not judged.
	UnprovenKind = audit.Kind
	// An Execution says how many of the lines that a patch changes in a file were executed.
	Execution = audit.Execution
)

// Of the kinds those that other packages tell apart.
const (
	NoDependencies = audit.NoDependencies
	Unknown        = audit.Unknown
	NotJudged      = audit.NotJudged
	NoGate         = audit.NoGate
)

// When a gate of the workspace runs, and how many there may be.
const (
	WhenTouched = owngate.WhenTouched
	WhenAlways  = owngate.WhenAlways
	MaxCustom   = owngate.Most
)

// CheckGates refuses gates of a workspace that cannot be what somebody meant.
func CheckGates(list []CustomGate) error {
	return owngate.Check(list, func(name string) bool {
		return name == "edit" || slices.Contains(gateOrder, name) || checkNamed(name).Name != ""
	})
}

// Inert reports whether a changeset changes nothing that is run or read by a tool; see audit.Inert.
func Inert(cs workspace.Changeset) bool { return audit.Inert(cs) }

// NothingRan reports whether a gate judged nothing, whatever its verdict.
func NothingRan(list []Unproven, gate string) bool { return audit.NothingRan(list, gate) }

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
	// What all that was judged by, for who asks about a part of the changeset; nil where no gate ran.
	Evidence *audit.Evidence `json:"-"`

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
	// The gate has done its work on the patched side, which took Seconds, and has no
	// verdict before the baseline is known.
	Waiting bool
	// Set when Done; "" when the gate was skipped in the end.
	Verdict check.Verdict
	// Set when Done.
	Seconds float64
	// As Gate.Detail, or what is going on.
	Detail string
	// Set when Done: how many findings are new.
	New int
	// Set when Done: the gate passes because nothing ran in it.
	Idle bool
}

// Uninstalled returns the report for a workspace whose packages could not be installed: of a tool that is not there it
// names that cause, and no lock file as the cure.
func (r Report) Uninstalled() Report {
	const cause = ", since it could not be"
	r.Unproven, r.Skipped = slices.Clone(r.Unproven), slices.Clone(r.Skipped)
	for i := range r.Unproven {
		r.Unproven[i].Reason = strings.ReplaceAll(r.Unproven[i].Reason, node.AbsentCure, cause)
	}
	for i := range r.Skipped {
		r.Skipped[i].Reason = strings.ReplaceAll(r.Skipped[i].Reason, node.AbsentCure, cause)
	}
	return r
}

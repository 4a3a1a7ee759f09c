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

// Aliases for what the checks and a report share, by the names that other packages use.
type (
	// A Verdict is the judgement of a gate, a candidate or a run.
	Verdict = check.Verdict
	// A Finding is one fault that a gate reports in a file.
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

// The kinds that other packages distinguish.
const (
	NoDependencies = audit.NoDependencies
	Unknown        = audit.Unknown
	NotJudged      = audit.NotJudged
	NoGate         = audit.NoGate
)

// When a gate of the workspace runs, and how many gates a workspace may have.
const (
	WhenTouched = owngate.WhenTouched
	WhenAlways  = owngate.WhenAlways
	MaxCustom   = owngate.Most
)

// CheckGates rejects gates of a workspace that cannot be what their author meant.
func CheckGates(list []CustomGate) error {
	return owngate.Check(list, func(name string) bool {
		return name == "edit" || slices.Contains(gateOrder, name) || checkNamed(name).Name != ""
	})
}

// Inert reports whether a changeset changes nothing that is run or that a tool reads; see audit.Inert.
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
	// Changeset includes the format gate's output: these bytes were judged, so only these may be promoted.
	Changeset workspace.Changeset
	// Holds has what a person should see although every gate passed: tests that the patch rewrote and that fail on it
	// in their old form, and a change that nothing has executed.
	Holds []policy.Hold
	// Unproven has what no gate judged; empty, not nil, if everything was.
	Unproven []Unproven
	// Executed says how many of the changed lines were executed, for each file that was measured; empty, not nil, for
	// none.
	Executed []Execution
	// Evidence is what all of this was judged by, for questions about a part of the changeset; nil if no gate ran.
	Evidence *audit.Evidence `json:"-"`

	// Baseline is what the gates found in a candidate that passed, to be stored for the run after its promotion; nil if
	// nothing is worth storing.
	Baseline Keeper `json:"-"`
}

// A Keeper holds something that only a later run needs. The verdict does not wait for it: the caller stores it,
// possibly in its own goroutine.
type Keeper interface {
	// Keep stores it. An error costs time later and has no other effect.
	Keep(ctx context.Context) error
}

// An Event reports that a gate began or ended, for live progress, or what left a box.
type Event struct {
	Gate string
	// Request is a request that has ended, for the record; nil for the other events. Gate is then the purpose of its
	// box, such as "baseline-tests".
	Request *egress.Request
	// Baseline says that the gate runs on the unpatched snapshot; its Verdict then does not judge the patch.
	Baseline bool
	Done     bool
	// Waiting says that the gate has done its work on the patched side, which took Seconds, and has no verdict until
	// the baseline is known.
	Waiting bool
	// Verdict is set when Done; "" if the gate was skipped in the end.
	Verdict check.Verdict
	// Seconds is set when Done.
	Seconds float64
	// Detail is like Gate.Detail, or says what is going on.
	Detail string
	// New is set when Done: how many findings are new.
	New int
	// Idle is set when Done: the gate passes because nothing ran in it.
	Idle bool
}

// Uninstalled returns the report for a workspace whose packages could not be installed: for a missing tool it names
// that as the cause, and does not suggest a lock file as the cure.
func (r Report) Uninstalled() Report {
	const cause = ", because it could not be"
	r.Unproven, r.Skipped = slices.Clone(r.Unproven), slices.Clone(r.Skipped)
	for i := range r.Unproven {
		r.Unproven[i].Reason = strings.ReplaceAll(r.Unproven[i].Reason, node.AbsentCure, cause)
	}
	for i := range r.Skipped {
		r.Skipped[i].Reason = strings.ReplaceAll(r.Skipped[i].Reason, node.AbsentCure, cause)
	}
	return r
}

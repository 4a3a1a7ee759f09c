package verify

import "agent/verify/check"

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

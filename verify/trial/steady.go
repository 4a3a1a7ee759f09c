package trial

import (
	"slices"

	"agent/verify/check"
	"agent/verify/compare"
)

// Confirmations is how often tests run again on the patched program as they were, before they block for having failed so
// once. One that measures time, or a busy machine, fails by chance.
const Confirmations = 2

// Doubted lists the tests that block, or are held against a gate, for having failed as they were, by the IDs that they had
// then; nil once they were confirmed, and where there are more than a second run is worth.
func (t *Trial) Doubted() []string {
	if t == nil || t.confirmed || len(t.doubted) > mostAsked {
		return nil
	}
	return t.doubted
}

// Confirm takes in how these tests ended when they ran again, counted by ID. One that passed each time counts as one that
// passes as it was.
func (t *Trial) Confirm(count map[string]compare.Tally) {
	t.confirmed = true
	old := *t.Old
	old.Tests = slices.Clone(old.Tests)
	for i, r := range old.Tests {
		if slices.Contains(t.doubted, r.ID) && count[r.ID].Passed == Confirmations {
			old.Tests[i] = check.TestResult{ID: r.ID, Outcome: "passed"}
		}
	}
	t.Old = &old
}

// doubt notes a test whose single failure as it was speaks against the patch.
func (t *Trial) doubt(x rewriting) {
	if x.ran && x.was.Outcome == "failed" {
		t.doubted = append(t.doubted, x.oldID)
	}
}

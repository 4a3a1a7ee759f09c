package trial

import (
	"maps"
	"slices"

	"agent/verify/check"
	"agent/verify/compare"
)

// Confirmations is how often at most tests run again on the patched program as they were, before they block for having failed
// so once. One that measures time, or a busy machine, fails by chance.
const Confirmations = 3

// Doubted lists the tests that block, or are held against a gate, for having failed as they were, by the IDs that they had
// then; nil once they were confirmed, and where there are more than a second run is worth.
func (t *Trial) Doubted() []string {
	if t == nil || t.confirmed || len(t.doubted) > mostAsked {
		return nil
	}
	return slices.Sorted(maps.Keys(t.doubted))
}

// Settled reports whether as many more runs as are left would tell nothing of the tests that the count of those
// before, by ID, does not.
func (t *Trial) Settled(count map[string]compare.Tally, left int) bool {
	for id, needed := range t.doubted {
		if passed := count[id].Passed; passed < needed && passed+left >= needed {
			return false
		}
	}
	return true
}

// Confirm takes in how these tests ended when they ran again, counted by ID. One that passed often enough counts as one that
// passes as it was.
func (t *Trial) Confirm(count map[string]compare.Tally) {
	t.confirmed = true
	old := *t.Old
	old.Tests = slices.Clone(old.Tests)
	for i, r := range old.Tests {
		if needed, doubted := t.doubted[r.ID]; doubted && count[r.ID].Passed >= needed {
			old.Tests[i] = check.TestResult{ID: r.ID, Outcome: "passed"}
		}
	}
	t.Old = &old
}

// doubt notes a test whose single failure as it was speaks against the patch. It has to pass in two runs of the three. Where the
// patch changes nothing that tests are made of, and nothing in its file that was there, as it was is as it is now, and passed: once
// is enough. What the patch adds elsewhere to let it pass is not there in these runs.
func (t *Trial) doubt(x rewriting, d check.Diff) {
	if !x.ran || x.was.Outcome != "failed" {
		return
	}
	if t.doubted == nil {
		t.doubted = map[string]int{}
	}
	t.doubted[x.oldID] = 2
	if len(t.Aids) == 0 && intact(d, x.file()) && x.id == x.oldID && slices.Equal(x.now, []string{x.id}) {
		t.doubted[x.oldID] = 1
	}
}

// intact reports whether each line that a file had is still there, in its order.
func intact(d check.Diff, file string) bool {
	return !d.Touched[file] || !d.Deleted[file] && len(d.Hunks[file]) > 0 && !slices.ContainsFunc(d.Hunks[file], func(r check.Region) bool { return r.OldTo > r.OldFrom })
}

package trial

import (
	"maps"
	"slices"

	"agent/verify/check"
	"agent/verify/compare"
)

// Confirmations is the maximum number of times that tests run again as they were on the patched program, before they
// block because they failed once in this way. A test that measures time, or runs on a busy machine, fails at random.
const Confirmations = 3

// Doubted lists, by their old IDs, the tests that block or count against a gate because they failed as they were. It
// returns nil once they were confirmed, and if there are too many for a second run to be worthwhile.
func (t *Trial) Doubted() []string {
	if t == nil || t.confirmed || len(t.doubted) > mostAsked {
		return nil
	}
	return slices.Sorted(maps.Keys(t.doubted))
}

// Settled reports whether the runs that are left cannot change what the tally so far, by ID, says about any doubted test.
func (t *Trial) Settled(count map[string]compare.Tally, left int) bool {
	for id, needed := range t.doubted {
		if passed := count[id].Passed; passed < needed && passed+left >= needed {
			return false
		}
	}
	return true
}

// Confirm records the results of further runs of these tests, tallied by ID. A test that passed often enough counts
// as one that passes as it was.
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

// doubt notes a test whose single failure as it was counts against the patch. It must pass in two of the three runs. If the
// patch changes nothing that tests are made of and no existing line in the test's file, once is enough: the test as it was
// is the test as it is now, which passed. Anything that the patch adds elsewhere to make it pass is absent in these runs.
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

// intact reports whether each line that a file had is still there, in order.
func intact(d check.Diff, file string) bool {
	return !d.Touched[file] || !d.Deleted[file] && len(d.Hunks[file]) > 0 && !slices.ContainsFunc(d.Hunks[file], func(r check.Region) bool { return r.OldTo > r.OldFrom })
}

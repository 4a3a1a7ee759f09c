package trial

import (
	"slices"
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/policy"
)

// ended returns results of tests, written as "a.py::t passed", optionally followed by a message.
func ended(lines ...string) *check.Outcome {
	out := &check.Outcome{}
	for _, line := range lines {
		parts := append(strings.SplitN(line, " ", 3), "")
		out.Tests = append(out.Tests, check.TestResult{ID: parts[0], Outcome: parts[1], Message: parts[2]})
	}
	return out
}

// kept has tests that no patch touches.
var kept = []string{"b.py::one passed", "b.py::two passed"}

// TestARewrittenTestIsMeasured has one test that passes before and after, and whose old form fails on the patched program.
func TestARewrittenTestIsMeasured(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		id    string // "" for a.py::t
		now   string // like id
		old   string // how its old form ends
		new   *check.Outcome
		aids  []string
		block bool
		want  string // part of the reason; "" for no hold
	}{
		"it proves the change":          {new: ended("a.py::t failed assert 5 == 6"), want: "fails on the unpatched program: assert 5 == 6"},
		"it accepts both":               {new: ended("a.py::t passed"), block: true, want: "passes on the unpatched program too"},
		"it came to no end":             {new: ended(), block: true, want: "nothing in its place"},
		"it is skipped":                 {new: ended("a.py::t skipped"), block: true, want: "nothing in its place"},
		"the second run came to no end": {new: &check.Outcome{Verdict: check.Timeout, Tests: ended("a.py::t failed x").Tests}, block: true, want: "nothing in its place"},
		"no box could be had":           {new: &check.Outcome{Verdict: check.Infra}, block: true, want: "nothing in its place"},
		"a name is missing":             {new: ended("a.py::t failed NameError: x"), want: "does not run on the unpatched program: NameError: x"},
		"its file does not load":        {new: ended("a.py error ImportError: x"), want: "does not run on the unpatched program: ImportError: x"},
		"its package does not build":    {id: "m/a_test.go::T", now: "m/a_test.go::T", new: ended("m error undefined: X"), want: "does not run on the unpatched program: undefined: X"},
		"nobody can read it":            {id: "a.zig::t", now: "a.zig::t", new: ended("a.zig::t failed NameError: x"), block: true, want: "does not run"},
		"as it was it lacks a name":     {old: "failed AttributeError: x", new: ended("a.py::t passed")},
		"other parameters that prove":   {id: "a.py::t[1]", now: "a.py::t[2]", new: ended("a.py::t[2] failed x"), want: "fails on the unpatched program"},
		"other parameters that do not":  {id: "a.py::t[1]", now: "a.py::t[2]", new: ended("a.py::t[2] passed"), block: true, want: "passes on the unpatched program too"},
		"another name that proves":      {now: "a.py::better", new: ended("a.py::better failed x"), want: "fails on the unpatched program"},
		"gone":                          {now: "c.py::other", block: true, want: "nothing in its place"},
		"helped by code, and rewritten": {aids: []string{"conftest.py"}, new: ended("a.py::t failed x"), want: "fails on the unpatched program"},
		"helped by code, not rewritten": {id: "c.py::t", now: "c.py::t", aids: []string{"conftest.py"}, new: ended("c.py::t failed x"), block: true, want: "only with the patch's version of conftest.py"},
		"helped by code and data, not rewritten": {
			id: "c.py::t", now: "c.py::t", aids: []string{"tests/a.json", "tests/helpers.py"}, new: ended("c.py::t failed x"), block: true, want: "only with the patch's version of tests/a.json, tests/helpers.py",
		},
		"helped by code with a name that is missing": {aids: []string{"conftest.py"}, new: ended("a.py error ImportError: x"), block: true, want: "does not run on the unpatched program"},
		"helped by data, not rewritten":              {id: "c.py::t", now: "c.py::t", aids: []string{"tests/a.json"}, new: ended("c.py::t failed x"), want: "fails on the unpatched program"},
	} {
		if c.id == "" {
			c.id = "a.py::t"
		}
		if c.now == "" {
			c.now = "a.py::t"
		}
		if c.old == "" {
			c.old = "failed assert 6 == 5"
		}
		base, cand := ended(append(kept, c.id+" passed")...), ended(append(kept, c.now+" passed")...)
		tried := &Trial{Aids: c.aids, Old: ended(append(kept, c.id+" "+c.old)...)}
		d := check.Diff{Touched: map[string]bool{"a.py": true, "a.zig": true, "m/a_test.go": true}}
		g := check.Gate{Verdict: check.Pass}
		if asks := tried.Ask(g, *base, *cand, d); asks != (c.new != nil && c.want != "") {
			t.Errorf("%s: asks %v: %q", name, asks, tried.Asked())
		}
		tried.New = c.new
		g = tried.Judge(g, *base, *cand, d)
		if g.Verdict != check.Pass || len(g.Findings) > 0 {
			t.Errorf("%s: %+v", name, g)
		}
		if c.want == "" {
			if len(tried.Holds) > 0 {
				t.Errorf("%s: %+v", name, tried.Holds)
			}
			continue
		}
		if h := tried.Holds; len(h) != 1 || h[0].Kind != policy.ChangedTest || h[0].Block != c.block || !strings.Contains(h[0].Reason, c.want) || strings.Contains(h[0].Reason, "more of the existing tests") {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

// TestWhatOnlyHelpersExplainIsRefused has a touched test that proves nothing, together with changed aids.
func TestWhatOnlyHelpersExplainIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		aids    []string
		touched bool
		new     *check.Outcome
	}{
		"code, accepts both": {[]string{"conftest.py"}, true, ended("a.py::t passed")},
		"accepts both":       {[]string{"tests/a.json"}, true, ended("a.py::t passed")},
		"came to no end":     {[]string{"tests/a.json"}, true, ended()},
	} {
		base, d := ended(append(kept, "a.py::t passed")...), check.Diff{Touched: map[string]bool{"a.py": c.touched}}
		tried := &Trial{Aids: c.aids, Old: ended(append(kept, "a.py::t failed assert 6 == 5")...), New: c.new}
		g := tried.Judge(check.Gate{Verdict: check.Pass}, *base, *base, d)
		if g.Verdict != check.Policy || len(g.Findings) != 1 || g.Findings[0].Rule != compare.RuleTestHelper || len(tried.Holds) > 0 {
			t.Errorf("%s: %+v %+v", name, g, tried.Holds)
		}
	}
}

// If most existing tests now say something else, only the patch itself tells what the program should do.
func TestMoreRewrittenThanKeptBlocks(t *testing.T) {
	t.Parallel()
	base := ended("a.py::s passed", "a.py::t passed", "b.py::u passed", "b.py::v passed")
	for kept, block := range map[int]bool{1: true, 2: false, 3: false} {
		old, asked := ended(), ended()
		for i, r := range base.Tests {
			if i >= kept {
				r.Outcome = "failed"
			}
			old.Tests = append(old.Tests, r)
			asked.Tests = append(asked.Tests, check.TestResult{ID: r.ID, Outcome: "failed"})
		}
		tried := &Trial{Old: old, New: asked}
		tried.Judge(check.Gate{Verdict: check.Pass}, *base, *base, check.Diff{})
		if h := tried.Holds; len(h) == 0 || h[0].Block != block || strings.Contains(h[0].Reason, "more of the existing tests") != block {
			t.Errorf("%d kept: %+v", kept, h)
		}
	}
}

// A test whose old form fails in one run and passes in others fails by chance, and does not count against the patch.
func TestATestThatBlocksIsConfirmed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		passed  int
		file    string // a file that the patch changes, or adds to
		aids    []string
		verdict check.Verdict
		holds   int
	}{
		"fails again":             {0, "a.py", nil, check.Pass, 1},
		"passes once":             {1, "a.py", nil, check.Pass, 1},
		"by chance":               {2, "a.py", nil, check.Pass, 0},
		"fails again without aid": {0, "a.py", []string{"conftest.py"}, check.Policy, 0},
		"passes once without aid": {1, "b.py", []string{"conftest.py"}, check.Policy, 0},
		"by chance without aid":   {2, "a.py", []string{"conftest.py"}, check.Pass, 0},
		"of another file":         {1, "b.py", nil, check.Pass, 0},
		"beside new ones":         {1, "+a.py", nil, check.Pass, 0},
		"fails beside new ones":   {0, "+a.py", nil, check.Pass, 1},
		"fails again, of another": {0, "b.py", nil, check.Pass, 1},
	} {
		base := ended(append(kept, "a.py::t passed")...)
		tried := &Trial{Aids: c.aids, Old: ended(append(kept, "a.py::t failed took 1098 ms")...), New: ended("a.py::t passed")}
		file, adds := strings.CutPrefix(c.file, "+")
		hunk := check.Region{OldFrom: 3, OldTo: 4, NewFrom: 3, NewTo: 6}
		if adds {
			hunk.OldTo = 3
		}
		d := check.Diff{Touched: map[string]bool{file: true}, Hunks: map[string][]check.Region{file: {{OldFrom: 1, OldTo: 1, NewFrom: 1, NewTo: 2}, hunk}}}
		judge := func() check.Gate { return tried.Judge(check.Gate{Verdict: check.Pass}, *base, *base, d) }
		judge()
		if ids := tried.Doubted(); !slices.Equal(ids, []string{"a.py::t"}) {
			t.Fatalf("%s: doubts %q", name, ids)
		}
		count := map[string]compare.Tally{"a.py::t": {Passed: c.passed, Failed: Confirmations - c.passed}}
		if tried.Settled(nil, Confirmations) || !tried.Settled(count, 0) || !tried.Settled(nil, 0) {
			t.Errorf("%s: more runs than %d, or none", name, Confirmations)
		}
		tried.Confirm(count)
		if g := judge(); g.Verdict != c.verdict || len(tried.Holds) != c.holds || tried.Doubted() != nil {
			t.Errorf("%s: %+v %+v, doubts %q", name, g, tried.Holds, tried.Doubted())
		}
	}
	// A test that is seen to prove what the patch changes is not in doubt.
	base := ended(append(kept, "a.py::t passed")...)
	tried := &Trial{Old: ended(append(kept, "a.py::t failed assert 6 == 5")...), New: ended("a.py::t failed assert 5 == 6")}
	if tried.Judge(check.Gate{Verdict: check.Pass}, *base, *base, check.Diff{}); tried.Doubted() != nil {
		t.Errorf("doubts %q", tried.Doubted())
	}
}

// A file is reported once for each proof, with the number of its tests, and what blocks comes first.
func TestRewrittenTestsOfAFileAreToldOnce(t *testing.T) {
	t.Parallel()
	names := []string{"a.py::p1", "a.py::p2", "a.py::p3", "a.py::q1", "a.py::q2", "c.py::r", "b.py::1", "b.py::2", "b.py::3", "b.py::4", "b.py::5", "b.py::6", "b.py::7"}
	base, old, asked := ended(), ended(), ended()
	for _, id := range names {
		base.Tests = append(base.Tests, check.TestResult{ID: id, Outcome: "passed"})
		r := check.TestResult{ID: id, Outcome: "failed", Message: "assert " + strings.Repeat("x", 500)}
		if strings.HasPrefix(id, "b.py") {
			r.Outcome = "passed"
		}
		old.Tests = append(old.Tests, r)
		r.Outcome = "failed"
		if strings.Contains(id, "::q") {
			r.Outcome = "passed"
		}
		asked.Tests = append(asked.Tests, r)
	}
	tried := &Trial{Old: old, New: asked}
	tried.Judge(check.Gate{Verdict: check.Pass}, *base, *base, check.Diff{})
	want := []struct {
		path, end string
		block     bool
	}{{"a.py", "; the same of 1 more test in this file", true}, {"a.py", "; the same of 2 more tests in this file", false}, {"c.py", "…", false}}
	if len(tried.Holds) != len(want) {
		t.Fatalf("%+v", tried.Holds)
	}
	for i, w := range want {
		if h := tried.Holds[i]; h.Path != w.path || h.Block != w.block || !strings.HasSuffix(h.Reason, w.end) || len(h.Reason) > 700 {
			t.Errorf("%+v, want %+v", h, w)
		}
	}
}

// There is no second run if the first one is conclusive.
func TestNothingIsAskedWithoutNeed(t *testing.T) {
	t.Parallel()
	base := ended(append(kept, "a.py::t passed")...)
	failing := ended(append(kept, "a.py::t failed assert 6 == 5")...)
	for name, c := range map[string]struct {
		tried   *Trial
		verdict check.Verdict
	}{
		"nothing to try":        {nil, check.Pass},
		"a failure":             {&Trial{Old: failing}, check.Fail},
		"all pass as they were": {&Trial{Old: base}, check.Pass},
		"no first run":          {&Trial{Old: &check.Outcome{Verdict: check.Infra}}, check.Pass},
		"answered":              {&Trial{Old: failing, New: ended()}, check.Pass},
	} {
		if c.tried.Ask(check.Gate{Verdict: c.verdict}, *base, *base, check.Diff{}) || c.tried.Asked() != nil {
			t.Errorf("%s: %q", name, c.tried.Asked())
		}
	}
}

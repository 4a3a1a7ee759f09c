package verify

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/policy"
	"agent/verify/python"
	"agent/verify/verifytest"
)

// A suppression blocks if a gate reports something that counts without it, which is measured in real boxes, or if that cannot be
// determined.
func TestASuppressionBlocksOnlyWhereItHides(t *testing.T) {
	t.Parallel()
	const typed = "def f(x: int) -> int:\n    return x\n"
	files := map[string]string{"mypy.ini": "[mypy]\ndisallow_untyped_defs = true\n", ".github/workflows/ci.yml": "run: bandit -r .\n"}
	// Each is in its own file, since results are reported by file.
	cases := map[string]struct {
		before, after string
		blocks        string // the lines of suppressions that block, as the formatter leaves them
	}{
		"fault_of_ruff.py":         {typed, "import os  # noqa: F401\n" + typed, "1"},
		"fault_of_mypy.py":         {typed, typed + "f(\"\")  # type: ignore\n", "5"},
		"fault_of_shellcheck.sh":   {"echo hello\n", "# shellcheck disable=SC2154\n[ $undefined = 1 ] && echo hello\n", "1"},
		"what_no_gate_counts.py":   {typed, typed + "f(1)  # noqa: B006\n", ""},
		"by_an_option_of_mypy.py":  {typed, "# mypy: allow-untyped-defs\n" + typed + "def g(x):\n    return x\n", "1"},
		"option_hides_nothing.py":  {typed, "# mypy: allow-untyped-defs\n" + typed, ""},
		"by_ruffs_own.py":          {typed, "import os  # ruff: ignore[F401]\n" + typed, "1"},
		"hides_nothing.py":         {typed, typed + "f(1)  # type: ignore\n", ""},
		"hides_what_was_there.py":  {"import sys\n", "import sys  # noqa: F401\n", ""},
		"tool_that_nobody_uses.py": {typed, typed + "f(1)  # pylint: disable=all-of-it\n", ""},
		"tool_not_asked_here.py":   {typed, typed + "f(1)  # nosec\n", "5"},
		"of_a_file.py":             {typed, "# ruff: noqa\n" + typed, "1"},
		"one_hides_one_does.py":    {typed, "import os  # noqa: F401\n" + typed + "f(1)  # noqa: B006\n", "1 8"},
	}
	for name, c := range cases {
		files[name] = c.before
	}
	s := newSite(t, files).only(check.GateLint, check.GateTypes)
	// If a patch has more than ten, none is measured.
	for names := range slices.Chunk(slices.Sorted(maps.Keys(cases)), 7) {
		patch := map[string]string{}
		for _, name := range names {
			patch[name] = cases[name].after
		}
		r := s.judge(t, verifytest.Change(t, s.base, patch))
		if r.Verdict != check.Pass {
			t.Errorf("verdict %s: %+v", r.Verdict, r.Gates)
		}
		found, blocks := map[string]int{}, map[string][]string{}
		for _, h := range policy.Review(t.Context(), s.base, r.Changeset, nil, r.Holds) {
			if h.Kind != policy.Suppression {
				continue
			}
			found[h.Path]++
			if h.Block {
				blocks[h.Path] = append(blocks[h.Path], strings.Fields(h.Reason)[1])
			}
		}
		for _, name := range names {
			slices.Sort(blocks[name])
			if got := strings.Join(blocks[name], " "); got != cases[name].blocks || found[name] == 0 {
				t.Errorf("%s: %d held, blocking %q, want %q: %+v", name, found[name], got, cases[name].blocks, r.Holds)
			}
		}
	}
}

// A check that did not reach a judgement without the suppressions measured nothing.
func TestWhatWasNotMeasuredIsNotHarmless(t *testing.T) {
	t.Parallel()
	finding := func(file string) check.Outcome {
		return check.Outcome{Findings: []check.Finding{{File: file, Line: 1, Rule: "F401", Message: "m"}}}
	}
	for name, c := range map[string]struct {
		base, out check.Outcome
		judged    bool
		told      string
	}{
		"nothing":         {judged: true},
		"a new finding":   {out: finding("a.py"), judged: true, told: "a.py"},
		"an old one":      {base: finding("a.py"), out: finding("a.py"), judged: true},
		"one of no file":  {out: finding("")},
		"infra":           {out: check.Infraf("no box")},
		"late":            {out: check.Outcome{Verdict: check.Timeout}},
		"the tool stops":  {out: check.Outcome{Blocked: "a crash"}},
		"as the base did": {base: check.Outcome{Blocked: "a crash"}, out: check.Outcome{Blocked: "a crash"}},
	} {
		s, told := empty(nil), map[string]bool{}
		s.results.base[python.RuffName], s.results.proof = c.base, map[string]string{}
		judged := s.results.report(python.Ruff, c.out, check.Diff{}, told)
		if judged != c.judged || c.told != "" && !told[c.told] || judged && len(told) != len(c.told)/len("a.py") {
			t.Errorf("%s: judged %v, told %v", name, judged, told)
		}
	}
	if s := empty(nil); s.results.heeded("noqa") || len(s.results.heeding()) != 0 {
		t.Error("no check has judged, and one heeds")
	}
}

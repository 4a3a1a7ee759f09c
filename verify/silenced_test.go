package verify

import (
	"slices"
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/policy"
	"agent/verify/python"
	"agent/verify/verifytest"
)

// A suppression blocks where a gate reports something that counts without it, which is
// measured in real boxes, and where nobody can tell.
func TestASuppressionBlocksOnlyWhereItHides(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"a.py": "def f(x: int) -> int:\n    return x\n", "mypy.ini": "[mypy]\ndisallow_untyped_defs = true\n", "old.py": "import sys\n",
		".github/workflows/ci.yml": "run: bandit -r .\n", "run.sh": "echo hello\n",
	}
	s := newSite(t, files)
	for name, c := range map[string]struct {
		path, text string
		blocks     string // the lines of those that block, as the formatter leaves them
	}{
		"hides a fault of ruff":            {"a.py", "import os  # noqa: F401\n" + files["a.py"], "1"},
		"hides one of mypy":                {"a.py", files["a.py"] + "f(\"\")  # type: ignore\n", "5"},
		"hides one of shellcheck":          {"run.sh", "# shellcheck disable=SC2154\n[ $undefined = 1 ] && echo hello\n", "1"},
		"hides what no gate counts":        {"a.py", files["a.py"] + "f(1)  # noqa: E501\n", ""},
		"hides one by an option of mypy":   {"a.py", "# mypy: allow-untyped-defs\n" + files["a.py"] + "def g(x):\n    return x\n", "1"},
		"an option that hides nothing":     {"a.py", "# mypy: allow-untyped-defs\n" + files["a.py"], ""},
		"hides one of ruff by its own":     {"a.py", "import os  # ruff: ignore[F401]\n" + files["a.py"], "1"},
		"hides nothing":                    {"a.py", files["a.py"] + "f(1)  # type: ignore\n", ""},
		"hides what was there":             {"old.py", "import sys  # noqa: F401\n", ""},
		"of a tool that nobody uses":       {"a.py", files["a.py"] + "f(1)  # pylint: disable=all-of-it\n", ""},
		"of a tool that is not asked here": {"a.py", files["a.py"] + "f(1)  # nosec\n", "5"},
		"of a file":                        {"a.py", "# ruff: noqa\n" + files["a.py"], "1"},
		"one hides, one in its file":       {"a.py", "import os  # noqa: F401\n" + files["a.py"] + "f(1)  # noqa: E501\n", "1 8"},
	} {
		r := s.judge(t, verifytest.Change(t, s.base, map[string]string{c.path: c.text}))
		var blocks []string
		found := 0
		for _, h := range policy.Review(t.Context(), s.base, r.Changeset, nil, r.Holds) {
			if h.Kind == policy.Suppression {
				found++
			}
			if h.Kind == policy.Suppression && h.Block {
				blocks = append(blocks, strings.Fields(h.Reason)[1])
			}
		}
		slices.Sort(blocks)
		if got := strings.Join(blocks, " "); r.Verdict != check.Pass || got != c.blocks || found == 0 {
			t.Errorf("%s: %s, %d held, blocking %q: %+v %+v", name, r.Verdict, found, got, r.Holds, r.Gates)
		}
	}
}

// A check that did not come to a judgement without the suppressions measured nothing.
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

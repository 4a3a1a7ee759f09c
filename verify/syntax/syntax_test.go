package syntax_test

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/syntax"
	"agent/verify/verifytest"
)

func TestDataOfTestsIsNotJudgedBySyntax(t *testing.T) {
	t.Parallel()
	base := map[string]string{
		"tests/strange/old.toml": "a = [1\n", "tests/sound/old.toml": "a = 1\n", "tests/test_a.py": "from data import helper\n",
	}
	patch := map[string]string{
		"tests/data/invalid/new.toml": "a = [1\n", "tests/data/bad_syntax.py": "def f(:\n", "tests/strange/new.toml": "b = [\n",
		// These are programs and configuration, whatever surrounds them.
		"tests/data/helper.py": "def f(:\n", "tests/sound/new.toml": "b = [\n", "data/a.json": "{\n", "pyproject.toml": "a = [\n",
	}
	m := verifytest.Scan(t, base)
	cs := verifytest.Change(t, m, patch)
	all := map[string]string{}
	for _, files := range []map[string]string{base, patch} {
		for p, text := range files {
			all[p] = text
		}
	}
	b := checktest.NewBench(t, all, sandbox.Limits{})
	b.View = check.NewView(m, cs)
	out := syntax.Run(t.Context(), b, syntax.Touched(b.View))
	var got []string
	for _, f := range out.Findings {
		got = append(got, f.File)
	}
	slices.Sort(got)
	if want := []string{"data/a.json", "pyproject.toml", "tests/data/helper.py", "tests/sound/new.toml"}; !slices.Equal(slices.Compact(got), want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, p := range []string{"tests/data/invalid/new.toml", "tests/data/bad_syntax.py", "tests/strange/new.toml"} {
		if !strings.Contains(out.Detail, p) {
			t.Errorf("detail %q", out.Detail)
		}
	}
}

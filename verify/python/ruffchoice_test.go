package python

import (
	"slices"
	"testing"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/verifytest"
)

func TestOnlyRulesThatTheProjectHasChosenCount(t *testing.T) {
	t.Parallel()
	const hook = "repos:\n- repo: https://github.com/astral-sh/ruff-pre-commit\n  rev: v0.4.1\n"
	first := map[string][]int{"B911": {0, 9, 0}, "B905": {0, 0, 167}}
	for name, c := range map[string]struct {
		files map[string]string
		rule  string
		want  bool
	}{
		"a default of today":         {map[string]string{"pyproject.toml": "[tool.ruff]\nline-length = 99\n"}, "C408", false},
		"the classic default":        {map[string]string{"pyproject.toml": "[tool.ruff]\nline-length = 99\n"}, "F401", true},
		"its style":                  {map[string]string{"ruff.toml": "line-length = 99\n"}, "E741", false},
		"names of a star":            {map[string]string{"ruff.toml": "line-length = 99\n"}, "F405", false},
		"names of a star, asked for": {map[string]string{"ruff.toml": "lint.extend-select = ['F405']\n"}, "F405", true},
		"ignored":                    {map[string]string{"ruff.toml": "[lint]\nignore = ['F4']\n"}, "F401", false},
		"added":                      {map[string]string{"ruff.toml": "lint.extend-select = ['C4']\n"}, "C408", true},
		"selected":                   {map[string]string{".ruff.toml": "[lint]\nselect = ['C']\n"}, "C408", true},
		"selected above":             {map[string]string{"pyproject.toml": "[tool.ruff.lint]\nselect = ['C']\n", "pkg/ruff.toml": "extend = '../pyproject.toml'\n"}, "C408", true},
		"selected elsewhere":         {map[string]string{"pyproject.toml": "[tool.ruff.lint]\nselect = ['C']\n", "pkg/ruff.toml": "line-length = 99\n"}, "C408", false},
		"newer than what it pins":    {map[string]string{"ruff.toml": "lint.select = ['B']\n", ".pre-commit-config.yaml": hook}, "B911", false},
		"as old as what it pins":     {map[string]string{"ruff.toml": "lint.select = ['B']\n", ".pre-commit-config.yaml": hook}, "B905", true},
		"it pins today's":            {map[string]string{"ruff.toml": "line-length = 99\n", "uv.lock": "[[package]]\nname = \"ruff\"\nversion = \"0.16.3\"\n"}, "C408", true},
		"what does not parse":        {map[string]string{"ruff.toml": "line-length = 99\n"}, "invalid-syntax", true},
		"nothing chooses: no config": {map[string]string{"a.py": ""}, "F401", true},
	} {
		v := viewOf(t, c.files)
		got := projectsOwn(check.OnBase(v.Base), []check.Finding{{File: "pkg/a.py", Rule: c.rule}}, first)
		if (len(got) == 1) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	res := guest.Result{Stdout: guest.Output{Head: []byte(`[{"code":"B905","status":{"Stable":{"since":"v0.0.167"}}},{"code":"X1","status":{"Preview":{"since":"0.15.2"}}}]`)}}
	if got := since(res); !slices.Equal(got["B905"], []int{0, 0, 167}) || !slices.Equal(got["X1"], []int{0, 15, 2}) {
		t.Errorf("%v", got)
	}
}

func TestRuffSaysNothingOfDataThatDoesNotParse(t *testing.T) {
	t.Parallel()
	files := map[string]string{"tests/data/bad.py": "", "pkg/bad2.py": ""}
	found := []check.Finding{{File: "tests/data/bad.py", Rule: "invalid-syntax"}, {File: "tests/data/bad.py", Rule: "F401"}, {File: "pkg/bad2.py", Rule: "invalid-syntax"}, {File: "pkg/bad2.py", Rule: "F401"}}
	if got := withoutData(viewOf(t, files), slices.Clone(found)); len(got) != 2 || got[0].File != "pkg/bad2.py" || got[1].File != "pkg/bad2.py" {
		t.Errorf("%+v", got)
	}
	// A project that configures ruff decides what ruff looks at.
	files["ruff.toml"] = "line-length = 100\n"
	if got := withoutData(viewOf(t, files), slices.Clone(found)); len(got) != 3 || got[0].Rule != "F401" {
		t.Errorf("%+v", got)
	}
}

// A suppression for a rule that the patch's own configuration brings is unused under the previous one, and that is not a fault.
func TestSuppressionsForANewConfigurationAreNoFault(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"pyproject.toml": "[tool.ruff]\n", "a.py": "x = 1\n"})
	out := check.Outcome{Findings: []check.Finding{{File: "a.py", Line: 1, Rule: "RUF100", Message: "Unused `noqa` directive (non-enabled: `A001`)"}}}
	for want, files := range map[check.Verdict]map[string]string{
		check.Pass: {"a.py": "x = 2\n", "pyproject.toml": "[tool.ruff.lint]\nextend-select = ['A']\n"},
		check.Fail: {"a.py": "x = 2\n"},
	} {
		cs := verifytest.Change(t, base, files)
		if g := judgeRuff(check.Outcome{}, out, compare.NewDiff(cs, check.NewView(base, cs))); g.Verdict != want {
			t.Errorf("%v: %s, want %s", files, g.Verdict, want)
		}
	}
}

package repair

import (
	"testing"

	"agent/verify/check"
)

// Only the lines that the patch wrote are taken from what a fixer rewrites.
func TestOnlyLinesOfThePatchAreRewritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, text, fixed, want string
		taken                     int
	}{
		"a line of the patch":              {"a\nb\n", "a\nx \nb\n", "a\nx\nb\n", "a\nx\nb\n", 1},
		"a line of before":                 {"a \nb\n", "a \nb\nx\n", "a\nb\nx\n", "a \nb\nx\n", 0},
		"one of each":                      {"a \nb\n", "a \nb\nx \n", "a\nb\nx\n", "a \nb\nx\n", 1},
		"one of each, neighbours":          {"a \nb\n", "a \nx \nb\n", "a\nx\nb\n", "a \nx\nb\n", 1},
		"a new file":                       {"", "x \ny \n", "x\ny\n", "x\ny\n", 2},
		"a line that goes":                 {"a\nb\n", "a\nimport x\nb\n", "a\nb\n", "a\nb\n", 1},
		"a line of before that goes":       {"import x\na\n", "import x\nb\n", "b\n", "import x\nb\n", 0},
		"two that go":                      {"import x\na\n", "import x\nimport y\nb\n", "b\n", "import x\nb\n", 1},
		"a new line beside its own":        {"a\nb\n", "a\nx\nb\n", "a\nx\n\nb\n", "a\nx\n\nb\n", 1},
		"a new line elsewhere":             {"a\nb\nc\n", "a\nb\nx\n", "\na\nb\nx\n", "a\nb\nx\n", 0},
		"two lines into one, half its own": {"a \nb\n", "a \nx \nb\n", "ax\nb\n", "a \nx \nb\n", 0},
		"no end of line":                   {"a\n", "a\nx ", "a\nx\n", "a\nx\n", 1},
		"nothing":                          {"a\n", "x\n", "x\n", "x\n", 0},
	} {
		got, taken := within([]byte(c.before), []byte(c.text), []byte(c.fixed))
		if string(got) != c.want || len(taken) != c.taken {
			t.Errorf("%s: %q, %d places taken", name, got, len(taken))
		}
	}
}

// Findings that the linters' fixers cannot all repair are left to a model.
func TestARepairSettlesAllOrNothing(t *testing.T) {
	t.Parallel()
	fixable := check.Finding{File: "a.py", Line: 1, Tool: "ruff", Rule: "F401", Fixable: true}
	other := fixable
	other.Fixable = false
	lint := func(list ...check.Finding) check.Gate {
		return check.Gate{Name: check.GateLint, Verdict: check.Fail, Findings: list}
	}
	pass := check.Gate{Name: check.GateTests, Verdict: check.Pass}
	for name, c := range map[string]struct {
		gates []check.Gate
		want  bool
	}{
		"lint alone":            {[]check.Gate{lint(fixable), pass}, true},
		"one is for a person":   {[]check.Gate{lint(fixable, other)}, false},
		"another tool":          {[]check.Gate{lint(check.Finding{File: "a.sh", Line: 1, Tool: "shellcheck", Fixable: true})}, false},
		"of no file":            {[]check.Gate{lint(check.Finding{Tool: "ruff", Fixable: true})}, false},
		"tests fail too":        {[]check.Gate{lint(fixable), {Name: check.GateTests, Verdict: check.Fail}}, false},
		"lint could not judge":  {[]check.Gate{{Name: check.GateLint, Verdict: check.Infra}}, false},
		"lint without findings": {[]check.Gate{lint()}, false},
		"all is well":           {[]check.Gate{pass}, false},
	} {
		if got := findings(c.gates) != nil; got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

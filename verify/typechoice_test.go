package verify

import (
	"testing"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/python"
	"agent/verify/verifytest"
)

// The base's configuration chooses the type checker; the patch's does not matter.
func TestTheProjectChoosesItsTypeChecker(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing", nil, python.MypyName},
		{"pyright's own file", map[string]string{"pyrightconfig.json": "{}"}, python.PyrightName},
		{"pyright's table", map[string]string{"pyproject.toml": "[tool.pyright]\nstrict = [\"a\"]\n"}, python.PyrightName},
		{"ty's own file", map[string]string{"ty.toml": ""}, python.TyName},
		{"ty's table below", map[string]string{"pyproject.toml": "[tool.ty.rules]\na = \"error\"\n"}, python.TyName},
		{"mypy beside pyright", map[string]string{"pyrightconfig.json": "{}", "setup.cfg": "[metadata]\n[mypy]\n"}, python.MypyName},
		{"mypy's table beside ty's", map[string]string{"pyproject.toml": "[tool.mypy]\nstrict = true\n[tool.ty]\n"}, python.MypyName},
		{"another tool's section", map[string]string{"setup.cfg": "[flake8]\n", "ty.toml": ""}, python.TyName},
		{"no TOML", map[string]string{"pyproject.toml": "[tool.pyright\n"}, python.MypyName},
		{"not at the root", map[string]string{"lib/pyrightconfig.json": "{}"}, python.MypyName},
	} {
		base := verifytest.Scan(t, c.files)
		patch := verifytest.Change(t, base, map[string]string{"a.py": "x = 1\n", "mypy.ini": "[mypy]\n"})
		for _, cs := range []workspace.Changeset{{}, patch} {
			if got := python.TypeProjects(check.NewView(base, cs))["."]; got != c.want {
				t.Errorf("%s, %d changes: %s, want %s", c.name, len(cs.Changes), got, c.want)
			}
		}
		for _, def := range checks() {
			if def.Gate != check.GateTypes {
				continue
			}
			if reason := def.Applies(check.NewView(base, patch)); (reason == "") != (def.Name == c.want) {
				t.Errorf("%s: %s: %q", c.name, def.Name, reason)
			}
		}
	}
}

// Both find their planted faults in the real image, and nothing else.
func TestTyAndPyrightProveThemselves(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, nil, sandbox.Limits{})
	if reasons := prove(t.Context(), b, []check.Check{python.Ty, python.Pyright}); len(reasons) > 0 {
		t.Errorf("not proved: %q", reasons)
	}
	// Files that .ignore names are checked too.
	if err := b.Box.Apply(t.Context(), check.Plant(map[string]string{".ignore": "hidden.py\n", "hidden.py": "x: int = \"\"\n"})); err != nil {
		t.Fatal(err)
	}
	for _, run := range []check.Outcome{python.Ty.Run(t.Context(), b), python.Pyright.Run(t.Context(), b)} {
		if len(run.Findings) != 1 || run.Findings[0].File != "hidden.py" {
			t.Errorf("%+v", run)
		}
	}
}

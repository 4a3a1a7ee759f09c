package verify

import (
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/smoke"
	"agent/verify/syntax"
	"agent/verify/verifytest"
)

func TestEntryPointIsFoundByConvention(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // how the command ends
	}{
		{"main.py before app.py", map[string]string{"app.py": "", "main.py": ""}, "python3 -B -u main.py"},
		{"app.py before a package", map[string]string{"app.py": "", "pkg/__main__.py": ""}, "python3 -B -u app.py"},
		{"package", map[string]string{"pkg/__main__.py": "", "a.py": checktest.Guard}, "python3 -B -u -m pkg"},
		{"package in src", map[string]string{"src/pkg/__main__.py": "", "src/pkg/__init__.py": ""}, "python3 -B -u -m pkg"},
		{"tests are no package", map[string]string{"tests/__main__.py": "", "z.py": checktest.Guard}, "python3 -B -u z.py"},
		{"shallowest guard", map[string]string{"a/deep/x.py": checktest.Guard, "b/y.py": checktest.Guard, "b/z.py": checktest.Guard}, "python3 -B -u b/y.py"},
		{"guard in a package", map[string]string{"src/pkg/__init__.py": "", "src/pkg/cli.py": checktest.Guard}, "python3 -B -u -m pkg.cli"},
		{"guard in a nested package", map[string]string{"lib/pkg/__init__.py": "", "lib/pkg/sub/__init__.py": "", "lib/pkg/sub/cli.py": checktest.Guard}, "python3 -B -u -m pkg.sub.cli"},
		{"other guards", map[string]string{"a.py": "if ('__main__' == __name__):\n  pass\n"}, "python3 -B -u a.py"},
		{"indented guard", map[string]string{"a.py": "def f():\n    " + checktest.Guard}, ""},
		{"guard in a docstring", map[string]string{"a.py": "\"\"\"Use:\n\n" + checktest.Guard + "\"\"\"\n"}, ""},
		{"guard after strings", map[string]string{"a.py": "x = '# \"\"\"'  # '''\n" + checktest.Guard}, "python3 -B -u a.py"},
		{"guard in a comment", map[string]string{"a.py": "# " + checktest.Guard}, ""},
		{"build scripts and tests", map[string]string{"setup.py": checktest.Guard, "conftest.py": checktest.Guard, "test_a.py": checktest.Guard, "noxfile.py": checktest.Guard, "a_test.py": checktest.Guard, "tests/b.py": checktest.Guard}, ""},
		{"node", map[string]string{"index.js": "", "app.js": "", "index.html": ""}, "node app.js"},
		{"html is no program", map[string]string{"index.html": "", "lib.py": "x = 1\n"}, ""},
		{"node in a directory is not found", map[string]string{"src/server.js": ""}, ""},
	} {
		e, err := smoke.FindEntry(check.NewView(verifytest.Scan(t, c.files), workspace.Changeset{}), check.Toolchain, check.Smoke{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := ""
		if len(e.Args) > 0 {
			got = e.String()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNestedPackageIsImportableAtItsRoot(t *testing.T) {
	t.Parallel()
	v := check.NewView(verifytest.Scan(t, map[string]string{"lib/pkg/__init__.py": "", "lib/pkg/cli.py": checktest.Guard}), workspace.Changeset{})
	e, err := smoke.FindEntry(v, check.Toolchain, check.Smoke{})
	if err != nil || !strings.HasSuffix(e.Env["PYTHONPATH"], ":/work/lib") {
		t.Errorf("%v %v", e.Env, err)
	}
}

func TestConfiguredCommandIsLookedUpInTheBox(t *testing.T) {
	t.Parallel()
	v := check.NewView(verifytest.Scan(t, map[string]string{"main.py": ""}), workspace.Changeset{})
	e, err := smoke.FindEntry(v, check.Toolchain, check.Smoke{Command: []string{"python3", "tool.py", "--check"}})
	if err != nil || strings.Join(e.Args, " ") != "/usr/bin/env -- python3 tool.py --check" {
		t.Errorf("%q %v", e.Args, err)
	}
}

func TestProgramOfTheBaseIsKept(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"run.py": checktest.Guard, "b.py": "x = 1\n"})
	for _, c := range []struct {
		name    string
		changes []workspace.Change
		want    string
	}{
		{"a main.py beside it", []workspace.Change{{Op: workspace.Create, Path: "main.py"}}, "run.py"},
		{"its guard removed", []workspace.Change{{Op: workspace.Modify, Path: "run.py"}}, "run.py"},
		{"renamed", []workspace.Change{{Op: workspace.Rename, Path: "start.py", From: "run.py"}}, "start.py"},
		{"deleted for another", []workspace.Change{{Op: workspace.Create, Path: "app.py"}, {Op: workspace.Delete, Path: "run.py"}}, "app.py"},
		{"deleted", []workspace.Change{{Op: workspace.Delete, Path: "run.py"}}, ""},
	} {
		before, after, err := smoke.Entries(check.NewView(base, workspace.Changeset{}), check.NewView(base, workspace.Changeset{Changes: c.changes}), check.Toolchain, check.Smoke{})
		if err != nil || before.Path != "run.py" || after.Path != c.want {
			t.Errorf("%s: %q then %q, %v", c.name, before.Path, after.Path, err)
		}
	}
}

func TestViewLaysTheChangesetOverTheBase(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"a.py": "a", "b.txt": "b", "c/d.py": "d", "e.py": "e"})
	v := check.NewView(base, workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Modify, Path: "a.py", After: []byte("A")},
		{Op: workspace.Rename, Path: "c/x.py", From: "c/d.py", After: []byte("D")},
		{Op: workspace.Delete, Path: "e.py"},
		{Op: workspace.Create, Path: "new", After: []byte("#!/bin/sh\n")},
	}})
	if got := strings.Join(v.Paths(), " "); got != "a.py b.txt c/x.py new" {
		t.Errorf("paths %q", got)
	}
	for p, want := range map[string]string{"a.py": "A", "b.txt": "b", "c/x.py": "D"} {
		if got, err := v.Read(p); err != nil || string(got) != want || !v.Has(p) {
			t.Errorf("%s: %q %v", p, got, err)
		}
	}
	for _, p := range []string{"e.py", "c/d.py", "none", "c"} {
		if _, err := v.Read(p); err == nil || v.Has(p) {
			t.Errorf("%s is there", p)
		}
	}
	if got := strings.Join(syntax.Touched(v), " "); got != "a.py c/x.py new" {
		t.Errorf("touched %q", got)
	}
	if !v.HasDir("c") || v.HasDir("b") {
		t.Error("directories are wrong")
	}
}

func TestStaticConfigurationIsTakenOutOfAPatch(t *testing.T) {
	t.Parallel()
	cs := workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Modify, Path: "a.py"},
		{Op: workspace.Create, Path: "deep/ruff.toml"},
		{Op: workspace.Rename, Path: "x.ini", From: "mypy.ini"},
		{Op: workspace.Delete, Path: "pyproject.toml"},
		{Op: workspace.Modify, Path: "pytest.ini"},
	}}
	config, rest := splitConfig(cs)
	if len(config.Changes) != 3 || len(rest.Changes) != 3 {
		t.Errorf("%+v %+v", config, rest)
	}
}

package python

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/verifytest"
)

func TestProjectsImportFromThoseBesideThem(t *testing.T) {
	t.Parallel()
	const project = "[project]\nname = \"%s\"\n"
	named := func(name string) string { return fmt.Sprintf(project, name) }
	v := check.NewView(verifytest.Scan(t, map[string]string{
		"apps/uv/pyproject.toml": named("uv") + "[tool.uv.sources]\nlib = {path = \"../../libs/lib\", editable = true}\nOther_Lib = { workspace = true }\n", "apps/uv/a.py": "",
		"apps/poetry/pyproject.toml": "[tool.poetry.dependencies]\nlib = {develop = true, path = '../../libs/lib'}\ngone = {path = \"../gone\"}\nout = {path = \"../../../out\"}\n", "apps/poetry/src/a.py": "",
		"apps/pip/setup.py": "", "apps/pip/requirements.txt": "requests\n-e ../../libs/other[x]  # why\n./wheels/a.whl\n..\n",
		"apps/direct/pyproject.toml": named("direct") + "dependencies = [\"lib @ file:../../libs/lib\"]\n",
		"libs/lib/pyproject.toml":    named("lib") + "[tool.uv.sources]\nbase = { path = \"../base\" }\nlib = { workspace = true }\n", "libs/lib/src/lib.py": "",
		"libs/base/setup.cfg": "[metadata]\n", "libs/other/pyproject.toml": named("other-lib"), "libs/vendor/other/pyproject.toml": named("other-lib"),
	}), workspace.Changeset{})
	for root, want := range map[string]string{
		"apps/uv": "apps/uv . libs/lib libs/lib/src libs/other libs/base", "apps/poetry": "apps/poetry apps/poetry/src . libs/lib libs/lib/src libs/base",
		"apps/pip": "apps/pip . libs/other", "apps/direct": "apps/direct . libs/lib libs/lib/src libs/base", ".": ".",
	} {
		if got := strings.Join(importPaths(v, root), " "); got != want {
			t.Errorf("%s imports from %s, want %s", root, got, want)
		}
	}
}

func TestProjectsChooseTheirTypeCheckers(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{
		"a.py": "", "x/ty.toml": "", "x/a.py": "", "x/y/setup.cfg": "[mypy]\n", "x/y/a.py": "", "z/pyproject.toml": "[tool.pyright]\n", "z/new/b.txt": "",
		"p/pyproject.toml": "[project]\nname = \"p\"\n", "p/a.py": "", "node_modules/x/mypy.ini": "", "node_modules/x/a.py": "",
	})
	patch := map[string]string{"z/new/a.pyi": "", "x/y/setup.cfg": "-", "p/ty.toml": "", "a.py": "-"}
	for _, c := range []struct {
		files map[string]string
		want  map[string]string
	}{
		{nil, map[string]string{".": MypyName, "x": TyName, "x/y": MypyName}},
		{patch, map[string]string{".": MypyName, "x": TyName, "x/y": MypyName, "z": PyrightName}},
	} {
		v := check.NewView(base, verifytest.Change(t, base, c.files))
		if d := cmp.Diff(c.want, typeRoots(v)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if reason := Pyright.Applies(v); c.files == nil && reason != "the workspace checks its types with mypy and ty" || c.files != nil && reason != "" {
			t.Errorf("pyright: %q", reason)
		}
	}
}

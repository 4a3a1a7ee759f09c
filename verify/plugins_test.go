package verify

import (
	"slices"
	"testing"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/python"
	"agent/verify/verifytest"
)

func TestPluginsAreFoundWhereTheToolsFindThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		files map[string]string
		types []string
		tests []string
	}{
		{"none", map[string]string{"mypy.ini": "[mypy]\nstrict = true\n", "plugins.py": ""}, nil, nil},
		{"file", map[string]string{"mypy.ini": "[mypy]\nplugins = ./tools/checker.py\n", "tools/checker.py": "import shapes\n", "tools/shapes.py": "", "shapes.py": ""}, []string{"tools/checker.py", "tools/shapes.py"}, nil},
		{"several in INI", map[string]string{"setup.cfg": "[mypy]\nplugins =\n    a.b:entry,\n    pydantic.mypy\nstrict = c\n[x]\ny = c\n", "a/b.py": "", "c.py": ""}, []string{"a/b.py"}, nil},
		{"several in TOML", map[string]string{"pyproject.toml": "[tool.mypy]\nplugins = [\n  \"a\",\n  'src/b.py',\n]\n", "src/a/__init__.py": "from . import c\nfrom .c import d\n", "src/a/c.py": "", "src/b.py": ""}, []string{"src/a/__init__.py", "src/a/c.py", "src/b.py"}, nil},
		{"two that import each other", map[string]string{"mypy.ini": "[mypy]\nplugins = a\n", "a.py": "import b as c, os\n", "b.py": "if True:\n    from a import x\n"}, []string{"a.py", "b.py"}, nil},
		{"outside", map[string]string{"mypy.ini": "[mypy]\nplugins = ../a.py, /b.py\n", "a.py": "", "b.py": ""}, nil, nil},
		{"option of pytest", map[string]string{"pytest.ini": "[pytest]\naddopts = -q -p tools.plug -p no:cacheprovider\n", "tools/plug.py": "", "no.py": ""}, nil, []string{"tools/plug.py"}},
		{"option in TOML", map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\naddopts = [\"-p\", \"x\", \"-pplug\"]\n", "plug.py": "", "x.py": ""}, nil, []string{"plug.py", "x.py"}},
		{"variable", map[string]string{"sub/conftest.py": "pytest_plugins = (\n    \"a.b\",\n    'c',\n)\n", "a/b.py": "", "c.py": ""}, nil, []string{"a/b.py", "c.py"}},
		{"variable of one", map[string]string{"conftest.py": "pytest_plugins = 'a'\nb = 1\n", "a.py": "", "b.py": ""}, nil, []string{"a.py"}},
	} {
		v := check.NewView(verifytest.Scan(t, c.files), workspace.Changeset{})
		if got := python.TypePlugins(v, v); !slices.Equal(got, c.types) {
			t.Errorf("%s: in mypy %q, want %q", c.name, got, c.types)
		}
		if got := python.TestPlugins(v, v); !slices.Equal(got, c.tests) {
			t.Errorf("%s: in pytest %q, want %q", c.name, got, c.tests)
		}
	}
}

// The tree of the base is saved before the patch is applied in the box, and mypy loads its plugins from there. The patch's own plugins
// stay where mypy looks for faults.
func TestPluginsAreKeptBeforeThePatchIsApplied(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"mypy.ini": "[mypy]\nplugins = checker\n", "checker.py": "old\n", "a.py": "x = 1\n"})
	cs := verifytest.Change(t, base, map[string]string{"checker.py": "new\n", "a.py": "x = 2\n"})
	for name, c := range map[string]struct {
		keeps guest.Result
		ran   int
		want  check.Verdict
	}{
		"kept":     {verifytest.Ended(0, []byte("\n"), nil), 4, ""},
		"not kept": {verifytest.Ended(1, nil, []byte("OSError: no space\n")), 1, check.Infra},
	} {
		b, box := checktest.Replayed(map[string]guest.Result{"json-lines": verifytest.Ended(0, nil, nil), "run_mypy.py": c.keeps})
		s := newSession(&Verifier{}, Request{Base: base, Changeset: cs}, nil)
		s.check(t.Context(), b.Box, []check.Check{checkNamed(python.RuffName), checkNamed(python.MypyName)}, false, func() {})
		if len(box.Ran) != c.ran || !slices.Contains(box.Ran[0].Args, "keep") || string(box.Ran[0].Stdin) != `["a.py","a.py","checker.py","checker.py"]` {
			t.Fatalf("%s: ran %+v", name, box.Ran)
		}
		if got := s.results.cand[python.MypyName]; got.Verdict != c.want {
			t.Errorf("%s: %+v", name, got)
		}
		if c.want == "" && (len(box.Applied) != 1 || !slices.Contains(box.Ran[2].Args, "run")) {
			t.Errorf("applied %d times, ran %q", len(box.Applied), box.Ran[2].Args)
		}
	}
}

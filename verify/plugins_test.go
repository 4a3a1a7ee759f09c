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

// The plugin stands in the box as before while mypy runs, and as the patch
// leaves it afterwards.
func TestPluginIsPutBackForTheToolThatRunsIt(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"mypy.ini": "[mypy]\nplugins = checker\n", "checker.py": "old\n", "a.py": "x = 1\n"})
	cs := verifytest.Change(t, base, map[string]string{"checker.py": "new\n", "a.py": "x = 2\n"})
	b, box := checktest.Replayed(map[string]guest.Result{"json-lines": verifytest.Ended(0, nil, nil), "mypy": verifytest.Ended(0, nil, nil)})
	s := newSession(&Verifier{}, Request{Base: base, Changeset: cs}, nil)
	s.check(t.Context(), b.Box, []check.Check{checkNamed(python.RuffName), checkNamed(python.MypyName)}, false, func() {})
	if len(box.Applied) != 3 || len(box.Ran) != 3 {
		t.Fatalf("applied %d, ran %d", len(box.Applied), len(box.Ran))
	}
	back, again := box.Applied[1].Changes, box.Applied[2].Changes
	if len(back) != 1 || back[0].Path != "checker.py" || string(back[0].After) != "old\n" || len(again) != 1 || string(again[0].After) != "new\n" {
		t.Errorf("put back %+v, then %+v", back, again)
	}
}

package verify

import (
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/python"
	"agent/verify/shell"
	"agent/verify/verifytest"
)

// Nothing that could run the workspace's code, or make mypy take old for new, goes
// with a cache.
func TestOnlyPlainTypesAreKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"mypy.ini", "[mypy]\nstrict = True\nexclude = (?x)(\n    ^build/\n  )\n\n[mypy-yaml.*]\nignore_missing_imports = True\n", true},
		{"mypy.ini", "[mypy]\nplugins = a.py\n", true},
		{"mypy.ini", "[mypy]\nplugins = a.py\nbazel = True\n", false},
		{"mypy.ini", "[mypy]\nPlugins = a.py\n", false},
		{"mypy.ini", "[mypy]\n  plugins: a.py\n", false},
		{"mypy.ini", "[mypy]\nstrict = 1\n[mypy-a]\nno_skip_cache_mtime_checks = False\n", false},
		{"mypy.ini", "[mypy]\nfiles = a\n  [other]\nplugins = a.py\n", false},
		{".mypy.ini", "[mypy]\npython-executable = ./python\n", false},
		{"setup.cfg", "[tool:pytest]\nplugins = a\n", true},
		{"setup.cfg", "[mypy]\nbazel = True\n", false},
		{"pyproject.toml", "[tool.mypy]\nstrict = true\n[[tool.mypy.overrides]]\nmodule = \"a\"\nignore_errors = true\n[tool.ruff]\nfix = true\n", true},
		{"pyproject.toml", "[tool.mypy]\nplugins = [\"a.py\"]\n", true},
		{"pyproject.toml", "[tool.mypy]\n\"\\u0070lugins\" = [\"a.py\"]\n", false},
		{"pyproject.toml", "[tool.mypy]\n\"\\u0070lugins\" = [\"a.py\"]\n[tool.other]\nplugins = [\"b.py\"]\n", false},
		{"pyproject.toml", "[[tool.mypy.overrides]]\nmodule = \"a\"\nplugins = [\"a.py\"]\n", false},
		{"pyproject.toml", "[tool.mypy]\noverrides = [{module = \"a\", sqlite_cache = true}]\n", false},
		{"pyproject.toml", "[tool.mypy\n", false},
	} {
		v := check.NewView(verifytest.Scan(t, map[string]string{c.name: c.text}), workspace.Changeset{})
		if _, got := python.KeptTypes(v); got != c.want {
			t.Errorf("%s %q: %v", c.name, c.text, got)
		}
	}
}

// What a plugin had a part in is for that very plugin, and what it imports.
func TestTypesAreKeptByPlugin(t *testing.T) {
	t.Parallel()
	keys := map[string]string{}
	for name, files := range map[string]map[string]string{
		"none":           {"a.py": "x = 1\n"},
		"one":            {"mypy.ini": "[mypy]\nplugins = p.py\n", "p.py": "import helper\n", "helper.py": "x = 1\n", "a.py": "x = 1\n"},
		"another":        {"mypy.ini": "[mypy]\nplugins = p.py\n", "p.py": "import helper  # as\n", "helper.py": "x = 1\n"},
		"another helper": {"mypy.ini": "[mypy]\nplugins = p.py\n", "p.py": "import helper\n", "helper.py": "x = 2\n"},
		"configured":     {"mypy.ini": "[mypy]\nplugins = p.py\n[plug]\nx = 1\n", "p.py": "import helper\n", "helper.py": "x = 1\n"},
	} {
		base := check.OnBase(verifytest.Scan(t, files))
		with, ok := python.KeptTypes(base)
		if other, same := keys[with]; !ok || same {
			t.Errorf("%s: kept: %v, for what %q has", name, ok, other)
		}
		keys[with] = name
		if key := newTypeCache(newStore(verifytest.NewMemory(), "one", check.Toolchain, Config{}), base).key; !strings.HasSuffix(key, with) {
			t.Errorf("%s: the key %s is not of %s", name, key, with)
		}
	}
}

// A row belongs to one workspace and one image, and is used behind checks that run
// nothing of the workspace only.
func TestTypesAreKeptApart(t *testing.T) {
	t.Parallel()
	cache := verifytest.NewMemory()
	base := check.NewView(verifytest.Scan(t, map[string]string{"a.py": "x = 1\n"}), workspace.Changeset{})
	other := check.NewView(verifytest.Scan(t, map[string]string{"a.py": "x = 1\n"}), workspace.Changeset{})
	key := newTypeCache(newStore(cache, "one", check.Toolchain, Config{}), base).key
	if key == newTypeCache(newStore(cache, "two", check.Toolchain, Config{}), base).key || key == newTypeCache(newStore(cache, "one", check.Toolchain, Config{}), other).key {
		t.Errorf("the key %s is that of another image or workspace too", key)
	}
	if newTypeCache(newStore(nil, "one", check.Toolchain, Config{}), base) != nil {
		t.Error("a types cache with nothing to keep it in")
	}
	s, _ := offline(base.Base, cache, workspace.Changeset{})
	if s.warm(check.Bench{}, []check.Check{python.Ruff, shell.Shellcheck}).Known == nil {
		t.Error("cold behind linters that run nothing of the workspace")
	}
	if s.warm(check.Bench{}, []check.Check{python.Ruff, python.Pytest}).Known != nil {
		t.Error("warm behind the workspace's own code")
	}
}

package typecache_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/python"
	"agent/verify/typecache"
	"agent/verify/verifytest"
)

// Nothing that could run the workspace's code, or make mypy take old for new, is kept in a cache.
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

// Types in which a plugin had a part are kept for exactly that plugin and what it imports.
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
		if key := typecache.Of(verifytest.NewMemory(), base, "one", "2", "3").Key; !strings.HasSuffix(key, with) {
			t.Errorf("%s: the key %s is not of %s", name, key, with)
		}
	}
}

// broken is a cache that does not answer.
type broken struct{}

func (broken) Load(context.Context, string) ([]byte, bool, error) {
	return nil, false, errors.New("no answer")
}
func (broken) Save(context.Context, string, []byte) error { return errors.New("no answer") }

// A workspace begins with what mypy learned in its proof in the same image, until it has its own row. The proof begins with nothing,
// since otherwise it would find only what it already knew.
func TestAWorkspaceBeginsWithWhatItsProofLearnt(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	base := check.OnBase(verifytest.Scan(t, map[string]string{"a.py": "x = 1\n"}))
	cache := verifytest.NewMemory()
	proof := typecache.OfProof(cache, "one", "p")
	if err := proof.Keep(ctx, []byte("of the proof")); err != nil {
		t.Fatal(err)
	}
	if known := proof.Load(ctx); known != nil {
		t.Errorf("the proof begins with %q", known)
	}
	row := typecache.Of(cache, base, "one", "d", "p")
	if known := row.Load(ctx); string(known) != "of the proof" {
		t.Errorf("the workspace begins with %q", known)
	}
	for name, other := range map[string]*typecache.Row{"image": typecache.Of(cache, base, "two", "d", "p"), "definition": typecache.Of(cache, base, "one", "d", "q")} {
		if known := other.Load(ctx); known != nil {
			t.Errorf("with another %s it begins with %q", name, known)
		}
	}
	if err := row.Keep(ctx, nil); err != nil || string(row.Load(ctx)) != "of the proof" {
		t.Errorf("nothing to keep is kept: %v", err)
	}
	if err := row.Keep(ctx, []byte("its own")); err != nil || string(row.Load(ctx)) != "its own" {
		t.Errorf("behind its own it begins with %q, %v", row.Load(ctx), err)
	}
	if known := string(cache.Rows[proof.Key]); known != "of the proof" {
		t.Errorf("a workspace wrote the row of the proof: %q", known)
	}
	lost := typecache.Of(broken{}, base, "one", "d", "p")
	if known := lost.Load(ctx); known != nil {
		t.Errorf("%q of a cache that does not answer", known)
	}
	if err := lost.Keep(ctx, []byte("x")); err == nil {
		t.Error("what could not be kept is not told")
	}
	if typecache.OfProof(nil, "one", "p") != nil || (*typecache.Row)(nil).Keep(ctx, []byte("x")) != nil {
		t.Error("a row without a cache")
	}
}

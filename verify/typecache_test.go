package verify

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/boxtest"
	"agent/verify/check"
	"agent/verify/checktest"
)

// unequal compares findings without regard to their order.
func unequal(want, got []check.Finding) string {
	less := func(a, b check.Finding) bool { return a.File+a.Message < b.File+b.Message }
	return cmp.Diff(want, got, cmpopts.SortSlices(less), cmpopts.EquateEmpty())
}

// typesKnown is what mypy knows from an earlier box.
type typesKnown struct{ row []byte }

func (k *typesKnown) Load(context.Context) []byte { return k.row }

// tarred is a packed cache of one file.
func tarred(t *testing.T, name, text string) []byte {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o644, Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// What mypy was given to know must never change what it finds: neither where a
// file changed in a way that size and time do not tell, nor where the row is
// rubbish.
func TestWarmTypesFindWhatColdOnesFind(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"sound.py":  check.PlantedSound,
		"caller.py": "from sound import double\n\ntotal = double(\"21\")\n",
		"other.py":  "from sound import double\n\nmore: int = double(3)\n",
		"lost.py":   "def two() -> int:\n    return 2\n",
		"user.py":   "from lost import two\n\nfour = two() * 2\n",
		"moved.py":  "from sound import double\n\nless: str = double(1)\n",
		"same.py":   "x: int = 1\n",
	}
	b := checktest.NewBench(t, files, sandbox.Limits{})
	run := func(code string) {
		t.Helper()
		if res, err := b.Box.Run(t.Context(), guest.Command{Args: []string{check.Toolchain.Python, "-c", code}}); err != nil || res.Exit != 0 {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	const aged = "import os; os.utime('/work/same.py', (1e9, 1e9))"
	run(aged)
	known := &typesKnown{}
	types := func(row check.CacheRow) check.Outcome {
		t.Helper()
		forgetTypes(t.Context(), b)
		b.Known = row
		out := runTypes(t.Context(), b)
		if out.Verdict != "" || out.Blocked != "" {
			t.Fatalf("%+v", out)
		}
		return out
	}
	first := types(known)
	if len(first.Findings) != 2 || len(first.Learned) == 0 {
		t.Fatalf("%d findings and %d bytes to keep, want 2 and some", len(first.Findings), len(first.Learned))
	}
	known.row = first.Learned

	edit := workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Modify, Path: "caller.py", Before: []byte(files["caller.py"]), After: []byte("from sound import double\n\ntotal = double(21)\n"), Mode: 0o644},
		{Op: workspace.Delete, Path: "lost.py", Before: []byte(files["lost.py"]), Mode: 0o644},
		{Op: workspace.Modify, Path: "other.py", Before: []byte(files["other.py"]), After: []byte("from sound import double\n\nmore: str = double(3)\n"), Mode: 0o644},
		{Op: workspace.Rename, From: "moved.py", Path: "new/place.py", Before: []byte(files["moved.py"]), After: []byte(files["moved.py"]), Mode: 0o644},
		{Op: workspace.Modify, Path: "same.py", Before: []byte("x: int = 1\n"), After: []byte("x: str = 1\n"), Mode: 0o644},
	}}
	if err := b.Box.Apply(t.Context(), edit); err != nil {
		t.Fatal(err)
	}
	run(aged)
	b.View = check.NewView(boxtest.Scan(t, files), edit)
	warm := types(known)
	// What mypy did not write anew has the whole seconds of the row.
	run("import glob, os; assert os.stat(glob.glob('/tmp/mypy/*/builtins.data.json')[0]).st_mtime_ns % 10**9 == 0")
	cold := types(nil)
	if len(cold.Findings) != 4 {
		t.Errorf("cold: %+v, want 4", cold.Findings)
	}
	if d := unequal(cold.Findings, warm.Findings); d != "" {
		t.Errorf("warm differs from cold (-cold +warm):\n%s", d)
	}

	for name, row := range map[string][]byte{
		"no archive": []byte("rubbish"), "half": first.Learned[:len(first.Learned)/2], "elsewhere": tarred(t, "../../tmp/mypy.ini", "[mypy]"),
	} {
		known.row = row
		forgetTypes(t.Context(), b)
		b.Known = known
		if unpackTypes(t.Context(), b) {
			t.Errorf("%s: taken", name)
		}
		run("import os; assert not os.path.exists('/tmp/mypy') and not os.path.exists('/tmp/mypy.ini')")
	}
	known.row = tarred(t, "3.13/builtins.meta.json", "{")
	if d := unequal(cold.Findings, types(known).Findings); d != "" {
		t.Errorf("with rubbish in the row (-cold +got):\n%s", d)
	}
}

// Nothing that could run the workspace's code, or make mypy take old for new, goes
// with a cache.
func TestOnlyPlainTypesAreKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"mypy.ini", "[mypy]\nstrict = True\nexclude = (?x)(\n    ^build/\n  )\n\n[mypy-yaml.*]\nignore_missing_imports = True\n", true},
		{"mypy.ini", "[mypy]\nPlugins = a.py\n", false},
		{"mypy.ini", "[mypy]\n  plugins: a.py\n", false},
		{"mypy.ini", "[mypy]\nstrict = 1\n[mypy-a]\nno_skip_cache_mtime_checks = False\n", false},
		{"mypy.ini", "[mypy]\nfiles = a\n  [other]\nplugins = a.py\n", false},
		{".mypy.ini", "[mypy]\npython-executable = ./python\n", false},
		{"setup.cfg", "[tool:pytest]\nplugins = a\n", true},
		{"setup.cfg", "[mypy]\nbazel = True\n", false},
		{"pyproject.toml", "[tool.mypy]\nstrict = true\n[[tool.mypy.overrides]]\nmodule = \"a\"\nignore_errors = true\n[tool.ruff]\nfix = true\n", true},
		{"pyproject.toml", "[tool.mypy]\n\"\\u0070lugins\" = [\"a.py\"]\n", false},
		{"pyproject.toml", "[tool.mypy]\noverrides = [{module = \"a\", sqlite_cache = true}]\n", false},
		{"pyproject.toml", "[tool.mypy\n", false},
	} {
		v := check.NewView(boxtest.Scan(t, map[string]string{c.name: c.text}), workspace.Changeset{})
		if got := plainTypes(v); got != c.want {
			t.Errorf("%s %q: %v", c.name, c.text, got)
		}
	}
}

// A row belongs to one workspace and one image, and is used behind checks that run
// nothing of the workspace only.
func TestTypesAreKeptApart(t *testing.T) {
	t.Parallel()
	cache := boxtest.NewMemory()
	base := check.NewView(boxtest.Scan(t, map[string]string{"a.py": "x = 1\n"}), workspace.Changeset{})
	other := check.NewView(boxtest.Scan(t, map[string]string{"a.py": "x = 1\n"}), workspace.Changeset{})
	key := newTypeCache(newStore(cache, "one", check.Toolchain, Config{}), base).key
	if key == newTypeCache(newStore(cache, "two", check.Toolchain, Config{}), base).key || key == newTypeCache(newStore(cache, "one", check.Toolchain, Config{}), other).key {
		t.Errorf("the key %s is that of another image or workspace too", key)
	}
	if newTypeCache(newStore(nil, "one", check.Toolchain, Config{}), base) != nil {
		t.Error("a types cache with nothing to keep it in")
	}
	s, _ := offline(base.Base, cache, workspace.Changeset{})
	if s.warm(check.Bench{}, []check.Check{ruffCheck, shellCheck}).Known == nil {
		t.Error("cold behind linters that run nothing of the workspace")
	}
	if s.warm(check.Bench{}, []check.Check{ruffCheck, pytestCheck}).Known != nil {
		t.Error("warm behind the workspace's own code")
	}
}

package python

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

// unequal returns the differences between findings, regardless of order.
func unequal(want, got []check.Finding) string {
	less := func(a, b check.Finding) bool { return a.File+a.Message < b.File+b.Message }
	return cmp.Diff(want, got, cmpopts.SortSlices(less), cmpopts.EquateEmpty())
}

// tarred returns a packed cache with one file.
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

// What mypy already knows must never change what it finds, even if a file changed in a way that its size and time do not show, or if the
// row is garbage.
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
	known := &checktest.Row{}
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
	known.Packed = first.Learned

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
	b.View = check.NewView(verifytest.Scan(t, files), edit)
	warm := types(known)
	// Files that mypy did not write anew have the whole seconds of the row as their times.
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
		known.Packed = row
		forgetTypes(t.Context(), b)
		b.Known = known
		if unpackTypes(t.Context(), b) {
			t.Errorf("%s: taken", name)
		}
		run("import os; assert not os.path.exists('/tmp/mypy') and not os.path.exists('/tmp/mypy.ini')")
	}
	known.Packed = tarred(t, "3.13/builtins.meta.json", "{")
	if d := unequal(cold.Findings, types(known).Findings); d != "" {
		t.Errorf("with rubbish in the row (-cold +got):\n%s", d)
	}
}

// What mypy knows of a library is kept once, for the files that a project checks and for those that are examined besides.
func TestEqualTypesAreCarriedOnce(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"mypy.ini": "[mypy]\nfiles = a.py\n", "a.py": "x: str = 1\n", "b.py": "def f() -> None:\n    return missing\n",
	}
	b := checktest.NewBench(t, files, sandbox.Limits{})
	b.View = check.OnBase(verifytest.Scan(t, files))
	known := &checktest.Row{}
	b.Known = known
	cold := runTypes(t.Context(), b)
	if cold.Verdict != "" || len(cold.Findings) != 2 {
		t.Fatalf("%+v", cold)
	}
	z, err := gzip.NewReader(bytes.NewReader(cold.Learned))
	if err != nil {
		t.Fatal(err)
	}
	var links, texts int64
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		if h.Typeflag == tar.TypeLink {
			links++
		} else if strings.HasSuffix(h.Name, "/builtins.data.json") {
			texts++
		}
	}
	if links < 10 || texts != 1 {
		t.Errorf("%d links, and what is known of builtins %d times, want one", links, texts)
	}
	known.Packed = cold.Learned
	forgetTypes(t.Context(), b)
	warm := runTypes(t.Context(), b)
	if d := unequal(cold.Findings, warm.Findings); d != "" {
		t.Errorf("warm differs from cold (-cold +warm):\n%s", d)
	}
	res, err := b.Box.Run(t.Context(), guest.Command{Args: []string{
		check.Toolchain.Python, "-c",
		"import glob, os; print(sum(os.stat(p).st_mtime_ns % 10**9 == 0 for p in glob.glob('/tmp/mypy/**/builtins.data.json', recursive=True)))",
	}})
	if err != nil || strings.TrimSpace(string(res.Stdout.Head)) != "2" {
		t.Errorf("%q and %v: mypy wrote anew what it was given to know", res.Stdout.Head, err)
	}
}

// A cache larger than what is kept would fill /tmp and end mypy.
func TestMypyKeepsNothingOfThousandsOfFiles(t *testing.T) {
	t.Parallel()
	for modules, want := range map[int]string{0: typesDir, 100: typesDir, 5000: noCache} {
		base := &workspace.Manifest{}
		for n := range modules {
			base.Entries = append(base.Entries, workspace.Entry{Path: fmt.Sprintf("m%04d.py", n), Kind: workspace.File, Size: 100})
		}
		v := check.OnBase(base)
		if got := cacheDir(v); got != want {
			t.Errorf("%d modules: %s, want %s", modules, got, want)
		}
		cmd := strings.Join(typesCommand(check.Bench{View: v, Tools: check.Toolchain}, []string{".", "a"}, "a", nil, below(cacheDir(v), "rest")).Args, " ")
		if in := strings.Contains(cmd, "--cache-dir "+typesDir); in != (want == typesDir) {
			t.Errorf("%d modules: %s", modules, cmd)
		}
	}
}

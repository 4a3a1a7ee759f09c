package workspace

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// takenFrom returns the changeset as "op path mode" and the files left out as "path: reason".
func takenFrom(t *testing.T, m *Manifest, files map[string]Taken, gone ...string) (changes, left []string) {
	t.Helper()
	cs, skips, err := m.Taken(t.Context(), files, gone)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cs.Changes {
		changes = append(changes, fmt.Sprintf("%s %s %o", c.Op, c.Path, c.Mode))
	}
	for _, s := range skips {
		quiet := ""
		if s.Quiet {
			quiet = " (quiet)"
		}
		left = append(left, s.Path+": "+s.Reason+quiet)
	}
	return changes, left
}

// snapshotOf returns the manifest of a workspace with these files.
func snapshotOf(t *testing.T, files map[string]string) *Manifest {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		place := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(place), 0o755), os.WriteFile(place, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a.py", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	return scan(t, dir)
}

func TestTakenFindsTheDifferenceItself(t *testing.T) {
	t.Parallel()
	m := snapshotOf(t, map[string]string{"a.py": "a\n", "b.py": "b\n", "c.sh": "c\n", "d.py": "d\n", "dir/e.py": "e\n"})
	text := func(s string) Taken { return Taken{Content: []byte(s)} }
	changes, left := takenFrom(t, m, map[string]Taken{
		"a.py": text("a\n"), // listed as changed, but the same
		"b.py": text("B\n"), "c.sh": {Content: []byte("c\n"), Exec: true}, "new/f.py": text("f\n"), "new/run": {Content: []byte("#!"), Exec: true}, "empty": text(""),
	}, "d.py", "d.py", "dir/e.py", "dir", "never-was", "../outside")
	want := []string{"modify b.py 644", "modify c.sh 755", "delete d.py 644", "delete dir/e.py 644", "create empty 644", "create new/f.py 644", "create new/run 755"}
	if !slices.Equal(changes, want) || len(left) > 0 {
		t.Errorf("changes %q\nwant    %q\nleft %q", changes, want, left)
	}
	cs, _, err := m.Taken(t.Context(), map[string]Taken{"b.py": text("B\n")}, []string{"d.py"})
	if err != nil || string(cs.Changes[0].Before) != "b\n" || string(cs.Changes[0].After) != "B\n" || string(cs.Changes[1].Before) != "d\n" || cs.Check() != nil {
		t.Errorf("%+v, %v", cs, err)
	}
}

func TestTakenLeavesWhatNoPatchMayWrite(t *testing.T) {
	t.Parallel()
	m := snapshotOf(t, map[string]string{"a.py": "a\n", "logo.png": "\x89PNG\x00", "old.bin": "\x00"})
	git := exec.Command("git", "init", "-q", m.Root)
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(m.Root, ".gitignore"), []byte("dist/\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m = scan(t, m.Root)
	files := map[string]Taken{}
	for name, content := range map[string]string{
		"../up": "x", "/etc/passwd": "x", "sub/.git/hooks/pre-commit": "x", ".GIT/config": "x", ".agent/journal": "x", ".env": "KEY=1", "id_rsa": "x",
		"server.key": "-----BEGIN PRIVATE KEY-----", "a\x1b[2Jb": "x", "x/../a.py": "x", "": "x", "nul": "x", "back\\slash": "x",
		"pkg/__pycache__/a.pyc": "\x00", "node_modules/x/index.js": "x", "dist/out.js": "x", "logo.png": "text now", "new.bin": "\x00", "big": strings.Repeat("x", MaxContent+1),
		"link": "a file", "a.py": "fine\n",
	} {
		files[name] = Taken{Content: []byte(content)}
	}
	changes, left := takenFrom(t, m, files, "link", "old.bin")
	if want := []string{"modify a.py 644"}; !slices.Equal(changes, want) {
		t.Errorf("changes %q, want %q", changes, want)
	}
	if len(left) != len(files)-1+2 {
		t.Errorf("%d are left, want %d", len(left), len(files)+1)
	}
	for _, want := range []string{
		".env: it is a place for secrets", "server.key: it holds a private key", "pkg/__pycache__/a.pyc: left out of every snapshot (quiet)", "dist/out.js: ignored by git (quiet)",
		"logo.png: it was not text", "new.bin: it is not text", "big: 2097153 bytes", "link: a file replaced a symbolic link", "link: a symbolic link was removed",
		"old.bin: a binary file was removed", ".agent/journal: .agent belongs to the agent", "sub/.git/hooks/pre-commit: it is in .git", "../up: it is not a plain path",
	} {
		if !slices.ContainsFunc(left, func(l string) bool { return strings.HasPrefix(l, want) }) {
			t.Errorf("%q is not among what is left: %q", want, left)
		}
	}
}

func TestTakenTellsOfTheHostAndOfTooMuch(t *testing.T) {
	t.Parallel()
	m := snapshotOf(t, map[string]string{"a.py": "a\n"})
	if err := os.WriteFile(filepath.Join(m.Root, "a.py"), []byte("the user's own\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var changed *ChangedError
	if _, _, err := m.Taken(t.Context(), map[string]Taken{"a.py": {Content: []byte("b\n")}}, nil); !errors.As(err, &changed) {
		t.Errorf("modified: %v", err)
	}
	if _, _, err := m.Taken(t.Context(), nil, []string{"a.py"}); !errors.As(err, &changed) {
		t.Errorf("gone: %v", err)
	}
	var refused *PathError
	if _, _, err := m.Taken(t.Context(), nil, make([]string, MaxChanges+1)); !errors.As(err, &refused) {
		t.Errorf("too much: %v", err)
	}
}

// Whatever the two trees are, Taken returns the changeset that turns the first into the box's. The box lists everything
// that changed, and may list too much.
func TestTakenMakesTheTreeOfTheBox(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		before, after := drawTree(rt, "before", drawText()), drawTree(rt, "after", drawText())
		m := scan(t, roundTree(rt, t, before))
		files, gone := map[string]Taken{}, rapid.SliceOfN(rapid.SampledFrom([]string{"a/b", "zz", "../up", "/etc"}), 0, 2).Draw(rt, "lies")
		gone = slices.DeleteFunc(gone, func(name string) bool { _, there := after[name]; return there })
		for name, text := range after {
			if was, known := before[name]; !known || was != text || rapid.Bool().Draw(rt, "also") {
				files[name] = Taken{Content: []byte(text)}
			}
		}
		for name := range before {
			if _, stays := after[name]; !stays {
				gone = append(gone, name)
			}
		}
		cs, left, err := m.Taken(t.Context(), files, gone)
		if err != nil || len(left) > 0 || cs.Check() != nil {
			rt.Fatalf("%v, left %+v, %v", err, left, cs.Check())
		}
		if got := put(before, cs); !maps.Equal(got, after) {
			rt.Fatalf("%q and %q make %q", before, after, got)
		}
	})
}

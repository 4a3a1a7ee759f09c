package revision_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agent/orchestrator/forge/revision"
	"agent/sandbox/workspace/git"
)

// A name may be a file, a directory and a link in turn: each change between them fits its base.
func TestAPathChangesItsKind(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	clear := func() {
		if err := os.RemoveAll(filepath.Join(r.dir, "x")); err != nil {
			t.Fatal(err)
		}
	}
	r.write("a.py", "a\n")
	commits := map[string]string{"nothing": r.commit("nothing")}
	r.write("x", "file\n")
	commits["file"] = r.commit("file")
	clear()
	r.write("x/y.py", "y\n")
	commits["directory"] = r.commit("directory")
	clear()
	if err := os.Symlink("a.py", filepath.Join(r.dir, "x")); err != nil {
		t.Fatal(err)
	}
	commits["link"] = r.commit("link")
	clear()
	r.write("x", strings.Repeat("large\n", 500000))
	commits["large"] = r.commit("large")
	holding := map[string]string{"nothing": "a.py=a", "file": "a.py=a x=file", "directory": "a.py=a x/y.py=y", "link": "a.py=a x->a.py"}
	for _, c := range []struct{ from, to, told string }{
		{"nothing", "file", "create x"},
		{"file", "nothing", "delete x"},
		{"file", "directory", "delete x; create x/y.py"},
		{"directory", "file", "create x; delete x/y.py"},
		{"nothing", "link", "apart x: symbolic link"},
		{"link", "nothing", "apart x: symbolic link"},
		{"file", "link", "apart x: symbolic link"},
		{"link", "file", "apart x: symbolic link"},
		{"large", "nothing", "apart x: larger than 2 MiB"},
		{"large", "file", "apart x: larger than 2 MiB"},
		{"file", "large", "apart x: larger than 2 MiB"},
		{"link", "directory", "create x/y.py; apart x: symbolic link"},
		{"directory", "link", "delete x/y.py; apart x: symbolic link"},
		{"directory", "large", "delete x/y.py; apart x: larger than 2 MiB"},
	} {
		got, err := r.open(".").Trees(t.Context(), r.scan("."), commits[c.from], commits[c.to])
		if err != nil || told(got) != c.told {
			t.Errorf("from %s to %s: %q, %v, want %q", c.from, c.to, told(got), err, c.told)
			continue
		}
		after := got.Base.With(got.Changes)
		if want, ok := holding[c.to]; ok && holds(t, after) != want && c.from != "directory" {
			t.Errorf("from %s to %s: after it is %.100s", c.from, c.to, holds(t, after))
		}
	}
}

// A workspace below the top is empty in a commit that has something else in its place.
func TestAWorkspaceThatWasAFileOnceIsEmptyThere(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("lib", "a file\n")
	first := r.commit("first")
	if err := os.Remove(filepath.Join(r.dir, "lib")); err != nil {
		t.Fatal(err)
	}
	r.write("lib/ü b.py", "1\n")
	second := r.commit("second")
	c, err := r.open("lib").Trees(t.Context(), r.scan("lib"), first, second)
	if err != nil || told(c) != "create ü b.py" {
		t.Errorf("%q, %v", told(c), err)
	}
	if opened := r.open("lib"); opened.At("a.py") != "lib/a.py" || r.open(".").At("a.py") != "a.py" {
		t.Errorf("a.py is at %s and %s", opened.At("a.py"), r.open(".").At("a.py"))
	}
}

// Names that would need quoting somewhere are passed through unchanged.
func TestOddNamesComeThrough(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("first")
	names := []string{"a b.py", `q"uote.py`, "ü.md", "-dash", "$(x)", "a'b", "*.py", "dir/HEAD"}
	for _, name := range names {
		r.write(name, "text\n")
	}
	second := r.commit("second")
	c, err := r.open(".").Trees(t.Context(), r.scan("."), first, second)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.Contains("; "+told(c)+";", "; create "+name+";") && !strings.Contains(told(c), "apart "+name+":") {
			t.Errorf("%s is not in %s", name, told(c))
		}
	}
}

func TestWhatNamesNoCommitIsRefused(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	opened := r.open(".")
	var none *revision.NoRevisionError
	if _, err := opened.Range(t.Context(), ""); !errors.As(err, &none) || err.Error() != `no commit "HEAD" in this repository` {
		t.Errorf("a repository without a commit: %v", err)
	}
	r.write("a.py", "1\n")
	r.commit("first")
	blob := r.git("rev-parse", "HEAD:a.py")
	r.git("checkout", "-q", "--orphan", "other")
	r.commit("unrelated")
	for _, rev := range []string{"", " ", "-", "--all", blob, "HEAD:a.py", "HEAD~9", "HEAD@{upstream}", "main..other", "^main", "ma*", strings.Repeat("f", 40), "a\nb", "HEAD^{tree}", "\xff"} {
		if id, err := opened.Commit(t.Context(), rev); err == nil {
			t.Errorf("%q is the commit %s", rev, id)
		}
	}
	for _, expression := range []string{"..gone", "gone..", "gone...main", "main....other", "main..-x", "x y"} {
		if steps, err := opened.Range(t.Context(), expression); !errors.As(err, &none) {
			t.Errorf("%q is %+v, %v", expression, steps, err)
		}
	}
	if _, err := opened.MergeBase(t.Context(), "main", "other"); !errors.As(err, &none) || !strings.Contains(err.Error(), "merge base of main and other") {
		t.Errorf("histories that never met: %v", err)
	}
	if _, _, err := opened.Pushed(t.Context(), "gone", strings.Repeat("0", 40), "origin", 9); !errors.As(err, &none) || none.Name != "gone" {
		t.Errorf("%v", err)
	}
}

// An object missing from a partial clone is reported together with the command that fetches it, and is not fetched.
func TestAMissingObjectIsNamed(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a.py", "1\n")
	first := r.commit("first")
	id := r.git("rev-parse", "HEAD:a.py")
	r.write("a.py", "2\n")
	second := r.commit("second")
	if err := os.Remove(filepath.Join(r.dir, ".git/objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	_, err := r.open(".").Trees(t.Context(), r.scan("."), first, second)
	var missing *revision.MissingError
	if !errors.As(err, &missing) || missing.ID != id || !strings.Contains(err.Error(), id[:12]+" is not") || !strings.Contains(err.Error(), "`git fetch --refetch --no-filter`") {
		t.Errorf("%v", err)
	}
}

// The index of a partial commit is read only from the git directory.
func TestAnIndexIsAFileOfTheRepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	opened := r.open(".")
	empty, err := opened.StagedTree(t.Context(), "")
	if err != nil || empty != "4b825dc642cb6eb9a060e54bf8d69288fbee4904" {
		t.Errorf("a repository without an index: %s, %v", empty, err)
	}
	r.write("a.py", "1\n")
	r.commit("first")
	r.git("update-index", "--split-index")
	r.write("b.py", "1\n")
	r.git("add", "b.py")
	split, err := opened.StagedTree(t.Context(), ".git/index")
	if err != nil || r.git("ls-tree", "--name-only", split) != "a.py\nb.py" {
		t.Errorf("a split index: %s, %v", split, err)
	}
	r.git("update-index", "--no-split-index")
	text, err := os.ReadFile(filepath.Join(r.dir, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	r.write("index", string(text))
	r.write(".git/torn", string(text[:5]))
	if err := errors.Join(syscall.Mkfifo(filepath.Join(r.dir, ".git/pipe"), 0o600), os.Mkdir(filepath.Join(r.dir, ".git/dir"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for index, want := range map[string]string{
		"index": "is not in", "../index": "is not in", ".git/refs/index": "is not in", ".git/pipe": "read the index", ".git/dir": "read the index", ".git/torn": "make a tree of the index", ".git/../index": "is not in",
	} {
		if tree, err := opened.StagedTree(t.Context(), index); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v, want %q", index, tree, err, want)
		}
	}
}

// Write creates an object, and its error names the git command but not the options.
func TestObjectsAreWritten(t *testing.T) {
	t.Parallel()
	opened := newRepo(t).open(".")
	id, err := opened.Write(t.Context(), git.Input{Stdin: strings.NewReader("x\n")}, "hash-object", "-w", "--stdin")
	if err != nil || !opened.HasObject(t.Context(), strings.TrimSpace(string(id))) {
		t.Errorf("%q, %v", id, err)
	}
	if _, err := opened.Write(t.Context(), git.Input{}, "cat-file", "-p", "nothing"); err == nil || !strings.HasPrefix(err.Error(), "git cat-file: ") {
		t.Errorf("%v", err)
	}
}

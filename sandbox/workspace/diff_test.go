package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/sandbox/workspace/internal/treetest"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// applied runs git apply with a diff on a tree and returns what is then on disk.
func applied(t testing.TB, tree treetest.Files, diff string) map[string]string {
	t.Helper()
	dir := treetest.Memory(t, tree)
	cmd := exec.CommandContext(t.Context(), "git", "apply", "--whitespace=nowarn", "-")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	cmd.Stdin = strings.NewReader(diff)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v: %s\n%s", err, out, diff)
	}
	return treetest.OnDisk(t, dir)
}

func TestDiffIsThatOfGit(t *testing.T) {
	t.Parallel()
	cs := Changeset{Changes: []Change{
		{Op: Create, Path: "a new.txt", After: []byte("x\ny"), Mode: 0o644},
		{Op: Create, Path: "bin", After: []byte("\x00"), Mode: 0o755},
		{Op: Delete, Path: "del", Before: []byte("1\n"), Mode: 0o755},
		{Op: Create, Path: "empty", Mode: 0o644},
		{Op: Modify, Path: "flip", Before: []byte("s\n"), After: []byte("s\n"), Mode: 0o755, OldMode: 0o644},
		{Op: Modify, Path: "mod", Before: []byte("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), After: []byte("1\n2\n3\n4\nfive\n6\n7\n8\n9"), Mode: 0o644},
		{Op: Rename, Path: "to", From: "from", Before: []byte("same\n"), After: []byte("same\n"), Mode: 0o644},
		{Op: Rename, Path: "to2", From: `qu"ote`, Before: []byte("a\n"), After: []byte("b\n"), Mode: 0o755, OldMode: 0o644},
	}}
	want := `diff --git a/a new.txt b/a new.txt
new file mode 100644
--- /dev/null
+++ b/a new.txt	
@@ -0,0 +1,2 @@
+x
+y
\ No newline at end of file
diff --git a/bin b/bin
new file mode 100755
Binary files /dev/null and b/bin differ
diff --git a/del b/del
deleted file mode 100755
--- a/del
+++ /dev/null
@@ -1 +0,0 @@
-1
diff --git a/empty b/empty
new file mode 100644
diff --git a/flip b/flip
old mode 100644
new mode 100755
diff --git a/mod b/mod
--- a/mod
+++ b/mod
@@ -2,8 +2,8 @@
 2
 3
 4
-5
+five
 6
 7
 8
-9
+9
\ No newline at end of file
diff --git a/from b/to
similarity index 100%
rename from from
rename to to
diff --git "a/qu\"ote" b/to2
old mode 100644
new mode 100755
rename from "qu\"ote"
rename to to2
--- "a/qu\"ote"
+++ b/to2
@@ -1 +1 @@
-a
+b
`
	if got := cs.Diff(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := (Changeset{}).Diff(); got != "" {
		t.Errorf("the empty changeset: %q", got)
	}
}

func TestGitAppliesTheDiffOfEveryKindOfChange(t *testing.T) {
	t.Parallel()
	cs, tree := scenario(), scenarioTree()
	// Binary content is only named, and git leaves the modes of others alone.
	for i := range cs.Changes {
		if cs.Changes[i].Path == "crlf.txt" {
			cs.Changes[i].After = []byte("a\r\nb\r\nc")
		}
		if cs.Changes[i].Path == "new/deep/file.txt" {
			cs.Changes[i].Mode = 0o755
		}
	}
	tree["flip.sh"], tree["private.txt"] = "echo\n", "mine\n"
	delete(tree, ".git/HEAD")
	delete(tree, ".git/objects/")
	dir := treetest.Memory(t, tree)
	promote(t, dir, cs)
	treetest.Same(t, "promoted (-) and applied by git (+)", treetest.OnDisk(t, dir), applied(t, tree, cs.Diff()))
	parsed, _, err := gitdiff.Parse(strings.NewReader(cs.Diff()))
	if err != nil || len(parsed) != len(cs.Changes) {
		t.Errorf("read back: %d of %d files, %v", len(parsed), len(cs.Changes), err)
	}
}

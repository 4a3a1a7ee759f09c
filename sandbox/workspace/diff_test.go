package workspace

import (
	"testing"
)

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

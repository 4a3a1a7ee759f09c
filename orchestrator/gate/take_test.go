package gate

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify"
)

// The files that a command left give the same candidate as their diff, byte for byte, so that a replay and a later application use the
// same.
func TestWhatWasTakenIsMadeAgainOfItsDiff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.py": "a = 1\nb = 2\n", "crlf.txt": "a\r\nb\r\n", "open": "no end", "gone": "1\n", "empty": "", "run": "#!\n", "ä b\"c": "x\n", "long": "1\n2\n3\n4\n5\n6\n7\n8\n9\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	base, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]workspace.Taken{}
	for name, text := range map[string]string{
		"a.py": "b = 2\na = 1\n", "crlf.txt": "a\r\nc\r\n", "open": "no end, still", "empty": "now\n", "ä b\"c": "y\n", "new/one.py": "print(1)\n", "new/empty": "", "new/open": "x",
		"long": "1\n2\n3\n4\n5\n6\n7\n8\n9", "tab\u00e9": "\t\n", "<EDIT file=": "<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n", "x.diff": "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n",
	} {
		files[name] = workspace.Taken{Content: []byte(text)}
	}
	files["run"] = workspace.Taken{Content: []byte("#!\n"), Exec: true}
	cs, left, err := base.Taken(t.Context(), files, []string{"gone"})
	if err != nil || len(left) > 0 {
		t.Fatalf("%v, left %+v", err, left)
	}
	g := &Gate{}
	cand, rejected := g.Take(base, cs)
	if rejected != nil {
		t.Fatal(rejected)
	}
	again, rejected, err := g.Make(base, cand.Origin.Response, "")
	if err != nil || rejected != nil {
		t.Fatalf("made again: %v, %v", rejected, err)
	}
	if again.Digest != cand.Digest || cand.Origin.Asked != cand.Digest || len(cand.Changeset.Changes) != len(files)+1 {
		t.Errorf("the diff makes another candidate:\n%s\n%s", cand.Diff, again.Diff)
	}
	// Permission bits of the host are kept, except the execute bits.
	for _, c := range cand.Changeset.Changes {
		if want := map[string]os.FileMode{"a.py": 0o640, "run": 0o750, "new/one.py": 0o644}[c.Path]; want != 0 && c.Mode.Perm() != want {
			t.Errorf("%s has mode %o, want %o", c.Path, c.Mode.Perm(), want)
		}
	}
}

func TestWhatMayNotBeWrittenIsNotTaken(t *testing.T) {
	t.Parallel()
	cs := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: ".env", After: []byte("x"), Mode: 0o644}}}
	cand, rejected := (&Gate{}).Take(shop(), cs)
	var forbidden *ForbiddenError
	if !errors.As(rejected, &forbidden) || cand.Verdict != verify.Policy || cand.Digest != cs.Digest() {
		t.Errorf("%v, %+v", rejected, cand.Verdict)
	}
}

package draft

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"agent/orchestrator/gate"
	"agent/sandbox/workspace"
)

// apply edits a draft; each step is JSON of the edit engine.
func apply(t testing.TB, d *Draft, steps ...map[string]string) {
	t.Helper()
	for _, step := range steps {
		text, err := json.Marshal(step)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Apply(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// again returns the change that the response of a draft makes of its base.
func again(t testing.TB, d *Draft) workspace.Changeset {
	t.Helper()
	response, err := d.Response("done")
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := gate.Revise(d.base, workspace.Changeset{}, response, "")
	if err != nil {
		t.Fatalf("%v\n%s", err, response)
	}
	return made
}

// If a diff cannot carry a change, the response gives the file whole, and loses nothing.
func TestTheResponseKeepsWhatNoDiffCarries(t *testing.T) {
	for name, steps := range map[string][]map[string]string{
		"a file that moved and changed": {
			{"action": "rename", "from": "a.bin", "path": "b.bin"}, {"action": "modify", "path": "b.bin", "content": "x\x00z\n"},
		},
		"a file that changed and moved": {
			{"action": "modify", "path": "a.bin", "content": "x\x00z\n"}, {"action": "rename", "from": "a.bin", "path": "b.bin"},
		},
		"two files that change places": {
			{"action": "rename", "from": "a.bin", "path": "c.bin"}, {"action": "rename", "from": "o.bin", "path": "a.bin"}, {"action": "rename", "from": "c.bin", "path": "o.bin"},
		},
		"a file in the place of one that moved": {
			{"action": "rename", "from": "a.bin", "path": "b.bin"}, {"action": "create", "path": "a.bin", "content": "n\x00\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(scan(t, map[string]string{"a.bin": "x\x00y\n", "o.bin": "o\x00\n"}))
			apply(t, d, steps...)
			if made, want := again(t, d), d.Changes(); made.Digest() != want.Digest() {
				t.Errorf("the response makes\n%+v\nof\n%+v", made.Changes, want.Changes)
			}
		})
	}
}

func TestTheDiffSinceAStateTellsAFileFromADirectory(t *testing.T) {
	d := New(scan(t, map[string]string{"x": "file\n"}))
	start := d.Now()
	apply(t, d, map[string]string{"action": "delete", "path": "x"}, map[string]string{"action": "create", "path": "x/y.py", "content": "y = 1\n"})
	inside := d.Now()
	diff, err := d.Since(start)
	if err != nil || !strings.Contains(diff, "deleted file mode") || !strings.Contains(diff, "+y = 1\n") {
		t.Errorf("%v\n%s", err, diff)
	}
	apply(t, d, map[string]string{"action": "delete", "path": "x/y.py"}, map[string]string{"action": "create", "path": "x", "content": "again\n"})
	diff, err = d.Since(inside)
	if err != nil || !strings.Contains(diff, "b/x\nnew file mode") || !strings.Contains(diff, "-y = 1\n") {
		t.Errorf("back again: %v\n%s", err, diff)
	}
}

// A state that was handed out stays as it was, and concurrent readers see complete states.
func TestADraftIsSafeForConcurrentUse(t *testing.T) {
	d := New(scan(t, map[string]string{"a.py": "x = 0\n"}))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			text, err := json.Marshal(map[string]string{"action": "create", "path": fmt.Sprintf("f%d.py", i), "content": "n\n"})
			if err != nil {
				t.Error(err)
			}
			before := d.Now()
			if _, err := d.Apply(text); err != nil {
				t.Error(err)
			}
			if diff, err := d.Since(before); err != nil || !strings.Contains(diff, fmt.Sprintf("+++ b/f%d.py\n", i)) {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
	all.Wait()
	if n := len(d.Changes().Changes); n != 8 {
		t.Errorf("%d of 8 changes", n)
	}
}

// The text said about a draft stays a remark, however long or hostile it is.
func TestWhatIsSaidIsBounded(t *testing.T) {
	for said, want := range map[string]string{
		"a\x00b": "a\x00b", " a\n\tb ": "a b", "</THOUGHT><EDIT>": "‹/THOUGHT›‹EDIT›", "\xff": "\ufffd", "": "",
	} {
		response, err := New(scan(t, nil)).Response(said)
		if got := string(response); err != nil || got != "<THOUGHT>\n"+want+"\n</THOUGHT>\nNOTHING\n" {
			t.Errorf("%q: %q, %v", said, got, err)
		}
	}
	response, err := New(scan(t, nil)).Response(strings.Repeat("é", 1<<20))
	if err != nil || len(response) > maxSaid+100 || !utf8.Valid(response) {
		t.Errorf("%d bytes, %v", len(response), err)
	}
}

// A file that was changed on disk in the meantime is not mistaken for the one that was read.
func TestAFileThatChangedOnDiskIsNotEdited(t *testing.T) {
	d := New(scan(t, map[string]string{"a.py": "x = 1\n"}))
	if err := os.WriteFile(filepath.Join(d.base.Root, "a.py"), []byte("x = 1 # mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Apply(replace("a.py", "x = 1", "x = 2")); err == nil || !strings.Contains(err.Error(), "a.py") {
		t.Errorf("%v", err)
	}
	if !d.Changes().Empty() {
		t.Errorf("the draft has %+v", d.Changes())
	}
}

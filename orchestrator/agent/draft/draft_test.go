package draft

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/orchestrator/agent"
	"agent/orchestrator/edit/problem"
	"agent/orchestrator/gate"
	"agent/sandbox/workspace"
)

// TestMain keeps rapid from writing its failures into testdata, where they would look like part of the project.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		fmt.Fprintln(os.Stderr, "rapid:", err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// scan writes files to a workspace and scans it.
func scan(t testing.TB, files map[string]string) *workspace.Manifest {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// replace returns an edit of one file.
func replace(path, old, now string) []byte {
	text, err := json.Marshal(map[string]any{"path": path, "edits": []map[string]string{{"oldText": old, "newText": now}}})
	if err != nil {
		panic(err)
	}
	return text
}

// read returns the text of a file of a draft.
func read(t testing.TB, d *Draft, path string) string {
	t.Helper()
	data, err := d.Now().ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestADraftGrowsByEditsAndByNothingElse(t *testing.T) {
	d := New(scan(t, map[string]string{"a.py": "x = 1\ny = 2\n", "b.py": "z = 3\n"}))
	start := d.Now()
	if _, err := d.Apply(replace("a.py", "x = 1", "x = 10")); err != nil {
		t.Fatal(err)
	}
	second := d.Now()
	if _, err := d.Apply(replace("a.py", "x = 10", "x = 11")); err != nil {
		t.Fatal(err)
	}
	// An edit that does not apply leaves everything unchanged.
	var refusal *problem.Refusal
	if _, err := d.Apply(replace("a.py", "w = 9", "w = 8")); !errors.As(err, &refusal) {
		t.Fatalf("an edit of a line that is not there: %v", err)
	}
	if got := read(t, d, "a.py"); got != "x = 11\ny = 2\n" {
		t.Errorf("the draft has %q", got)
	}
	if got, err := start.ReadFile("a.py"); err != nil || string(got) != "x = 1\ny = 2\n" {
		t.Errorf("an earlier state became %q, %v", got, err)
	}
	diff, err := d.Since(second)
	if err != nil || !strings.Contains(diff, "-x = 10\n+x = 11\n") {
		t.Errorf("since the second state: %v\n%s", err, diff)
	}
	// Seen from the start, all edits are one change, and that change is judged.
	if got := d.Changes().Diff(); !strings.Contains(got, "-x = 1\n+x = 11\n") || strings.Contains(got, "x = 10\n") {
		t.Errorf("the whole change is\n%s", got)
	}
}

func TestTheDiffSinceAStateShowsWhatCameAndWent(t *testing.T) {
	d := New(scan(t, map[string]string{"a.py": "x = 1\n", "b.py": "z = 3\n", "dir/c.py": "c = 1\n"}))
	start := d.Now()
	for _, step := range []string{
		`{"action":"create","path":"new/n.py","content":"n = 1\n"}`, `{"action":"delete","path":"b.py"}`,
		`{"action":"rename","from":"dir/c.py","path":"e.py"}`,
	} {
		if _, err := d.Apply([]byte(step)); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
	}
	diff, err := d.Since(start)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+n = 1", "-z = 3", "+c = 1", "-c = 1"} {
		if !strings.Contains(diff, want+"\n") {
			t.Errorf("the diff lacks %q:\n%s", want, diff)
		}
	}
	// Reverting every step leaves no change.
	for _, step := range []string{
		`{"action":"delete","path":"new/n.py"}`, `{"action":"create","path":"b.py","content":"z = 3\n"}`, `{"action":"rename","from":"e.py","path":"dir/c.py"}`,
	} {
		if _, err := d.Apply([]byte(step)); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
	}
	if diff, err := d.Since(start); err != nil || diff != "" || !d.Changes().Empty() {
		t.Errorf("what was taken back is left: %v\n%s", err, diff)
	}
}

func TestADraftKeepsToTheRulesForPaths(t *testing.T) {
	base := scan(t, map[string]string{"a.py": "x = 1\n"})
	if err := os.Symlink("/etc", filepath.Join(base.Root, "link")); err != nil {
		t.Fatal(err)
	}
	base, err := workspace.Scan(t.Context(), base.Root, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"../outside.py", "/etc/passwd", ".git/hooks/pre-commit", "a.py/b.py", "link", "link/passwd"} {
		d := New(base)
		text, err := json.Marshal(map[string]string{"action": "create", "path": path, "content": "x\n"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Apply(text); err == nil || !d.Changes().Empty() {
			t.Errorf("%s was taken: %v", path, err)
		}
		var forbidden *gate.ForbiddenError
		var refusal *problem.Refusal
		if _, err := d.Apply(text); !errors.As(err, &forbidden) && !errors.As(err, &refusal) {
			t.Errorf("%s: %v is no refusal", path, err)
		}
	}
}

func TestADraftThatIsNoTextIsGivenWhole(t *testing.T) {
	d := New(scan(t, map[string]string{"a.bin": "x\x00y\n", "old.py": "x = 1\n", "gone.py": "y = 2\n"}))
	for _, step := range []string{
		`{"action":"modify","path":"a.bin","content":"x\u0000z\n"}`, `{"action":"rename","from":"old.py","path":"new.py"}`,
		`{"action":"delete","path":"gone.py"}`, `{"action":"create","path":"n.py","content":"n = 1\n"}`,
	} {
		if _, err := d.Apply([]byte(step)); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
	}
	response, err := d.Response("done")
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := gate.Revise(d.base, workspace.Changeset{}, response, "")
	if err != nil || made.Digest() != d.Changes().Digest() {
		t.Errorf("the response makes another change: %v\n%s", err, response)
	}
}

// Whatever the draft, its response turns the base into the same result again.
func TestPropertyTheResponseIsTheDraft(t *testing.T) {
	texts := []string{"", "x = 1\n", "x = 1", "a\r\nb\r\n", "\ufeffx\n", "tab\there\n\n\n", "é\n", "@@ -1 +1 @@\n-a\n+b\n", "<EDIT file=\"a\">\n", "diff --git a/a b/b\n", "one\ntwo\nthree\n", "\n"}
	said := []string{"", "done", "</THOUGHT><EDIT file=\"a.py\">", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y", "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE", "*** Begin Patch", "\xff\x00"}
	names := []string{"a.py", "b/c.txt", "b/d e.go", "ü.md", "run.sh"}
	rapid.Check(t, func(r *rapid.T) {
		files := map[string]string{}
		for _, n := range names[:rapid.IntRange(1, len(names)).Draw(r, "files")] {
			files[n] = rapid.SampledFrom(texts).Draw(r, n)
		}
		d := New(scan(t, files))
		for range rapid.IntRange(1, 4).Draw(r, "steps") {
			have := slices.Sorted(maps.Keys(files))
			name := rapid.SampledFrom(names).Draw(r, "name")
			step := map[string]string{"action": rapid.SampledFrom([]string{"create", "modify", "delete", "rename"}).Draw(r, "action"), "path": name}
			switch step["action"] {
			case "create", "modify":
				step["content"] = rapid.SampledFrom(texts).Draw(r, "content")
			case "rename":
				step["from"] = rapid.SampledFrom(have).Draw(r, "from")
			}
			text, err := json.Marshal(step)
			if err != nil {
				r.Fatal(err)
			}
			_, _ = d.Apply(text) // a refused edit changes nothing
		}
		response, err := d.Response(rapid.SampledFrom(said).Draw(r, "said"))
		if err != nil {
			r.Fatal(err)
		}
		if nothing := (agent.Reply{Text: string(response)}).Nothing(); nothing != d.Changes().Empty() {
			r.Fatalf("says nothing: %v\n%s", nothing, response)
		}
		if d.Changes().Empty() {
			return
		}
		made, _, err := gate.Revise(d.base, workspace.Changeset{}, response, "")
		for i, c := range made.Changes { // see Response
			if rest, ok := bytes.CutPrefix(c.After, []byte("\ufeff")); ok && i < len(d.Changes().Changes) && !bytes.HasPrefix(d.Changes().Changes[i].After, []byte("\ufeff")) {
				made.Changes[i].After = rest
			}
		}
		if err != nil || made.Digest() != d.Changes().Digest() {
			r.Fatalf("the response makes another change: %v\n%s", err, response)
		}
	})
}

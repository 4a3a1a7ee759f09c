package verify

import (
	"testing"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/format"
	"agent/verify/verifytest"
)

// formatted runs the format gate on changes to a workspace that holds files.
func formatted(t *testing.T, files map[string]string, changes ...workspace.Change) map[string]string {
	t.Helper()
	b := checktest.NewBench(t, files, sandbox.Limits{})
	b.View = check.NewView(verifytest.Scan(t, files), workspace.Changeset{})
	final, out := format.Run(t.Context(), b, workspace.Changeset{Changes: changes})
	if out.Verdict != "" {
		t.Fatalf("%+v", out)
	}
	texts := map[string]string{}
	for _, c := range final.Changes {
		texts[c.Path] = string(c.After)
	}
	return texts
}

// modify returns a change that rewrites one of the files.
func modify(files map[string]string, p, after string) workspace.Change {
	return workspace.Change{Op: workspace.Modify, Path: p, Before: []byte(files[p]), After: []byte(after), Mode: 0o644}
}

func TestFormattingFollowsTheStyleOfTheFile(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"clean.py":  "x = [1, 2]\n",
		"crlf.py":   "x = [1, 2]\r\n",
		"rough.py":  "x = [1,2]\n",
		"undone.py": "x = 1\n",
		"broken.py": "x = 1\n",
		"moved.py":  "x = 1\n",
		"old.py":    "def f(:\n",
		"skip.py":   "x = 1\n",
		"note.txt":  "x\n",
		"ruff.toml": "extend-exclude = [\"skip.py\"]\n[format]\nquote-style = \"single\"\n",
	}
	got := formatted(t, files,
		modify(files, "broken.py", "x = (\n"),
		modify(files, "clean.py", "x = [1,2 , \"a\"]\n"),
		modify(files, "crlf.py", "x = [1,2]\r\ny  = 2\r\n"),
		workspace.Change{Op: workspace.Rename, Path: "here.py", From: "moved.py", Before: []byte("x = 1\n"), After: []byte("x  =  1\n"), Mode: 0o644},
		workspace.Change{Op: workspace.Create, Path: "new.py", After: []byte("y  = 1\n"), Mode: 0o644},
		workspace.Change{Op: workspace.Create, Path: "notes.txt", After: []byte("y  = 1\n"), Mode: 0o644},
		modify(files, "old.py", "def f( ):\n  pass\n"),
		modify(files, "rough.py", "x = [1,2,3]\n"),
		modify(files, "skip.py", "x  =  1\n"),
		modify(files, "undone.py", "x  =  1\n"),
	)
	want := map[string]string{
		"broken.py": "x = (\n",                 // left to the syntax gate
		"clean.py":  "x = [1, 2, 'a']\n",       // by the workspace's own configuration
		"crlf.py":   "x = [1, 2]\r\ny = 2\r\n", // line endings are kept
		"here.py":   "x = 1\n",                 //
		"new.py":    "y = 1\n",                 // the other files here are formatted
		"notes.txt": "y  = 1\n",                //
		"old.py":    "def f( ):\n  pass\n",     // it was not formatted before
		"rough.py":  "x = [1,2,3]\n",           //
		"skip.py":   "x  =  1\n",               // excluded by configuration
		// undone.py: only its formatting was changed, so no change is left
	}
	for p, text := range want {
		if got[p] != text {
			t.Errorf("%s: %q, want %q", p, got[p], text)
		}
	}
	if _, ok := got["undone.py"]; ok || len(got) != len(want) {
		t.Errorf("changes %q", got)
	}
}

func TestNewFileInAnUnformattedWorkspaceKeepsItsStyle(t *testing.T) {
	t.Parallel()
	create := workspace.Change{Op: workspace.Create, Path: "new.py", After: []byte("y  = 1\n"), Mode: 0o644}
	if got := formatted(t, map[string]string{"rough.py": "x = [1,2]\n"}, create); got["new.py"] != "y  = 1\n" {
		t.Errorf("%q", got)
	}
	if got := formatted(t, map[string]string{"note.txt": ""}, create); got["new.py"] != "y = 1\n" {
		t.Errorf("the first Python file: %q", got)
	}
}

func TestChangeOfModeAloneIsKept(t *testing.T) {
	t.Parallel()
	files := map[string]string{"run.py": "x = 1\n"}
	c := modify(files, "run.py", "x = 1\n")
	c.Mode = 0o755
	if got := formatted(t, files, c); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// The formatter undoes a patch that only changes layout: nothing is left to check, and nothing is wrong.
func TestPatchThatTheFormatterUndoesPasses(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.py": "x = 1\n\n\ny = 2\n"})
	r := s.only(check.GateFormat).verify(t, map[string]string{"a.py": "x = 1\n\n\n\ny = 2\n"})
	expect(t, r, check.Pass)
	if !r.Changeset.Empty() {
		t.Errorf("%+v is left", r.Changeset)
	}
}

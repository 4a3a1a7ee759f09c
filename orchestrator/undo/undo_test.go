package undo_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/blame"
	"agent/orchestrator/undo"
	"agent/sandbox/workspace"
)

// plan takes back a run that changed a.py from before to left, in a workspace where a.py now contains now, or is missing if now is "-".
func plan(t *testing.T, before, left, now string) undo.Merge {
	t.Helper()
	dir := t.TempDir()
	if now != "-" {
		if err := os.WriteFile(filepath.Join(dir, "a.py"), []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	back := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: "a.py", Before: []byte(left), After: []byte(before), Mode: 0o644}}}
	m, err := undo.Plan(t.Context(), dir, "one", back, func(_ context.Context, _, now string) (*blame.Timeline, error) {
		return blame.NewTimeline([]blame.Change{{Run: "one", At: time.Unix(1, 0), Before: before, After: left}}, now), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestARunIsTakenBackFromUnderLaterEdits(t *testing.T) {
	t.Parallel()
	const before, left = "a\nb\nc\nd\n", "a\nB\nc\nd\n"
	for name, c := range map[string]struct{ now, want, note, conflict string }{
		"as the run left it":   {now: left, want: before},
		"edited elsewhere":     {now: "a\nB\nc\nmine\n", want: "a\nb\nc\nmine\n", note: "a.py is merged with later edits (by hand)"},
		"edited where it was":  {now: "a\nmine\nc\nd\n", conflict: "a.py:2 (by hand)"},
		"gone":                 {now: "-", conflict: "a.py is gone (by hand)"},
		"taken back by a hand": {now: before},
	} {
		m := plan(t, before, left, c.now)
		if strings.Join(m.Conflicts, "; ") != c.conflict || !strings.HasPrefix(strings.Join(m.Notes, "; "), c.note) || len(m.Notes) > 0 != (c.note != "") {
			t.Errorf("%s: conflicts %q, notes %q", name, m.Conflicts, m.Notes)
		}
		got := ""
		for _, ch := range m.Changes.Changes {
			got += string(ch.After)
			if string(ch.Before) != c.now {
				t.Errorf("%s: it is written over %q", name, ch.Before)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q is written, want %q", name, got, c.want)
		}
	}
}

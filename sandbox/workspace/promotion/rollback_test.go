package promotion

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"agent/sandbox/workspace"
)

func TestACommittedPromotionCanBeTakenBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "1\n", "gone": "2\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	cs := workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Modify, Path: "a", Before: []byte("1\n"), After: []byte("one\n"), Mode: 0o644},
		{Op: workspace.Create, Path: "d/new", After: []byte("n\n"), Mode: 0o644},
		{Op: workspace.Delete, Path: "gone", Before: []byte("2\n"), Mode: 0o644},
	}}
	p, err := prepareIn(t.Context(), dir, cs, "r1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Rollback(t.Context()); err == nil {
		t.Error("a promotion that was not committed was taken back")
	}
	if err := p.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if before.Digest() != after.Digest() {
		t.Errorf("the workspace is not as before: %+v", after.Entries)
	}
}

func TestTakingBackKeepsWhatTheUserWroteSince(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	if err := os.WriteFile(file, []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cs := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: "a", Before: []byte("1\n"), After: []byte("one\n"), Mode: 0o644}}}
	p, err := prepareIn(t.Context(), dir, cs, "r1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var conflict *ConflictError
	if err := p.Rollback(t.Context()); !errors.As(err, &conflict) {
		t.Errorf("rolled back over the user's edit: %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "mine\n" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

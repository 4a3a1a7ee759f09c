package policy

import (
	"testing"

	"agent/sandbox/workspace"
)

// Text that says something else to a machine than to a person is held in any file, and the hold names its line.
func TestConcealedLinesAreHeld(t *testing.T) {
	t.Parallel()
	for path, c := range map[string]struct {
		after string
		held  int
	}{
		"a.py": {"a = 1\nb = \"\u202e\"\n", 1}, "b.py": {"a = 1\n\u200bb = 2\n", 1}, "a.md": {"a\n\u2066b\n", 1}, "b.md": {"a\n\u200bb\n", 0}, "c.py": {"a = 1\nb = 'é'\n", 0},
		"d.py": {"a = 1\nｅxec(a)\n", 1}, "d.js": {"a = 1\nev\\u0061l(a)\n", 1}, "e.py": {"a = 1\nlеvel = 2\n", 1}, "f.py": {"a = 1\nΔt = μ_x\n", 0},
	} {
		var held []Hold
		for _, h := range ReviewText(workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: path, Before: []byte("a\n"), After: []byte(c.after), Mode: 0o644}}}, nil) {
			if h.Kind == Unseen && h.Block {
				held = append(held, h)
			}
		}
		if len(held) != c.held || c.held == 1 && held[0].Reason[:7] != "Line 2 " {
			t.Errorf("%s: %+v", path, held)
		}
	}
}

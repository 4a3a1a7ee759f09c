package edit

import (
	"strings"
	"testing"

	"agent/orchestrator/edit/explain"
	"agent/orchestrator/edit/parse"
)

// A refusal of a hunk speaks of the hunk: it has no SEARCH that its author
// could look at.
func TestAHunkIsSpokenOfAsAHunk(t *testing.T) {
	t.Parallel()
	block, hunk := &parse.Operation{}, &parse.Operation{Hunk: &parse.Hunk{}}
	for _, c := range []struct{ name, got, want string }{
		{"a block", explain.OldStands(block), "SEARCH stands"},
		{"a hunk", explain.OldStands(hunk), "the hunk's old lines stand"},
		{"a block, again", explain.Pronoun(block), "it"},
		{"a hunk, again", explain.Pronoun(hunk), "they"},
		{"what a block brings", explain.NewStands(block), "REPLACE stands"},
		{"what a hunk brings", explain.NewStands(hunk), "the hunk's new lines stand"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
	w := tree{"a.py": "first = 1\ntotal = one + two + three\nlast = 9\n"}
	got := refused(t, w, "--- a/a.py\n+++ b/a.py\n@@ -2 +2 @@\n-total = 0\n+total = one + two + three\n")
	if !strings.Contains(got, "the hunk's new lines stand already at line 2") || strings.Contains(got, "SEARCH") {
		t.Errorf("%s", got)
	}
}

package edit

import (
	"strings"
	"testing"
)

// A refusal of a hunk speaks of the hunk, because its author sees no SEARCH.
func TestAHunkIsSpokenOfAsAHunk(t *testing.T) {
	t.Parallel()
	w := tree{"a.py": "first = 1\ntotal = one + two + three\nlast = 9\n"}
	got := refused(t, w, "--- a/a.py\n+++ b/a.py\n@@ -2 +2 @@\n-total = 0\n+total = one + two + three\n")
	if !strings.Contains(got, "already applied at line 2") || strings.Contains(got, "SEARCH") {
		t.Errorf("%s", got)
	}
}

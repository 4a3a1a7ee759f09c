package edit

import (
	"strings"
	"testing"

	"agent/orchestrator/edit/parse"
)

// The block replaces "a" and inherits the path x.py from the block before it.
func TestTheTextAboveABlockIsHeeded(t *testing.T) {
	t.Parallel()
	files := tree{"x.py": "a\n", "y.py": "a\n", "z.py": "c\n", "sub/w.py": "a\n", "Makefile": "a\n", "a b.txt": "a\n"}
	for above, want := range map[string]struct{ path, other string }{
		"":                          {"x.py", ""},
		"And then:\n":               {"x.py", ""},
		"Makefile\n":                {"Makefile", ""},
		"**Makefile**\n\n":          {"Makefile", ""},
		"a b.txt\n```\n":            {"a b.txt", ""},
		"Makefile\nand then\n":      {"x.py", "Makefile"},
		"In y.py:\n":                {"x.py", "y.py"},
		"In `./y.py`, too.\n":       {"x.py", "y.py"},
		"Now w.py.\n":               {"x.py", "sub/w.py"},
		"In z.py:\n":                {"x.py", ""}, // the block has no place there
		"In x.py:\n":                {"x.py", ""},
		"In xy.py:\n":               {"x.py", ""},
		"In other/w.py:\n":          {"x.py", ""},
		"Send it to sub/w.py (w)\n": {"x.py", "sub/w.py"},
	} {
		op := &parse.Operation{Kind: parse.OpEdit, Path: "x.py", Above: above, Search: []string{"a"}, Replace: []string{"b"}}
		reason := newPlanner(files, "").pathFromProse(op)
		if op.Path != want.path || (reason == "") != (want.other == "") || !strings.Contains(reason, "speaks of "+want.other) && reason != "" {
			t.Errorf("%q: path %s, %q, want %+v", above, op.Path, reason, want)
		}
	}
}

func TestABlockOfNoFileNeedsNoHeed(t *testing.T) {
	t.Parallel()
	op := &parse.Operation{Kind: parse.OpEdit, Above: "In y.py:\n", Search: []string{"a"}, Replace: []string{"b"}}
	if reason := newPlanner(tree{"y.py": "a\n"}, "").pathFromProse(op); reason != "" || op.Path != "" {
		t.Errorf("path %q, %q: the file is told by the lines", op.Path, reason)
	}
	op.Above = "../y.py\n"
	if newPlanner(tree{"../y.py": "a\n"}, "").pathFromProse(op); op.Path != "" {
		t.Errorf("path %q outside the workspace was taken", op.Path)
	}
}

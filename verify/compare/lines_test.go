package compare

import (
	"slices"
	"testing"

	"agent/sandbox/workspace"
)

// The lines that a change wrote are asked about. Where it only removed lines, the lines that are there now are.
func TestLinesThatAChangeWrote(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after string
		want          []int
	}{
		"a new file":                {"", "x = 1\n\n# one\ny = 2\n", []int{1, 4}},
		"one line":                  {"x = 1\ny = 1\n", "x = 1\ny = 2\n", []int{2}},
		"a comment":                 {"x = 1\n", "# one\nx = 1\n", nil},
		"a line that goes":          {"a()\n\nif x:\n    b()\n\n# c\nc()\n", "a()\n\n\n# c\nc()\n", []int{1, 5}},
		"the last line goes":        {"a()\nb()\n", "a()\n", []int{1}},
		"a comment that goes":       {"a()\n# b\nc()\n", "a()\nc()\n", nil},
		"code that is commented":    {"a()\nb()\nc()\n", "a()\n# b()\nc()\n", []int{1, 3}},
		"a last line that ends now": {"a()", "a()\nb()", []int{1, 2}},
		"within a string":           {"x = '''\na\n'''\n", "x = '''\nb\n'''\n", []int{2}},
	} {
		op := workspace.Modify
		if c.before == "" {
			op = workspace.Create
		}
		got := Lines(workspace.Change{Op: op, Path: "a.py", Before: []byte(c.before), After: []byte(c.after)})
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := Lines(workspace.Change{Op: workspace.Delete, Path: "a.py", Before: []byte("x = 1\n")}); got != nil {
		t.Errorf("a file that goes: %v", got)
	}
}

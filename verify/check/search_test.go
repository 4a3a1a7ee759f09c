package check

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/sandbox/workspace"
)

// TestAPatchChangesTheFirstFileAsALookAtAllWouldFind compares First with a look at all files, though First does not read again what a
// patch leaves alone.
func TestAPatchChangesTheFirstFileAsALookAtAllWouldFind(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"yes", "no"})
		name := rapid.Map(rapid.IntRange(0, 12), func(n int) string { return fmt.Sprintf("%c/%d.py", 'a'+rune(n%3), n) })
		var files workspace.Changeset
		for p, content := range rapid.MapOf(name, text).Draw(t, "files") {
			files.Changes = append(files.Changes, workspace.Change{Op: workspace.Create, Path: p, After: []byte(content), Mode: 0o644})
		}
		base := (&workspace.Manifest{}).With(files)
		var cs workspace.Changeset
		for p, what := range rapid.MapOf(name, rapid.SampledFrom([]string{"yes", "no", ""})).Draw(t, "patch") {
			before, _ := base.ReadFile(p) // nil if there is none
			switch _, there := base.Lookup(p); {
			case what != "" && there:
				cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Modify, Path: p, Before: before, After: []byte(what), Mode: 0o644})
			case what != "":
				cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Create, Path: p, After: []byte(what), Mode: 0o644})
			case there:
				cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Delete, Path: p, Before: before})
			}
		}
		late := func(a, b string) int { return -strings.Compare(a, b) }
		deep := func(a, b string) int { return cmp.Or(strings.Compare(a[2:], b[2:]), strings.Compare(a, b)) }
		for what, order := range map[question]func(a, b string) int{"late": late, "deep": deep} {
			s := Search{what, func(p string) bool { return p != "a/0.py" }, order, func(data []byte) bool { return bytes.Equal(data, []byte("yes")) }}
			for _, v := range []View{NewView(base, cs), OnBase(base), NewView(base, cs)} {
				got, err := v.First(s)
				want, _ := v.look(s, append([]string(nil), v.Paths()...))
				if err != nil || got != want {
					t.Fatalf("%s: %q, want %q (%v)", what, got, want, err)
				}
			}
		}
	})
}

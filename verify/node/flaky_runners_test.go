package node

import (
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
)

func TestRunnersOfPackagesAreGivenTheFiles(t *testing.T) {
	t.Parallel()
	roots := map[string]string{".": "", "web": ""}
	b := check.Bench{View: check.NewView(&workspace.Manifest{}, workspace.Changeset{}), Only: []string{"web/a.test.ts::x > y", "web/a.test.ts::z", "b.test.ts::x", "web/deep/c.test.ts::x"}}
	for root, want := range map[string]string{".": "./b.test.ts", "web": "./a.test.ts ./deep/c.test.ts"} {
		for _, r := range packageRunners() {
			want := strings.TrimSpace(strings.Join(r.byPath, " ") + " " + want)
			if got, any := r.selected(b, roots, root); !any || strings.Join(got, " ") != want {
				t.Errorf("%s in %s is given %q, want %q", r.name, root, got, want)
			}
			if got, any := r.selected(check.Bench{}, roots, root); !any || got != nil {
				t.Errorf("%s for all tests: %q %v", r.name, got, any)
			}
			if _, any := r.selected(check.Bench{Only: []string{"other/x.test.js::x"}}, map[string]string{".": "", "other": ""}, "."); any {
				t.Errorf("%s runs what nobody asked for", r.name)
			}
		}
	}
}

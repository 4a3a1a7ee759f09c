package ledger_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agent/orchestrator/ledger"
)

// paths are few, and chosen so that adding or removing a file changes what an import in another one means.
var paths = []string{
	"a.py", "pkg/__init__.py", "pkg/a.py", "pkg/b/__init__.py", "pkg/b/a.py", "src/a.py", "a.ts", "b/index.ts", "b/a.js",
	"package.json", "b/package.json", "go.mod", "a/x.go", "a/y.go", "b/x.go", "page.html", "b/style.css", "a.sh", "b/lib.sh",
}

var languages = map[string]string{"py": "python", "ts": "typescript", "js": "javascript", "on": "module", "od": "module", "go": "go", "ml": "html", "ss": "css", "sh": "shell"}

// drawFile makes up a file as a scanner could describe it.
func drawFile(t *rapid.T, path string) ledger.File {
	word := rapid.SampledFrom([]string{"a", "b", "x", "T", "default", "*", ".a", "#x"})
	module := rapid.SampledFrom([]string{"a", "pkg", "pkg.a", "pkg.b.a", ".", "..", ".a", ".b", "./a", "./b", "../b", "m", "m/a", "m/b", "/b/style.css", "b/lib.sh", "@/a", "b/a", ""})
	f := ledger.File{Path: path, Language: languages[path[len(path)-2:]], Lines: 9}
	for i := range rapid.IntRange(0, 4).Draw(t, "imports") {
		f.Imports = append(f.Imports, ledger.Import{
			Module: module.Draw(t, "module"), Name: word.Draw(t, "name"),
			Alias: rapid.SampledFrom([]string{"", "a", "b", "pkg", "pkg.a", "?", "/"}).Draw(t, "alias"), Line: i + 1, Export: rapid.Bool().Draw(t, "export"),
		})
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "definitions") {
		f.Definitions = append(f.Definitions, ledger.Definition{
			Name: word.Draw(t, "definition"), Kind: rapid.SampledFrom([]string{ledger.Function, ledger.Class, ledger.Constant, ledger.Method}).Draw(t, "kind"),
			Parent: rapid.SampledFrom([]string{"", "", "T", "T.x"}).Draw(t, "parent"), Line: i + 1, End: i + 1,
			Signature: word.Draw(t, "signature"), Digest: word.Draw(t, "digest"), Exported: rapid.Bool().Draw(t, "exported"),
		})
	}
	if f.Language == "module" {
		f.Definitions = []ledger.Definition{{Name: rapid.SampledFrom([]string{"m", "b"}).Draw(t, "own name"), Kind: ledger.Module, Line: 1, End: 1}}
	}
	seen := map[string]bool{}
	for i := range rapid.IntRange(0, 6).Draw(t, "references") {
		r := ledger.Reference{Name: word.Draw(t, "reference"), On: rapid.SampledFrom([]string{"", "a", "b", "pkg.a", "?"}).Draw(t, "on"), Lines: []int{i + 1}}
		if !seen[r.Name+" "+r.On] {
			seen[r.Name+" "+r.On] = true
			f.References = append(f.References, r)
		}
	}
	return f
}

// everything renders the answers to every possible query.
func everything(t *rapid.T, l *ledger.Ledger) string {
	var b bytes.Buffer
	if err := l.Symbols(&b, ledger.Summaries{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range l.Paths() {
		f, _ := l.File(p)
		for _, d := range f.Definitions {
			fmt.Fprintln(&b, p, d, l.Defining(d.Name), l.Users(p, d))
		}
		takes, gives := l.Neighbours(p, 1<<20)
		fmt.Fprintln(&b, takes, gives, l.Protected(p), l.Dependants(p))
	}
	return b.String()
}

// TestUpdatesEndWhereAFreshStartDoes changes a workspace step by step and compares with a fresh ledger of its last state.
func TestUpdatesEndWhereAFreshStartDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := map[string]ledger.File{}
		l := ledger.New(nil)
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			var changed []ledger.File
			var gone []string
			for _, p := range rapid.SliceOfNDistinct(rapid.SampledFrom(paths), 0, len(paths), rapid.ID).Draw(t, "touched") {
				if rapid.IntRange(0, 3).Draw(t, "fate") == 0 {
					gone = append(gone, p)
					delete(state, p)
					continue
				}
				state[p] = drawFile(t, p)
				changed = append(changed, state[p])
			}
			for _, r := range l.Update(changed, gone) {
				if _, ok := state[r.Path]; !ok {
					t.Fatalf("a ripple to %s, which is not there", r.Path)
				}
				for _, c := range r.Because {
					if c.Path == r.Path {
						t.Fatalf("%s ripples to itself", r.Path)
					}
				}
			}
		}
		var all []ledger.File
		for _, f := range state {
			all = append(all, f)
		}
		if d := cmp.Diff(everything(t, ledger.New(all)), everything(t, l)); d != "" {
			t.Fatalf("a fresh ledger (-) and the updated one (+) differ:\n%s", d)
		}
	})
}

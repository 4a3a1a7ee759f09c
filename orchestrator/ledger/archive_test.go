package ledger_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"agent/orchestrator/ledger"
)

var update = flag.Bool("update", false, "rewrite the expectations of the archives in testdata")

// TestMain keeps rapid from writing its failures into testdata, where they would look like part of the project.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		fmt.Fprintln(os.Stderr, "rapid:", err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// An archive is one case: the files before, and the changed ones after. In the comment, "gone: PATH" removes a file, "users: PATH NAME"
// asks for the users of a name before the change, where NAME may be Parent.name, and "takes: PATH" asks for what a file takes from
// others.
type archive struct {
	name    string
	txt     *txtar.Archive
	before  []string
	after   []string
	gone    []string
	queries []string
}

func readArchives(t *testing.T) []archive {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < 25 {
		t.Fatalf("%d archives in testdata: %v", len(names), err)
	}
	var list []archive
	for _, name := range names {
		txt, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		a := archive{name: strings.TrimSuffix(filepath.Base(name), ".txtar"), txt: txt}
		for _, f := range txt.Files {
			if p, ok := strings.CutPrefix(f.Name, "before/"); ok {
				a.before = append(a.before, p)
			} else if p, ok := strings.CutPrefix(f.Name, "after/"); ok {
				a.after = append(a.after, p)
			}
		}
		for l := range strings.Lines(string(txt.Comment)) {
			l = strings.TrimSpace(l)
			if p, ok := strings.CutPrefix(l, "gone: "); ok {
				a.gone = append(a.gone, p)
			} else if strings.HasPrefix(l, "users: ") || strings.HasPrefix(l, "takes: ") {
				a.queries = append(a.queries, l)
			}
		}
		list = append(list, a)
	}
	return list
}

// answer renders one query.
func answer(t *testing.T, l *ledger.Ledger, query string) []byte {
	t.Helper()
	var b strings.Builder
	fields := strings.Fields(query)
	if fields[0] == "takes:" {
		takes, gives := l.Neighbours(fields[1], 1<<20)
		for _, n := range takes {
			fmt.Fprintln(&b, "takes", n, n.Lines)
		}
		for _, n := range gives {
			fmt.Fprintln(&b, "gives", n.Path, n.Definition.Name, n.Lines)
		}
		return []byte(b.String())
	}
	parent, name := "", fields[2]
	if dot := strings.LastIndex(name, "."); dot > 0 {
		parent, name = name[:dot], name[dot+1:]
	}
	found := l.Definitions(fields[1], parent, name)
	if len(found) == 0 {
		t.Fatalf("%s does not define %s", fields[1], fields[2])
	}
	for _, u := range l.Users(fields[1], found[0]) {
		fmt.Fprintln(&b, u.Path, u.Lines)
	}
	return []byte(b.String())
}

// ripples renders the result of an update.
func ripples(list []ledger.Ripple) []byte {
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintln(&b, r.Path, r.Lines)
		for _, c := range r.Because {
			fmt.Fprintf(&b, "\t%s\n", c)
		}
	}
	return []byte(b.String())
}

// TestArchives scans the files of all archives in one box, and compares the answers for each with its own sections.
func TestArchives(t *testing.T) {
	archives := readArchives(t)
	files := map[string]string{}
	for _, a := range archives {
		for _, f := range a.txt.Files {
			if strings.HasPrefix(f.Name, "before/") || strings.HasPrefix(f.Name, "after/") {
				files[a.name+"/"+f.Name] = string(f.Data)
			}
		}
	}
	scanned := scan(t, files)
	for _, a := range archives {
		t.Run(a.name, func(t *testing.T) {
			pick := func(state string, paths []string) (list []ledger.File) {
				for _, p := range paths {
					f := scanned[a.name+"/"+state+"/"+p]
					if f.Problem != "" {
						t.Errorf("%s: %s", p, f.Problem)
					}
					f.Path = p
					list = append(list, f)
				}
				return list
			}
			l := ledger.New(pick("before", a.before))
			var got []txtar.File
			for _, q := range a.queries {
				got = append(got, txtar.File{Name: q, Data: answer(t, l, q)})
			}
			if len(a.after)+len(a.gone) > 0 {
				got = append(got, txtar.File{Name: "ripples", Data: ripples(l.Update(pick("after", a.after), a.gone))})
			}
			a.compare(t, got)
		})
	}
}

// compare compares the sections after the files with got, or rewrites them.
func (a archive) compare(t *testing.T, got []txtar.File) {
	t.Helper()
	input := func(f txtar.File) bool {
		return strings.HasPrefix(f.Name, "before/") || strings.HasPrefix(f.Name, "after/")
	}
	if *update {
		files := slices.DeleteFunc(slices.Clone(a.txt.Files), func(f txtar.File) bool { return !input(f) })
		text := txtar.Format(&txtar.Archive{Comment: a.txt.Comment, Files: append(files, got...)})
		if err := os.WriteFile("testdata/"+a.name+".txtar", text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := slices.DeleteFunc(slices.Clone(a.txt.Files), input)
	render := func(files []txtar.File) string { return string(txtar.Format(&txtar.Archive{Files: files})) }
	if d := cmp.Diff(render(want), render(got)); d != "" {
		t.Errorf("%s(-want +got)\n%s", a.txt.Comment, d)
	}
}

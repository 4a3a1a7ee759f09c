package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/ledger"
)

// uses renders the users of a name, which may be Parent.name, as "a.py [1 2], b.py [3]". A name that the file does not define has none.
func uses(l *ledger.Ledger, path, name string) string {
	parent := ""
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		parent, name = name[:dot], name[dot+1:]
	}
	var list []string
	for _, d := range l.Definitions(path, parent, name) {
		for _, u := range l.Users(path, d) {
			list = append(list, fmt.Sprint(u.Path, " ", u.Lines))
		}
	}
	return strings.Join(list, ", ")
}

// file returns a file with these imports and references. Imports have the form "MODULE NAME ALIAS" and are on line 1; "-" stands for "",
// and a leading "+" re-exports the name. References have the form "ON.NAME@LINE" or "NAME@LINE".
func file(path string, imports, references []string) ledger.File {
	f := ledger.File{Path: path, Language: language(path)}
	for _, s := range imports {
		rest, export := strings.CutPrefix(s, "+")
		w := strings.Fields(strings.ReplaceAll(" "+rest+" ", " - ", " \x00 "))
		for i := range w {
			w[i] = strings.Trim(w[i], "\x00")
		}
		f.Imports = append(f.Imports, ledger.Import{Module: w[0], Name: w[1], Alias: w[2], Line: 1, Export: export})
	}
	for _, s := range references {
		name, at, _ := strings.Cut(s, "@")
		r := ledger.Reference{Name: name}
		if dot := strings.LastIndexByte(name, '.'); dot > 0 {
			r.On, r.Name = name[:dot], name[dot+1:]
		}
		var line int
		fmt.Sscan(at, &line)
		r.Lines = []int{line}
		f.References = append(f.References, r)
	}
	return f
}

// TestATopLevelNameIsReachedThroughImports has one file that defines f, and another that mentions it in some way.
func TestATopLevelNameIsReachedThroughImports(t *testing.T) {
	type files = []ledger.File
	for _, c := range []struct {
		name, def string
		files     files
		want      string
	}{
		{"by name", "a.py", files{file("u.py", []string{"a f f"}, []string{"f@3"})}, "u.py [1 3]"},
		{"under an alias", "a.py", files{file("u.py", []string{"a f g"}, []string{"g@3", "f@4"})}, "u.py [1 3]"},
		{"through the module", "a.py", files{file("u.py", []string{"a * a"}, []string{"a.f@3", "f@4", "b.f@5"})}, "u.py [3]"},
		{"through a star", "a.py", files{file("u.py", []string{"a * -"}, []string{"f@3", "x.f@4"})}, "u.py [3]"},
		{"not without an import", "a.py", files{file("u.py", nil, []string{"f@3"})}, ""},
		{"a module that is loaded says nothing yet", "a.py", files{file("u.py", []string{"a * a"}, nil)}, ""},
		{"through a package", "p/a.py", files{
			file("p/__init__.py", []string{"+.a f f"}, nil), file("u.py", []string{"p f f"}, []string{"f@3"}),
		}, "p/__init__.py [1], u.py [1 3]"},
		{"through a package that is renamed on the way", "p/a.py", files{
			file("p/__init__.py", []string{"+.a f g"}, nil), file("u.py", []string{"p g h"}, []string{"h@3", "f@4"}),
		}, "p/__init__.py [1], u.py [1 3]"},
		{"not through a package that keeps it", "p/a.ts", files{
			file("p/index.ts", []string{"./a f f"}, nil), file("u.ts", []string{"./p f f"}, []string{"f@3"}),
		}, "p/index.ts [1]"},
		{"through a namespace of a namespace", "a.ts", files{
			file("b.ts", []string{"+./a * ns"}, nil), file("u.ts", []string{"./b * b"}, []string{"b.ns.f@3", "b.f@4"}),
		}, "u.ts [3]"},
		{"through an export under another name", "a.ts", files{
			file("b.ts", []string{"./a f f", "+- f g"}, nil), file("u.ts", []string{"./b g g"}, []string{"g@3"}),
		}, "b.ts [1], u.ts [1 3]"},
		{"from a module that is loaded late", "a.ts", files{file("u.ts", []string{"./a * ?"}, []string{"mod.f@3", "f@4"})}, "u.ts [3]"},
		{"a circle of stars ends", "a.ts", files{
			file("b.ts", []string{"+./a * -", "+./c * -"}, nil), file("c.ts", []string{"+./b * -"}, []string{"f@3"}),
		}, "c.ts [3]"},
		{"a circle of namespaces ends", "a.ts", files{
			file("b.ts", []string{"+./a * n", "+./b * n"}, nil), file("u.ts", []string{"./b * b"}, []string{"b.n.f@3"}),
		}, "u.ts [3]"},
		{"a sibling in Go", "a.go", files{file("u.go", nil, []string{"f@3", "x.f@4"}), file("sub/u.go", nil, []string{"f@5"})}, "u.go [3]"},
		{"a script of the same page", "a.js", files{
			file("page.html", []string{"a.js - -", "u.js - -"}, nil), file("u.js", nil, []string{"f@3"}), file("other.js", nil, []string{"f@4"}),
		}, "u.js [3]"},
	} {
		l := ledger.New(append(c.files, defining(c.def, "f")))
		if got := uses(l, c.def, "f"); got != c.want {
			t.Errorf("%s: used by %q, want %q", c.name, got, c.want)
		}
	}
}

// A star import brings every name except the default export, which belongs only to its file.
func TestAStarLeavesTheDefaultExportOut(t *testing.T) {
	l := ledger.New([]ledger.File{
		defining("a.ts", "default", "f"),
		file("b.ts", []string{"+./a * -"}, nil),
		file("u.ts", []string{"./b default f"}, []string{"f@3"}),
		file("v.ts", []string{"./a default g"}, []string{"g@4"}),
	})
	if got := uses(l, "a.ts", "default"); got != "v.ts [1 4]" {
		t.Errorf("the default export is used by %q", got)
	}
}

// TestAMemberIsReachedByAttribute has T.run in a.py and asks for users of run. The text does not show an object's class, so every file
// that reaches a.py and accesses run counts.
func TestAMemberIsReachedByAttribute(t *testing.T) {
	a := defining("a.py", "T", "open")
	a.Definitions = append(a.Definitions, ledger.Definition{Name: "run", Kind: ledger.Method, Parent: "T", Line: 5, End: 5})
	sub := file("sub.py", []string{"a T T"}, []string{"T@2"})
	sub.Definitions = []ledger.Definition{{Name: "run", Kind: ledger.Method, Parent: "S", Line: 4, End: 4}}
	apart := file("apart.py", nil, nil)
	apart.Definitions = []ledger.Definition{{Name: "run", Kind: ledger.Method, Parent: "S", Line: 4, End: 4}}
	plain := file("plain.py", []string{"a open open"}, nil)
	plain.Definitions = []ledger.Definition{{Name: "run", Kind: ledger.Function, Line: 6, End: 6}}
	l := ledger.New([]ledger.File{
		a, sub, apart, plain,
		file("near.py", []string{"a T T"}, []string{"t.run@3", "run@9"}),
		file("far.py", []string{"near * near"}, []string{"x.y.run@8"}),
		file("stranger.py", nil, []string{"t.run@3"}),
		file("names.py", []string{"a T T", "lib * lib"}, []string{"lib.run@3"}),
	})
	if got, want := uses(l, "a.py", "T.run"), "far.py [8], near.py [3], sub.py [4]"; got != want {
		t.Errorf("used by %q, want %q", got, want)
	}
}

// A Go member with a lower-case name is visible only in its package; one with an upper-case name is visible elsewhere.
func TestAMemberOfGoKeepsToItsPackage(t *testing.T) {
	a := ledger.File{Path: "a/a.go", Language: "go", Definitions: []ledger.Definition{
		{Name: "run", Kind: ledger.Method, Parent: "T", Line: 2, End: 2}, {Name: "Run", Kind: ledger.Method, Parent: "T", Line: 3, End: 3, Exported: true},
	}}
	l := ledger.New([]ledger.File{
		a, module("go.mod", "m"), file("a/b.go", nil, []string{"t.run@4", "t.Run@5"}),
		file("main.go", []string{"m/a * a"}, []string{"t.run@6", "t.Run@7", "a.Run@8"}),
	})
	for name, want := range map[string]string{"T.run": "a/b.go [4]", "T.Run": "a/b.go [5], main.go [7]"} {
		if got := uses(l, "a/a.go", name); got != want {
			t.Errorf("%s is used by %q, want %q", name, got, want)
		}
	}
}

// A selector is used by the pages that load its style sheet, and by the scripts of those pages.
func TestASelectorIsUsedWhereAPageBringsItTogether(t *testing.T) {
	style := func(path string) ledger.File {
		return ledger.File{Path: path, Language: "css", Definitions: []ledger.Definition{{Name: ".card", Kind: ledger.Selector, Line: 1, End: 1}}}
	}
	l := ledger.New([]ledger.File{
		style("shop.css"), style("blog.css"), style("loose.css"), style("mod.css"),
		file("shop.html", []string{"shop.css - -", "shop.js - -"}, []string{".card@2"}), file("shop.js", nil, []string{".card@3"}),
		file("blog.html", []string{"blog.css - -"}, []string{".card@4"}),
		file("view.tsx", []string{"./mod.css default styles"}, []string{"styles.card@5"}),
	})
	for path, want := range map[string]string{
		"shop.css": "shop.html [2], shop.js [3]", "blog.css": "blog.html [4]",
		// Nothing loads it, so any page may do so, through a computed path.
		"loose.css": "blog.html [4], shop.html [2], shop.js [3]",
		"mod.css":   "view.tsx [5]",
	} {
		if got := uses(l, path, ".card"); got != want {
			t.Errorf(".card of %s is used by %q, want %q", path, got, want)
		}
	}
}

// A file unknown to the ledger has no users, and asking for them is not an error.
func TestAStrangePathHasNoUsers(t *testing.T) {
	l := ledger.New([]ledger.File{defining("a.py", "f")})
	takes, gives := l.Neighbours("b.py", 1000)
	if _, ok := l.File("b.py"); ok || l.Users("b.py", ledger.Definition{Name: "f"}) != nil || takes != nil || gives != nil || l.Protected("b.py") != nil || l.Dependants("b.py") != nil {
		t.Errorf("b.py is known: %v %v", takes, gives)
	}
	// A package clause and a module's name are not names that a program uses.
	l = ledger.New([]ledger.File{module("go.mod", "m"), file("main.go", []string{"m * m"}, []string{"m@3"})})
	if got := uses(l, "go.mod", "m"); got != "" {
		t.Errorf("the name of a module is used by %q", got)
	}
}

// TestNeighboursShareOneBudget has a file that takes from one file and gives to another. The side that it gives to may use half of the
// budget.
func TestNeighboursShareOneBudget(t *testing.T) {
	mid := file("mid.py", []string{"low * low"}, []string{"low.first@2", "low.second@3"})
	mid.Definitions = defining("mid.py", "one", "two").Definitions
	l := ledger.New([]ledger.File{
		defining("low.py", "first", "second", "unused"), mid,
		file("top.py", []string{"mid * mid"}, []string{"mid.one@4", "mid.two@5"}),
	})
	const line = len("low.py:1: function first()\n")
	for _, c := range []struct {
		budget       int
		takes, gives string
	}{
		{1000, "first second", "one two"},
		{0, "", ""},
		{line, "first", ""},                 // half of it is too little for the side that it gives to
		{2 * line, "first", "one"},          // one for each side
		{3*line + 3, "first second", "one"}, // one side may use what the other leaves
	} {
		takes, gives := l.Neighbours("mid.py", c.budget)
		if got := names(takes) + "/" + names(gives); got != c.takes+"/"+c.gives {
			t.Errorf("%d bytes: %s, want %s/%s", c.budget, got, c.takes, c.gives)
		}
	}
	if got := strings.Join(l.Protected("mid.py"), " "); got != "one two" {
		t.Errorf("protected %q", got)
	}
	if got := strings.Join(l.Dependants("low.py"), " "); got != "mid.py top.py" {
		t.Errorf("low.py is reached from %q", got)
	}
}

// names lists the names of the neighbours.
func names(list []ledger.Neighbour) string {
	var s []string
	for _, n := range list {
		s = append(s, n.Definition.Name)
	}
	return strings.Join(s, " ")
}

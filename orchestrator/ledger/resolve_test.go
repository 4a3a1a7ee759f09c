package ledger_test

import (
	"strings"
	"testing"

	"agent/orchestrator/ledger"
)

// language returns the language of a path as the scanner would.
func language(path string) string {
	for _, l := range []struct{ suffix, name string }{
		{"go.mod", "module"},
		{"package.json", "module"},
		{".py", "python"},
		{".pyi", "python"},
		{".go", "go"},
		{".ts", "typescript"},
		{".tsx", "typescript"},
		{".js", "javascript"},
		{".mjs", "javascript"},
		{".html", "html"},
		{".css", "css"},
		{".json", "json"},
		{".sh", "shell"},
	} {
		if strings.HasSuffix(path, l.suffix) {
			return l.name
		}
	}
	return ""
}

// defining returns a file that defines each name as an exported function, one per line.
func defining(path string, names ...string) ledger.File {
	f := ledger.File{Path: path, Language: language(path), Lines: len(names)}
	for i, n := range names {
		f.Definitions = append(f.Definitions, ledger.Definition{Name: n, Kind: ledger.Function, Line: i + 1, End: i + 1, Signature: "()", Exported: true})
	}
	return f
}

// module returns a go.mod or package.json that names its directory.
func module(path, name string) ledger.File {
	return ledger.File{Path: path, Language: "module", Definitions: []ledger.Definition{{Name: name, Kind: ledger.Module, Line: 1, End: 1}}}
}

// importing returns a file that imports f from a module, on line 7.
func importing(path, from string) ledger.File {
	return ledger.File{Path: path, Language: language(path), Imports: []ledger.Import{{Module: from, Name: "f", Alias: "f", Line: 7}}}
}

// leads returns those of the files, all of which define f, that an import in the file at from leads to. more lists other files.
func leads(from, module string, files string, more ...ledger.File) string {
	all := append([]ledger.File{importing(from, module)}, more...)
	for _, p := range strings.Fields(files) {
		all = append(all, defining(p, "f"))
	}
	l := ledger.New(all)
	var found []string
	for _, p := range strings.Fields(files) {
		for _, u := range l.Users(p, l.Definitions(p, "", "f")[0]) {
			if u.Path == from {
				found = append(found, p)
			}
		}
	}
	return strings.Join(found, " ")
}

func TestPythonImportsLeadWherePythonWouldLook(t *testing.T) {
	for _, c := range []struct{ name, from, module, files, want string }{
		{"beside the file", "main.py", "a", "a.py lib/a.py", "a.py"},
		{"below lib", "main.py", "a", "lib/a.py", "lib/a.py"},
		{"below src", "main.py", "pkg.a", "src/pkg/a.py", "src/pkg/a.py"},
		{"src comes before lib", "main.py", "a", "lib/a.py src/a.py", "src/a.py"},
		{"the nearest directory around", "x/y/main.py", "a", "a.py x/a.py", "x/a.py"},
		{"a package before a module", "main.py", "a", "a.py a/__init__.py", "a/__init__.py"},
		{"a module with its stub", "main.py", "a", "a.py a.pyi", "a.py a.pyi"},
		{"from the top of its package", "pkg/main.py", "a", "pkg/__init__.py pkg/a.py a.py", "a.py"},
		{"inside of its package, at the last", "pkg/main.py", "a", "pkg/__init__.py pkg/a.py", "pkg/a.py"},
		{"one dot is the own directory", "pkg/main.py", ".a", "pkg/a.py a.py", "pkg/a.py"},
		{"two dots are the one above", "pkg/sub/main.py", "..a", "pkg/a.py pkg/sub/a.py", "pkg/a.py"},
		{"only dots are the package", "pkg/main.py", ".", "pkg/__init__.py", "pkg/__init__.py"},
		{"dots that leave the workspace", "main.py", "..a", "a.py", ""},
		{"a module of the library", "main.py", "json", "a.py", ""},
		{"a script is no module", "main.py", "a", "a.js", ""},
	} {
		if got := leads(c.from, c.module, c.files); got != c.want {
			t.Errorf("%s: %s in %s leads to %q, want %q", c.name, c.module, c.from, got, c.want)
		}
	}
}

func TestScriptImportsLeadWhereABundlerWouldLook(t *testing.T) {
	own := module("packages/ui/package.json", "@shop/ui")
	for _, c := range []struct{ name, from, module, files, want string }{
		{"the path itself", "src/main.ts", "./a.ts", "src/a.ts a.ts", "src/a.ts"},
		{"an extension is found", "src/main.ts", "./a", "src/a.tsx", "src/a.tsx"},
		{"source before what was compiled", "main.ts", "./a", "a.js a.ts", "a.ts"},
		{"a name of what will be compiled", "main.ts", "./a.js", "a.ts", "a.ts"},
		{"but the file itself comes first", "main.ts", "./a.js", "a.js a.ts", "a.js"},
		{"a directory by its index", "main.ts", "./a", "a/index.ts", "a/index.ts"},
		{"a file before a directory", "main.ts", "./a", "a.mjs a/index.ts", "a.mjs"},
		{"the directory above", "x/y/main.ts", "../a", "a.ts x/a.ts", "x/a.ts"},
		{"the alias of the source", "src/x/main.ts", "@/a", "src/a.ts", "src/a.ts"},
		{"its other form", "src/x/main.ts", "~/a", "src/a.ts", "src/a.ts"},
		{"a path from the root", "src/x/main.ts", "lib/a", "lib/a.ts", "lib/a.ts"},
		{"a package of the workspace", "app/main.ts", "@shop/ui", "packages/ui/index.ts", "packages/ui/index.ts"},
		{"with its sources in src", "app/main.ts", "@shop/ui", "packages/ui/src/index.ts", "packages/ui/src/index.ts"},
		{"a path in that package", "app/main.ts", "@shop/ui/a", "packages/ui/lib/a.ts packages/ui/b.ts", "packages/ui/lib/a.ts"},
		{"a package from elsewhere", "main.ts", "react", "react.ts", ""},
		{"nothing at the end of the path", "main.ts", "./b", "a.ts", ""},
	} {
		if got := leads(c.from, c.module, c.files, own); got != c.want {
			t.Errorf("%s: %s in %s leads to %q, want %q", c.name, c.module, c.from, got, c.want)
		}
	}
}

// A go.mod names its directory, and a package belongs to the module with the longest matching name.
func TestGoImportsLeadThroughTheModules(t *testing.T) {
	outer, inner := module("go.mod", "example.com/shop"), module("tools/go.mod", "example.com/shop/tools")
	alike := module("package.json", "example.com/shop")
	for _, c := range []struct{ name, module, want string }{
		{"the module's own directory", "example.com/shop", "root.go"},
		{"a directory of it", "example.com/shop/tax", "tax/rate.go"},
		{"a module inside of it", "example.com/shop/tools/gen", "tools/gen/main.go"},
		{"a directory without Go", "example.com/shop/web", ""},
		{"another module of like beginning", "example.com/shopping/tax", ""},
		{"the library", "fmt", ""},
		{"a path that looks absolute", "/tax", ""},
	} {
		from := ledger.File{Path: "cmd/main.go", Language: "go", Imports: []ledger.Import{{Module: c.module, Name: "*", Alias: "pkg", Line: 1}}, References: []ledger.Reference{{Name: "F", On: "pkg", Lines: []int{3}}}}
		files := []ledger.File{from, outer, inner, alike, defining("web/a.ts", "F")}
		goFiles := []string{"root.go", "tax/rate.go", "tools/gen/main.go"}
		for _, p := range goFiles {
			files = append(files, defining(p, "F"))
		}
		l := ledger.New(files)
		var found []string
		for _, p := range append(goFiles, "web/a.ts") {
			if us := l.Users(p, l.Definitions(p, "", "F")[0]); len(us) > 0 {
				found = append(found, p)
			}
		}
		if got := strings.Join(found, " "); got != c.want {
			t.Errorf("%s: %q leads to %q, want %q", c.name, c.module, got, c.want)
		}
	}
}

// The package clause names a Go package, whatever its directory is called; the clause of a test package next to it does not count.
func TestAGoPackageIsCalledByItsClause(t *testing.T) {
	user := ledger.File{
		Path: "main.go", Language: "go", Imports: []ledger.Import{{Module: "m/go-tax", Name: "*", Alias: "/", Line: 2}},
		References: []ledger.Reference{{Name: "Rate", On: "go-tax", Lines: []int{8}}, {Name: "Rate", On: "tax", Lines: []int{5}}, {Name: "Rate", On: "tax_test", Lines: []int{9}}},
	}
	clause := func(path, name string) ledger.File {
		f := defining(path, "Rate")
		f.Definitions = append(f.Definitions, ledger.Definition{Name: name, Kind: ledger.Package, Line: 1, End: 1})
		return f
	}
	l := ledger.New([]ledger.File{user, module("go.mod", "m"), clause("go-tax/a_test.go", "tax_test"), clause("go-tax/rate.go", "tax")})
	if got := uses(l, "go-tax/rate.go", "Rate"); got != "main.go [5]" {
		t.Errorf("used by %q", got)
	}
	// Without a clause, as in an unreadable file, the name of the directory is used.
	l.Update([]ledger.File{defining("go-tax/rate.go", "Rate")}, []string{"go-tax/a_test.go"})
	if got := uses(l, "go-tax/rate.go", "Rate"); got != "main.go [8]" {
		t.Errorf("without a clause used by %q", got)
	}
}

// Pages, style sheets and shell scripts name files by paths whose root is unknown until they are served or run.
func TestPlacesOfPagesAndScripts(t *testing.T) {
	for _, c := range []struct{ name, from, to, files, want string }{
		{"beside the page", "web/page.html", "a.js", "web/a.js a.js", "web/a.js"},
		{"from the root of a server", "web/page.html", "/js/a.js", "web/js/a.js", "web/js/a.js"},
		{"a public directory", "page.html", "/a.js", "public/a.js", "public/a.js"},
		{"a static directory", "templates/page.html", "a.js", "static/a.js", "static/a.js"},
		{"the directory above", "web/x/page.html", "../a.js", "web/a.js a.js", "web/a.js"},
		{"another server", "page.html", "https://a.js", "a.js", ""},
		{"another server by the same scheme", "page.html", "//a.js", "a.js", ""},
		{"a script in shell", "bin/run.sh", "lib/a.sh", "lib/a.sh", "lib/a.sh"},
		{"itself", "run.sh", "run.sh", "a.sh", ""},
		{"nothing", "page.html", "", "a.js", ""},
	} {
		if got := leads(c.from, c.to, c.files); got != c.want {
			t.Errorf("%s: %s in %s leads to %q, want %q", c.name, c.to, c.from, got, c.want)
		}
	}
}

// TestAFileThatComesOrGoesChangesWhatImportsMean updates a ledger by one file, after which an import in an untouched file leads
// elsewhere.
func TestAFileThatComesOrGoesChangesWhatImportsMean(t *testing.T) {
	for _, c := range []struct {
		name, from, module, files string
		comes                     ledger.File
		before, after             string
	}{
		{"a nearer module", "x/main.py", "a", "a.py x/a.py", defining("x/a.py", "f"), "a.py", "x/a.py"},
		{"a package in place of a module", "main.py", "a", "a.py a/__init__.py", defining("a/__init__.py", "f"), "a.py", "a/__init__.py"},
		{"a directory becomes a package", "p/main.py", "a", "a.py p/a.py", defining("p/__init__.py"), "p/a.py", "a.py"},
		{"source beside what was compiled", "main.ts", "./a", "a.js a.ts", defining("a.ts", "f"), "a.js", "a.ts"},
		{"a file in place of a directory", "main.ts", "./a", "a/index.ts a.ts", defining("a.ts", "f"), "a/index.ts", "a.ts"},
		{"a package gets its name", "main.ts", "ui/a", "packages/ui/a.ts", module("packages/ui/package.json", "ui"), "", "packages/ui/a.ts"},
		{"a script beside the page", "x/page.html", "a.js", "a.js x/a.js", defining("x/a.js", "f"), "a.js", "x/a.js"},
	} {
		all := []ledger.File{importing(c.from, c.module)}
		for _, p := range strings.Fields(c.files) {
			if p != c.comes.Path {
				all = append(all, defining(p, "f"))
			}
		}
		l := ledger.New(all)
		target := func() string {
			for _, p := range strings.Fields(c.files) {
				if uses(l, p, "f") != "" {
					return p
				}
			}
			return ""
		}
		if got := target(); got != c.before {
			t.Errorf("%s: before it leads to %q, want %q", c.name, got, c.before)
		}
		l.Update([]ledger.File{c.comes}, nil)
		if got := target(); got != c.after {
			t.Errorf("%s: then it leads to %q, want %q", c.name, got, c.after)
		}
		l.Update(nil, []string{c.comes.Path})
		if got := target(); got != c.before {
			t.Errorf("%s: without it again it leads to %q, want %q", c.name, got, c.before)
		}
	}
}

package witness

import (
	"go/ast"
	"go/build/constraint"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// goForms are the forms of package testing.
var goForms = []Form{
	{Body: "{var} := {start}\nif got := {expr}; got != {want} {\n\tt.Errorf(\"got %v\", got)\n}\n"},
	{Uses: lazyregexp.New(`\.Fatalf?\(`), Body: "{var} := {start}\nif got := {expr}; got != {want} {\n\tt.Fatal(got)\n}\n"},
	{Uses: lazyregexp.New(`\.Error\(`), Body: "{var} := {start}\nif got := {expr}; got != {want} {\n\tt.Error(got)\n}\n"},
	{Uses: lazyregexp.New(`\.Fail(?:Now)?\(`), Body: "{var} := {start}\nif {expr} != {want} {\n\tt.Fail()\n}\n"},
	{Uses: lazyregexp.New(`\.Parallel\(`), Body: "t.Parallel()\n{var} := {start}\nif got := {expr}; got != {want} {\n\tt.Errorf(\"got %v\", got)\n}\n"},
}

var (
	goTest = lazyregexp.New(`(?m)^func (Test\w+)\(\w* ?\*testing\.T\)`)
	// goMain matches the function that may itself judge a test run by whether it failed.
	goMain = lazyregexp.New(`(?m)^func TestMain\(`)
	// goSystem matches what may be an operating system or a processor at the end of a file name.
	goSystem = lazyregexp.New(`_[a-z0-9]+_test\.go$`)
)

// Go adds a file with witnesses to a directory with Go tests, in the package of a test file that is compiled on every
// system, so that it costs hardly anything. It reports whether there is such a file. If the base itself judges a run,
// which it may do only if nothing fails, all witnesses pass.
func (s *Set) Go(d *Draw, v check.View, dir string, files []string) bool {
	var existing []string
	name, all := "", ""
	for _, p := range files {
		text := v.Text(p)
		names := goTest.FindAllStringSubmatch(text, -1)
		for _, m := range names {
			existing = append(existing, m[1])
		}
		all += text
		if name == "" && len(names) > 0 && !goSystem.MatchString(path.Base(p)) {
			name = goPackage(text)
		}
	}
	if name == "" {
		return false
	}
	base := v.Unpatched()
	both := []bool{false, true}
	if slices.ContainsFunc(files, func(p string) bool { return goMain.MatchString(base.Text(p)) }) {
		both = both[:1]
	}
	var written []string
	var tests []Test
	for _, f := range d.Used(goForms, all, mostForms) {
		for _, fails := range both {
			t := Test{dir, d.Name(Style{"Test", "", true}, existing), fails}
			tests = append(tests, t)
			written = append(written, "\nfunc "+t.Name+"(t *testing.T) {\n"+indented(d.Write(f, fails), "\t")+"}\n")
		}
	}
	d.Shuffle(len(written), func(i, j int) { written[i], written[j] = written[j], written[i] })
	text, err := format.Source([]byte("package " + name + "\n\nimport \"testing\"\n" + strings.Join(written, "")))
	if err != nil {
		return false
	}
	// The name has no words of the workspace, which might be those of a system.
	p := path.Join(dir, d.Name(Style{"", "_", false}, nil)+"_all_test.go")
	if v.Has(p) {
		return false
	}
	s.Create(p, string(text), tests)
	return true
}

// goPackage returns the package of a test file that is compiled on every system, or "" for other files.
func goPackage(text string) string {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ImportsOnly|parser.ParseComments)
	if err != nil || file.Name == nil {
		return ""
	}
	constrained := slices.ContainsFunc(file.Comments, func(g *ast.CommentGroup) bool {
		return g.Pos() < file.Package && slices.ContainsFunc(g.List, func(c *ast.Comment) bool {
			return constraint.IsGoBuild(c.Text) || constraint.IsPlusBuild(c.Text)
		})
	})
	cgo := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"C"` })
	if constrained || cgo {
		return ""
	}
	return file.Name.Name
}

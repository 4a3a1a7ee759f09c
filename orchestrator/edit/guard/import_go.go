package guard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
	"agent/sandbox/workspace/lazyregexp"
)

// keepGoImports is KeepImports for Go, using Go's own parser: a name is used if the file selects from it and declares it nowhere.
//
// Imports for their side effect, dot imports and "C" are removed as requested: nothing in the file shows whether they are needed.
// The same import under another name, or another import under the same name, was meant as a replacement.
func keepGoImports(before, after string) (text string, kept []string) {
	was, err1 := parser.ParseFile(token.NewFileSet(), "", before, parser.ImportsOnly)
	fset := token.NewFileSet()
	is, err2 := parser.ParseFile(fset, "", after, 0)
	if err1 != nil || err2 != nil {
		return after, nil
	}
	have := map[string]bool{}
	for _, s := range is.Imports {
		have[s.Path.Value] = true
		have[goName(s)] = true
	}
	used := selected(is)
	var back []string
	for _, s := range was.Imports {
		name := goName(s)
		if name == "" || have[name] || have[s.Path.Value] || !used[name] {
			continue
		}
		line := s.Path.Value
		if s.Name != nil {
			line = s.Name.Name + " " + line
		}
		back = append(back, line)
	}
	if len(back) > maxDropped {
		return after, nil
	}
	text = after
	for _, line := range back {
		text = addGoImport(text, line)
	}
	// A list on one line, import ("a"; "b"), has no line at which to insert another: the result does not parse, and the edit stays
	// as it was.
	if goFault(strings.TrimPrefix(text, lex.BOM)) != nil {
		return after, nil
	}
	return text, back
}

// goVersion matches the part of an import path that names a major version: the v2 of "a.org/b/v2", whose package is b.
var goVersion = lazyregexp.New(`^v[0-9]+$`)

// goName returns the name that an import binds, or "" if its path does not determine it with certainty, since that depends on
// convention: "b" for "a.org/b/v2", nothing for "a.org/go-b", whose package may be called b, gob or anything else.
func goName(s *ast.ImportSpec) string {
	if s.Name != nil {
		return strings.Trim(s.Name.Name, "_.")
	}
	p, err := strconv.Unquote(s.Path.Value)
	if err != nil || p == "C" {
		return ""
	}
	name := path.Base(p)
	if goVersion.MatchString(name) {
		name = path.Base(path.Dir(p))
	}
	if !token.IsIdentifier(name) {
		return ""
	}
	return name
}

// selected returns the names that a file selects from and does not declare: "fmt" for fmt.Println, and only "a" for a.b.c.
//
// The parser resolves the names that the file declares, including a variable named like a package, and leaves the rest unresolved;
// a package is always among the rest.
func selected(f *ast.File) map[string]bool {
	names := map[string]bool{}
	free := map[*ast.Ident]bool{}
	for _, id := range f.Unresolved {
		free[id] = true
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && free[id] {
				names[id.Name] = true
			}
		}
		return true
	})
	return names
}

// addGoImport adds one import to the first list of imports, in its order, or after the package clause if there is none.
//
// In its order means before the first path that is greater, or before the closing parenthesis if none is. Imports without
// parentheses are followed by one more of their kind. Groups within a list are not distinguished: the order of all its paths
// decides.
func addGoImport(text, line string) string {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.ImportsOnly)
	if err != nil {
		return text
	}
	d := document.New("", []byte(text))
	at, add := fset.Position(f.Name.End()).Line, "import "+line
	if len(f.Imports) > 0 {
		at = fset.Position(f.Imports[len(f.Imports)-1].End()).Line
	}
	for _, decl := range f.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok || !g.Lparen.IsValid() {
			continue
		}
		i := slices.IndexFunc(g.Specs, func(s ast.Spec) bool {
			return s.(*ast.ImportSpec).Path.Value > line[strings.IndexByte(line, '"'):]
		})
		at, add = fset.Position(g.Rparen).Line-1, "\t"+line
		if i >= 0 {
			at = fset.Position(g.Specs[i].Pos()).Line - 1
		}
		break
	}
	return d.Mark + insert(d, at, add)
}

// insert returns the text with one more line before line at.
//
// After a last line without a line end the new line gets one before it and none after it: this edit must not change whether the
// file ends in one.
func insert(d *document.Document, at int, line string) string {
	cut := d.Off[at]
	if at > 0 && at == d.Len() && d.End(at-1) == "" {
		return d.Text + d.EOL + line
	}
	return d.Text[:cut] + line + d.EndNear(at, at) + d.Text[cut:]
}

// maxDropped bounds the names whose uses are looked up, and so the imports that are restored: the file is read through for each
// one. An edit that drops more does so intentionally, and is left to the gates.
const maxDropped = 64

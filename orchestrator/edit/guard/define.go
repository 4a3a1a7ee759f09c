package guard

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/explain"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

// A definition is a function, method, class, type or constant that a file names.
type definition struct {
	name  string // qualified by its class or receiver: "Cart.total"
	shown string // how it begins, for a person: "def total"
	plain bool   // at the top level, so that its bare name refers to it
}

// manyDefinitions is the number of definitions from which losing more than half of them counts as a model losing the thread rather
// than a small edit. Half of fewer are two or three, which a change may well intend to remove.
const manyDefinitions = 6

// CheckDefinitions refuses an edit that drops a definition which the file still uses and nothing else in it defines.
//
// It is deliberately narrow, since the gates run afterwards. Only bare names of the top level count as used, and none that anything
// else in the file may bind. whole tells that the edit gave the whole file; then the loss of more than half of the definitions is
// refused too.
//
// If a file has "def total" and a call of total(), an edit that leaves only the call is refused. It is not refused if the edit also
// imports or assigns another total, nor if the remaining use is cart.total(): that may be a method of any object.
//
// elsewhere reports whether another file declares a name that this one refers to, as in a Go package; it is nil if no other file
// can.
func CheckDefinitions(d *document.Document, ops []*parse.Operation, after string, whole bool, elsewhere func(name string) bool) *problem.Problem {
	before := d.Text
	after = strings.TrimPrefix(after, lex.BOM)
	if !mayDropDefinition(before, after) || !parsable(before) || !parsable(after) {
		return nil
	}
	old, _ := definitions(d.Path, before)
	now, users := definitions(d.Path, after)
	if users == nil {
		return nil
	}
	gone := slices.DeleteFunc(slices.Clone(old), func(o definition) bool {
		return slices.ContainsFunc(now, func(n definition) bool { return n.name == o.name })
	})
	for _, g := range gone[:min(len(gone), maxDropped)] {
		// Methods are not checked: their uses name an object whose class is unknown.
		if line := users(g.name); g.plain && line > 0 && (elsewhere == nil || !elsewhere(g.name)) {
			return dropped(d, ops, g, line, after)
		}
	}
	if whole && len(old) >= manyDefinitions && 2*len(gone) > len(old) {
		return &problem.Problem{
			Block: ops[0].Block, Path: d.Path, Kind: problem.KindRefused,
			Reason: fmt.Sprintf("%d of %d definitions would go, %s the first", len(gone), len(old), gone[0].shown),
			Advice: "send edits of the parts that change, or a unified diff, which names every line that goes",
		}
	}
	return nil
}

// dropped makes the refusal of an edit that drops g, which is still used at a line of the result. The block that names the
// definition is at fault: the first whose SEARCH holds "def total". A file given whole has no SEARCH, so its first block is named.
func dropped(d *document.Document, ops []*parse.Operation, g definition, line int, after string) *problem.Problem {
	p := &problem.Problem{Block: ops[0].Block, Path: d.Path, Kind: problem.KindRefused, Lines: []int{line}}
	for _, op := range ops {
		if slices.ContainsFunc(op.Search, func(s string) bool { return strings.Contains(s, g.shown) }) {
			p.Block = op.Block
			break
		}
	}
	p.Reason = fmt.Sprintf("the edit drops `%s`, which line %d of the result still uses", g.shown, line)
	p.Nearest = explain.Around(document.New(d.Path, []byte(after)), line)
	p.Advice = "keep the definition, or change what uses it in the same response, or leave the change out"
	return p
}

// definitions lists what a file defines. users returns the first line that uses a name of the top level which nothing in the file
// binds, or 0 if there is none. It is nil if the file cannot be read with certainty.
//
// A style sheet has no names to refer to. A file with "from m import *" may have any name from there, so none can be called lost.
func definitions(name, text string) (list []definition, users func(string) int) {
	if strings.HasSuffix(strings.ToLower(name), ".go") {
		return goDefinitions(text)
	}
	lang := lex.GrammarOf(name)
	if lang == lex.NoGrammar || lang == lex.StyleGrammar {
		return nil, nil
	}
	l, ok := newListing(text, lang)
	if !ok || l.hasStar() {
		return nil, nil
	}
	if lang == lex.PythonGrammar {
		list = l.pythonDefinitions()
	} else {
		list = l.scriptDefinitions()
	}
	return list, func(name string) int {
		if builtin(lang, name) {
			return 0
		}
		if refs, bound := l.uses(name); len(refs) > 0 && !bound {
			return l.line(refs[0])
		}
		return 0
	}
}

// pythonDefinitions lists functions and classes, with methods qualified by their class: "Cart" and "Cart.total" for a class with
// one method.
//
// The columns of the statements show the nesting, as in the language itself. A function below "if" or "try" is listed, but not
// plain: another branch may define the same name.
func (l *listing) pythonDefinitions() (list []definition) {
	type scope struct {
		column int
		name   string
	}
	var scopes []scope
	begins := true
	for i, t := range l.toks {
		if t.Kind == lex.TokenLine {
			begins = true
			continue
		}
		if !begins {
			continue
		}
		begins = false
		column := l.column(i)
		// A statement ends every scope that begins at its column or further right.
		for len(scopes) > 0 && scopes[len(scopes)-1].column >= column {
			scopes = scopes[:len(scopes)-1]
		}
		if l.is(i) == "async" {
			i++
		}
		if w := l.is(i); w != "def" && w != "class" {
			continue
		}
		name := l.is(i + 1)
		if len(scopes) > 0 {
			name = scopes[len(scopes)-1].name + "." + name
		}
		list = append(list, definition{name, l.is(i) + " " + l.is(i+1), column == 0})
		scopes = append(scopes, scope{column, name})
	}
	return list
}

// scriptDefinitions lists the declarations of the top level: the first name after each declaring word, so that "const enum F" and
// "function* g" give F and g.
//
// Names in brackets are local or members. Of "let a, b" only a is listed, and nothing of "const { a } = b". Names that are not
// listed are not guarded, which lets an edit through but refuses none.
func (l *listing) scriptDefinitions() (list []definition) {
	for i := range l.toks {
		w := l.is(i)
		if l.outer[i] >= 0 || l.toks[i].Kind != lex.TokenWord || l.punct(i-1) == '.' || !slices.Contains(declaring, w) {
			continue
		}
		j := i + 1
		if l.punct(j) == '*' {
			j++
		}
		if j < len(l.toks) && l.toks[j].Kind == lex.TokenWord && !slices.Contains(declaring, l.is(j)) {
			list = append(list, definition{l.is(j), w + " " + l.is(j), true})
		}
	}
	return list
}

// goDefinitions lists functions, methods and types, using Go's own parser.
//
// The parser resolves the names within one file. An unresolved name may be defined in another file of the package, so it counts
// only if this file did define it. An init is not plain: nothing can refer to it.
func goDefinitions(text string) (list []definition, users func(string) int) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, 0)
	if err != nil {
		return nil, nil
	}
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			name, plain := decl.Name.Name, decl.Recv == nil && decl.Name.Name != "init"
			if decl.Recv != nil && len(decl.Recv.List) > 0 {
				name = receiverName(decl.Recv.List[0].Type) + "." + name
			}
			list = append(list, definition{name, "func " + decl.Name.Name, plain})
		case *ast.GenDecl:
			for _, s := range decl.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					list = append(list, definition{s.Name.Name, "type " + s.Name.Name, true})
				}
			}
		}
	}
	return list, func(name string) int {
		for _, id := range f.Unresolved {
			if id.Name == name {
				return fset.Position(id.Pos()).Line
			}
		}
		return 0
	}
}

// GoDeclares reports whether the file at a path, in the package named pkg, declares name at its top level in every build. A file that
// does not parse declares nothing with certainty, and neither does one that some builds leave out.
func GoDeclares(file, text, pkg, name string) bool {
	if !strings.Contains(text, name) || len(text) > maxParsed || strings.Contains(text, "//go:build") || strings.Contains(text, "// +build") {
		return false
	}
	parts := strings.Split(strings.TrimSuffix(strings.TrimSuffix(path.Base(file), ".go"), "_test"), "_")
	if slices.ContainsFunc(parts[1:], func(s string) bool { return slices.Contains(goPlatforms, s) }) {
		return false
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
	return err == nil && f.Name.Name == pkg && f.Scope.Lookup(name) != nil
}

// goPlatforms are the parts of a file name that restrict a Go file to some systems.
var goPlatforms = strings.Fields(`aix android darwin dragonfly freebsd illumos ios js linux netbsd openbsd plan9 solaris wasip1 windows
386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 s390x wasm`)

// GoPackage returns the package name of a Go file, or "" if it cannot be read.
func GoPackage(text string) string {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	if err != nil {
		return ""
	}
	return f.Name.Name
}

// receiverName returns the type of a method's receiver, without pointer and type parameters: "Cart" for (c *Cart), "Set" for
// (s Set[K, V]). A method that moves from a value to a pointer receiver is still the same definition.
func receiverName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiverName(t.X)
	case *ast.IndexExpr:
		return receiverName(t.X)
	case *ast.IndexListExpr:
		return receiverName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

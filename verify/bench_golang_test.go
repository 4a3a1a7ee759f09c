//go:build bench

package verify

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"agent/verify/check"
)

// goTongue is the tongue of Go: the places come from Go's own parser.
var goTongue = tongue{name: "Go", places: goPlaces}

// goSeers are the gates that each notice if a package does not compile.
var goSeers = []string{check.GateTypes, check.GateLint}

// A goFile is one parsed source file, with the data for finding places in it.
type goFile struct {
	name, text string
	ast        *ast.File
	fset       *token.FileSet
	// The functions of its package by name, each with the file that declares it.
	funcs map[string]goFunc
	found []mutation
}

// A goFunc is a function of a package, not a method.
type goFunc struct {
	file *goFile
	decl *ast.FuncDecl
}

// goPlaces lists the places in all source files. A name counts as a function of the package only if the parser could not resolve it to
// anything else within the file, and the package declares it once.
func goPlaces(t *testing.T, p project, files map[string]string) []mutation {
	t.Helper()
	packages := map[string]map[string]goFunc{}
	var sources []*goFile
	for _, name := range slices.Sorted(maps.Keys(files)) {
		// Files for other systems are not compiled here.
		constrained := strings.Contains(files[name], "//go:build") || strings.Contains(files[name], "// +build")
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || !p.inSources(name) || constrained {
			continue
		}
		f := &goFile{name: name, text: files[name], fset: token.NewFileSet()}
		var err error
		if f.ast, err = parser.ParseFile(f.fset, name, f.text, parser.ParseComments); err != nil {
			continue
		}
		dir := path.Dir(name)
		if packages[dir] == nil {
			packages[dir] = map[string]goFunc{}
		}
		f.funcs = packages[dir]
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Body != nil && fn.Name.Name != "init" && fn.Name.Name != "_" {
				f.funcs[fn.Name.Name] = goFunc{f, fn}
			}
		}
		sources = append(sources, f)
	}
	var found []mutation
	for _, f := range sources {
		f.calls()
		f.imports()
		f.start()
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				f.function(fn, sources)
			}
		}
		found = append(found, f.found...)
	}
	return found
}

// add records a place; the edits use the parser's positions.
func (f *goFile) add(kind string, gates []string, edits ...textEdit) {
	line := 1 + strings.Count(f.text[:edits[0].Start], "\n")
	f.found = append(f.found, mutation{kind, f.name, line, edits, gates})
}

// at returns the offset of a position.
func (f *goFile) at(p token.Pos) int { return f.fset.Position(p).Offset }

// put returns an insertion.
func put(at int, text string) textEdit { return textEdit{at, at, text} }

// callee returns the function of the package that a call certainly refers to.
func (f *goFile) callee(call *ast.CallExpr) (goFunc, bool) {
	name, ok := call.Fun.(*ast.Ident)
	if !ok {
		return goFunc{}, false
	}
	fn, ok := f.funcs[name.Name]
	// If the object is something else, a local name hides the function.
	return fn, ok && (name.Obj == nil || name.Obj.Decl == fn.decl)
}

// calls lists the places for wrong arity and for wrong types.
func (f *goFile) calls() {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		fn, known := f.callee(call)
		if !known || call.Ellipsis.IsValid() || fn.decl.Type.TypeParams != nil {
			return true
		}
		var types []ast.Expr
		for _, field := range fn.decl.Type.Params.List {
			for range max(1, len(field.Names)) {
				types = append(types, field.Type)
			}
		}
		// f(g()) passes as many arguments as g has results, so only calls with matching counts are certain.
		if len(types) != len(call.Args) || len(types) > 0 && variadic(types[len(types)-1]) {
			return true
		}
		more := "nil"
		if len(call.Args) > 0 {
			more += ", "
		}
		f.add("wrong arity", goSeers, put(f.at(call.Lparen)+1, more))
		for i, argument := range call.Args {
			if scalar, ok := types[i].(*ast.Ident); ok && fn.file != f && slices.Contains([]string{"string", "int", "bool", "byte"}, scalar.Name) {
				f.add("wrong type across files", goSeers, textEdit{f.at(argument.Pos()), f.at(argument.End()), "struct{}{}"})
			}
		}
		return true
	})
}

// variadic reports whether a parameter takes any number of arguments.
func variadic(t ast.Expr) bool {
	_, ok := t.(*ast.Ellipsis)
	return ok
}

// imports lists the import lines of packages that are used.
func (f *goFile) imports() {
	for _, spec := range f.ast.Imports {
		full, err := strconv.Unquote(spec.Path.Value)
		// The names of other packages may differ from their paths.
		if err != nil || spec.Name != nil || strings.Contains(full, ".") {
			continue
		}
		start := strings.LastIndexByte(f.text[:f.at(spec.Pos())], '\n') + 1
		if strings.TrimSpace(f.text[start:f.at(spec.Pos())]) != "" {
			start = f.at(f.ast.Decls[0].Pos()) // import "a" without parentheses
			if strings.Count(f.text[start:f.at(spec.Pos())], "\n") > 0 {
				continue
			}
		}
		used := slices.ContainsFunc(f.ast.Unresolved, func(id *ast.Ident) bool { return id.Name == path.Base(full) })
		if end := strings.IndexByte(f.text[f.at(spec.End()):], '\n'); used && end >= 0 {
			f.add("removed import", goSeers, textEdit{start, f.at(spec.End()) + end + 1, ""})
		}
	}
}

// start lists the places for faults when a program with this package starts, and the end of the file, where a function can be added. The
// package's tests start it too.
func (f *goFile) start() {
	end := len(f.text)
	f.add("crash at start", []string{check.GateTests}, put(end, "\nfunc init() { panic(\"planted\") }\n"))
	f.add("infinite loop", []string{check.GateTests}, put(end, "\nfunc init() {\n\tfor {\n\t}\n}\n"))
	f.add("function added", nil, put(end, "\n// PlantedHelper gives the value back.\nfunc PlantedHelper(value int) int { return value }\n"))
}

// function lists the places in one function.
func (f *goFile) function(fn *ast.FuncDecl, sources []*goFile) {
	brace := f.at(fn.Body.Lbrace)
	f.add("syntax", []string{check.GateSyntax, check.GateTypes}, textEdit{brace, brace + 1, ""})
	if known := f.funcs[fn.Name.Name]; known.decl == fn && usedElsewhere(known, sources) {
		start := fn.Pos()
		if fn.Doc != nil {
			start = fn.Doc.Pos()
		}
		f.add("removed function", goSeers, textEdit{f.at(start), f.at(fn.End()), ""})
	}
	if len(fn.Body.List) > 1 {
		for _, stmt := range fn.Body.List[1:] {
			at := strings.LastIndexByte(f.text[:f.at(stmt.Pos())], '\n') + 1
			f.add("comment", nil, put(at, "\t// The order matters here.\n"))
			f.add("blank line", nil, put(at, "\n"))
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		f.expression(n)
		return true
	})
	f.locals(fn)
}

// usedElsewhere reports whether another file of the package calls the function.
func usedElsewhere(fn goFunc, sources []*goFile) bool {
	return slices.ContainsFunc(sources, func(f *goFile) bool {
		return f != fn.file && path.Dir(f.name) == path.Dir(fn.file.name) &&
			slices.ContainsFunc(f.ast.Unresolved, func(id *ast.Ident) bool { return id.Name == fn.decl.Name.Name })
	})
}

// opposite maps comparisons to their opposites.
var opposite = map[token.Token]string{token.EQL: "!=", token.NEQ: "==", token.LSS: ">=", token.GEQ: "<"}

// expression lists the places at one node of a function body.
func (f *goFile) expression(n ast.Node) {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if id, ok := n.X.(*ast.Ident); ok {
			f.add("undefined name", goSeers, put(f.at(id.End()), "Planted"))
		}
	case *ast.BinaryExpr:
		if to := opposite[n.Op]; to != "" {
			f.add("failing test", []string{check.GateTests}, textEdit{f.at(n.OpPos), f.at(n.OpPos) + len(n.Op.String()), to})
		}
	case *ast.ReturnStmt:
		if len(n.Results) != 1 {
			return
		}
		id, ok := n.Results[0].(*ast.Ident)
		if !ok {
			return
		}
		if to := map[string]string{"true": "false", "false": "true"}[id.Name]; to != "" {
			f.add("failing test", []string{check.GateTests}, textEdit{f.at(id.Pos()), f.at(id.End()), to})
		}
		f.add("parentheses", nil, put(f.at(id.Pos()), "("), put(f.at(id.End()), ")"))
	}
}

// locals lists the variables of a function that can be renamed: every mention of the name in the file is inside the function and refers
// to that one variable.
func (f *goFile) locals(fn *ast.FuncDecl) {
	mentions := map[string][]*ast.Ident{}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			mentions[id.Name] = append(mentions[id.Name], id)
		}
		return true
	})
	for _, name := range slices.Sorted(maps.Keys(mentions)) {
		of := mentions[name]
		object := of[0].Obj
		if object == nil || object.Kind != ast.Var || object.Pos() < fn.Body.Pos() || object.Pos() > fn.Body.End() || name == "_" {
			continue
		}
		if slices.ContainsFunc(of, func(id *ast.Ident) bool { return id.Obj != object }) || len(mentions[name+"Again"]) > 0 {
			continue
		}
		var edits []textEdit
		for _, id := range of {
			edits = append(edits, textEdit{f.at(id.Pos()), f.at(id.End()), name + "Again"})
		}
		f.add("local renamed", nil, edits...)
	}
}

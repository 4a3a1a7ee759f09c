package selfbuild

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// A Concern is a place in the program's own source where a change gets around the list of protected paths: it reaches into other
// packages, or runs before the program looks at anything.
type Concern struct {
	Path string
	Line int // from 1; 0 for the whole file
	What string
	// Refused says that no run may propose it. Otherwise a person decides.
	Refused bool
}

// String returns the place and what is there.
func (c Concern) String() string { return fmt.Sprintf("%s:%d: %s", c.Path, c.Line, c.What) }

// A place is a Concern with the key by which it is compared: each place with the same key in the earlier source offsets one.
type place struct {
	Concern
	key string
}

// concerns lists what after has and before has not, in the order of the paths. Both hold files by path, with all files of each
// directory that changes. Tests are not part of the program.
func concerns(before, after map[string][]byte) (list []Concern) {
	had := map[string]int{}
	for _, p := range places(before) {
		had[p.key]++
	}
	for _, p := range places(after) {
		if had[p.key]--; had[p.key] < 0 {
			list = append(list, p.Concern)
		}
	}
	return list
}

// places finds all places in files.
func places(files map[string][]byte) (list []place) {
	packages := map[string]*goPackage{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		switch ext := path.Ext(name); {
		// The linker takes these as they are, and no rule of the language applies to them.
		case strings.EqualFold(ext, ".s"), ext == ".sx", ext == ".syso":
			list = append(list, place{Concern{name, 0, "it is assembly, or an object file", true}, fmt.Sprintf("%s %x", name, sha256.Sum256(files[name]))})
		case ext == ".go" && !strings.HasSuffix(name, "_test.go"):
			p := packages[path.Dir(name)]
			if p == nil {
				p = &goPackage{dir: path.Dir(name), types: map[string]bool{}, others: map[string]bool{}, imported: map[string]bool{}}
				packages[p.dir] = p
			}
			if err := p.add(name, files[name]); err != nil {
				list = append(list, place{Concern{name, 0, "it cannot be read as Go", false}, fmt.Sprintf("%s %x", name, sha256.Sum256(files[name]))})
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		list = append(list, packages[dir].places()...)
	}
	return list
}

// A goPackage is the files of one directory, whatever their build constraints say.
type goPackage struct {
	dir   string
	files []goFile
	// Names at package level: of types, and of everything else.
	types, others map[string]bool
	// Imports that were noted already.
	imported map[string]bool
	found    []place
}

// A goFile is one file of a goPackage.
type goFile struct {
	path    string
	text    []byte
	fset    *token.FileSet
	ast     *ast.File
	imports map[string]string // paths by the names under which the file imports them
}

// add reads one more file.
func (p *goPackage) add(name string, text []byte) error {
	f := goFile{path: name, text: text, fset: token.NewFileSet(), imports: map[string]string{}}
	var err error
	if f.ast, err = parser.ParseFile(f.fset, name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return err
	}
	for _, spec := range f.ast.Imports {
		from, _ := strconv.Unquote(spec.Path.Value) // it was parsed
		as := path.Base(from)
		if spec.Name != nil {
			as = spec.Name.Name
		}
		f.imports[as] = from
	}
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			p.others[d.Name.Name] = p.others[d.Name.Name] || d.Recv == nil
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					p.types[spec.Name.Name] = true
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						p.others[id.Name] = true
					}
				}
			}
		}
	}
	p.files = append(p.files, f)
	return nil
}

// note records a place. text is its source text, by which it is compared within the package.
func (p *goPackage) note(f goFile, at token.Pos, what, text string, refused bool) {
	// Ignores //line, with which the file could claim any position.
	line := f.fset.PositionFor(at, false).Line
	p.found = append(p.found, place{Concern{f.path, line, what, refused}, strings.Join([]string{p.dir, what, text}, "\x00")})
}

// Directives that reach out of a file: into the symbols of other packages, to the linker, into the runtime.
var (
	refusedDirective = lazyregexp.New(`^//go:(?:linkname|cgo_\w+)\b`)
	heldDirective    = lazyregexp.New(`^//go:debug\b`)
)

// places lists the places of the package.
func (p *goPackage) places() []place {
	for _, f := range p.files {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if name := refusedDirective.FindString(c.Text); name != "" {
					p.note(f, c.Pos(), "it reaches into another package through "+name, strings.Join(strings.Fields(c.Text), " "), true)
				}
				if heldDirective.MatchString(c.Text) {
					p.note(f, c.Pos(), "it sets how the runtime behaves", strings.Join(strings.Fields(c.Text), " "), false)
				}
			}
		}
		p.imports(f)
		p.unsafeUses(f)
		for _, d := range f.ast.Decls {
			p.starts(f, d)
		}
	}
	return p.found
}

// reaching lists packages by which a program reaches out of its process; an entry with a slash at the end covers all below.
var reaching = []string{
	"plugin", "syscall", "syscall/", "golang.org/x/sys/", "os/exec", "net", "net/http", "net/http/", "net/rpc", "net/rpc/", "runtime/cgo",
	"github.com/docker/", "github.com/moby/", "github.com/containerd/",
}

// imports notes what a file imports that no earlier file of the package did.
func (p *goPackage) imports(f goFile) {
	for _, spec := range f.ast.Imports {
		from, _ := strconv.Unquote(spec.Path.Value) // it was parsed
		blank := spec.Name != nil && spec.Name.Name == "_"
		told := fmt.Sprint(from, blank)
		if p.imported[told] {
			continue
		}
		p.imported[told] = true
		switch {
		case from == "unsafe" || from == "C":
			p.note(f, spec.Pos(), fmt.Sprintf("it imports %q", from), "", true)
		case blank && from != "embed":
			p.note(f, spec.Pos(), fmt.Sprintf("it imports %q for its side effects", from), "", false)
		case slices.ContainsFunc(reaching, func(r string) bool { return from == r || strings.HasSuffix(r, "/") && strings.HasPrefix(from, r) }):
			p.note(f, spec.Pos(), fmt.Sprintf("it imports %q", from), "", false)
		}
	}
}

// unsafeUses notes each use of the package unsafe.
func (p *goPackage) unsafeUses(f goFile) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && f.imports[x.Name] == "unsafe" {
				p.note(f, sel.Pos(), "it uses unsafe."+sel.Sel.Name, "", true)
			}
		}
		return true
	})
}

// starts notes what a declaration causes to run before main.
func (p *goPackage) starts(f goFile, d ast.Decl) {
	source := func(n ast.Node) string { return string(f.text[n.Pos()-f.ast.FileStart : n.End()-f.ast.FileStart]) }
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.Name == "init" {
			p.note(f, d.Pos(), "it runs an init function at startup", source(d), true)
		}
	case *ast.GenDecl:
		if d.Tok != token.VAR {
			return
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false // it runs where it is called
			case *ast.CallExpr:
				if !p.harmless(f, n) {
					p.note(f, n.Pos(), "a package variable is made by a call, which runs at startup", source(n.Fun), true)
				}
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					p.note(f, n.Pos(), "a package variable waits for a channel at startup", source(n), true)
				}
			}
			return true
		})
	}
}

// pure holds functions and types, all but one of the standard library, that take no code, neither a function nor a value whose methods
// they call, and that affect nothing but their result.
var pure = map[string]bool{
	"errors.New": true, "regexp.MustCompile": true, "regexp.QuoteMeta": true, "strings.NewReplacer": true, "strings.Fields": true, "strings.Split": true,
	"strings.Repeat": true, "strings.Join": true, "math/big.NewInt": true, "reflect.TypeFor": true, "reflect.TypeOf": true, "time.Duration": true, "io/fs.FileMode": true,
	"os.FileMode": true, "agent/sandbox/workspace/lazyregexp.New": true, // sandbox/ is protected
}

// acting lists the built-in functions that do more than make a value.
var acting = []string{"panic", "close", "print", "println", "recover", "copy", "delete", "clear"}

// harmless reports whether a call is a conversion, or only makes a value from values.
func (p *goPackage) harmless(f goFile, call *ast.CallExpr) bool {
	fun := ast.Unparen(call.Fun)
	switch x := fun.(type) {
	case *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.InterfaceType, *ast.StructType, *ast.FuncType:
		return true
	case *ast.StarExpr: // a pointer type, or what a pointer to a function points to
		to := x.X
		if generic, ok := to.(*ast.IndexExpr); ok {
			to = generic.X
		}
		id, ok := to.(*ast.Ident)
		return ok && p.types[id.Name]
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	switch x := fun.(type) {
	case *ast.Ident:
		builtin := types.Universe.Lookup(x.Name) != nil && !slices.Contains(acting, x.Name)
		return !p.others[x.Name] && (p.types[x.Name] || builtin && f.imports["."] == "")
	case *ast.SelectorExpr:
		id, ok := x.X.(*ast.Ident)
		return ok && pure[f.imports[id.Name]+"."+x.Sel.Name]
	}
	return false
}

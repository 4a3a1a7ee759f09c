package dependencies

import (
	"bytes"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"

	"agent/sandbox/workspace/deps"
)

// mostGoFiles bounds how many Go files are read for their imports.
const mostGoFiles = 5000

// Importing returns d with what the Go files of a workspace import from other modules, so that this is compiled once and not in
// each box, and with whether any file is written in C, in whatever module. It takes the paths of files and a function that reads
// one; a file that cannot be read imports nothing. The imports are not part of what is to be installed: Equal ignores them.
func (d Set) Importing(paths []string, read func(p string) ([]byte, error)) Set {
	own := map[string]string{} // directory to module name, for the modules with an install step
	for _, s := range d.steps {
		if s.kind == "go" {
			own[s.root] = modfile.ModulePath(d.files[path.Join("go", s.root, "go.mod")])
		}
	}
	found := map[string]map[string]bool{}
	left := mostGoFiles
	// inC maps directories with files that use C to their modules. without holds directories with alternative files for the
	// lack of a compiler: what else C needs is unknown here.
	inC, without := map[string]string{}, map[string]bool{}
	add := func(root, name string) {
		if found[root] == nil {
			found[root] = map[string]bool{}
		}
		found[root][name] = true
	}
	for _, p := range paths {
		if path.Ext(p) != ".go" || left == 0 {
			continue
		}
		root, installed := d.moduleOf(p)
		installed = installed && own[root] != ""
		left--
		text, err := read(p)
		if err == nil && bytes.Contains(text, []byte("!cgo")) && compiled(p, text, false) && !compiled(p, text, true) {
			without[path.Dir(p)] = true
		}
		if err != nil || !installed && !bytes.Contains(text, []byte(`"C"`)) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, text, parser.ImportsOnly)
		if err != nil {
			continue
		}
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			first, _, _ := strings.Cut(name, "/")
			switch {
			case err != nil:
			case name == "C" && compiled(p, text, true):
				inC[path.Dir(p)] = root
			// A path that no module can have is not given to a command.
			case installed && strings.Contains(first, ".") && importPath(name) && name != own[root] && !strings.HasPrefix(name, own[root]+"/"):
				add(root, name)
			}
		}
	}
	for dir, root := range inC {
		if !without[dir] {
			add(root, "C")
		}
	}
	d.imports = map[string][]string{}
	for root, names := range found {
		d.imports[root] = slices.Sorted(maps.Keys(names))
	}
	return d
}

// compiled reports whether the go command compiles a file on this system, with or without cgo.
func compiled(p string, text []byte, cgo bool) bool {
	// Vendored packages are compiled where they are imported.
	return deps.GoCompiles(p, text, cgo) && !deps.GoIgnores(strings.ReplaceAll("/"+path.Dir(p)+"/", "/vendor/", "/"))
}

// Imports returns what Importing found: by module directory the sorted packages of others, and "C" if its files need C.
func (d Set) Imports() map[string][]string { return d.imports }

// moduleOf returns the directory of the module to which a file belongs.
func (d Set) moduleOf(p string) (dir string, ok bool) {
	for dir = path.Dir(p); ; dir = path.Dir(dir) {
		if _, ok := d.files[path.Join("go", dir, "go.mod")]; ok || dir == "." || dir == "/" {
			return dir, ok
		}
	}
}

// importPath reports whether a text is a path of letters, digits and the signs that the go command allows, and not an option.
func importPath(name string) bool {
	return !strings.HasPrefix(name, "-") && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~/+", r))
	})
}

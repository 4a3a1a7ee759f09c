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

// mostGoFiles bounds the files of Go of which it is read what they import.
const mostGoFiles = 5000

// Importing is d with what the Go files of a workspace import of other modules, so that these are compiled once and not in each
// box; and whether any is written in C, in whatever module. It takes the paths of files, and what reads one; what cannot be read imports nothing. It is no part of what is to be
// installed: Equal does not look at it.
func (d Set) Importing(paths []string, read func(p string) ([]byte, error)) Set {
	own := map[string]string{} // the name of the module in a directory, of those that are installed for
	for _, s := range d.steps {
		if s.kind == "go" {
			own[s.root] = modfile.ModulePath(d.files[path.Join("go", s.root, "go.mod")])
		}
	}
	found := map[string]map[string]bool{}
	left := mostGoFiles
	// By directory the module that it belongs to, where files of it hold C; and which have another form for want of a compiler: what C needs
	// besides nobody knows here.
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
			// A path that no module can have is none to hand to a command.
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

// compiled reports whether the go command compiles a file on this system, with cgo or without.
func compiled(p string, text []byte, cgo bool) bool {
	// What is vendored is compiled where it is imported.
	return deps.GoCompiles(p, text, cgo) && !deps.GoIgnores(strings.ReplaceAll("/"+path.Dir(p)+"/", "/vendor/", "/"))
}

// Imports are what Importing has found: by the directory of a module the packages of others, sorted, and "C" where its files hold some and have no other form.
func (d Set) Imports() map[string][]string { return d.imports }

// moduleOf is the directory of the module that a file belongs to.
func (d Set) moduleOf(p string) (dir string, ok bool) {
	for dir = path.Dir(p); ; dir = path.Dir(dir) {
		if _, ok := d.files[path.Join("go", dir, "go.mod")]; ok || dir == "." || dir == "/" {
			return dir, ok
		}
	}
}

// importPath reports whether a text is a path of letters, digits and the signs that the go command allows in one, and no option.
func importPath(name string) bool {
	return !strings.HasPrefix(name, "-") && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~/+", r))
	})
}

package dependencies

import (
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
)

// mostGoFiles bounds the files of Go of which it is read what they import.
const mostGoFiles = 5000

// Importing is d with what the Go files of a workspace import of other modules, so that these are compiled once and not in each
// box. It takes the paths of files, and what reads one; what cannot be read imports nothing. It is no part of what is to be
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
	for _, p := range paths {
		if path.Ext(p) != ".go" || len(own) == 0 || left == 0 {
			continue
		}
		root, ok := d.moduleOf(p)
		if name := own[root]; !ok || name == "" {
			continue
		}
		left--
		text, err := read(p)
		if err != nil {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, text, parser.ImportsOnly)
		if err != nil {
			continue
		}
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			first, _, _ := strings.Cut(name, "/")
			// A path that no module can have is none to hand to a command.
			if err == nil && (name == "C" || strings.Contains(first, ".") && importPath(name)) && name != own[root] && !strings.HasPrefix(name, own[root]+"/") {
				if found[root] == nil {
					found[root] = map[string]bool{}
				}
				found[root][name] = true
			}
		}
	}
	d.imports = map[string][]string{}
	for root, names := range found {
		d.imports[root] = slices.Sorted(maps.Keys(names))
	}
	return d
}

// Imports are what Importing has found: by the directory of a module the packages of others, sorted, and "C" where its files hold some.
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

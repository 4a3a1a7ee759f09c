package ledger

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// A set holds files by their paths.
type set map[string]bool

// An index finds files by a name.
type index map[string]set

// add puts file under name. A file may be there already, for example if it mentions a name with several qualifiers.
func (x index) add(name, file string) {
	s := x[name]
	if s == nil {
		s = set{}
		x[name] = s
	}
	s[file] = true
}

// remove removes file from under name. It also removes a name without files: otherwise a workspace that is edited for
// days would keep every name that was ever typed.
func (x index) remove(name, file string) {
	delete(x[name], file)
	if len(x[name]) == 0 {
		delete(x, name)
	}
}

// A Ledger holds the files of a workspace and their connections. It updates the indexes file by file, so that a small
// change costs little in a large workspace.
type Ledger struct {
	files map[string]*File
	// mentions finds the files that refer to a name.
	mentions index
	// defined finds the files that define a name.
	defined index
	// dirs finds the Go files of a directory, which form one package.
	dirs index
	// modules finds the go.mod or package.json files that give a name.
	modules index
	// wanted finds the files whose imports may change their meaning when a file with that stem appears or disappears.
	wanted index
	// bindings are the resolved imports of each file; importers is the reverse, by node.
	bindings  map[string][]binding
	importers index
	// reached caches, until the next update, which nodes reach a node.
	reached map[string]set
}

// New returns a ledger of files as package decode returns them. Of two files with the same path, the later one counts.
func New(files []File) *Ledger {
	l := &Ledger{
		files: map[string]*File{}, mentions: index{}, defined: index{}, dirs: index{}, modules: index{}, wanted: index{},
		bindings: map[string][]binding{}, importers: index{}, reached: map[string]set{},
	}
	l.replace(last(files), nil)
	return l
}

// File returns what the ledger knows about the file at path.
func (l *Ledger) File(path string) (File, bool) {
	f, ok := l.files[path]
	if !ok {
		return File{}, false
	}
	return *f, true
}

// Paths lists the files, sorted.
func (l *Ledger) Paths() []string { return slices.Sorted(maps.Keys(l.files)) }

// Definitions returns the definitions of name within parent in the file at path. There may be several, as with
// overloads and with names that a condition chooses.
func (l *Ledger) Definitions(path, parent, name string) []Definition {
	var found []Definition
	if f := l.files[path]; f != nil {
		for _, d := range f.Definitions {
			if d.Parent == parent && d.Name == name {
				found = append(found, d)
			}
		}
	}
	return found
}

// Defining lists the files that define name, sorted: equal names in different files stay distinct.
func (l *Ledger) Defining(name string) []string { return slices.Sorted(maps.Keys(l.defined[name])) }

// Mentioning lists the files that refer to name, sorted.
func (l *Ledger) Mentioning(name string) []string { return slices.Sorted(maps.Keys(l.mentions[name])) }

// Update replaces the old state of the changed files, drops the files at the paths in gone, and returns the files that
// this concerns, sorted by path. A changed file is among them only if it still uses something that no longer exists.
// Update asks for the users twice: before, since after a rename nobody can be found by the old definition any more, and
// after, since a file of the same update may have begun to use it. Renaming rate in tax.py gives a ripple to a cart.py
// that still uses rate, but none to a cart.py that the same update has brought up to date.
func (l *Ledger) Update(changed []File, gone []string) []Ripple {
	changed = last(changed)
	changes := l.changes(changed, gone)
	trail := newTrail(changes)
	trail.follow(l, true)
	l.replace(changed, gone)
	trail.follow(l, false)
	trail.settled(changed, gone)
	return trail.ripples()
}

// last drops all but the last file of each path. The others keep their order, which is the order of the changes in a
// ripple.
func last(files []File) []File {
	place := make(map[string]int, len(files))
	for i, f := range files {
		place[f.Path] = i
	}
	var kept []File
	for i, f := range files {
		if place[f.Path] == i {
			kept = append(kept, f)
		}
	}
	return kept
}

// replace changes files and indexes, and resolves again the imports that this may affect. An import may mean another
// file without a change of its own: when x/a.py appears, "import a" in x/main.py no longer means a.py. replace collects
// the files concerned while the old state still exists, and resolves their imports when the new state is complete.
func (l *Ledger) replace(changed []File, gone []string) {
	again := set{}
	// All of the first files are resolved anyway.
	first := len(l.files) == 0
	for _, p := range gone {
		if f := l.files[p]; f != nil {
			l.concerned(f, nil, again)
			l.drop(f)
		}
	}
	for _, f := range changed {
		// The slices belong to the caller, and are sorted here.
		f.Definitions, f.References = slices.Clone(f.Definitions), slices.Clone(f.References)
		f.Sort()
		old := l.files[f.Path]
		if !first {
			l.concerned(old, &f, again)
		}
		if old != nil {
			l.drop(old)
		}
		l.put(&f)
		again[f.Path] = true
	}
	for p := range again {
		l.bind(p)
	}
	// One new import may connect anything with anything: finding out what of this still holds costs more than forgetting it.
	clear(l.reached)
}

// put adds a file to the indexes that need only the file itself.
func (l *Ledger) put(f *File) {
	l.files[f.Path] = f
	f.each(func(x, name string) { l.named(x).add(name, f.Path) })
}

// drop removes a file from all indexes.
func (l *Ledger) drop(f *File) {
	l.unbind(f.Path)
	f.each(func(x, name string) { l.named(x).remove(name, f.Path) })
	delete(l.files, f.Path)
}

// named returns one of the indexes.
func (l *Ledger) named(name string) index {
	return map[string]index{
		"mentions": l.mentions, "defined": l.defined, "dirs": l.dirs, "modules": l.modules, "wanted": l.wanted,
	}[name]
}

// each calls do for every index and name under which f is found. put and drop share it, so that drop cannot forget to
// remove what put adds.
func (f *File) each(do func(x, name string)) {
	for _, r := range f.References {
		do("mentions", r.Name)
	}
	for _, i := range f.Imports {
		for _, stem := range i.stems() {
			do("wanted", stem)
		}
	}
	for _, d := range f.Definitions {
		do("defined", d.Name)
		if d.Kind == Module {
			do("modules", d.Name)
		}
	}
	if f.Language == "go" {
		do("dirs", path.Dir(f.Path))
	}
}

// concerned adds to again the files whose imports may mean another file when before becomes after; either may be nil.
// It may add too many, which are resolved in vain, but never too few. Most updates change the content of a file and not
// its place, and concern no other file.
func (l *Ledger) concerned(before, after *File, again set) {
	if before != nil && after != nil && before.Language == after.Language && slices.Equal(before.moduleNames(), after.moduleNames()) {
		return // name and place are unchanged
	}
	for _, f := range []*File{before, after} {
		if f == nil {
			continue
		}
		for _, stem := range stemsOf(f.Path) {
			maps.Copy(again, l.wanted[stem])
		}
		for p, other := range l.files {
			// A package's own name, and whether a directory is a package, affect every file around it.
			if f.Language == "module" && other.Language != "python" ||
				path.Base(f.Path) == "__init__.py" && strings.HasPrefix(p, path.Dir(f.Path)+"/") {
				again[p] = true
			}
		}
	}
}

// moduleNames returns the names that f gives its directory, or the package clause of a Go file.
func (f *File) moduleNames() []string {
	var names []string
	for _, d := range f.Definitions {
		if d.Kind == Module || d.Kind == Package {
			names = append(names, d.Name)
		}
	}
	return names
}

// bind resolves the imports of the file at path.
func (l *Ledger) bind(path string) {
	l.unbind(path)
	f := l.files[path]
	if f == nil {
		return
	}
	l.bindings[path] = l.resolve(f)
	for _, b := range l.bindings[path] {
		l.importers.add(b.node, path)
	}
}

// unbind forgets the resolved imports of the file at path.
func (l *Ledger) unbind(path string) {
	for _, b := range l.bindings[path] {
		l.importers.remove(b.node, path)
	}
	delete(l.bindings, path)
}

// node returns the target of imports of f: the file, or for Go its directory, which ends in a slash. "tax/rate.go" has
// the node "tax/", while "tax/rate.py" is its own: Go imports directories, all other languages files.
func (f *File) node() string {
	if f.Language == "go" {
		return path.Dir(f.Path) + "/"
	}
	return f.Path
}

// members lists the files of a node.
func (l *Ledger) members(node string) []string {
	dir, ok := strings.CutSuffix(node, "/")
	if !ok {
		return []string{node}
	}
	return slices.Collect(maps.Keys(l.dirs[dir]))
}

// reaching returns the nodes from which node can be reached through imports, including itself. The result is shared.
// The search goes breadth first over a set, so that it ends even if imports form circles.
func (l *Ledger) reaching(node string) set {
	if s, ok := l.reached[node]; ok {
		return s
	}
	s := set{node: true}
	for queue := []string{node}; len(queue) > 0; queue = queue[1:] {
		for p := range l.importers[queue[0]] {
			if n := l.files[p].node(); !s[n] {
				s[n] = true
				queue = append(queue, n)
			}
		}
	}
	l.reached[node] = s
	return s
}

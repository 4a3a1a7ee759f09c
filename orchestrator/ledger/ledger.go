package ledger

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// A set holds files by their path.
type set map[string]bool

// An index finds files by some name.
type index map[string]set

// add puts file under name. A file may be there already, as when it mentions a name behind several qualifiers.
func (x index) add(name, file string) {
	s := x[name]
	if s == nil {
		s = set{}
		x[name] = s
	}
	s[file] = true
}

// remove takes file away from under name. A name that is left without files goes too: a workspace that is edited for
// days would otherwise keep every name that was ever typed.
func (x index) remove(name, file string) {
	delete(x[name], file)
	if len(x[name]) == 0 {
		delete(x, name)
	}
}

// A Ledger holds the files of a workspace and finds its way among them. The indexes are kept up to date file by file,
// so that a small change costs little in a large workspace.
type Ledger struct {
	files map[string]*File
	// mentions finds the files that refer to a name.
	mentions index
	// defined finds the files that define a name.
	defined index
	// dirs finds the Go files of a directory: they are one package.
	dirs index
	// modules finds the go.mod or package.json files that give a name.
	modules index
	// wanted finds the files whose imports may change their meaning when a file of that stem comes or goes.
	wanted index
	// bindings are the resolved imports of each file; importers has their reverse, by node.
	bindings  map[string][]binding
	importers index
	// reached remembers, until the next update, what reaches a node.
	reached map[string]set
}

// New makes a ledger of files, as they come from Decode. Of two with the same path the later one counts.
func New(files []File) *Ledger {
	l := &Ledger{
		files: map[string]*File{}, mentions: index{}, defined: index{}, dirs: index{}, modules: index{}, wanted: index{},
		bindings: map[string][]binding{}, importers: index{}, reached: map[string]set{},
	}
	l.replace(last(files), nil)
	return l
}

// File returns what the ledger knows of the file at path.
func (l *Ledger) File(path string) (File, bool) {
	f, ok := l.files[path]
	if !ok {
		return File{}, false
	}
	return *f, true
}

// Paths lists the files, sorted.
func (l *Ledger) Paths() []string { return slices.Sorted(maps.Keys(l.files)) }

// Definitions returns what the file at path defines under name within parent. There may be more than one, as with
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

// Defining lists the files that define name, sorted: equal names in different files stay apart.
func (l *Ledger) Defining(name string) []string { return slices.Sorted(maps.Keys(l.defined[name])) }

// Mentioning lists the files that refer to name, sorted.
func (l *Ledger) Mentioning(name string) []string { return slices.Sorted(maps.Keys(l.mentions[name])) }

// Update puts the changed files in place of their old state, drops those at the paths in gone, and returns whom that
// concerns, sorted by path. A file that changed itself is among them only if it still uses what is no more.
// The users are asked for twice. Before, since after a rename nobody can be found by the old definition any more;
// after, since a file of the same update may have begun to use it. Renaming rate in tax.py gives a ripple to cart.py,
// which still says rate, but none to a cart.py that the same update has brought up to date.
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

// last drops all but the last file of each path.
// The order of the others stays, which is that of the changes in a ripple.
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

// replace changes files and indexes, and resolves again the imports that this may concern.
// An import may mean another file without a change of its own: when x/a.py appears, "import a" in x/main.py no longer
// means a.py. Who that may be is collected while the old state is still there, and resolved when the new one is whole.
func (l *Ledger) replace(changed []File, gone []string) {
	again := set{}
	// Of the first files, each is resolved anyway.
	first := len(l.files) == 0
	for _, p := range gone {
		if f := l.files[p]; f != nil {
			l.concerned(f, nil, again)
			l.drop(f)
		}
	}
	for _, f := range changed {
		// The slices are the caller's, and are sorted here.
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
	// One new import may connect anything with anything; to find out what of this still holds costs more than to forget.
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

// each calls do for every index and name under which f is found.
// put and drop share it, so that what one adds the other cannot forget to take away.
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
// It may add too many, which are resolved in vain, and never too few. Most updates change what is in a file and not
// where it is, and concern nobody.
func (l *Ledger) concerned(before, after *File, again set) {
	if before != nil && after != nil && before.Language == after.Language && slices.Equal(before.moduleNames(), after.moduleNames()) {
		return // its name and place are what they were
	}
	for _, f := range []*File{before, after} {
		if f == nil {
			continue
		}
		for _, stem := range stemsOf(f.Path) {
			maps.Copy(again, l.wanted[stem])
		}
		for p, other := range l.files {
			// A package's own name, or whether a directory is a package, decides for everyone around.
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

// node is where imports of f lead to: the file, or for Go its directory, which ends in a slash.
// "tax/rate.go" has the node "tax/", "tax/rate.py" is its own: Go imports directories, everyone else files.
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

// reaching returns the nodes from which node can be reached through imports, itself among them. The result is shared.
// The search goes breadth first over a set, so that circles of imports end.
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

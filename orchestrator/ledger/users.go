package ledger

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

// A Use says that a file uses a definition of another file.
type Use struct {
	Path string `json:"path"`
	// Lines are the lines of the use, ascending; the first ones, if there are many.
	Lines []int `json:"lines"`
}

// Bounds on the names under which a definition is sought: re-exports can form circles in which names grow.
const (
	maxExposures = 1000
	maxDepth     = 4
)

// An exposure is a way to reach a definition: a path of names, such as "ns.name", from a node.
type exposure struct{ node, path string }

// Users returns the files that use d, which the file at path defines or defined, sorted and without that file. What d
// is decides the way: a selector by its first character, a member by its parent, and anything else by its name alone.
// For example, a cart.py with "from tax import rate as r" on line 1 and r() on line 9 uses rate of tax.py: {cart.py [1
// 9]}. The import itself is a use, since it breaks when rate is gone.
func (l *Ledger) Users(path string, d Definition) []Use {
	f := l.files[path]
	if f == nil {
		return nil
	}
	used := map[string]map[int]bool{}
	add := func(user string, lines ...int) {
		if user == path || len(lines) == 0 {
			return
		}
		if used[user] == nil {
			used[user] = map[int]bool{}
		}
		for _, n := range lines {
			used[user][n] = true
		}
	}
	switch {
	case d.Kind == Package || d.Kind == Module:
	case strings.ContainsAny(d.Name[:1], ".#-"):
		l.selectorUsers(f, d, add)
	case d.Parent != "":
		l.memberUsers(f, d, add)
	default:
		l.siblingUsers(f, d, add)
		if f.Language != "go" || d.Exported {
			l.importUsers(f, d, add)
		}
	}
	// Sorted twice, by path and by line: maps have no order, and a prompt made from this must be reproducible.
	uses := make([]Use, 0, len(used))
	for p, lines := range used {
		uses = append(uses, Use{p, slices.Sorted(maps.Keys(lines))})
	}
	slices.SortFunc(uses, func(a, b Use) int { return cmp.Compare(a.Path, b.Path) })
	return uses
}

// importUsers follows the name of d through imports, aliases and re-exports. The search goes breadth first over
// exposures: (tax.py, rate) leads to (shop/__init__.py, rate) through a re-export, and to (shop/index.ts, tax.rate)
// through a namespace. It does not follow an exposure twice, and names do not grow beyond maxDepth, so that it ends for
// two files that re-export each other.
func (l *Ledger) importUsers(f *File, d Definition, add func(string, ...int)) {
	todo := []exposure{{f.node(), d.Name}}
	seen := map[exposure]bool{todo[0]: true}
	expose := func(e exposure) {
		if !seen[e] && len(seen) < maxExposures && strings.Count(e.path, ".") < maxDepth {
			seen[e] = true
			todo = append(todo, e)
		}
	}
	l.pass(f, d.Name, expose)
	if d.Kind == Key {
		expose(exposure{f.node(), "default." + d.Name}) // as scripts import JSON
	}
	for ; len(todo) > 0; todo = todo[1:] {
		e := todo[0]
		for user := range l.importers[e.node] {
			g := l.files[user]
			for _, b := range l.bindings[user] {
				// A package that takes its own modules from itself is not a user of itself.
				local, ok := b.local, b.node == e.node && user != e.node
				if ok {
					local, ok = b.carry(e.path)
				}
				if !ok {
					continue
				}
				// An import by name is itself a use.
				if b.name != "*" {
					add(user, b.line)
				}
				add(user, g.lines(local)...)
				if b.export {
					expose(exposure{g.node(), local})
				}
				l.pass(g, local, expose)
			}
		}
	}
}

// pass exposes what g exports under another name, given the path under which g itself knows it. For "import { f } from
// ./a; export { f as g }" it exposes g, given f. Only scripts write the two separately.
func (l *Ledger) pass(g *File, local string, expose func(exposure)) {
	head, rest, _ := strings.Cut(local, ".")
	for _, i := range g.Imports {
		if i.Module == "" && i.Export && i.Name == head && g.script() {
			expose(exposure{g.node(), strings.TrimSuffix(i.Alias+"."+rest, ".")})
		}
	}
}

// carry returns the path under which the importing file knows what its module exposes as p, if the binding brings it.
// For p "rate", a star without a name gives "rate", a namespace ns gives "ns.rate", and an import of rate as r gives
// "r"; an import of another name gives nothing.
func (b binding) carry(p string) (string, bool) {
	head, rest, _ := strings.Cut(p, ".")
	switch {
	case b.name == "*" && b.local == "":
		return p, head != "default" // a star leaves the default export out
	case b.name == "*":
		return b.local + "." + p, true
	case b.name == head:
		return strings.TrimSuffix(b.local+"."+rest, "."), true
	}
	return "", false
}

// lines returns the lines on which f mentions the path of names. For "ns.rate" these are the lines with ns.rate, but
// not those with a bare rate, which would be another name.
func (f *File) lines(p string) []int {
	on, name := "", p
	if dot := strings.LastIndexByte(p, '.'); dot >= 0 {
		on, name = p[:dot], p[dot+1:]
	}
	var lines []int
	for _, r := range f.refs(name) {
		// A module that is loaded late has no name to follow, and a qualifier that is not a name could be any module.
		unknown := strings.HasPrefix(on, "?") && r.On != "" || on != "" && r.On == "?" && f.Language != "go"
		if r.On == on || unknown {
			lines = append(lines, r.Lines...)
		}
	}
	return lines
}

// siblingUsers adds the files that need no import: the files of a Go package, and the scripts of a page. Modules of a
// page keep their names to themselves, but count here too: the text does not say which kind a page loads.
func (l *Ledger) siblingUsers(f *File, d Definition, add func(string, ...int)) {
	if f.Language == "go" {
		for p := range l.dirs[path.Dir(f.Path)] {
			add(p, l.files[p].bare(d.Name)...)
		}
	}
	if !f.script() {
		return
	}
	for page := range l.pages(f) {
		for _, b := range l.bindings[page] {
			if g := l.files[b.node]; g != nil && g.script() {
				add(b.node, g.bare(d.Name)...)
			}
		}
	}
}

// bare returns the lines on which f uses name without a qualifier.
func (f *File) bare(name string) []int {
	for _, r := range f.refs(name) {
		if r.On == "" {
			return r.Lines
		}
	}
	return nil
}

// pages lists the pages that load the script f, but only those that name it: a script that another one imports is found
// through the import.
func (l *Ledger) pages(f *File) set {
	pages := set{}
	for p := range l.importers[f.node()] {
		if l.files[p].Language == "html" {
			pages[p] = true
		}
	}
	return pages
}

// memberUsers adds the files that use the name of a member with any qualifier and reach the file of its class. In
// cart.py, "order.total()" does not reveal the class of order. It counts if cart.py reaches the file of the class,
// since otherwise it can hardly hold such an object; "math.total()" does not count if math is a module.
func (l *Ledger) memberUsers(f *File, d Definition, add func(string, ...int)) {
	reach := l.reaching(f.node())
	// The innermost class, as a subclass names it: "Inner" for "Outer.Inner".
	parent := d.Parent[strings.LastIndexByte(d.Parent, '.')+1:]
	loaded := set{}
	if f.script() {
		for page := range l.pages(f) {
			for _, b := range l.bindings[page] {
				loaded[b.node] = true
			}
		}
	}
	for p := range l.mentions[d.Name] {
		g := l.files[p]
		near := g.node() == f.node()
		if !reach[g.node()] && !loaded[p] || f.Language == "go" && !d.Exported && !near {
			continue
		}
		for _, r := range g.refs(d.Name) {
			if r.On != "" && !g.isModule(r.On) {
				add(p, r.Lines...)
			}
		}
	}
	// A subclass overrides by defining the same name.
	for p := range l.defined[d.Name] {
		g := l.files[p]
		if !reach[g.node()] || len(g.refs(parent)) == 0 && !g.imports(parent) {
			continue
		}
		for _, o := range g.Definitions {
			if o.Name == d.Name && o.Parent != "" && g.Language != "go" {
				add(p, o.Line)
			}
		}
	}
}

// isModule reports whether the qualifier names a module in f, so that what follows is not a member of an object.
func (f *File) isModule(on string) bool {
	for _, i := range f.Imports {
		if i.Name == "*" && (i.Alias == on || i.Alias == "/" && path.Base(i.Module) == on) {
			// A script's require may return a class as well as a module.
			return !f.script()
		}
	}
	return false
}

// imports reports whether f imports something of that name. A subclass may import its base under another name, and then
// never uses the base's own name again.
func (f *File) imports(name string) bool {
	return slices.ContainsFunc(f.Imports, func(i Import) bool { return i.Name == name })
}

// selectorUsers adds the files that use a selector, id or variable of CSS and share a page with f. If nothing loads f,
// as with templates whose paths are computed, every file that uses the name may be a user. A ".card" in shop.css
// concerns the pages that load shop.css, and their scripts; blog.html may have a .card of its own, which a change in
// shop.css does not concern.
func (l *Ledger) selectorUsers(f *File, d Definition, add func(string, ...int)) {
	together := set{}
	for p := range l.reaching(f.node()) {
		l.forward(p, together)
	}
	for p := range l.mentions[d.Name] {
		if together[p] || l.loose(f) || l.loose(l.files[p]) {
			add(p, l.files[p].bare(d.Name)...)
		}
	}
	// A style sheet that is imported as a module exposes its classes as members.
	if f.Language == "css" && d.Name[0] == '.' {
		for p := range l.importers[f.node()] {
			for _, b := range l.bindings[p] {
				if b.node == f.node() {
					add(p, l.files[p].lines(b.local+d.Name)...)
				}
			}
		}
	}
}

// loose reports whether no import says to which page f belongs. A page is loose only if it loads nothing either: it may
// be a part that is put into others.
func (l *Ledger) loose(f *File) bool {
	return len(l.importers[f.node()]) == 0 && (f.Language != "html" || len(l.bindings[f.Path]) == 0)
}

// forward adds to found what can be reached from node, including node. It is the reverse of reaching, without a cache:
// the set is the caller's and gathers what several nodes reach.
func (l *Ledger) forward(node string, found set) {
	if found[node] {
		return
	}
	found[node] = true
	for todo := []string{node}; len(todo) > 0; todo = todo[1:] {
		for _, p := range l.members(todo[0]) {
			for _, b := range l.bindings[p] {
				if !found[b.node] {
					found[b.node] = true
					todo = append(todo, b.node)
				}
			}
		}
	}
}

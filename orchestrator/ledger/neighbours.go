package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// A Neighbour is a definition that connects two files.
type Neighbour struct {
	// Path is the other file: the one that defines or the one that uses.
	Path       string     `json:"path"`
	Definition Definition `json:"definition"`
	// Lines are where it is used: in the file asked about for takes, and in the other one for gives.
	Lines []int `json:"lines"`
}

// String returns the place of the definition and its signature.
func (n Neighbour) String() string {
	return fmt.Sprintf("%s:%d: %s %s", n.Path, n.Definition.Line, n.Definition.Kind, n.Definition.title())
}

// Neighbours returns what the file at path takes from others and what others take from it, for a prompt with a budget
// in bytes as String counts them. At most half of the budget goes to gives. Both lists are sorted by path and line, and
// end where the budget does. gives comes first, since breaking a user is worse than guessing a signature, but gets at
// most half of the budget, since a file that everyone uses would leave no room for what it needs itself. The unused
// part of that half goes to takes.
func (l *Ledger) Neighbours(path string, budget int) (takes, gives []Neighbour) {
	f := l.files[path]
	if f == nil {
		return nil, nil
	}
	gives = fit(l.gives(f), budget/2)
	for _, n := range gives {
		budget -= len(n.String()) + 1
	}
	return fit(l.takes(f), budget), gives
}

// gives lists the users of everything that f defines. A user of several definitions occurs once for each, with the
// lines for that one.
func (l *Ledger) gives(f *File) []Neighbour {
	var list []Neighbour
	for _, d := range f.Definitions {
		for _, u := range l.Users(f.Path, d) {
			list = append(list, Neighbour{u.Path, d, u.Lines})
		}
	}
	return list
}

// takes lists the definitions of other files that f uses. It asks only about what f names and can reach: asking for the
// users of every definition of the workspace would give the same answer for far more work.
func (l *Ledger) takes(f *File) []Neighbour {
	reachable := set{}
	l.forward(f.node(), reachable)
	names := map[string]bool{}
	for _, r := range f.References {
		names[r.Name] = true
	}
	for _, i := range f.Imports {
		names[i.Name] = true
	}
	// A package may have passed on a name under another one.
	for node := range reachable {
		for _, p := range l.members(node) {
			for _, i := range l.files[p].Imports {
				if i.Export && names[i.Alias] {
					names[i.Name] = true
				}
			}
		}
	}
	var list []Neighbour
	for name := range names {
		for p := range l.defined[name] {
			g := l.files[p]
			// Scripts and styles of one page see each other without an import, which forward does not see from here.
			if p == f.Path || !reachable[g.node()] && !f.markup() {
				continue
			}
			for _, d := range g.Definitions {
				if d.Name != name {
					continue
				}
				for _, u := range l.Users(p, d) {
					if u.Path == f.Path {
						list = append(list, Neighbour{p, d, u.Lines})
					}
				}
			}
		}
	}
	return list
}

// markup reports whether f is connected to other files by pages that load both.
func (f *File) markup() bool { return f.script() || f.Language == "html" || f.Language == "css" }

// fit sorts the list and cuts it to a budget of bytes. It shows a definition completely or not at all: half of a
// signature is a wrong one.
func fit(list []Neighbour, budget int) []Neighbour {
	slices.SortFunc(list, func(a, b Neighbour) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Definition.Line, b.Definition.Line),
			cmp.Compare(a.Definition.Parent, b.Definition.Parent), cmp.Compare(a.Definition.Name, b.Definition.Name))
	})
	for i, n := range list {
		if budget -= len(n.String()) + 1; budget < 0 {
			return list[:i]
		}
	}
	return list
}

// Protected lists the names in the file at path that other files use, sorted: a patch to only this file must not rename
// or remove them. A member is listed with its class, as "Cart.total".
func (l *Ledger) Protected(path string) []string {
	f := l.files[path]
	if f == nil {
		return nil
	}
	names := set{}
	for _, n := range l.gives(f) {
		names[n.Definition.full()] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// Dependants lists the files that reach the file at path through imports, near or far, sorted and without that file.
// The tests of these files may notice a change to it, even if they use none of its names.
func (l *Ledger) Dependants(path string) []string {
	f := l.files[path]
	if f == nil {
		return nil
	}
	found := set{}
	for node := range l.reaching(f.node()) {
		for _, p := range l.members(node) {
			found[p] = true
		}
	}
	delete(found, path)
	return slices.Sorted(maps.Keys(found))
}

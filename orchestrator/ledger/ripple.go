package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The kinds of changes that users of a definition must know about.
const (
	Renamed      = "renamed"   // From and To are names
	NewSignature = "signature" // From and To are signatures
	NewValue     = "value"     // of a constant, variable or key; From and To are signatures, which contain it
	Moved        = "moved"     // From and To are paths
	Deleted      = "deleted"   // From is the signature
)

// A Change is what happened to one definition.
type Change struct {
	// Path is the file that defined it; Definition is its state before the change.
	Path       string     `json:"path"`
	Definition Definition `json:"definition"`
	// Kind is one of the constants above, which define the meaning of From and To.
	Kind string `json:"kind"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// String describes the change in one line, for example "function rate of tax.py is now called rates", or "constant MAX
// of a.py has another value: = 2 was = 1".
func (c Change) String() string {
	at := fmt.Sprintf("%s %s of %s", c.Definition.Kind, c.Definition.full(), c.Path)
	switch c.Kind {
	case Renamed:
		return at + " is now called " + c.To
	case Moved:
		return at + " is now in " + c.To
	case Deleted:
		return at + " is gone"
	}
	if c.From == c.To {
		return at + " has another " + c.Kind // too long to be shown, or described by its place
	}
	return fmt.Sprintf("%s has another %s: %s was %s", at, c.Kind, cmp.Or(c.To, "none"), cmp.Or(c.From, "none"))
}

// gone reports whether uses of the old name are broken.
func (c Change) gone() bool { return c.Kind == Renamed || c.Kind == Moved || c.Kind == Deleted }

// A Ripple is a file that a change reaches.
type Ripple struct {
	Path string `json:"path"`
	// Lines are where the file uses what changed, ascending, in its state after the change.
	Lines   []int    `json:"lines"`
	Because []Change `json:"because"`
}

// changes compares the definitions in the changed and gone files with those that the ledger holds, in their order.
func (l *Ledger) changes(changed []File, gone []string) []Change {
	var list []Change
	for i := range changed {
		if before := l.files[changed[i].Path]; before != nil {
			list = append(list, Compare(*before, changed[i])...)
		}
	}
	for _, p := range gone {
		if before := l.files[p]; before != nil {
			list = append(list, Compare(*before, File{Path: p})...)
		}
	}
	// A definition deleted in one file may be new in another.
	arrived := l.arrivals(changed)
	for i, c := range list {
		if to := arrived[identity(c.Definition)]; c.Kind == Deleted && to != "" {
			list[i].Kind, list[i].From, list[i].To = Moved, c.Path, to
		}
	}
	return list
}

// identity returns the part of a definition that survives a move to another file; the rest is zero.
func identity(d Definition) Definition {
	return Definition{Name: d.Name, Kind: d.Kind, Parent: d.Parent, Digest: d.Digest}
}

// arrivals finds the definitions that are new in the changed files, with the first file of each.
func (l *Ledger) arrivals(changed []File) map[Definition]string {
	known := map[Definition]bool{}
	arrived := map[Definition]string{}
	for _, f := range changed {
		if old := l.files[f.Path]; old != nil {
			for _, d := range old.Definitions {
				known[identity(d)] = true
			}
		}
	}
	for _, f := range changed {
		for _, d := range f.Definitions {
			if id := identity(d); arrived[id] == "" && (!known[id] || l.files[f.Path] == nil) {
				arrived[id] = f.Path
			}
		}
	}
	return arrived
}

// A place is where a name is defined within a file.
type place struct{ parent, name string }

// Compare returns the changes of the definitions of one file from before to after, two states of the same path. New
// definitions and new bodies of functions are not changes. There are no changes if the file could not be parsed
// afterwards, since that says nothing about its definitions. For example, f(a) that becomes f(a, b) gives one change of
// kind signature from "(a)" to "(a, b)". A file that is broken for a moment would otherwise report all its definitions
// as deleted, and queue half of the workspace.
func Compare(before, after File) []Change {
	if after.Problem != "" {
		return nil
	}
	old, fresh := before.places(), after.places()
	names := renames(old, fresh)
	var list []Change
	for _, d := range before.Definitions {
		at := place{d.Parent, d.Name}
		group := old[at]
		if group[0] != d || d.Kind == Package || d.Kind == Module {
			continue // one change for all definitions of a name
		}
		c := Change{Path: before.Path, Definition: d}
		now, ok := names[at]
		switch {
		case !ok:
			c.Kind, c.From = Deleted, d.Signature
		case now.name != at.name:
			c.Kind, c.From, c.To = Renamed, at.name, now.name
		default:
			c.Kind, c.From, c.To = difference(group, fresh[now])
		}
		if c.Kind != "" {
			list = append(list, c)
		}
	}
	return list
}

// places groups the definitions of f by their place. Overloads, and names that a condition chooses, share a place; they
// change together or not at all.
func (f *File) places() map[place][]Definition {
	m := map[place][]Definition{}
	for _, d := range f.Definitions {
		at := place{d.Parent, d.Name}
		m[at] = append(m[at], d)
	}
	return m
}

// difference says what changed between the definitions of one name. A value includes its digest, since the signature
// cuts a long one. For everything else the body does not count: how a function does its work does not concern its
// users.
func difference(before, after []Definition) (kind, from, to string) {
	from, to = signatures(before), signatures(after)
	changed := plain.Replace(from) != plain.Replace(to)
	switch before[0].Kind {
	case Constant, Variable, Key:
		same := slices.EqualFunc(before, after, func(a, b Definition) bool { return a.Digest == b.Digest })
		if changed || !same {
			return NewValue, from, to
		}
	default:
		if changed || before[0].Kind != after[0].Kind {
			return NewSignature, from, to
		}
	}
	return "", "", ""
}

// plain removes from a signature what depends only on its layout.
var plain = strings.NewReplacer(" ", "", ",)", ")", ", )", ")")

// signatures joins the signatures of all definitions of one name. Two overloads read "(a) / (b)", so that one more or
// one less is a difference too.
func signatures(list []Definition) string {
	var all []string
	for _, d := range list {
		all = append(all, d.Signature)
	}
	return strings.Join(all, " / ")
}

// renames maps every old place that still exists to its present one. Parents come before their members, whose place
// changes with the parent's name. A definition was renamed if its old place is empty and a new one is like it: first by
// the same text, which is all but certain, then by the same signature after the same neighbour, for a definition that
// was renamed and edited at once. Each new place is assigned only once: of two equal functions, only one can have moved
// there.
func renames(old, fresh map[place][]Definition) map[place]place {
	now, taken := map[place]place{}, map[place]bool{}
	for _, at := range inOrder(fresh) {
		taken[at] = old[at] != nil // an earlier place is never a new name
	}
	after, likes := neighbours(old), likenesses(fresh)
	for _, at := range inOrder(old) {
		parent := under(now, at.parent)
		if to := (place{parent, at.name}); fresh[to] != nil {
			now[at], taken[to] = to, true
			continue
		}
		d := old[at][0]
		for _, like := range []likeness{{parent, d.Kind, d.Digest, ""}, {parent, d.Kind, d.Signature, after[at] + "/"}} {
			i := slices.IndexFunc(likes[like], func(to place) bool { return !taken[to] })
			if i >= 0 {
				now[at], taken[likes[like][i]] = likes[like][i], true
				break
			}
		}
	}
	return now
}

// A likeness is what a definition shares with its renamed self: the same text in the same parent, or else the same
// signature after the same neighbour.
type likeness struct{ parent, kind, text, behind string }

// likenesses finds definitions by both. It is a map because renames looks up each old place: comparing all with all
// takes too long in a large file.
func likenesses(m map[place][]Definition) map[likeness][]place {
	after := neighbours(m)
	found := map[likeness][]place{}
	for _, at := range inOrder(m) {
		d := m[at][0]
		for _, like := range []likeness{{at.parent, d.Kind, d.Digest, ""}, {at.parent, d.Kind, d.Signature, after[at] + "/"}} {
			found[like] = append(found[like], at)
		}
	}
	return found
}

// neighbours maps each place to the name before it in the same parent, or "". It uses the old names on both sides: if
// two neighbours were renamed and edited at once, the second counts as deleted. Its users are informed either way.
func neighbours(m map[place][]Definition) map[place]string {
	before, last := map[place]string{}, map[string]string{}
	for _, at := range inOrder(m) {
		before[at] = last[at.parent]
		last[at.parent] = at.name
	}
	return before
}

// inOrder lists the places with parents first, otherwise by line. A class must have its new name before its members are
// looked up under it, hence the depth.
func inOrder(m map[place][]Definition) []place {
	return slices.SortedFunc(maps.Keys(m), func(a, b place) int {
		depth := func(p place) int { return len(strings.FieldsFunc(p.parent, func(r rune) bool { return r == '.' })) }
		return cmp.Or(cmp.Compare(depth(a), depth(b)), cmp.Compare(m[a][0].Line, m[b][0].Line), cmp.Compare(a.name, b.name))
	})
}

// under returns the parent's present name. When Cart became Basket, "Cart.Item" is "Basket.Item" and "" stays "".
func under(now map[place]place, parent string) string {
	outer, name := "", parent
	if dot := strings.LastIndexByte(parent, '.'); dot >= 0 {
		outer, name = parent[:dot], parent[dot+1:]
	}
	if to, ok := now[place{outer, name}]; ok && parent != "" {
		return strings.TrimPrefix(to.parent+"."+to.name, ".")
	}
	return parent
}

// A trail collects the files that changes concern.
type trail struct {
	changes []Change
	// users has the uses of each change by path, before and after it.
	users []map[string]*mark
}

// A mark holds the lines on which a file used something before and after the change.
type mark struct{ before, after []int }

// newTrail returns a trail of these changes, without any user yet.
func newTrail(changes []Change) *trail {
	t := &trail{changes: changes, users: make([]map[string]*mark, len(changes))}
	for i := range t.users {
		t.users[i] = map[string]*mark{}
	}
	return t
}

// follow adds the users of every change that l knows, in the state before or after. It is called once on each state:
// only the old one knows who used a name that is gone, and only the new one who uses what still exists.
func (t *trail) follow(l *Ledger, before bool) {
	for i, c := range t.changes {
		for _, u := range l.Users(c.Path, c.Definition) {
			m := t.users[i][u.Path]
			if m == nil {
				m = &mark{}
				t.users[i][u.Path] = m
			}
			if before {
				m.before = u.Lines
			} else {
				m.after = u.Lines
			}
		}
	}
}

// settled removes changed files that no longer use the definition, and files that are gone. A changed file that could
// be read and no longer uses the old name has followed the change already. After a change that breaks nobody, such as
// one of a signature, the file stays: that it still uses the name does not say whether it does so correctly.
func (t *trail) settled(changed []File, gone []string) {
	for i, c := range t.changes {
		for _, f := range changed {
			if m := t.users[i][f.Path]; m != nil && m.after == nil && c.gone() && f.Problem == "" {
				delete(t.users[i], f.Path)
			}
		}
		for _, p := range gone {
			delete(t.users[i], p)
		}
	}
}

// ripples returns what was collected: one ripple for each file, sorted by path, with the causes in the order of the
// changes. The lines are those after the change if the file still uses the definition, and otherwise those before, as
// the best that is known.
func (t *trail) ripples() []Ripple {
	byPath := map[string]*Ripple{}
	for i, c := range t.changes {
		for p, m := range t.users[i] {
			r := byPath[p]
			if r == nil {
				r = &Ripple{Path: p}
				byPath[p] = r
			}
			r.Because = append(r.Because, c)
			lines := m.after
			if lines == nil {
				lines = m.before
			}
			r.Lines = append(r.Lines, lines...)
		}
	}
	var list []Ripple
	for _, p := range slices.Sorted(maps.Keys(byPath)) {
		r := *byPath[p]
		slices.Sort(r.Lines)
		r.Lines = slices.Compact(r.Lines)
		list = append(list, r)
	}
	return list
}

package workspace

import (
	"cmp"
	"io/fs"
	"slices"
)

// Then returns the changeset that does what cs and then next do: from the state before cs to the state after next. next
// refers to the state that cs leaves.
//
// A rename stays one only if next does not touch the file; otherwise it becomes a deletion and a creation, which write
// the same bytes. The error means that next does not fit: it changes a file that does not exist after cs, or has other
// content.
func (cs Changeset) Then(next Changeset) (Changeset, error) {
	first, err := cs.Flatten()
	if err != nil {
		return Changeset{}, err
	}
	second, err := next.Flatten()
	if err != nil {
		return Changeset{}, err
	}
	out := Changeset{}
	touched := map[string]bool{}
	for _, c := range second {
		touched[c.Path] = true
	}
	spoken := map[string]bool{} // paths that belong to a rename that stays
	for _, c := range cs.Changes {
		if c.Op == Rename && !touched[c.Path] && !touched[c.From] && only(cs, c) {
			out.Changes = append(out.Changes, c)
			spoken[c.Path], spoken[c.From] = true, true
		}
	}
	for _, c := range merge(first, second) {
		if err := c.fits(); err != nil {
			return Changeset{}, err
		}
		if change, ok := c.change(); ok && !spoken[c.path] {
			out.Changes = append(out.Changes, change)
		}
	}
	out.Changes = out.Sorted()
	return out, nil
}

// only reports whether no other change of cs touches either path of a rename.
//
// Two mentions are its own. Any further mention means that another change uses one of the paths as well, so the parts
// must be listed one by one.
func only(cs Changeset, r Change) bool {
	n := 0
	for _, c := range cs.Changes {
		for _, p := range []string{c.Path, c.From} {
			if p != "" && (p == r.Path || p == r.From) {
				n++
			}
		}
	}
	return n == 2
}

// A composed is what two changesets do to one path, one after the other. A changeset that does not touch the path has
// nil.
type composed struct {
	path          string
	first, second *PathChange
}

// merge pairs the changes of two changesets by path. It sorts them by path, so that the same two changesets always give
// the same third one.
func merge(first, second []PathChange) []composed {
	byPath := map[string]*composed{}
	at := func(name string) *composed {
		if byPath[name] == nil {
			byPath[name] = &composed{path: name}
		}
		return byPath[name]
	}
	for i := range first {
		at(first[i].Path).first = &first[i]
	}
	for i := range second {
		at(second[i].Path).second = &second[i]
	}
	var out []composed
	for _, c := range byPath {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b composed) int { return cmp.Compare(a.path, b.path) })
	return out
}

// fits reports a second change that was not made from what the first one left.
//
// A path that only one of them touches always fits: whether the first state is that of the host is checked on applying.
func (c composed) fits() error {
	if c.first == nil || c.second == nil {
		return nil
	}
	if c.first.Exists != c.second.Existed || string(c.first.After) != string(c.second.Before) {
		return &PathError{Path: c.path, Reason: "the second change was not made from the result of the first"}
	}
	return nil
}

// change returns what both do to the path together; ok is false if that is nothing. Creating a file and deleting it
// again is nothing, and so is a file with its old bytes and bits.
func (c composed) change() (Change, bool) {
	from, to := c.first, c.second
	if from == nil {
		from = to
	}
	if to == nil {
		to = from
	}
	out := Change{Path: c.path, Before: from.Before, After: to.After, Mode: c.mode(), OldMode: c.oldMode()}
	switch {
	case from.Existed && to.Exists:
		out.Op = Modify
		if out.OldMode == out.Mode {
			out.OldMode = 0
		}
		if string(out.Before) == string(out.After) && out.OldMode == 0 {
			return Change{}, false
		}
	case from.Existed:
		out.Op, out.After, out.OldMode = Delete, nil, 0
	case to.Exists:
		out.Op, out.Before, out.OldMode = Create, nil, 0
	default:
		return Change{}, false
	}
	return out, true
}

// mode returns the permission bits after both. A change of an existing file keeps its bits unless it says which ones it
// alters.
func (c composed) mode() fs.FileMode {
	first, second := c.first, c.second
	switch {
	case second == nil:
		return first.Mode
	case first != nil && first.Exists && second.Existed && second.OldMode == 0:
		return first.Mode
	}
	return second.Mode
}

// oldMode returns the bits before both, 0 if neither alters any.
func (c composed) oldMode() fs.FileMode {
	for _, p := range []*PathChange{c.first, c.second} {
		if p != nil && p.OldMode != 0 {
			return p.OldMode
		}
	}
	return 0
}

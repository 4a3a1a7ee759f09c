package revision

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agent/sandbox/workspace"
)

// An Apart is a difference between two states that a changeset cannot hold, with the reason.
type Apart struct {
	Path   string
	Reason string
}

// Between returns the changes that turn the files of before into those of after, two states of one workspace. moved
// maps files of after to the names that they had in before; Between finds moved files with equal bytes by itself.
//
// Differences that no changeset may hold, such as a link, a large file or a secret, are listed in apart. base is before
// with these in the state of after, so that the changes fit base. The error comes from reading a file, or is a
// *workspace.PathError if the changes exclude each other.
func Between(before, after *workspace.Manifest, moved map[string]string) (base *workspace.Manifest, cs workspace.Changeset, apart []Apart, err error) {
	d := differences{before: before, after: after, moved: map[string]string{}, gone: map[string]bool{}, laid: map[string]*workspace.Entry{}}
	d.pair(moved)
	for _, e := range after.Entries {
		if err := d.arrived(e); err != nil {
			return nil, cs, nil, err
		}
	}
	for _, e := range before.Entries {
		if err := d.left(e); err != nil {
			return nil, cs, nil, err
		}
	}
	cs.Changes = d.changes
	cs.Changes = cs.Sorted()
	if err := errors.Join(cs.Check(), cs.CheckBounds()); err != nil {
		return nil, cs, nil, err
	}
	slices.SortFunc(d.apart, func(a, b Apart) int { return strings.Compare(a.Path, b.Path) })
	return d.base(), cs, d.apart, nil
}

// differences collects what Between returns.
type differences struct {
	before, after *workspace.Manifest
	// moved maps a path of after to the one that it had in before; gone holds the latter.
	moved   map[string]string
	gone    map[string]bool
	changes []workspace.Change
	apart   []Apart
	// Entries of the base that are in the state of after, nil if they do not exist there.
	laid map[string]*workspace.Entry
}

// pair finds which files have moved: first the named ones, then those with equal bytes.
func (d *differences) pair(named map[string]string) {
	isNew := func(name string) bool {
		_, was := d.before.Lookup(name)
		e, ok := d.after.Lookup(name)
		return ok && !was && e.Kind == workspace.File && e.Size <= workspace.MaxContent
	}
	isGone := func(name string) bool {
		e, ok := d.before.Lookup(name)
		now, there := d.after.Lookup(name)
		return ok && e.Kind == workspace.File && !d.gone[name] && (!there || now.Kind == workspace.Dir)
	}
	for _, to := range slices.Sorted(maps.Keys(named)) {
		if from := named[to]; isNew(to) && isGone(from) {
			d.moved[to], d.gone[from] = from, true
		}
	}
	gone := map[string][]string{}
	for _, e := range d.before.Entries {
		if e.Size > 0 && isGone(e.Path) {
			gone[e.Digest] = append(gone[e.Digest], e.Path)
		}
	}
	for _, e := range d.after.Entries {
		if list := gone[e.Digest]; len(list) > 0 && d.moved[e.Path] == "" && isNew(e.Path) {
			d.moved[e.Path], gone[e.Digest], d.gone[list[0]] = list[0], list[1:], true
		}
	}
}

// putApart makes the base hold a path as after does.
func (d *differences) putApart(e workspace.Entry, there bool, reason string) {
	d.apart = append(d.apart, Apart{e.Path, reason})
	d.laid[e.Path] = nil
	if there {
		d.laid[e.Path] = &e
	}
	// Its former file is then deleted separately.
	if from := d.moved[e.Path]; from != "" {
		delete(d.moved, e.Path)
		delete(d.gone, from)
	}
}

// arrived handles an entry of after.
func (d *differences) arrived(e workspace.Entry) error {
	was, there := d.before.Lookup(e.Path)
	switch {
	case e.Kind == workspace.Dir, there && was.Kind == e.Kind && was.Digest == e.Digest && executable(was) == executable(e):
		return nil
	case e.Kind == workspace.Symlink, there && was.Kind == workspace.Symlink:
		d.putApart(e, true, "symbolic link")
		return nil
	case e.Size > workspace.MaxContent, there && was.Size > workspace.MaxContent:
		d.putApart(e, true, tooLarge())
		return nil
	}
	c := workspace.Change{Op: workspace.Create, Path: e.Path, Mode: newMode(executable(e))}
	old := e.Path
	switch from := d.moved[e.Path]; {
	case from != "":
		c.Op, c.From, old = workspace.Rename, from, from
		was, there = d.before.Lookup(from)
	case there && was.Kind == workspace.File:
		c.Op = workspace.Modify
	default:
		there = false
	}
	var err error
	if c.After, err = d.after.ReadFile(e.Path); err != nil {
		return err
	}
	if there {
		if c.Before, err = d.before.ReadFile(old); err != nil {
			return err
		}
		if c.Mode = withExecution(was.Mode.Perm(), executable(e)); c.Mode != was.Mode.Perm() {
			c.OldMode = was.Mode.Perm()
		}
	}
	d.add(c, e, true)
	return nil
}

// left handles an entry of before that after may lack.
func (d *differences) left(e workspace.Entry) error {
	now, there := d.after.Lookup(e.Path)
	switch {
	case e.Kind == workspace.Dir, there && now.Kind != workspace.Dir, d.gone[e.Path]:
		return nil
	case e.Kind == workspace.Symlink:
		d.putApart(e, false, "symbolic link")
		return nil
	case e.Size > workspace.MaxContent:
		d.putApart(e, false, tooLarge())
		return nil
	}
	content, err := d.before.ReadFile(e.Path)
	if err != nil {
		return err
	}
	d.add(workspace.Change{Op: workspace.Delete, Path: e.Path, Before: content, Mode: e.Mode.Perm()}, e, false)
	return nil
}

// add adds a change if a changeset may hold it.
func (d *differences) add(c workspace.Change, e workspace.Entry, there bool) {
	if isPointer(c.Before) || isPointer(c.After) {
		d.putApart(e, there, "stored in Git LFS, which is not fetched")
		return
	}
	refused := workspace.Changeset{Changes: []workspace.Change{c}}.Check()
	if refused == nil {
		d.changes = append(d.changes, c)
		return
	}
	reason := refused.Error()
	if p, ok := errors.AsType[*workspace.PathError](refused); ok {
		reason = p.Reason
	}
	d.putApart(e, there, reason)
}

// isPointer reports whether content stands for a file that Git LFS stores elsewhere.
func isPointer(content []byte) bool {
	return len(content) < 1024 && bytes.HasPrefix(content, []byte("version https://git-lfs.github.com/spec/"))
}

// tooLarge returns the reason for a file that is too large for a changeset.
func tooLarge() string { return fmt.Sprintf("larger than %d MiB", workspace.MaxContent>>20) }

// executable reports whether anybody may execute the file.
func executable(e workspace.Entry) bool { return e.Mode&0o111 != 0 }

// base returns before, with the entries that are apart as after has them.
func (d *differences) base() *workspace.Manifest {
	if len(d.laid) == 0 {
		return d.before
	}
	entries, content := map[string]workspace.Entry{}, map[string][]byte{}
	for _, e := range d.before.Entries {
		if _, other := d.laid[e.Path]; other {
			continue
		}
		entries[e.Path] = e
		if text, ok := d.before.Brought(e.Path); ok {
			content[e.Path] = text
		}
	}
	for name, e := range d.laid {
		if e == nil {
			continue
		}
		// A change deletes a file of before that stands in the place of a directory.
		if clash(entries, d.laid, name) {
			continue
		}
		entries[name] = *e
		addParents(d.after, entries, name)
		if text, ok := d.after.Brought(name); ok {
			content[name] = text
		}
	}
	return d.before.Holding(slices.Collect(maps.Values(entries)), content)
}

// clash reports whether before has something other than a directory above a path, or a directory with files in its
// place.
func clash(entries map[string]workspace.Entry, laid map[string]*workspace.Entry, name string) bool {
	for other, e := range entries {
		if e.Kind != workspace.Dir && laid[other] == nil && (strings.HasPrefix(name, other+"/") || strings.HasPrefix(other, name+"/")) {
			return true
		}
	}
	return false
}

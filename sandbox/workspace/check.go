package workspace

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Bounds of what a changeset creates. Some systems, tools and archives cannot read files that lie deeper or have a
// longer path, and no single person or model writes more files at once.
const (
	// MaxChanges is the most changes of one changeset.
	MaxChanges = 10_000
	// MaxDepth is the most directories above a new file.
	MaxDepth = 64
	// MaxNewPath is the most bytes of the path of a new file: PATH_MAX of macOS.
	MaxNewPath = 1024
)

// CheckBounds reports what in cs exceeds the bounds. Undoing a change need not satisfy them: what was there before may
// lie anywhere. The error is a *PathError.
func (cs Changeset) CheckBounds() error {
	if n := len(cs.Changes); n > MaxChanges {
		return &PathError{Path: cs.Changes[MaxChanges].Path, Reason: fmt.Sprintf("%d changes, and a changeset may have %d", n, MaxChanges)}
	}
	for _, c := range cs.Changes {
		if c.Op != Create && c.Op != Rename {
			continue
		}
		if depth := strings.Count(c.Path, "/"); depth > MaxDepth {
			return &PathError{Path: c.Path, Reason: fmt.Sprintf("it lies below %d directories, and a new file may lie below %d", depth, MaxDepth)}
		}
		if n := len(c.Path); n > MaxNewPath {
			return &PathError{Path: c.Path, Reason: fmt.Sprintf("it has %d bytes, and the path of a new file may have %d", n, MaxNewPath)}
		}
	}
	return nil
}

// Check reports the first path or size in cs that may never be written, whatever anyone approves: see CheckPath. It
// also refuses content over MaxContent in a file, a private key or registry token in a file, two changes of one path, a
// path below a file, two paths that differ only in case or Unicode form, and what creates or changes a git repository;
// CheckRepositories checks that for the workspace too. The error is a *PathError.
func (cs Changeset) Check() error {
	for _, c := range cs.Changes {
		if err := c.check(); err != nil {
			return err
		}
	}
	changes, err := cs.Flatten()
	if err != nil {
		return err
	}
	// Renaming readme to README is allowed: removed paths are not compared.
	folded := map[string]string{}
	for _, c := range changes {
		if !c.Exists {
			continue
		}
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			if parent, ok := FindChange(changes, dir); ok && parent.Exists {
				return &PathError{Path: c.Path, Reason: "the changeset makes " + dir + " a file, so nothing can be below it"}
			}
		}
		if other, ok := folded[Fold(c.Path)]; ok {
			return &PathError{Path: c.Path, Reason: "some systems treat it as " + other + ", which is also in the changeset"}
		}
		folded[Fold(c.Path)] = c.Path
	}
	return newRepositories(changes).refusal()
}

// check judges a single change on its own.
func (c Change) check() error {
	refuse := func(reason string) error { return &PathError{Path: c.Path, Reason: reason} }
	if !slices.Contains([]Op{Create, Modify, Delete, Rename}, c.Op) {
		return refuse(fmt.Sprintf("unknown operation %q", c.Op))
	}
	if err := CheckPath(c.Path); err != nil {
		return err
	}
	if c.Op == Rename {
		if err := CheckPath(c.From); err != nil {
			return err
		}
		if c.From == c.Path {
			return refuse("it is renamed to itself")
		}
	} else if c.From != "" {
		return refuse("only a rename has an old path")
	}
	switch {
	// What is deleted or replaced may have any size: the limit is on what a model writes.
	case len(c.After) > MaxContent:
		return refuse(fmt.Sprintf("its content of %d bytes is over the limit of %d", len(c.After), MaxContent))
	case maySecret(c.Path) && holdsSecret(c.Path, c.After):
		return refuse("its content holds a private key or a token")
	}
	return nil
}

// Collisions returns the paths that cs creates in m next to another that some file systems consider the same, such as
// README next to readme. It maps each to that other path.
func (m *Manifest) Collisions(cs Changeset) map[string]string {
	changes, err := cs.Flatten()
	if err != nil {
		return nil
	}
	here := map[string]string{}
	// A path that the changeset removes collides with nothing.
	for _, e := range m.Entries {
		if c, ok := FindChange(changes, e.Path); !ok || c.Exists {
			here[Fold(e.Path)] = e.Path
		}
	}
	clash := map[string]string{}
	for _, c := range changes {
		if !c.Exists {
			continue
		}
		// A directory of the path may be what collides.
		for p := c.Path; p != "."; p = path.Dir(p) {
			if other, ok := here[Fold(p)]; ok && other != p {
				clash[c.Path] = other
			}
		}
	}
	return clash
}

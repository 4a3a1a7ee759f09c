package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// A Taken is a regular file as a box reports it.
type Taken struct {
	Content []byte
	// Exec says that someone may execute it.
	Exec bool
}

// Taken makes a changeset of what a box holds in place of m: files that may differ, and paths that are said to be gone.
// Taken itself finds what differs, from the bytes. Left is what no patch may write, what Scan leaves out, what git
// ignores and what is not text, with the reason. The changeset has the rest, and must still be checked like any other.
// The error is that of reading the workspace, or a *PathError if more is gone than one changeset may hold.
func (m *Manifest) Taken(ctx context.Context, files map[string]Taken, gone []string) (cs Changeset, left []Skip, err error) {
	leave := func(name, reason string, quiet bool) {
		left = append(left, Skip{Path: name, Reason: reason, Quiet: quiet})
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		c, reason, err := m.taken(name, files[name])
		switch {
		case err != nil:
			return Changeset{}, nil, err
		case reason != "":
			leave(name, reason, reason == outOfSnapshots)
		case c != nil:
			cs.Changes = append(cs.Changes, *c)
		}
	}
	if len(gone) > MaxChanges { // before all of it is read
		return Changeset{}, nil, &PathError{Path: gone[0], Reason: fmt.Sprintf("it and %d more are gone, and a changeset may have %d changes", len(gone)-1, MaxChanges)}
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(gone))) {
		e, known := m.Lookup(name)
		switch {
		case !known || e.Kind == Dir:
			continue
		case e.Kind == Symlink:
			leave(name, "a symbolic link was removed", false)
			continue
		}
		before, err := m.ReadFile(name)
		if err != nil {
			return Changeset{}, nil, err
		}
		if IsBinary(before) {
			leave(name, "a binary file was removed, and a patch is text", false)
			continue
		}
		cs.Changes = append(cs.Changes, Change{Op: Delete, Path: name, Before: before, Mode: e.Mode.Perm()})
	}
	for _, u := range m.Unseen(ctx, cs) {
		if u.Rules {
			continue // a hold reports these
		}
		cs.Changes = slices.DeleteFunc(cs.Changes, func(c Change) bool { return c.Path == u.Path })
		if u.Err != nil {
			leave(u.Path, "git does not say whether it ignores it: "+u.Err.Error(), false)
			continue
		}
		leave(u.Path, "ignored by git", true)
	}
	cs.Changes = cs.Sorted()
	return cs, left, ctx.Err()
}

// outOfSnapshots is why a cache or a build product is not part of the changeset.
const outOfSnapshots = "left out of every snapshot"

// taken returns the change of one file, nil for none. reason says why there may be none.
func (m *Manifest) taken(name string, t Taken) (c *Change, reason string, err error) {
	var refused *PathError
	if errors.As(CheckPath(name), &refused) {
		return nil, refused.Reason, nil
	}
	if m.leavesOut(name) {
		return nil, outOfSnapshots, nil
	}
	mode := fs.FileMode(0o644)
	if t.Exec {
		mode = 0o755
	}
	e, known := m.Lookup(name)
	switch {
	case known && e.Kind == Symlink:
		return nil, "a file replaced a symbolic link", nil
	case known && e.Kind == File && e.Digest == Digest(t.Content) && t.Exec == (e.Mode&0o111 != 0):
		return nil, "", nil
	case maySecret(name) && holdsSecret(name, t.Content):
		return nil, "it holds a private key or a token", nil
	case len(t.Content) > MaxContent:
		return nil, fmt.Sprintf("%d bytes, and a file in a patch may have %d", len(t.Content), MaxContent), nil
	case IsBinary(t.Content):
		return nil, "it is not text, and a patch is text", nil
	case !known || e.Kind != File:
		return &Change{Op: Create, Path: name, After: t.Content, Mode: mode}, "", nil
	}
	before, err := m.ReadFile(name)
	if err != nil {
		return nil, "", err
	}
	if IsBinary(before) {
		return nil, "it was not text, and a patch is text", nil
	}
	return &Change{Op: Modify, Path: name, Before: before, After: t.Content, Mode: mode}, "", nil
}

package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"agent/sandbox/workspace"
)

// keepModes gives every changed file the permission bits that it has on the host; an edit may only add or remove the execute bits.
func keepModes(base *workspace.Manifest, cs workspace.Changeset) {
	for i, c := range cs.Changes {
		from := c.Path
		if c.Op == workspace.Rename {
			from = c.From
		}
		old, ok := base.Lookup(from)
		if !ok || c.Op == workspace.Create {
			continue
		}
		// A changeset knows two modes, as git does. The rights of the group and of others are the host's, and an edit must not widen or
		// narrow them.
		mode := old.Mode.Perm()
		wants := c.Mode&0o111 != 0
		switch {
		case c.Op == workspace.Delete, wants == (mode&0o111 != 0):
		case wants:
			// Everybody who may read it may run it, and nobody else.
			mode |= mode & 0o444 >> 2
			cs.Changes[i].OldMode = old.Mode.Perm()
		default:
			mode &^= 0o111
			cs.Changes[i].OldMode = old.Mode.Perm()
		}
		cs.Changes[i].Mode = mode
	}
}

// placeable reports the first path that cannot be a file in this workspace: it is a directory or a link there, or something above it is
// not a directory.
func placeable(base *workspace.Manifest, cs workspace.Changeset) error {
	gone := map[string]bool{}
	for _, c := range cs.Changes {
		switch c.Op {
		case workspace.Delete:
			gone[c.Path] = true
		case workspace.Rename:
			gone[c.From] = true
		}
	}
	for _, c := range cs.Changes {
		if c.Op == workspace.Delete {
			continue
		}
		if e, ok := base.Lookup(c.Path); ok && e.Kind == workspace.Symlink {
			return &fs.PathError{Op: "write", Path: c.Path, Err: errors.New("is a symbolic link")}
		} else if ok && e.Kind == workspace.Dir && !emptied(base, c.Path, gone) {
			return &fs.PathError{Op: "write", Path: c.Path, Err: errors.New("is a directory")}
		}
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			if e, ok := base.Lookup(dir); ok && e.Kind != workspace.Dir && !gone[dir] {
				return &fs.PathError{Op: "write", Path: c.Path, Err: fmt.Errorf("%s is a %s", dir, e.Kind)}
			}
		}
	}
	return nil
}

// emptied reports whether the changeset removes every file below dir, and at least one: a patch may not replace a directory that was
// empty before.
func emptied(base *workspace.Manifest, dir string, gone map[string]bool) bool {
	taken := false
	for _, e := range base.Entries {
		if e.Kind == workspace.Dir || !strings.HasPrefix(e.Path, dir+"/") {
			continue
		}
		if !gone[e.Path] {
			return false
		}
		taken = true
	}
	return taken
}

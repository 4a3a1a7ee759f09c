package workspace

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// An Op is what a Change does to its path.
type Op string

// The operations of a changeset. A rename deletes From and creates Path.
const (
	Create Op = "create"
	Modify Op = "modify"
	Delete Op = "delete"
	Rename Op = "rename"
)

// A Change is one file before and after.
type Change struct {
	Op Op `json:"op"`
	// Slash-separated, relative to the workspace.
	Path string `json:"path"`
	// The old path of a rename.
	From string `json:"from,omitempty"`
	// Content before; nil for Create.
	Before []byte `json:"-"`
	// Content after; nil for Delete.
	After []byte `json:"-"`
	// Permission bits after: 0644 or 0755 for Create, the old ones otherwise.
	Mode fs.FileMode `json:"mode"`
	// For Modify and Rename: the bits before, if the change alters them; only the execute bits are altered.
	OldMode fs.FileMode `json:"old_mode,omitempty"`
}

// MaxContent is the most bytes that a changeset may write to one file.
const MaxContent = 2 << 20

// BeforeDigest returns the hex SHA-256 of Before, "" for Create.
func (c Change) BeforeDigest() string {
	if c.Op == Create {
		return ""
	}
	return Digest(c.Before)
}

// AfterDigest returns the hex SHA-256 of After, "" for Delete.
func (c Change) AfterDigest() string {
	if c.Op == Delete {
		return ""
	}
	return Digest(c.After)
}

// A Changeset is a set of changes that is applied as a whole or not at all: at most one change for each path, sorted by
// Path. All changes refer to the state before: renames of a to b and of b to a swap the two files.
type Changeset struct {
	Changes []Change
}

// Digest identifies the changeset: the hex SHA-256 of op, paths, modes and content digests.
func (cs Changeset) Digest() string {
	h := sha256.New()
	io.WriteString(h, "changeset 1\n")
	for _, c := range cs.Sorted() {
		fmt.Fprintf(h, "%s\x00%s\x00%s\x00%o\x00%o\x00%s\x00%s\x00",
			c.Op, c.Path, c.From, c.Mode.Perm(), c.OldMode.Perm(), c.BeforeDigest(), c.AfterDigest())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Sorted returns the changes in the order of their paths.
func (cs Changeset) Sorted() []Change {
	return slices.SortedFunc(slices.Values(cs.Changes), func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
}

// Empty reports whether the changeset changes nothing.
func (cs Changeset) Empty() bool { return len(cs.Changes) == 0 }

// Reverse returns the changeset that undoes cs.
func (cs Changeset) Reverse() Changeset {
	// Since all changes refer to the state before, each can be reversed by itself.
	back := Changeset{Changes: make([]Change, 0, len(cs.Changes))}
	for _, c := range cs.Changes {
		c.Before, c.After = c.After, c.Before
		if c.OldMode != 0 {
			c.Mode, c.OldMode = c.OldMode, c.Mode
		}
		switch c.Op {
		case Create:
			c.Op = Delete
		case Delete:
			c.Op = Create
		case Rename:
			c.Path, c.From = c.From, c.Path
		}
		back.Changes = append(back.Changes, c)
	}
	back.Changes = back.Sorted()
	return back
}

// Fold maps all paths that some file system considers the same to one string: uppercase and lowercase letters, and the
// forms of Unicode. The result names no file.
func Fold(name string) string {
	return norm.NFC.String(strings.ToLower(strings.ToUpper(norm.NFC.String(name))))
}

// A PathChange is what a changeset does to one path; a rename becomes two.
type PathChange struct {
	Path string
	// A file exists before, with the content Before.
	Existed bool
	// A file exists after, with the content After.
	Exists bool
	Before []byte
	After  []byte
	// As in Change.
	Mode fs.FileMode
	// As in Change.
	OldMode fs.FileMode
	// The path whose permission bits the file keeps; "" to use Mode.
	Keep string
}

// FindChange finds the change of one path among those of Flatten; ok is false if there is none.
func FindChange(changes []PathChange, name string) (c PathChange, ok bool) {
	i, ok := slices.BinarySearchFunc(changes, name, func(c PathChange, p string) int { return cmp.Compare(c.Path, p) })
	if !ok {
		return PathChange{}, false
	}
	return changes[i], true
}

// Flatten returns what cs does to each path, sorted. A rename may leave a path that another change takes; otherwise
// there is one change for each path.
func (cs Changeset) Flatten() ([]PathChange, error) {
	byPath := map[string]*PathChange{}
	at := func(name string) *PathChange {
		if byPath[name] == nil {
			byPath[name] = &PathChange{Path: name}
		}
		return byPath[name]
	}
	// No two changes may share a Path. A path may also be the From of another change: the two halves meet in one
	// PathChange.
	named := map[string]bool{}
	for _, c := range cs.Changes {
		twice := named[c.Path]
		named[c.Path] = true
		if c.Op != Create {
			old := at(cmp.Or(c.From, c.Path))
			twice = twice || old.Existed
			old.Existed, old.Before = true, c.Before
		}
		if c.Op != Delete {
			now := at(c.Path)
			twice = twice || now.Exists
			now.Exists, now.After, now.Mode, now.OldMode = true, c.After, c.Mode, c.OldMode
			if c.Op != Create {
				now.Keep = cmp.Or(c.From, c.Path)
			}
		}
		if twice {
			return nil, &PathError{Path: c.Path, Reason: "the changeset changes it twice"}
		}
	}
	list := make([]PathChange, 0, len(byPath))
	for _, c := range byPath {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b PathChange) int { return cmp.Compare(a.Path, b.Path) })
	return list, nil
}

// FinalMode returns the permission bits of the file after the change; host is the mode of Keep.
func (c PathChange) FinalMode(host fs.FileMode) fs.FileMode {
	if c.Keep == "" {
		return createMode(c.Mode)
	}
	host = host.Perm()
	switch {
	case c.OldMode == 0 || c.OldMode&0o111 == c.Mode&0o111:
		return host
	case c.Mode&0o111 == 0:
		return host &^ 0o111
	}
	return host | host&0o444>>2 // everyone who may read may execute
}

// createMode returns the mode of a new file: it has no special bit and is readable by its owner. If the mode lets
// everyone write, only the owner may.
func createMode(mode fs.FileMode) fs.FileMode {
	mode = mode.Perm()
	switch {
	case mode == 0:
		return 0o644
	case mode&0o002 != 0:
		mode &^= 0o022
	}
	return mode | 0o400
}

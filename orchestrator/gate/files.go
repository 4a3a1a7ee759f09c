package gate

import (
	"fmt"
	"io"
	"io/fs"

	"agent/images"
	"agent/sandbox/workspace"
)

// maxText is the size in bytes up to which a file may be edited: the same bound that workspace.Changeset.Check sets for what is
// written.
const maxText = 2 << 20

// editable presents a manifest to the edit engine.
type editable struct{ base *workspace.Manifest }

// Paths lists the regular files that are small enough to be edited.
func (e editable) Paths() []string {
	var paths []string
	for _, entry := range e.base.Entries {
		if entry.Kind == workspace.File && entry.Size <= maxText {
			paths = append(paths, entry.Path)
		}
	}
	return paths
}

// Read returns the content that the manifest recorded, or an error if the host's file no longer has it.
//
// An edit cannot mean a directory or a link: those count as absent, and the error says what is there.
func (e editable) Read(path string) ([]byte, error) {
	if entry, ok := e.base.Lookup(path); ok && entry.Kind != workspace.File {
		return nil, fmt.Errorf("%s is a %s: %w", path, entry.Kind, fs.ErrNotExist)
	}
	return e.base.ReadFile(path)
}

// Executable reports whether anybody may execute path.
func (e editable) Executable(path string) bool {
	entry, ok := e.base.Lookup(path)
	return ok && entry.Mode&0o111 != 0
}

// Tree presents a manifest to the image builder.
func Tree(m *workspace.Manifest) images.Tree { return tree{m} }

// tree presents a manifest to the image builder.
type tree struct{ base *workspace.Manifest }

// Digest identifies the content of the workspace.
func (t tree) Digest() string { return t.base.Digest() }

// Files lists the entries in the form that the builder uses.
func (t tree) Files() []images.File {
	files := make([]images.File, 0, len(t.base.Entries))
	for _, e := range t.base.Entries {
		mode := e.Mode.Perm()
		switch e.Kind {
		case workspace.Dir:
			mode |= fs.ModeDir
		case workspace.Symlink:
			mode |= fs.ModeSymlink
		}
		files = append(files, images.File{Path: e.Path, Mode: mode, Size: e.Size, Digest: e.Digest, Target: e.Target})
	}
	return files
}

// Open returns the content of a file, which is checked while it is read.
func (t tree) Open(path string) (io.ReadCloser, error) { return t.base.Open(path) }

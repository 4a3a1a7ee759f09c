package selfbuild

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agent/images"
	"agent/sandbox/workspace"
)

// A Difference is how the next version would differ.
type Difference struct {
	// Changes lists all changes, for a person to read: for files larger than a patch may write, only the size.
	Changes workspace.Changeset
	// Concerns lists what is in the program's own source now and was not before.
	Concerns []Concern
}

// Paths lists the files that differ.
func (d Difference) Paths() (list []string) {
	for _, c := range d.Changes.Changes {
		list = append(list, c.Path)
	}
	return list
}

// Refused lists the concerns that no run may propose.
func (d Difference) Refused() (list []string) {
	for _, c := range d.Concerns {
		if c.Refused {
			list = append(list, c.String())
		}
	}
	return list
}

// Held lists the files with a concern, on which a person decides.
func (d Difference) Held() (list []string) {
	for _, c := range d.Concerns {
		list = append(list, c.Path)
	}
	return list
}

// Difference compares a tree with what the current version was built from. The first image has nothing to be compared with: it is
// compared with base, if there is one, since starting it without a change means trusting the workspace.
func (j *Journal) Difference(base, tree images.Tree) (d Difference, err error) {
	var was reader
	switch now := j.state.Current; {
	case now != nil:
		was = archived(j.dir, *now)
	case base != nil:
		was = inTree(base)
	default:
		return d, nil
	}
	changed, err := differences(was, tree)
	if err != nil {
		return d, err
	}
	// All of a package with a changed file is needed: what it imported and how it calls its types may be in other files.
	dirs := map[string]bool{}
	for _, p := range changed {
		dirs[path.Dir(p)] = true
	}
	wanted := func(p string) bool { return slices.Contains(changed, p) || dirs[path.Dir(p)] && path.Ext(p) == ".go" }
	before, err := contents(was, wanted)
	if err != nil {
		return d, err
	}
	after, err := contents(inTree(tree), wanted)
	if err != nil {
		return d, err
	}
	for _, p := range changed {
		old, had := before[p]
		text, has := after[p]
		op := workspace.Modify
		switch {
		case !had:
			op = workspace.Create
		case !has:
			op = workspace.Delete
		}
		d.Changes.Changes = append(d.Changes.Changes, workspace.Change{Op: op, Path: p, Before: old, After: text, Mode: 0o644})
	}
	d.Concerns = concerns(before, after)
	return d, nil
}

// A visit receives a file or a link: its path, its octal mode without a type, and a reader of its content or of where it leads.
type visit func(name, mode string, content io.Reader) error

// A reader visits the files of a source.
type reader func(visit) error

// archived reads what a version was built from.
func archived(dir string, v Version) reader {
	return func(do visit) error {
		f, err := os.Open(filepath.Join(dir, "versions", v.Name(), "source.tar"))
		if err != nil {
			return fmt.Errorf("read the source of version %s: %w", v.Name(), err)
		}
		defer f.Close()
		for r := tar.NewReader(f); ; {
			h, err := r.Next()
			if err == io.EOF {
				return nil
			}
			if err == nil && h.Typeflag != tar.TypeDir {
				// An entry has content or a target, never both.
				err = do(h.Name, fmt.Sprintf("%o", h.Mode), io.MultiReader(r, strings.NewReader(h.Linkname)))
			}
			if err != nil {
				return fmt.Errorf("read the source of version %s: %w", v.Name(), err)
			}
		}
	}
}

// inTree reads a tree.
func inTree(tree images.Tree) reader {
	return func(do visit) error {
		for _, f := range tree.Files() {
			if f.Mode.IsDir() {
				continue
			}
			if err := visitFile(tree, f, do); err != nil {
				return fmt.Errorf("read %s: %w", f.Path, err)
			}
		}
		return nil
	}
}

// visitFile opens a file only if it is read.
func visitFile(tree images.Tree, f images.File, do visit) error {
	lazy := &opened{open: func() (io.ReadCloser, error) { return tree.Open(f.Path) }}
	if f.Mode&fs.ModeSymlink != 0 {
		lazy.open = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(f.Target)), nil }
	}
	err := do(f.Path, fmt.Sprintf("%o", f.Mode.Perm()), lazy)
	if lazy.file != nil {
		err = errors.Join(err, lazy.file.Close())
	}
	return err
}

// opened is a file that its first read opens.
type opened struct {
	open func() (io.ReadCloser, error)
	file io.ReadCloser
}

func (o *opened) Read(p []byte) (int, error) {
	if o.file == nil {
		f, err := o.open()
		if err != nil {
			return 0, err
		}
		o.file = f
	}
	return o.file.Read(p)
}

// differences lists the paths in which a tree differs from source. They are compared by mode and digest, links by where they lead;
// directories are not, since an empty one compiles to nothing. Paths of the tree come first, in its order, then those that it no longer
// has. A link and a file of the same bytes differ, since a link's mode is 777.
func differences(source reader, tree images.Tree) ([]string, error) {
	was := map[string]string{}
	err := source(func(name, mode string, content io.Reader) error {
		sum := sha256.New()
		_, err := io.Copy(sum, content)
		was[name] = fmt.Sprintf("%s %x", mode, sum.Sum(nil))
		return err
	})
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, f := range tree.Files() {
		if !f.Mode.IsDir() && was[f.Path] != fmt.Sprintf("%o %s", f.Mode.Perm(), f.Digest) {
			paths = append(paths, f.Path)
		}
		// What remains is what the tree lacks.
		delete(was, f.Path)
	}
	return slices.Concat(paths, slices.Sorted(maps.Keys(was))), nil
}

// contents reads the wanted files. For one that is larger than a patch may write it gives the size in words, which is not Go.
func contents(source reader, wanted func(string) bool) (map[string][]byte, error) {
	files := map[string][]byte{}
	return files, source(func(name, _ string, content io.Reader) error {
		if !wanted(name) {
			return nil
		}
		text, err := io.ReadAll(io.LimitReader(content, workspace.MaxContent+1))
		if err == nil && len(text) > workspace.MaxContent {
			sum := sha256.New()
			sum.Write(text)
			var rest int64
			rest, err = io.Copy(sum, content)
			text = fmt.Appendf(nil, "(%d bytes, SHA-256 %x)\n", int64(len(text))+rest, sum.Sum(nil))
		}
		files[name] = text
		return err
	})
}

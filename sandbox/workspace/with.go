package workspace

import (
	"bytes"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// newDirMode is the mode of a directory that a changeset needs.
const newDirMode = 0o755

// With returns the manifest of the workspace after cs: the same root, the
// entries changed, times zero where cs touches. Its Digest is that which Scan
// finds after the promotion of cs, as long as cs does not itself change what
// is left out: a .gitignore, a file that git ignores, a pyvenv.cfg. Open
// serves what cs changes from cs. It returns m itself when cs does not pass
// Check.
func (m *Manifest) With(cs Changeset) *Manifest {
	changes, err := cs.flatten()
	if err != nil || cs.Check() != nil {
		return m
	}
	w := &after{base: m, entries: make(map[string]Entry, len(m.Entries)), below: map[string]int{}, content: maps.Clone(m.content)}
	if w.content == nil {
		w.content = map[string][]byte{}
	}
	// What a scan leaves out lies on the disk all the same, and keeps its
	// directory from being empty.
	for _, s := range m.Skipped {
		w.below[path.Dir(s.Path)]++
	}
	for _, e := range m.Entries {
		w.put(e)
	}
	// As in a promotion: first what goes, then what comes, then the
	// directories left empty.
	for _, c := range changes {
		if !c.exists {
			w.drop(c.path)
			delete(w.content, c.path)
		}
	}
	for _, c := range changes {
		if c.exists && !m.leavesOut(c.path) {
			w.write(c)
		}
	}
	for _, c := range changes {
		if !c.exists {
			w.prune(path.Dir(c.path))
		}
	}
	next := &Manifest{Root: m.Root, Skipped: slices.Clone(m.Skipped), Head: m.Head, exclude: m.exclude, cache: m.cache, content: w.content}
	for _, name := range slices.Sorted(maps.Keys(w.entries)) {
		next.Entries = append(next.Entries, w.entries[name])
	}
	return next
}

// after is a manifest while it changes.
type after struct {
	base    *Manifest
	entries map[string]Entry
	// How much lies directly in a directory, left-out things counted.
	below   map[string]int
	content map[string][]byte
}

// put sets the entry of a path, new or in place of another.
func (w *after) put(e Entry) {
	if _, ok := w.entries[e.Path]; !ok {
		w.below[path.Dir(e.Path)]++
	}
	w.entries[e.Path] = e
}

// drop removes the entry of a path, if there is one.
func (w *after) drop(name string) {
	if _, ok := w.entries[name]; ok {
		w.below[path.Dir(name)]--
		delete(w.entries, name)
	}
}

// write puts the file of c in place, over a directory too, and makes its
// parents.
func (w *after) write(c pathChange) {
	if w.entries[c.path].Kind == Dir {
		for name := range w.entries {
			if strings.HasPrefix(name, c.path+"/") {
				w.drop(name)
			}
		}
	}
	for dir := path.Dir(c.path); dir != "."; dir = path.Dir(dir) {
		if w.entries[dir].Kind != Dir {
			w.put(Entry{Path: dir, Kind: Dir, Mode: newDirMode})
		}
	}
	// A path that the manifest does not know counts as one without any bits;
	// Prepare will find the difference.
	var host fs.FileMode
	if e, ok := w.base.Lookup(c.keep); ok {
		host = e.Mode
	}
	w.put(Entry{
		Path: c.path, Kind: File, Mode: c.finalMode(host), Size: int64(len(c.after)), Digest: digest(c.after),
	})
	// Cloned, since nobody promises that the changeset stays as it is.
	w.content[c.path] = bytes.Clone(c.after)
}

// prune removes dir and what is above it, as far as it is empty.
func (w *after) prune(dir string) {
	for ; dir != "." && w.below[dir] == 0; dir = path.Dir(dir) {
		if w.entries[dir].Kind != Dir {
			return
		}
		w.drop(dir)
	}
}

// leavesOut reports whether Scan would leave the file name out, by what the
// manifest knows: the lists and the exclude patterns.
func (m *Manifest) leavesOut(name string) bool {
	for p := name; p != "."; p = path.Dir(p) {
		if leftOut(p, p != name) != "" || slices.ContainsFunc(m.Skipped, func(s Skip) bool { return s.Path == p }) {
			return true
		}
	}
	if matcher, err := excluder(m.exclude); err == nil && matcher != nil {
		out, err := matcher.MatchesOrParentMatches(name)
		return err == nil && out
	}
	return false
}

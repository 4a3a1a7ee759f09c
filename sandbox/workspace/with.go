package workspace

import (
	"bytes"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"
)

// NewDirMode is the mode of a directory that a changeset needs.
const NewDirMode = 0o755

// With returns the manifest of the workspace after cs: the same root, the entries changed, times zero where cs touches.
// Its Digest is the one that Scan finds after the promotion of cs, unless cs itself changes what is left out: a
// .gitignore, a file that git ignores, a pyvenv.cfg. Open serves what cs changes from cs. With returns m itself if cs
// does not pass Check.
func (m *Manifest) With(cs Changeset) *Manifest {
	changes, err := cs.Flatten()
	if err != nil || cs.Check() != nil {
		return m
	}
	w := &after{base: m, touched: map[string]*Entry{}, brought: map[string]int{}, content: maps.Clone(m.content)}
	if w.content == nil {
		w.content = map[string][]byte{}
	}
	// As in a promotion: first the removals, then the writes, then the directories left empty.
	left := map[string]bool{}
	for _, c := range changes {
		if !c.Exists {
			w.drop(c.Path)
			delete(w.content, c.Path)
			for dir := path.Dir(c.Path); dir != "." && !left[dir]; dir = path.Dir(dir) {
				left[dir] = true
			}
		}
	}
	for _, c := range changes {
		if c.Exists && !m.leavesOut(c.Path) {
			w.write(c)
		}
	}
	for name, e := range w.touched {
		if e != nil {
			w.brought[path.Dir(name)]++
		}
	}
	// Deeper directories come first.
	for _, dir := range slices.Backward(slices.Sorted(maps.Keys(left))) {
		w.prune(dir)
	}
	return &Manifest{
		Root: m.Root, Entries: w.entries(), Skipped: slices.Clone(m.Skipped), Head: m.Head, exclude: m.exclude, cache: m.cache, content: w.content,
	}
}

// Holding returns a manifest of the same workspace with these entries, which it sorts. Open serves the paths in content
// from there and the rest from disk.
func (m *Manifest) Holding(entries []Entry, content map[string][]byte) *Manifest {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return &Manifest{
		Root: m.Root, Entries: entries, Skipped: slices.Clone(m.Skipped), Head: m.Head, exclude: m.exclude, cache: m.cache, content: content,
	}
}

// Brought returns the content of a file that With or Holding put in place of the one on disk.
func (m *Manifest) Brought(name string) (content []byte, ok bool) {
	content, ok = m.content[name]
	return content, ok
}

// LeavesOut reports whether Scan would leave a file with that name out, as far as the manifest knows: by the lists, the
// exclude patterns, and names of secrets.
func (m *Manifest) LeavesOut(name string) bool { return isSecret(name) || m.leavesOut(name) }

// HoldsSecret reports whether Scan would leave a file with that name out for its content.
func HoldsSecret(name string, content []byte) bool {
	return maySecret(name) && holdsSecret(name, content)
}

// after is a manifest while it changes: what a changeset touches over the base, which is large and stays as it is.
type after struct {
	base *Manifest
	// nil for what is gone.
	touched map[string]*Entry
	// The number of touched entries directly in each directory, before any is pruned.
	brought map[string]int
	content map[string][]byte
}

// kind returns the kind of what is at a path, "" for nothing.
func (w *after) kind(name string) Kind {
	if e, ok := w.touched[name]; ok {
		if e == nil {
			return ""
		}
		return e.Kind
	}
	e, _ := w.base.Lookup(name)
	return e.Kind
}

// drop removes the entry of a path, if there is one.
func (w *after) drop(name string) { w.touched[name] = nil }

// below lists what the base has below a directory.
func (w *after) below(dir string) []Entry {
	from, _ := w.base.find(dir + "/")
	rest := w.base.Entries[from:]
	return rest[:sort.Search(len(rest), func(i int) bool { return !strings.HasPrefix(rest[i].Path, dir+"/") })]
}

// write puts the file of c in place, even over a directory, and makes its parents.
func (w *after) write(c PathChange) {
	if w.kind(c.Path) == Dir {
		for _, e := range w.below(c.Path) {
			w.drop(e.Path)
		}
		for name := range w.touched {
			if strings.HasPrefix(name, c.Path+"/") {
				w.drop(name)
			}
		}
	}
	for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
		if w.kind(dir) != Dir {
			w.touched[dir] = &Entry{Path: dir, Kind: Dir, Mode: NewDirMode}
		}
	}
	// A path that the manifest does not know counts as one without any bits; Prepare will find the difference.
	var host fs.FileMode
	if e, ok := w.base.Lookup(c.Keep); ok {
		host = e.Mode
	}
	w.touched[c.Path] = &Entry{
		Path: c.Path, Kind: File, Mode: c.FinalMode(host), Size: int64(len(c.After)), Digest: Digest(c.After),
	}
	// Cloned, since the caller may change the changeset later.
	w.content[c.Path] = bytes.Clone(c.After)
}

// prune removes a directory that is empty. What a scan leaves out is on disk all the same, so its directory stays.
func (w *after) prune(dir string) {
	inside := func(name string) bool { return path.Dir(name) == dir }
	stays := func(e Entry) bool {
		_, touched := w.touched[e.Path]
		return !touched && inside(e.Path)
	}
	if w.kind(dir) != Dir || w.brought[dir] > 0 || slices.ContainsFunc(w.base.Skipped, func(s Skip) bool { return inside(s.Path) }) || slices.ContainsFunc(w.below(dir), stays) {
		return
	}
	if w.touched[dir] != nil {
		w.brought[path.Dir(dir)]--
	}
	w.drop(dir)
}

// entries lists everything, sorted.
func (w *after) entries() []Entry {
	list := make([]Entry, 0, len(w.base.Entries)+len(w.touched))
	names := slices.Sorted(maps.Keys(w.touched))
	for _, e := range w.base.Entries {
		for ; len(names) > 0 && names[0] <= e.Path; names = names[1:] {
			if t := w.touched[names[0]]; t != nil {
				list = append(list, *t)
			}
		}
		if _, touched := w.touched[e.Path]; !touched {
			list = append(list, e)
		}
	}
	for _, name := range names {
		if t := w.touched[name]; t != nil {
			list = append(list, *t)
		}
	}
	return list
}

// leavesOut reports whether Scan would leave the file name out, as far as the manifest knows: by the lists and the
// exclude patterns.
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

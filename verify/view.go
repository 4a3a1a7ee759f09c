package verify

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
)

// A view is the workspace as one side of a comparison sees it: the base, or the
// base with the candidate's changes over it. It reads through the manifest, which
// checks every byte against what was scanned: a file that the user edits
// meanwhile is an error, not another text.
type view struct {
	base *workspace.Manifest
	// By path after the change; empty for the base.
	changed map[string]workspace.Change
	// Paths of the base that are deleted or renamed away.
	gone map[string]bool
	// What was found out about it. All views of one base share that base's.
	memo *workspace.Memo
}

// A question is what a memo is asked about a view.
type question string

// newView lays cs over base. An empty changeset gives the base itself.
func newView(base *workspace.Manifest, cs workspace.Changeset) view {
	if len(cs.Changes) == 0 {
		return onBase(base)
	}
	v := view{base: base, changed: map[string]workspace.Change{}, gone: map[string]bool{}, memo: &workspace.Memo{}}
	for _, c := range cs.Changes {
		switch c.Op {
		case workspace.Delete:
			v.gone[c.Path] = true
			continue
		case workspace.Rename:
			v.gone[c.From] = true
		}
		v.changed[c.Path] = c
	}
	return v
}

// onBase is the base alone.
func onBase(base *workspace.Manifest) view { return view{base: base, memo: base.Memo()} }

// recall is workspace.Recall for what cannot go wrong.
func recall[T any](v view, q question, find func() T) T {
	value, _ := workspace.Recall(v.memo, q, func() (T, error) { return find(), nil })
	return value
}

// unpatched is the base alone; the view itself where there is none, as in a proof.
func (v view) unpatched() view {
	if len(v.base.Entries) == 0 {
		return v
	}
	return onBase(v.base)
}

// paths lists the regular files, sorted. The list is everybody's: who changes it
// clones it first.
func (v view) paths() []string {
	return recall(v, "paths", func() []string {
		list := make([]string, 0, len(v.base.Entries)+len(v.changed))
		for _, e := range v.base.Entries {
			if _, changed := v.changed[e.Path]; e.Kind == workspace.File && !v.gone[e.Path] && !changed {
				list = append(list, e.Path)
			}
		}
		// What comes last of a sorted list is soon in its place.
		list = slices.AppendSeq(list, maps.Keys(v.changed))
		slices.Sort(list)
		return list
	})
}

// has reports whether there is a regular file at p.
func (v view) has(p string) bool {
	if _, ok := v.changed[p]; ok {
		return true
	}
	// Links are none: they are not followed, so what they lead to is not read.
	e, ok := v.base.Lookup(p)
	return ok && e.Kind == workspace.File && !v.gone[p]
}

// A search looks for the first file, by its place, with something in its text.
type search struct {
	what  question
	among func(p string) bool
	order func(a, b string) int
	match func(data []byte) bool
}

// first returns the path of that file, "" for none. It may read every file, so what the
// base holds is found once, and only what a patch touched is looked at beside that.
func (v view) first(s search) (string, error) {
	if len(v.changed)+len(v.gone) == 0 {
		return workspace.Recall(v.memo, s.what, func() (string, error) { return v.look(s, slices.Clone(v.paths())) })
	}
	stands, err := onBase(v.base).first(s)
	if _, touched := v.changed[stands]; err != nil || touched || v.gone[stands] {
		return v.look(s, slices.Clone(v.paths()))
	}
	found, err := v.look(s, slices.Collect(maps.Keys(v.changed)))
	if found == "" || stands != "" && err == nil && s.order(stands, found) < 0 {
		return stands, err
	}
	return found, err
}

// look reads files until it has found one.
func (v view) look(s search, paths []string) (string, error) {
	paths = slices.DeleteFunc(paths, func(p string) bool { return !s.among(p) })
	slices.SortFunc(paths, s.order)
	for _, p := range paths {
		data, err := v.read(p)
		if err != nil {
			return "", err
		}
		if s.match(data) {
			return p, nil
		}
	}
	return "", nil
}

// hasDir reports whether any file lies below dir.
func (v view) hasDir(dir string) bool {
	return slices.ContainsFunc(v.paths(), func(p string) bool { return strings.HasPrefix(p, dir+"/") })
}

// read returns the bytes of the file at p, from the changeset if it writes the
// file and from the host otherwise. Nothing is executed or followed.
func (v view) read(p string) ([]byte, error) {
	if c, ok := v.changed[p]; ok {
		return c.After, nil
	}
	if v.gone[p] {
		return nil, fmt.Errorf("read %s: %w", p, fs.ErrNotExist)
	}
	return v.base.ReadFile(p)
}

// executable returns the text of the file at p if it may be started and is not
// too large for a script, and nothing otherwise.
func (v view) executable(p string) ([]byte, error) {
	if c, ok := v.changed[p]; ok {
		if c.Mode&0o111 == 0 {
			return nil, nil
		}
		return c.After, nil
	}
	if e, ok := v.base.Lookup(p); !ok || e.Mode&0o111 == 0 || e.Size > maxScript {
		return nil, nil
	}
	return v.read(p)
}

// ends reports whether the workspace holds a file with one of some endings.
func (v view) ends(with []string) bool {
	there := recall(v, "endings", func() map[string]bool {
		set := map[string]bool{}
		for _, p := range v.paths() {
			set[path.Ext(p)] = true
		}
		return set
	})
	return slices.ContainsFunc(with, func(ext string) bool { return there[ext] })
}

// python reports whether the workspace holds a Python source file.
func (v view) python() bool { return v.ends([]string{".py", ".pyi"}) }

// isPython reports whether the tools take p for Python by its name.
func isPython(p string) bool {
	ext := path.Ext(p)
	return ext == ".py" || ext == ".pyi"
}

// sources gives lines of a view's files, each file read once. A finding carries
// its source line because that, unlike a line number, survives edits above it. It
// is not safe for concurrent use.
type sources struct {
	view view
	// By path; nil for a file that cannot be read, so that it is tried once.
	lines map[string][][]byte
}

func newSources(v view) *sources { return &sources{view: v, lines: map[string][][]byte{}} }

// line returns line n of the file at p, from 1, trimmed; "" when there is
// none or it can no longer be read.
func (s *sources) line(p string, n int) string {
	lines, ok := s.lines[p]
	if !ok && p != "" {
		data, err := s.view.read(p)
		if err == nil {
			lines = bytes.Split(data, []byte("\n"))
		}
		s.lines[p] = lines
	}
	if n < 1 || n > len(lines) {
		return ""
	}
	return shorten(string(lines[n-1]))
}

// fill gives every finding its source line.
func (s *sources) fill(found []Finding) []Finding {
	for i, f := range found {
		found[i].Source = s.line(f.File, f.Line)
	}
	return found
}

// missed reports whether a finding lacks its line because its file is not on the
// host any more as it was scanned.
func (v view) missed(found []Finding) bool {
	looked := map[string]bool{} // many findings may be of blank lines
	return slices.ContainsFunc(found, func(f Finding) bool {
		if f.Source != "" || f.File == "" || looked[f.File] {
			return false
		}
		looked[f.File] = true
		_, err := v.read(f.File)
		var changed *workspace.ChangedError
		return errors.As(err, &changed)
	})
}

// renames maps the old path of every renamed file to its new one.
func renames(cs workspace.Changeset) map[string]string {
	moved := map[string]string{}
	for _, c := range cs.Changes {
		if c.Op == workspace.Rename {
			moved[c.From] = c.Path
		}
	}
	return moved
}

// staticConfig reports whether a file configures a static gate, in whatever
// directory it lies.
func staticConfig(p string) bool {
	return slices.ContainsFunc(checks(), func(c check) bool { return slices.Contains(c.config, path.Base(p)) })
}

// splitConfig separates the changes to the static gates' configuration from
// the rest.
func splitConfig(cs workspace.Changeset) (config, rest workspace.Changeset) {
	return splitChanges(cs, staticConfig)
}

// splitChanges separates the changes to certain files from the rest. A rename
// between the two is taken apart: otherwise a source file that begins or ends as
// configuration would be put back with it and never be checked.
func splitChanges(cs workspace.Changeset, such func(p string) bool) (those, rest workspace.Changeset) {
	add := func(c workspace.Change) {
		if such(c.Path) {
			those.Changes = append(those.Changes, c)
		} else {
			rest.Changes = append(rest.Changes, c)
		}
	}
	for _, c := range cs.Changes {
		if c.Op != workspace.Rename || such(c.Path) == such(c.From) {
			add(c)
			continue
		}
		// The mode before is told only where the rename alters it.
		before := c.Mode
		if c.OldMode != 0 {
			before = c.OldMode
		}
		add(workspace.Change{Op: workspace.Delete, Path: c.From, Before: c.Before, Mode: before})
		add(workspace.Change{Op: workspace.Create, Path: c.Path, After: c.After, Mode: c.Mode})
	}
	sortChanges(those.Changes)
	sortChanges(rest.Changes)
	return those, rest
}

// relative turns a path that a tool printed into one relative to the
// workspace in the box; "" when it is elsewhere.
func relative(p, root string) string {
	if p == "" {
		return ""
	}
	if !path.IsAbs(p) {
		p = path.Join(root, p)
	}
	// Clean first: a ".." behind the root must not pass for a file below it.
	rel, ok := strings.CutPrefix(path.Clean(p), root+"/")
	if !ok {
		return ""
	}
	return rel
}

// sortChanges puts changes in the order of a Changeset.
func sortChanges(changes []workspace.Change) {
	slices.SortFunc(changes, func(a, b workspace.Change) int { return strings.Compare(a.Path, b.Path) })
}

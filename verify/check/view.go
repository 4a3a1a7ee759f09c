package check

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
)

// A View is the workspace as one side of a comparison sees it: the base, or the base with the candidate's changes
// applied. It reads through the manifest, which checks every byte against the scan: a file that the user edits in the
// meantime is an error, not a different text.
type View struct {
	Base *workspace.Manifest
	// Changed is by path after the change; empty for the base.
	Changed map[string]workspace.Change
	// Gone has the paths of the base that are deleted or renamed.
	Gone map[string]bool
	// memo keeps what was found out about the view. All views of a base itself share the memo of that base.
	memo *workspace.Memo
}

// A question is the key of a memo entry about a view.
type question string

// NewView applies cs to base. An empty changeset gives the base itself.
func NewView(base *workspace.Manifest, cs workspace.Changeset) View {
	if len(cs.Changes) == 0 {
		return OnBase(base)
	}
	v := View{Base: base, Changed: map[string]workspace.Change{}, Gone: map[string]bool{}, memo: &workspace.Memo{}}
	for _, c := range cs.Changes {
		switch c.Op {
		case workspace.Delete:
			v.Gone[c.Path] = true
			continue
		case workspace.Rename:
			v.Gone[c.From] = true
		}
		v.Changed[c.Path] = c
	}
	return v
}

// OnBase returns the view of the base alone.
func OnBase(base *workspace.Manifest) View { return View{Base: base, memo: base.Memo()} }

// Recall is workspace.Recall for a computation that cannot fail.
func Recall[T any](v View, q question, find func() T) T {
	value, _ := workspace.Recall(v.memo, q, func() (T, error) { return find(), nil })
	return value
}

// Unpatched returns the view of the base alone, or v itself if there is no base, as in a proof.
func (v View) Unpatched() View {
	if len(v.Base.Entries) == 0 {
		return v
	}
	return OnBase(v.Base)
}

// Paths lists the regular files, sorted. The list is shared: a caller that changes it must clone it first.
func (v View) Paths() []string {
	return Recall(v, "paths", func() []string {
		list := make([]string, 0, len(v.Base.Entries)+len(v.Changed))
		for _, e := range v.Base.Entries {
			if _, changed := v.Changed[e.Path]; e.Kind == workspace.File && !v.Gone[e.Path] && !changed {
				list = append(list, e.Path)
			}
		}
		// Sorting is fast, since only the end of the list is out of order.
		list = slices.AppendSeq(list, maps.Keys(v.Changed))
		slices.Sort(list)
		return list
	})
}

// Has reports whether there is a regular file at p.
func (v View) Has(p string) bool {
	if _, ok := v.Changed[p]; ok {
		return true
	}
	// Links do not count: they are not followed, so what they lead to is not read.
	e, ok := v.Base.Lookup(p)
	return ok && e.Kind == workspace.File && !v.Gone[p]
}

// A Search looks for the first file, in Order, whose text matches.
type Search struct {
	What  question
	Among func(p string) bool
	Order func(a, b string) int
	Match func(data []byte) bool
}

// First returns the path of that file, "" for none. It may read every file, so the result for the base is computed
// once, and then only the files that a patch touched are examined besides it.
func (v View) First(s Search) (string, error) {
	if len(v.Changed)+len(v.Gone) == 0 {
		return workspace.Recall(v.memo, s.What, func() (string, error) { return v.look(s, slices.Clone(v.Paths())) })
	}
	stands, err := OnBase(v.Base).First(s)
	if _, touched := v.Changed[stands]; err != nil || touched || v.Gone[stands] {
		return v.look(s, slices.Clone(v.Paths()))
	}
	found, err := v.look(s, slices.Collect(maps.Keys(v.Changed)))
	if found == "" || stands != "" && err == nil && s.Order(stands, found) < 0 {
		return stands, err
	}
	return found, err
}

// look reads files until one matches.
func (v View) look(s Search, paths []string) (string, error) {
	paths = slices.DeleteFunc(paths, func(p string) bool { return !s.Among(p) })
	slices.SortFunc(paths, s.Order)
	for _, p := range paths {
		data, err := v.Read(p)
		if err != nil {
			return "", err
		}
		if s.Match(data) {
			return p, nil
		}
	}
	return "", nil
}

// HasDir reports whether any file lies below dir.
func (v View) HasDir(dir string) bool {
	return slices.ContainsFunc(v.Paths(), func(p string) bool { return strings.HasPrefix(p, dir+"/") })
}

// Read returns the bytes of the file at p, from the changeset if it writes the file and otherwise from the host. It
// neither executes nor follows anything.
func (v View) Read(p string) ([]byte, error) {
	if c, ok := v.Changed[p]; ok {
		return c.After, nil
	}
	if v.Gone[p] {
		return nil, fmt.Errorf("read %s: %w", p, fs.ErrNotExist)
	}
	return v.Base.ReadFile(p)
}

// Executable returns the text of the file at p if it is executable and not too large for a script, and nil otherwise.
func (v View) Executable(p string) ([]byte, error) {
	if c, ok := v.Changed[p]; ok {
		if c.Mode&0o111 == 0 {
			return nil, nil
		}
		return c.After, nil
	}
	if e, ok := v.Base.Lookup(p); !ok || e.Mode&0o111 == 0 || e.Size > maxScript {
		return nil, nil
	}
	return v.Read(p)
}

// Ends reports whether the workspace holds a file with one of the given extensions.
func (v View) Ends(with []string) bool {
	there := Recall(v, "endings", func() map[string]bool {
		set := map[string]bool{}
		for _, p := range v.Paths() {
			set[path.Ext(p)] = true
		}
		return set
	})
	return slices.ContainsFunc(with, func(ext string) bool { return there[ext] })
}

// Python reports whether the workspace holds a Python source file.
func (v View) Python() bool { return v.Ends([]string{".py", ".pyi"}) }

// IsPython reports whether the tools treat p as Python by its name.
func IsPython(p string) bool {
	ext := path.Ext(p)
	return ext == ".py" || ext == ".pyi"
}

// Missed reports whether a finding lacks its line because its file is no longer on the host as it was scanned.
func (v View) Missed(found []Finding) bool {
	looked := map[string]bool{} // many findings may be of blank lines
	return slices.ContainsFunc(found, func(f Finding) bool {
		if f.Source != "" || f.File == "" || looked[f.File] {
			return false
		}
		looked[f.File] = true
		_, err := v.Read(f.File)
		var changed *workspace.ChangedError
		return errors.As(err, &changed)
	})
}

// Relative turns a path that a tool printed into one relative to the workspace in the box; "" if it is elsewhere.
func Relative(p, root string) string {
	if p == "" {
		return ""
	}
	if !path.IsAbs(p) {
		p = path.Join(root, p)
	}
	// Clean first: a path with ".." after the root must not count as below it.
	rel, ok := strings.CutPrefix(path.Clean(p), root+"/")
	if !ok {
		return ""
	}
	return rel
}

// Text returns the text of a file in the view, or "" if it does not exist or cannot be read.
func (v View) Text(p string) string {
	if !v.Has(p) {
		return ""
	}
	// A file that changed on the host ends the run before anything is promoted.
	data, err := v.Read(p)
	if err != nil {
		return ""
	}
	return string(data)
}

// MostFollowed bounds how many files of a workspace are followed from its configuration.
const MostFollowed = 200

// maxScript is the size in bytes up to which a file without an extension is examined: a compiled program is not a
// script.
const maxScript = 1 << 20

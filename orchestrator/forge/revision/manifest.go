package revision

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
)

// A File is a file or a link in a revision.
type File struct {
	Path string
	// Kind is workspace.File or workspace.Symlink.
	Kind       workspace.Kind
	Executable bool
	// OnDisk says that the workspace's own file has these bytes; then Content is nil.
	OnDisk bool
	// Content is the content of the file, or the target of the link.
	Content []byte
}

// Manifest returns the manifest of the workspace of disk at a revision: exactly files, and what lies below the paths of
// keep in its state on disk. left lists the files that a scan leaves out, which are not in the manifest either.
// Directories that are empty on disk stay, so that an unchanged workspace has the same digest.
func Manifest(disk *workspace.Manifest, files []File, keep []string) (m *workspace.Manifest, left []string) {
	entries, content := map[string]workspace.Entry{}, map[string][]byte{}
	filled := map[string]bool{}
	for _, e := range disk.Entries {
		if e.Kind == workspace.Dir {
			continue
		}
		for dir := path.Dir(e.Path); dir != "." && !filled[dir]; dir = path.Dir(dir) {
			filled[dir] = true
		}
	}
	kept := func(name string) bool {
		return slices.ContainsFunc(keep, func(k string) bool { return name == k || strings.HasPrefix(name, k+"/") })
	}
	for _, e := range disk.Entries {
		if e.Kind == workspace.Dir && !filled[e.Path] || kept(e.Path) {
			entries[e.Path] = e
		}
	}
	for _, f := range files {
		if disk.LeavesOut(f.Path) {
			left = append(left, f.Path)
			continue
		}
		entries[f.Path] = entryOf(disk, f)
		if !f.OnDisk && f.Kind == workspace.File {
			content[f.Path] = f.Content
		}
	}
	for _, name := range slices.Collect(maps.Keys(entries)) {
		addParents(disk, entries, name)
	}
	return disk.Holding(slices.Collect(maps.Values(entries)), content), left
}

// addParents adds the directories above a path, in their state on disk if they exist there.
func addParents(disk *workspace.Manifest, entries map[string]workspace.Entry, name string) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if e, ok := entries[dir]; ok && e.Kind == workspace.Dir {
			return
		}
		e, ok := disk.Lookup(dir)
		if !ok || e.Kind != workspace.Dir {
			e = workspace.Entry{Path: dir, Kind: workspace.Dir, Mode: workspace.NewDirMode}
		}
		entries[dir] = e
	}
}

// entryOf returns the entry of a file of a revision. Its permission bits are those on disk, except for the execute
// bits, which are all that git records.
func entryOf(disk *workspace.Manifest, f File) workspace.Entry {
	now, there := disk.Lookup(f.Path)
	there = there && now.Kind == f.Kind
	if f.Kind == workspace.Symlink {
		if f.OnDisk && there {
			return now
		}
		return workspace.Entry{Path: f.Path, Kind: f.Kind, Mode: 0o777, Target: string(f.Content), Digest: workspace.Digest(f.Content)}
	}
	mode := newMode(f.Executable)
	if there {
		mode = withExecution(now.Mode, f.Executable)
	}
	if f.OnDisk && there {
		now.Mode = mode
		return now
	}
	return workspace.Entry{Path: f.Path, Kind: f.Kind, Mode: mode, Size: int64(len(f.Content)), Digest: workspace.Digest(f.Content)}
}

// newMode returns the mode with which git would write a file.
func newMode(executable bool) fs.FileMode {
	if executable {
		return 0o755
	}
	return 0o644
}

// withExecution returns mode with execute bits for those who can read it, or without any.
func withExecution(mode fs.FileMode, wanted bool) fs.FileMode {
	switch has := mode&0o111 != 0; {
	case has == wanted:
		return mode
	case wanted:
		return mode | mode&0o444>>2
	}
	return mode &^ 0o111
}

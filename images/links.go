package images

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// A linkedTree is a Tree with links to what is installed next to the files. The links are not part of the workspace: its
// digest, manifest and changes do not contain them.
type linkedTree struct {
	Tree
	files []File
}

// withLinks lays links, by path, over t. A link is left out if the workspace has something under that name, or something
// other than a directory above it.
func withLinks(t Tree, links map[string]string) Tree {
	if len(links) == 0 {
		return t
	}
	// The names come from manifests of the workspace, but of a state that this tree need not have: a patch may put a
	// package.json where the base has a link. So each place is checked here, where nothing is followed, and not by a command
	// in the image, which would follow links.
	files := slices.Clone(t.Files())
	kinds := make(map[string]fs.FileMode, len(files))
	for _, f := range files {
		kinds[f.Path] = f.Mode.Type()
	}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		if _, taken := kinds[name]; taken {
			continue
		}
		if missing, ok := missingDirs(kinds, path.Dir(name)); ok {
			for _, dir := range missing {
				kinds[dir] = fs.ModeDir
				files = append(files, File{Path: dir, Mode: fs.ModeDir | 0o755})
			}
			kinds[name] = fs.ModeSymlink
			files = append(files, File{Path: name, Mode: fs.ModeSymlink | 0o777, Target: links[name]})
		}
	}
	// Every Tree promises this order.
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return linkedTree{t, files}
}

// missingDirs lists the directories to make so that dir exists; ok is false if something else is in the way.
func missingDirs(kinds map[string]fs.FileMode, dir string) (missing []string, ok bool) {
	for ; dir != "."; dir = path.Dir(dir) {
		switch kind, there := kinds[dir]; {
		case !there:
			missing = append(missing, dir)
		case kind != fs.ModeDir:
			return nil, false
		}
	}
	return missing, true
}

// Files lists the entries, including the links.
func (t linkedTree) Files() []File { return t.files }

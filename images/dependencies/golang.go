package dependencies

import (
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/deps"
)

// readGo finds the modules whose requirements are downloaded. The modules below a go.work belong to it; modules with a
// vendor directory bring what they need.
func (d *Set) readGo(files map[string][]byte) {
	// This only decides whether there is anything to download. The files themselves are left to Go, which is made for
	// hostile ones: it connects only to the proxy, accepts nothing with a wrong sum, and runs nothing.
	var work, roots []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		dir := path.Dir(name)
		_, vendored := files[path.Join(dir, "vendor/modules.txt")]
		switch path.Base(name) {
		case "go.work":
			work = append(work, dir)
		case "go.mod":
			needs, err := deps.RequiresModules(files[name])
			if err != nil && !vendored {
				d.notef("the modules of %s are not installed: it cannot be parsed", name)
			}
			if needs && !vendored && !deps.GoIgnores(dir) { // no check works in such a directory
				roots = append(roots, dir)
			}
		}
	}
	if len(roots) == 0 {
		return
	}
	// All of them are added, since one module may stand in for a requirement of another.
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if base := path.Base(name); strings.HasPrefix(base, "go.") {
			d.add(path.Join("go", name), files[name])
		}
	}
	// A go.work covers the modules below it: no proxy has what they require of each other.
	for _, dir := range append(work, roots...) {
		within := slices.ContainsFunc(work, func(w string) bool { return below(dir, w) })
		if !within || slices.Contains(work, dir) && !slices.Contains(d.steps, step{kind: "go", root: dir}) {
			d.steps = append(d.steps, step{kind: "go", root: dir})
		}
	}
}

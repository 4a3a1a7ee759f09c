// Package modules finds the files of a workspace that are modules of Python.
package modules

import (
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// imported matches the modules that a line of Python imports.
var imported = lazyregexp.New(`(?m)^\s*(?:from\s+([.\w]+)\s+import\b|import\s+([\w., \t]+))`)

// Reached returns the files behind names of modules and files, by the directory of who names them, and those that they
// import in turn, sorted: as v has them, and where a file of cand would be imported instead, that too. What is not of
// the workspace is left out. It follows [check.MostFollowed] files at most.
func Reached(v check.View, names map[string][]string, cand check.View) []string {
	var found []string
	add := func(dir, name string) {
		for _, side := range []check.View{v, cand} {
			if file, ok := File(side, dir, name); ok && !slices.Contains(found, file) && len(found) < check.MostFollowed {
				found = append(found, file)
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(names)) {
		for _, name := range names[dir] {
			add(dir, name)
		}
	}
	for i := 0; i < len(found); i++ {
		for _, m := range imported.FindAllStringSubmatch(v.Text(found[i]), -1) {
			for _, name := range append(strings.Split(m[2], ","), m[1]) {
				name, _, _ = strings.Cut(strings.TrimSpace(name), " ") // import a as b
				add(path.Dir(found[i]), name)
			}
		}
	}
	slices.Sort(found)
	return found
}

// File finds the file of a module, or of a path that ends with .py, below dir, its src, the top or src. It reports whether there is one.
func File(v check.View, dir, name string) (file string, ok bool) {
	if strings.HasSuffix(name, ".py") {
		if file = name; !path.IsAbs(name) {
			file = path.Join(dir, name)
		}
		return file, v.Has(file)
	}
	stem := strings.ReplaceAll(strings.TrimLeft(name, "."), ".", "/")
	if stem == "" {
		return "", false
	}
	for _, top := range []string{dir, path.Join(dir, "src"), "", "src"} {
		for _, end := range []string{".py", "/__init__.py"} {
			if file = path.Join(top, stem) + end; v.Has(file) {
				return file, true
			}
		}
	}
	return "", false
}

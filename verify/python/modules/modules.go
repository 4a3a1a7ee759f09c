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

// imported matches the modules that a line of Python imports. Group 1 is the module that names are imported from. The names,
// which may be modules too, are in group 2 if bracketed and otherwise in group 3. Group 4 lists modules imported as such.
var imported = lazyregexp.New(`(?m)^\s*(?:from\s+([.\w]+)\s+import\b[ \t]*(?:\(([^()]*)\)|([\w., \t]*))|import\s+([\w., \t]+))`)

// Reached returns the files behind names of modules and files, keyed by the directory of the file that names them, and the
// files that those import in turn, sorted. It looks in v, and adds a file of cand that would be imported instead. Names from
// outside the workspace are left out. It follows at most [check.MostFollowed] files.
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
		for _, name := range Imported(v.Text(found[i])) {
			add(path.Dir(found[i]), name)
		}
	}
	slices.Sort(found)
	return found
}

// Imported lists the modules that a Python text imports, as the text names them.
func Imported(text string) (names []string) {
	for _, m := range imported.FindAllStringSubmatch(text, -1) {
		for _, name := range strings.Split(m[2]+m[3]+m[4], ",") {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ") // import a as b
			switch from := m[1]; {
			case name == "":
			case from == "":
				names = append(names, name)
			case strings.HasSuffix(from, "."):
				names = append(names, from+name)
			default:
				names = append(names, from+"."+name)
			}
		}
		if m[1] != "" {
			names = append(names, m[1])
		}
	}
	return names
}

// File finds the file of a module below dir, its src, the top or src, or of a path below dir that ends in .py, if there is one.
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

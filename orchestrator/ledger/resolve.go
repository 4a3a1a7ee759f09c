package ledger

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// A binding is an import that leads to a file of the ledger.
type binding struct {
	node string
	// name is the imported name, as in Import.
	name string
	// local is the name in the importing file, "" for all names of the node, "?" for a module under an unknown name.
	local  string
	line   int
	export bool
}

// stems returns the last parts of the paths to which the import may lead. "from ..shop import tax" may mean
// shop/__init__.py or shop/tax.py, and has both stems. Too many stems cost a needless look; one too few would leave an
// import unresolved although its file has appeared.
func (i Import) stems() []string {
	var stems []string
	// Python's dots separate what slashes do elsewhere. Each part may be a module, and so may the imported name.
	for part := range strings.FieldsFuncSeq(i.Module, func(r rune) bool { return r == '/' || r == '.' }) {
		stems = append(stems, part)
	}
	stems = append(stems, i.Module, path.Base(i.Module), stem(i.Module), i.Name)
	if strings.Trim(i.Module, "./") == "" || i.Module[0] != '.' {
		stems = append(stems, "") // a directory whose own name is not stated
	}
	slices.Sort(stems)
	return slices.Compact(stems)
}

// stemsOf returns the stems by which an import may mean the file at p. "shop/index.ts" is meant by "./shop/index", by
// "./shop", and by "." in a neighbour, for which the stem is "".
func stemsOf(p string) []string {
	stems := []string{stem(p), path.Base(p), path.Base(path.Dir(p))}
	if s := stem(p); s == "index" || s == "__init__" {
		stems = append(stems, "")
	}
	return stems
}

// stem returns the base name without its last extension, and without the ".d" of a TypeScript declaration.
func stem(p string) string {
	base := path.Base(p)
	return strings.TrimSuffix(strings.TrimSuffix(base, path.Ext(base)), ".d")
}

// resolve finds the files of the ledger to which the imports of f lead. An import that leads out of the workspace, such
// as "import json" or "react", gives no binding: its users are of no concern here.
func (l *Ledger) resolve(f *File) []binding {
	var list []binding
	for _, i := range f.Imports {
		add := func(name, local string, nodes ...string) {
			for _, n := range nodes {
				list = append(list, binding{n, name, local, i.Line, i.Export})
			}
		}
		switch f.Language {
		case "python":
			l.python(f.Path, i, add)
		case "go":
			dir, ok := l.goPackage(i.Module)
			if ok && i.Alias == "/" {
				add(i.Name, l.packageName(dir), dir+"/")
			} else if ok {
				add(i.Name, i.Alias, dir+"/")
			}
		case "javascript", "typescript":
			if i.Module != "" {
				add(i.Name, i.Alias, l.scriptModule(f.Path, i.Module)...)
			}
		default:
			add(i.Name, i.Alias, l.place(f.Path, i.Module)...)
		}
	}
	return list
}

// python resolves one import. "import a.b" binds every module on the way, a and a.b, each under its own path; with an
// alias it binds only the last. "from a import b" does not say whether b is a name in a or a module in it, and so
// becomes both: at most one of them leads to a definition.
func (l *Ledger) python(from string, i Import, add func(name, local string, nodes ...string)) {
	if i.Name != "*" || i.Alias == "" {
		add(i.Name, i.Alias, l.pythonModule(from, i.Module)...)
		if i.Name != "*" {
			separator := "."
			if strings.HasSuffix(i.Module, ".") {
				separator = ""
			}
			add("*", i.Alias, l.pythonModule(from, i.Module+separator+i.Name)...)
		}
		return
	}
	add("*", i.Alias, l.pythonModule(from, i.Module)...)
	for module, local := i.Module, i.Alias; local == module; {
		dot := strings.LastIndexByte(module, '.')
		if dot < 0 {
			return
		}
		module, local = module[:dot], local[:dot]
		add("*", local, l.pythonModule(from, module)...)
	}
}

// pythonModule finds a module. Python searches its path, which nobody knows before the program runs. In its place,
// pythonModule searches the directories around the importing file, the nearest first, or starts at the top of the
// package that holds the file. With a.py and x/a.py, x/main.py means the second, as it would if it ran as a script.
// Inside a package this holds for the directory above it, since there the neighbours need a dot.
func (l *Ledger) pythonModule(from, module string) []string {
	dir := path.Dir(from)
	name := strings.TrimLeft(module, ".")
	parts := strings.ReplaceAll(name, ".", "/")
	if dots := len(module) - len(name); dots > 0 {
		for range dots - 1 {
			if dir == "." {
				return nil // above the workspace
			}
			dir = path.Dir(dir)
		}
		return l.pythonAt(path.Join(dir, parts))
	}
	var inside []string // directories that are packages are searched last
	for d := dir; ; d = path.Dir(d) {
		if l.files[path.Join(d, "__init__.py")] != nil && d != "." {
			inside = append(inside, d)
			continue
		}
		for _, root := range []string{d, path.Join(d, "src"), path.Join(d, "lib")} {
			if found := l.pythonAt(path.Join(root, parts)); found != nil {
				return found
			}
		}
		if d == "." {
			break
		}
	}
	for _, d := range inside {
		if found := l.pythonAt(path.Join(d, parts)); found != nil {
			return found
		}
	}
	return nil
}

// pythonAt finds the module whose path without extension is p, with its stub. A package wins over a module of the same
// name, as in Python. The stub states the types and changes along with the module, so both are returned.
func (l *Ledger) pythonAt(p string) []string {
	for _, forms := range [][]string{{path.Join(p, "__init__.py"), path.Join(p, "__init__.pyi")}, {p + ".py", p + ".pyi"}} {
		if found := l.existing(forms...); found != nil {
			return found
		}
	}
	return nil
}

// existing returns the paths that are in the ledger.
func (l *Ledger) existing(paths ...string) []string {
	var found []string
	for _, p := range paths {
		if l.files[p] != nil {
			found = append(found, p)
		}
	}
	return found
}

// goPackage finds the directory of a Go import path through the go.mod files of the ledger. "example.com/shop/tax" lies
// in tax below the directory whose go.mod says "example.com/shop". Versions and replace lines are ignored: they lead
// out of the workspace.
func (l *Ledger) goPackage(module string) (string, bool) {
	// The longest module path wins, as in Go.
	for prefix := module; prefix != "."; prefix = path.Dir(prefix) {
		for _, mod := range slices.Sorted(maps.Keys(l.modules[prefix])) {
			dir := path.Join(path.Dir(mod), strings.TrimPrefix(module[len(prefix):], "/"))
			if path.Base(mod) == "go.mod" && l.dirs[dir] != nil {
				return dir, true
			}
		}
		if prefix == "/" {
			break
		}
	}
	return "", false
}

// packageName returns the name in the package clauses of dir. The directory go-tax may hold package tax, and its users
// write tax.Rate. It skips the package of the external tests, which nobody can import. Without a clause, the
// directory's name serves.
func (l *Ledger) packageName(dir string) string {
	for _, p := range slices.Sorted(maps.Keys(l.dirs[dir])) {
		for _, d := range l.files[p].Definitions {
			if d.Kind == Package && !strings.HasSuffix(d.Name, "_test") {
				return d.Name
			}
		}
	}
	return path.Base(dir)
}

// extensions are tried in this order after a path that has none, or whose extension only stands for another.
var extensions = []string{".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".json"}

// scriptModule finds what a script imports: a path, a package of this workspace, or a path below one of the usual
// aliases for the source directory. The aliases "@/" and "~/" are set in the files of many tools, in languages of their
// own. They are guessed instead: the path is looked up in the directories around, so that a wrong guess finds nothing.
func (l *Ledger) scriptModule(from, module string) []string {
	if strings.HasPrefix(module, ".") {
		return l.scriptAt(path.Join(path.Dir(from), module))
	}
	for prefix := module; prefix != "." && prefix != "/"; prefix = path.Dir(prefix) {
		for _, mod := range slices.Sorted(maps.Keys(l.modules[prefix])) {
			if path.Base(mod) != "package.json" {
				continue
			}
			rest := module[len(prefix):]
			for _, root := range []string{".", "src", "lib"} {
				if found := l.scriptAt(path.Join(path.Dir(mod), root, rest)); found != nil {
					return found
				}
			}
		}
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(module, "@/"), "~/")
	if rest == module && !strings.Contains(module, "/") {
		return nil // a package from elsewhere
	}
	for d := path.Dir(from); ; d = path.Dir(d) {
		for _, root := range []string{d, path.Join(d, "src")} {
			if found := l.scriptAt(path.Join(root, rest)); found != nil {
				return found
			}
		}
		if d == "." || d == "/" {
			return nil
		}
	}
}

// scriptAt finds the script that an import of the path p means. The file itself comes first, then the extensions in
// their order, then the index of a directory, as in Node.
func (l *Ledger) scriptAt(p string) []string {
	if found := l.existing(p); found != nil {
		return found
	}
	// TypeScript imports what it will be compiled to: "./a.js" stands for a.ts.
	bases := []string{p}
	if ext := path.Ext(p); ext == ".js" || ext == ".mjs" || ext == ".cjs" || ext == ".jsx" {
		bases = append(bases, strings.TrimSuffix(p, ext))
	}
	for _, base := range append(bases, path.Join(p, "index")) {
		for _, ext := range extensions {
			if found := l.existing(base + ext); found != nil {
				return found
			}
		}
	}
	return nil
}

// place finds the file for a path in a page, style or shell script. The path is relative to the file, or to a directory
// around it, since a server's root and a shell's working directory are unknown. "/js/a.js" in web/page.html is tried as
// web/js/a.js and below web/public, then one directory up. A file does not lead to itself, as "run.sh" in run.sh would.
func (l *Ledger) place(from, to string) []string {
	if to == "" || strings.Contains(to, "://") || strings.HasPrefix(to, "//") {
		return nil
	}
	for d := path.Dir(from); ; d = path.Dir(d) {
		for _, root := range []string{d, path.Join(d, "public"), path.Join(d, "static"), path.Join(d, "src")} {
			p := path.Join(root, to)
			if found := l.existing(p); found != nil && p != from {
				return found
			}
		}
		if d == "." || d == "/" {
			return nil
		}
	}
}

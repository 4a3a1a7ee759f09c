package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// stubEnds lists the endings of files that only declare types, with the endings of the modules that they stand for. A
// type checker reads the stub and ignores the module.
var stubEnds = []struct {
	stub    string
	modules []string
}{
	{".pyi", []string{".py", ".pyx", "/__init__.py"}},
	{".d.ts", []string{".ts", ".tsx", ".js", ".jsx", "/index.js", "/index.ts"}},
	{".d.mts", []string{".mts", ".mjs"}},
	{".d.cts", []string{".cts", ".cjs"}},
}

// stubPaths matches the setting of mypy, pyright or ty that names directories of stubs.
var stubPaths = lazyregexp.New(`["']?\b(?:mypy_path|stubPath|extraPaths|extra-paths)["']?\s*[:=]\s*(\[[^\]]*\]|[^\n]*)`)

// stubPath matches one directory in such a setting.
var stubPath = lazyregexp.New(`[\w.@/$-]+`)

// stubDirs lists the directories in which type checkers look for Python stubs.
func stubDirs(base check.View) []string {
	dirs := []string{"typings", "stubs"}
	for _, p := range base.Paths() {
		if !configuresTools(p) {
			continue
		}
		for _, m := range stubPaths.FindAllStringSubmatch(base.Text(p), check.MostFollowed) {
			for _, dir := range stubPath.FindAllString(m[1], check.MostFollowed) {
				// mypy has this variable for the directory of its configuration.
				dir = strings.TrimPrefix(strings.TrimPrefix(dir, "$MYPY_CONFIG_FILE_DIR"), "/")
				dirs = append(dirs, path.Join(path.Dir(p), dir))
			}
		}
	}
	return dirs
}

// stubHolds holds the stubs that cs adds and that replace a module of the workspace for a type checker, which then no
// longer looks at what the module does. Stubs for installed packages are not among them.
func stubHolds(before, after check.View, cs workspace.Changeset) (holds []Hold) {
	var dirs []string // read only when there is a stub to check
	for _, c := range cs.Changes {
		if c.Op == workspace.Delete || before.Has(c.Path) {
			continue
		}
		for _, kind := range stubEnds {
			stem, ok := strings.CutSuffix(c.Path, kind.stub)
			if !ok {
				continue
			}
			if dirs == nil && kind.stub == ".pyi" {
				dirs = stubDirs(before)
			}
			module := beside(after, stem, kind.modules)
			if module == "" && kind.stub == ".pyi" {
				module = stubbed(after, stem, dirs)
			}
			if module == "" {
				continue
			}
			holds = append(holds, Hold{
				Path: c.Path, Kind: WeakerType, Block: true,
				Reason: fmt.Sprintf("Type checkers read it in place of %s, which they no longer look at.", check.Shorten(module)),
			})
		}
	}
	return holds
}

// beside returns the module next to a stub, or "" if there is none.
func beside(v check.View, stem string, ends []string) string {
	// One stub can stand for a whole package, and a stub named __builtins__ for the built-in names of all programs.
	if path.Base(stem) == "__builtins__" {
		return "the built-in names"
	}
	for _, end := range ends {
		if v.Has(stem + end) {
			return stem + end
		}
	}
	return ""
}

// stubbed returns the module of the workspace that a stub in a stub directory or a stub package stands for, or "" if there is none.
func stubbed(v check.View, stem string, dirs []string) string {
	parts := strings.Split(stem, "/")
	for i, part := range parts {
		name, isPackage := strings.CutSuffix(part, "-stubs")
		if !isPackage && (i == 0 || !slices.Contains(dirs, path.Join(parts[:i]...)) && !slices.Contains(dirs, parts[i-1])) {
			continue
		}
		module := path.Join(append([]string{name}, parts[i+1:]...)...)
		for _, p := range v.Paths() {
			for _, end := range []string{".py", "/__init__.py"} {
				top, ok := strings.CutSuffix(p, module+end)
				// Inside a package, the module has a longer name.
				if ok && (top == "" || strings.HasSuffix(top, "/") && !v.Has(top+"__init__.py")) {
					return p
				}
			}
		}
	}
	return ""
}

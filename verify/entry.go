package verify

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
)

// An entry is how the smoke gate starts the program. HTML pages, styles and
// libraries are none: nothing but the interpreter of its own language starts a file.
type entry struct {
	// The file, "" for a configured command: the latter cannot be followed
	// through a rename.
	path string
	// The command, its program as an absolute path; empty when there is none.
	args []string
	// The command of Go that makes the program first, nil where nothing needs to.
	build []string
	// Besides the configured variables.
	env map[string]string
}

// String names the command for people.
func (e entry) String() string {
	if len(e.args) == 0 {
		return "nothing"
	}
	args := slices.Clone(e.args)
	if len(e.build) > 0 {
		return shorten("go run " + e.build[len(e.build)-1])
	}
	args[0] = path.Base(args[0])
	// env and its "--" are how it is started, not what a person configured.
	if args[0] == "env" {
		args = args[1:]
	}
	return shorten(strings.Join(args, " "))
}

// chooseEntries finds the program of each side. It is the base's program
// wherever the candidate still has that file, so that a patch cannot put a
// harmless main.py in its place.
func chooseEntries(base, cand view, tools toolPaths, cfg Smoke) (before, after entry, err error) {
	if before, err = findEntry(base, tools, cfg); err != nil {
		return entry{}, entry{}, err
	}
	// A configured command has no path of its own: it is the same on both sides.
	at := before.path
	if at != "" && !cand.has(at) {
		for _, c := range cand.changed {
			if c.Op == workspace.Rename && c.From == at {
				at = c.Path
			}
		}
	}
	if at != "" && cand.has(at) {
		return before, startFile(cand, tools, at), nil
	}
	after, err = findEntry(cand, tools, cfg)
	return before, after, err
}

// findEntry finds the program by convention, in this order: the configured
// command; main.py or app.py at the root; the __main__.py of a package at the
// root or in src; the Go package at the root, or the only one in cmd, when it is a
// program; the shallowest file with a main guard, tests and build
// scripts left out; server.js, app.js or index.js at the root.
func findEntry(v view, tools toolPaths, cfg Smoke) (entry, error) {
	if len(cfg.Command) > 0 {
		// env looks the program up in the box's PATH and becomes it.
		return entry{args: append([]string{tools.Env, "--"}, cfg.Command...), env: pythonPath(v)}, nil
	}
	paths := v.paths()
	for _, p := range []string{"main.py", "app.py"} {
		if slices.Contains(paths, p) {
			return startFile(v, tools, p), nil
		}
	}
	for _, p := range paths {
		dir := strings.TrimPrefix(path.Dir(p), "src/")
		if path.Base(p) == "__main__.py" && dir != "." && dir != "src" && !strings.Contains(dir, "/") && !aside(p) {
			return startFile(v, tools, p), nil
		}
	}
	// Before the scripts, which in a workspace of Go are its tools.
	if p := goEntry(v); p != "" {
		return startFile(v, tools, p), nil
	}
	p, err := guarded(v)
	if err != nil || p != "" {
		return startFile(v, tools, p), err
	}
	for _, p := range []string{"server.js", "app.js", "index.js"} {
		if slices.Contains(paths, p) {
			return startFile(v, tools, p), nil
		}
	}
	return entry{}, nil
}

// guarded finds the shallowest, then first, Python file with a main guard.
func guarded(v view) (string, error) {
	p, err := v.first(search{"main guard", func(p string) bool { return path.Ext(p) == ".py" && !aside(p) }, shallower, hasMainGuard})
	if err != nil {
		return "", fmt.Errorf("look for the program's entry point: %w", err)
	}
	return p, nil
}

// shallower orders paths by their depth, then by name, so that the choice is the same
// on every run.
func shallower(a, b string) int {
	return cmp.Or(strings.Count(a, "/")-strings.Count(b, "/"), strings.Compare(a, b))
}

// aside reports whether p is a test or a build script: no program of the
// workspace, though most of them have a main guard.
func aside(p string) bool {
	for part := range strings.SplitSeq(path.Dir(p), "/") {
		if part == "tests" || part == "test" || part == "docs" {
			return true
		}
	}
	switch path.Base(p) {
	case "conftest.py", "setup.py", "noxfile.py":
		return true
	}
	return isTest(p)
}

// mainGuard is the guard at the start of a line, outside any indentation.
var mainGuard = regexp.MustCompile(`^if\s*\(?\s*(__name__\s*==\s*['"]__main__['"]|['"]__main__['"]\s*==\s*__name__)\s*\)?\s*:`)

// hasMainGuard reports whether a Python file has a main guard that is code: a line inside a
// string is not. When it errs, the program that is started is another one, and the judgement,
// which compares two starts of the same program, stays right.
func hasMainGuard(data []byte) bool {
	if !bytes.Contains(data, []byte("__main__")) { // most have none
		return false
	}
	return slices.ContainsFunc(lang.Named("python").Lex(string(data)), func(l lang.Line) bool { return !l.Inside && mainGuard.MatchString(l.Raw) })
}

// startFile makes the command for the program at p, nothing for "". A file
// inside a package runs as a module of it, so that its relative imports work.
func startFile(v view, tools toolPaths, p string) entry {
	switch path.Ext(p) {
	case "":
		return entry{}
	case ".js":
		// node resolves what it requires from the file, so it needs no path.
		return entry{path: p, args: []string{tools.Node, p}}
	case ".go":
		return startGo(p)
	}
	e := entry{path: p, args: []string{tools.Python, "-B", "-u"}, env: pythonPath(v)}
	dir := path.Dir(p)
	if dir == "." || dir == "src" || path.Base(p) != "__main__.py" && !v.has(dir+"/__init__.py") {
		e.args = append(e.args, p)
		return e
	}
	// -m needs the directory above the outermost package on the path; for the
	// root and src it is there already.
	top := dir // the directory that holds the outermost package
	for top != "." && (top == dir || v.has(top+"/__init__.py")) {
		top = path.Dir(top)
	}
	module := strings.TrimSuffix(strings.TrimPrefix(p, top+"/"), ".py")
	module = strings.TrimSuffix(module, "/__main__")
	e.args = append(e.args, "-m", strings.ReplaceAll(module, "/", "."))
	if top != "." && top != "src" {
		e.env = map[string]string{"PYTHONPATH": e.env["PYTHONPATH"] + ":" + work + "/" + top}
	}
	return e
}

// pythonPath lets a program import what lies at the root and in src, as it
// could once it is installed.
func pythonPath(v view) map[string]string {
	if v.hasDir("src") {
		return map[string]string{"PYTHONPATH": work + ":" + work + "/src"}
	}
	return map[string]string{"PYTHONPATH": work}
}

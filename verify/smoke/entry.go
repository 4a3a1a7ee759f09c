package smoke

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/python"
)

// Entries finds the program of each side. It is the base's program wherever the candidate still has that file, so that a
// patch cannot put a harmless main.py in its place.
func Entries(base, cand check.View, tools check.Tools, cfg check.Smoke) (before, after check.Entry, err error) {
	if before, err = FindEntry(base, tools, cfg); err != nil {
		return check.Entry{}, check.Entry{}, err
	}
	if before.Guess, err = guess(base, before); err != nil {
		return check.Entry{}, check.Entry{}, err
	}
	// A configured command has no path: it is the same on both sides.
	at := before.Path
	if at != "" && !cand.Has(at) {
		for _, c := range cand.Changed {
			if c.Op == workspace.Rename && c.From == at {
				at = c.Path
			}
		}
	}
	if at != "" && cand.Has(at) {
		after = startFile(cand, tools, at)
		// If the patch changes the file itself, the program is watched to the end.
		_, touched := cand.Changed[at]
		after.Guess = before.Guess && !touched
		return before, after, nil
	}
	after, err = FindEntry(cand, tools, cfg)
	return before, after, err
}

// FindEntry finds the program by convention, in this order: the configured command; main.py or app.py at the root; the
// __main__.py of a package at the root or in src; the Go package at the root, or the only one in cmd, if it is a program;
// the shallowest file with a main guard, except tests and build scripts; server.js, app.js or index.js at the root.
func FindEntry(v check.View, tools check.Tools, cfg check.Smoke) (check.Entry, error) {
	if len(cfg.Command) > 0 {
		// env finds the program in the box's PATH and becomes it.
		return check.Entry{Args: append([]string{tools.Env, "--"}, cfg.Command...), Env: pythonPath(v)}, nil
	}
	paths := v.Paths()
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
	// This comes before the scripts, which are tools in a Go workspace.
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
	return check.Entry{}, nil
}

// guarded finds the shallowest Python file with a main guard, the first one by name at equal depth.
func guarded(v check.View) (string, error) {
	p, err := v.First(check.Search{What: "main guard", Among: func(p string) bool { return path.Ext(p) == ".py" && !aside(p) }, Order: shallower, Match: hasMainGuard})
	if err != nil {
		return "", fmt.Errorf("look for the program's entry point: %w", err)
	}
	return p, nil
}

// shallower orders paths by depth, then by name, so that the choice is the same on every run.
func shallower(a, b string) int {
	return cmp.Or(strings.Count(a, "/")-strings.Count(b, "/"), strings.Compare(a, b))
}

// aside reports whether p is a test or a build script. Most of these have a main guard, but they are not programs of the
// workspace.
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
	return python.IsTest(p)
}

// mainGuard matches the guard at the start of a line, without indentation.
var mainGuard = lazyregexp.New(`^if\s*\(?\s*(__name__\s*==\s*['"]__main__['"]|['"]__main__['"]\s*==\s*__name__)\s*\)?\s*:`)

// hasMainGuard reports whether a Python file has a main guard that is code: a line inside a string does not count. If it
// errs, another program starts, and the judgement stays right, since it compares two starts of the same program.
func hasMainGuard(data []byte) bool {
	if !bytes.Contains(data, []byte("__main__")) { // most have none
		return false
	}
	return slices.ContainsFunc(lang.Named("python").Lex(string(data)), func(l lang.Line) bool { return !l.Inside && mainGuard.MatchString(l.Raw) })
}

// startFile makes the command for the program at p, or none for "". A file inside a package runs as a module of the package,
// so that its relative imports work.
func startFile(v check.View, tools check.Tools, p string) check.Entry {
	switch path.Ext(p) {
	case "":
		return check.Entry{}
	case ".js":
		// node resolves required modules relative to the file, so it needs no path.
		return check.Entry{Path: p, Args: []string{tools.Node, p}}
	case ".go":
		return startGo(p)
	}
	e := check.Entry{Path: p, Args: []string{tools.Python, "-B", "-u"}, Env: pythonPath(v)}
	dir := path.Dir(p)
	if dir == "." || dir == "src" || path.Base(p) != "__main__.py" && !v.Has(dir+"/__init__.py") {
		e.Args = append(e.Args, p)
		return e
	}
	// -m needs the directory above the outermost package in the path; the root and src are there already.
	top := dir // the directory that holds the outermost package
	for top != "." && (top == dir || v.Has(top+"/__init__.py")) {
		top = path.Dir(top)
	}
	module := strings.TrimSuffix(strings.TrimPrefix(p, top+"/"), ".py")
	module = strings.TrimSuffix(module, "/__main__")
	e.Args = append(e.Args, "-m", strings.ReplaceAll(module, "/", "."))
	if top != "." && top != "src" {
		e.Env = map[string]string{"PYTHONPATH": e.Env["PYTHONPATH"] + ":" + check.Work + "/" + top}
	}
	return e
}

// pythonPath lets a program import what lies at the root and in src, as it could once it is installed.
func pythonPath(v check.View) map[string]string {
	if v.HasDir("src") {
		return map[string]string{"PYTHONPATH": check.Work + ":" + check.Work + "/src"}
	}
	return map[string]string{"PYTHONPATH": check.Work}
}

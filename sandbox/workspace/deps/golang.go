package deps

import (
	"bytes"
	"cmp"
	"go/build"
	"io"
	"path"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// RequiresModules reports whether a go.mod needs a module beyond the standard library.
func RequiresModules(text []byte) (bool, error) {
	f, _, err := readModule(text)
	return err == nil && len(f.Require) > 0, err
}

// readModule reads a go.mod. queries maps paths to versions that are not real versions yet, such as "latest": Go
// accepts and resolves them, and the file has v0.0.0 or the like in their place.
func readModule(text []byte) (f *modfile.File, queries map[string]string, err error) {
	queries = map[string]string{}
	// Lax: what is not a requirement stays in the syntax, for Go to judge.
	f, err = modfile.ParseLax("go.mod", text, func(path, version string) (string, error) {
		_, major, _ := module.SplitPathVersion(path)
		if module.CheckPathMajor(version, major) == nil {
			return version, nil
		}
		queries[path] = version
		return cmp.Or(module.PathMajorPrefix(major), "v0") + ".0.0", nil
	})
	return f, queries, err
}

// listModule lists what a go.mod requires, and what replaces it.
func listModule(text []byte) (packages, error) {
	f, queries, err := readModule(text)
	if err != nil {
		return nil, err
	}
	found := packages{}
	for _, r := range f.Require {
		found.add(r.Mod.Path, cmp.Or(queries[r.Mod.Path], r.Mod.Version))
	}
	// Replacements of modules, and programs that are run with the module, are as much a matter of trust as
	// requirements.
	rest := func(directive string, words []string) {
		if directive == "replace" || directive == "toolchain" || directive == "tool" {
			found.add(directive+" "+strings.Join(words, " "), "")
		}
	}
	eachDirective(f, rest)
	return found, nil
}

// eachDirective calls do for each line of a go.mod, in a block or not, with its directive and the words after it.
func eachDirective(f *modfile.File, do func(directive string, words []string)) {
	for _, x := range f.Syntax.Stmt {
		switch x := x.(type) {
		case *modfile.Line:
			do(x.Token[0], x.Token[1:])
		case *modfile.LineBlock:
			for _, line := range x.Line {
				do(x.Token[0], line.Token)
			}
		}
	}
}

// listSums lists the versions for whose content a go.sum has a sum. It ignores the lines for go.mod files alone: what
// is compiled also has one for its content.
func listSums(text []byte) (packages, error) {
	found := packages{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 3 && !strings.HasSuffix(words[1], "/go.mod") {
			found.add(words[0], words[1])
		}
	}
	return found, nil
}

// onlyLosesSums reports whether a change adds no line to a go.sum. The go command does not install what the file no
// longer names: go.mod selects the versions, and one without a sum is an error.
func onlyLosesSums(before, after []byte) bool {
	had := map[string]bool{}
	for line := range strings.Lines(string(before)) {
		had[strings.TrimSpace(line)] = true
	}
	for line := range strings.Lines(string(after)) {
		if line = strings.TrimSpace(line); line != "" && !had[line] {
			return false
		}
	}
	return true
}

// GoIgnores reports whether the go command excludes a directory, given by its slash-separated path, from "./...".
func GoIgnores(dir string) bool {
	for part := range strings.SplitSeq(dir, "/") {
		if part == "testdata" || part == "vendor" || part == "node_modules" || part != "." && strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_") {
			return true
		}
	}
	return false
}

// GoCompiles reports whether the go command includes a file, given by its slash-separated path, in a build for Linux
// and this processor, with or without cgo. Its name and its build constraints decide (go/build, Context.MatchFile).
func GoCompiles(p string, text []byte, cgo bool) bool {
	system := build.Default
	system.GOOS, system.CgoEnabled = "linux", cgo
	system.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	ok, err := system.MatchFile(path.Dir(p), path.Base(p))
	return ok && err == nil
}

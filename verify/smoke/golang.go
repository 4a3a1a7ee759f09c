package smoke

import (
	"context"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/deps"
	"agent/verify/check"
	"agent/verify/golang"
)

// goProgram is where the program of a Go workspace is built in the box. It is outside the workspace, which therefore looks
// to the program as it does to one that a person starts.
const goProgram = "/tmp/agent-program"

// goEntry finds the program of a Go workspace: the package at the root, or the only one below cmd; "" for none. It returns
// the file that stands for the package: main.go, or the first one.
func goEntry(v check.View) string {
	dirs := map[string][]string{}
	var commands []string
	for _, p := range v.Paths() {
		dir := path.Dir(p)
		if !golang.IsSource(p) || golang.IsTest(p) || golang.Ignored(dir) || !v.Has("go.mod") {
			continue
		}
		dirs[dir] = append(dirs[dir], p)
		if path.Dir(dir) == "cmd" && !slices.Contains(commands, dir) {
			commands = append(commands, dir)
		}
	}
	if p := goMainFile(v, dirs["."]); p != "" {
		return p
	}
	if len(commands) == 1 {
		return goMainFile(v, dirs[commands[0]])
	}
	return ""
}

// goMainFile returns the file that stands for a program's package.
func goMainFile(v check.View, files []string) string {
	best := ""
	for _, p := range files {
		if data, err := v.Read(p); err != nil || !isGoMain(p, data) {
			continue
		}
		if best == "" || path.Base(p) == "main.go" {
			best = p
		}
	}
	return best
}

// isGoMain reports whether a file is part of a program for the boxes' system. A file that `go generate` or a person starts
// by its name lies among a library's files, and every build leaves it out (`//go:build ignore`).
func isGoMain(p string, text []byte) bool {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	return err == nil && file.Name.Name == "main" && deps.GoCompiles(p, text, true)
}

// startGo returns the entry for the program of the package that has the file at p.
func startGo(p string) check.Entry {
	pkg := path.Dir(p)
	if pkg != "." {
		pkg = "./" + pkg // otherwise it would be a package of the standard library
	}
	return check.Entry{Path: p, Args: []string{goProgram}, Build: []string{"go", "build", "-o", goProgram, pkg}}
}

// build builds the program of the smoke gate if it must be built first. A program that does not build ends before it begins:
// done is false, and the outcome is compared like that of a program that crashes at its start.
func build(ctx context.Context, b check.Bench) (check.Outcome, bool) {
	if len(b.Entry.Build) == 0 {
		return check.Outcome{}, true
	}
	res, out, done := b.Command(ctx, golang.Command(b, ".", b.Entry.Build...))
	if !done || res.Exit == 0 {
		return out, done
	}
	out.Detail = b.Entry.String() + ": it does not build"
	return goUnbuilt(res, out), false
}

// goUnbuilt reads why a program does not build.
func goUnbuilt(res guest.Result, out check.Outcome) check.Outcome {
	text := check.Clean(check.Bytes(res.Stderr))
	at := check.Finding{Message: "the program does not build: " + check.Shorten(check.FirstLine(strings.TrimPrefix(text, "go: ")))}
	if found := golang.Compiled(".", text); len(found) > 0 {
		at = found[0]
	}
	at.Rule = "build"
	out.Ending = &check.Ending{Exit: res.Exit, Crashes: []string{volatile.ReplaceAllString(at.Message, "N")}, Where: at}
	return out
}

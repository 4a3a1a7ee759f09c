// Package golang implements the checks of Go: gofmt, the compiler's errors, go vet, staticcheck and go test. It owns their
// commands, the reading of their output, which modules a workspace has, and what each module needs of the others. It runs no
// program of the workspace except its tests.
//
// gofmt keeps formatted files formatted. The compiler reports all errors of packages and of their tests, not only the first
// ten. go vet and staticcheck (its SA rules, or those that staticcheck.conf of the base asks for) then look at the packages
// that compile; if only the tests of a package do not, they look at the package without them. Building the program does not
// count as starting it: only what the built program does counts as a crash. go test emits events, and a test is identified
// by directory and name. The caches of the image are linked into the box, so that the standard library is never compiled again.
//
// go test -coverpkg tells which of the lines in Bench.Lines are executed, for their packages alone. Tests that fail under
// it, and tests that may skip themselves because of it, run once more without it. While a package does not compile, the
// packages that need it run separately. Code is not measured if a //line directive points elsewhere, a build constraint
// excludes it, or another process executes it.
//
// No command has a network or another toolchain. If something that go.mod asks for is not installed, Go's checks cannot
// judge, and say so in a sentence.
package golang

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/deps"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// goApplies returns the reason why a tool of Go has nothing to do, or "".
func goApplies(v check.View) string {
	if len(Roots(v)) == 0 {
		return "the workspace has no Go module (go.mod)"
	}
	return ""
}

// Roots lists the directories of the workspace's modules, "." for the one at the top. Modules that the go command leaves out
// of every pattern do not count: most of them are wrong on purpose.
func Roots(v check.View) []string {
	return check.Recall(v, "go roots", func() []string { return listGoRoots(v) })
}

func listGoRoots(v check.View) []string {
	var roots []string
	for _, p := range v.Paths() {
		if path.Base(p) == "go.mod" && !Ignored(path.Dir(p)) {
			roots = append(roots, path.Dir(p))
		}
	}
	return roots
}

// Ignored reports whether the go command leaves a directory out of "./...".
func Ignored(dir string) bool { return deps.GoIgnores(dir) }

// goWork returns the go.work that applies to the module at root, in the form of GOWORK: "off" for a module that no such file
// uses, which the go command would refuse.
func goWork(v check.View, root string) string {
	for dir := root; ; dir = path.Dir(dir) {
		file := path.Join(dir, "go.work")
		if v.Has(file) {
			data, err := v.Read(file)
			if err == nil && slices.ContainsFunc(goUses(string(data)), func(use string) bool { return path.Join(dir, use) == root }) {
				return check.Work + "/" + file
			}
			return "off"
		}
		if dir == "." {
			return "off"
		}
	}
}

// goUses lists the directories that a go.work uses. It leaves out what it cannot read: a module that is then taken by itself
// merely fails to find its neighbours, before the patch as well.
func goUses(text string) []string {
	var uses []string
	block := false
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case block && fields[0] == ")":
			block = false
		case block:
			uses = append(uses, strings.Trim(fields[0], "\"`"))
		case fields[0] == "use" && len(fields) > 1 && fields[1] == "(":
			block = true
		case fields[0] == "use" && len(fields) > 1:
			uses = append(uses, strings.Trim(fields[1], "\"`"))
		}
	}
	return uses
}

// Command returns a Go command for the module at root. The image's own script sets up what every command needs: no network,
// no other toolchain, cgo only where the image has a compiler for it (see images/steps/find_c.sh), and the standard library
// compiled ahead. Modules come from the layer of dependencies, or from a vendor directory.
func Command(b check.Bench, root string, args ...string) guest.Command {
	return guest.Command{
		Args: append([]string{b.Tools.Go}, args...), Dir: path.Join(check.Work, root), MaxOutput: check.MaxToolOutput,
		Env: map[string]string{"GOWORK": goWork(b.View, root)},
	}
}

// A goPackage is one package as the go command lists it, compiled. The tests of a package are separate packages.
type goPackage struct {
	path, dir string
	// tests is the package that this one tests, "" for none.
	tests string
	// dependency says that the package is not in the module but the module needs it.
	dependency bool
	// below counts the broken packages that this one needs: if there are any, it was not compiled.
	below int
	// pos and err say where and why the package itself is broken; the place may be in the text only.
	pos, err string
}

// broken reports whether a package was not fully compiled.
func (p goPackage) broken() bool { return p.below > 0 || p.err != "" }

// owner returns the package that p belongs to: itself, or the one that it tests.
func (p goPackage) owner() string {
	return strings.TrimSuffix(cmp.Or(p.tests, p.path), ".test")
}

// goTemplate prints a goPackage on one line, its strings quoted as in Go. The alternative, JSON, repeats every error in
// every package above it. Lines for the standard library stay empty.
const goTemplate = `{{if or .Error (not .Standard)}}{{printf "%q %q %q" .ImportPath .Dir .ForTest}} {{.DepOnly}} {{len .DepsErrors}} ` +
	`{{with .Error}}{{printf "%q %q" .Pos .Err}}{{else}}"" ""{{end}}{{end}}`

// goList compiles all packages of a module and their tests, and lists them. The compiler reports all of its errors, not the
// first ten. No code of the workspace runs: nothing is generated. A module that cannot be listed at all because of its
// go.mod gives one package that says so.
func goList(ctx context.Context, b check.Bench, root string) ([]goPackage, check.Outcome, bool) {
	cmd := Command(b, root, "go", "list", "-e", "-test", "-deps", "-export", "-gcflags=-e", "-f", goTemplate, "./...")
	res, out, done := b.Command(ctx, cmd)
	if !done {
		return nil, out, false
	}
	packages, err := parseGoList(res)
	if err != nil {
		out.Verdict, out.Detail = check.Infra, fmt.Sprintf("read the output of go list: %v", err)
		return nil, out, false
	}
	out.Output = check.Tail(check.Clean(check.Bytes(res.Stderr)), check.MaxTail)
	return packages, out, true
}

// parseGoList reads the lines of goTemplate.
func parseGoList(res guest.Result) ([]goPackage, error) {
	if res.Stdout.Dropped > 0 {
		return nil, fmt.Errorf("more than %d MiB of packages", check.MaxToolOutput>>20)
	}
	text := check.Clean(check.Bytes(res.Stderr))
	if reason, ok := goRefuses(res.Exit, text); ok {
		return []goPackage{{path: wholeModule, err: reason}}, nil
	}
	if res.Exit != 0 {
		return nil, fmt.Errorf("exit status %d: %s", res.Exit, check.FirstLine(text))
	}
	var list []goPackage
	for line := range strings.Lines(string(res.Stdout.Head)) {
		p, ok := readGoPackage(strings.TrimSuffix(line, "\n"))
		if !ok {
			return nil, fmt.Errorf("line %q", check.Shorten(line))
		}
		if p.path != "" {
			list = append(list, p)
		}
	}
	if len(list) == 0 && !strings.Contains(text, "matched no packages") {
		return nil, fmt.Errorf("it lists no package: %s", check.FirstLine(text))
	}
	return list, nil
}

// goLine matches the lines of goTemplate.
var goLine = func() *lazyregexp.Regexp {
	const quoted = `("(?:[^"\\]|\\.)*")`
	return lazyregexp.New(`^` + strings.Repeat(quoted+` `, 3) + `(true|false) (\d+) ` + quoted + ` ` + quoted + `$`)
}()

// readGoPackage reads one line; an empty line stands for a package of the standard library.
func readGoPackage(line string) (p goPackage, ok bool) {
	if line == "" {
		return p, true
	}
	m := goLine.FindStringSubmatch(line)
	if m == nil {
		return p, false
	}
	for i, to := range map[int]*string{1: &p.path, 2: &p.dir, 3: &p.tests, 6: &p.pos, 7: &p.err} {
		text, err := strconv.Unquote(m[i])
		if err != nil {
			return p, false
		}
		*to = text
	}
	p.below, _ = strconv.Atoi(m[5]) // digits; with too many of them the package is broken all the same
	p.dependency = m[4] == "true"
	return p, p.path != ""
}

// wholeModule stands in for a package when a finding is about a whole module.
const wholeModule = "go.mod"

// goOwn matches what the go command says about a module's own files, as opposed to trouble with its cache or the machine.
var goOwn = lazyregexp.New(`go\.mod|go\.work|go\.sum|\bmodules?\b|vendor|import cycle`)

// goProgress matches other messages of the go command.
var goProgress = lazyregexp.New(`^(?:warning|downloading|finding|extracting|found|added|upgraded|creating)\b`)

// goRefuses reports whether the go command did not start because of a file of the workspace, and the go command's reason.
func goRefuses(status int, stderr string) (reason string, ok bool) {
	if status == 0 {
		return "", false
	}
	for line := range strings.Lines(stderr) {
		if text, cut := strings.CutPrefix(line, "go: "); cut && !goProgress.MatchString(text) {
			switch rest := check.FirstLine(stderr[strings.Index(stderr, line)+len(line):]); {
			case strings.HasSuffix(text, " it:\n"): // followed by the command that would
				text += rest
			// The heading of a list says less than its first item.
			case strings.HasSuffix(text, ":\n") && rest != "":
				text = rest
			}
			return check.Shorten(text), goOwn.MatchString(line)
		}
	}
	return "", false
}

// These are the names of Go's checks.
const (
	TypesName       = "go build"
	VetName         = "go vet"
	StaticcheckName = "staticcheck"
	TestsName       = "go test"
)

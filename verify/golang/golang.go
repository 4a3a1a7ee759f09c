// Package golang holds Go's checks: gofmt, the compiler's errors, go vet, staticcheck and go
// test. It owns their commands, the reading of what they print, which modules a workspace
// has and what each needs of the others. It runs no program of the workspace but its tests.
//
// gofmt keeps a file formatted that was. The compiler reports all errors of
// packages and of their tests, not only the first ten; go vet and staticcheck
// (its SA rules, or what staticcheck.conf of the base asks for) then look at the
// packages that compile, and without its tests at one of which only these do not. The program is built, which is no start: only what
// the built program does counts as a crash. go test is asked for events, and
// tests are told apart by directory and name. The caches of the image are linked
// into the box, so that the standard library is never compiled again. Which of the lines in
// Bench.Lines are executed, go test -coverpkg tells, of their packages alone; tests that fail so, and
// those that may skip themselves for it, are run once more without. While a package does not
// compile those that need it are run apart. What a //line leads elsewhere, a build constraint leaves out, or
// another process executes is not measured. No command
// has a network or another toolchain; what go.mod asks for and nothing has
// installed keeps Go's checks from judging, with a sentence that says so.
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

// goApplies gives the reason why a tool of Go has nothing to do, or "".
func goApplies(v check.View) string {
	if len(Roots(v)) == 0 {
		return "the workspace has no Go module (go.mod)"
	}
	return ""
}

// Roots lists the directories of the workspace's modules, "." for its own. What
// the go command leaves out of every pattern is no module of the workspace either:
// most of it is there to be wrong.
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

// goWork finds the go.work that holds for the module at root, as GOWORK wants it:
// "off" for a module that no such file uses, which the go command would refuse.
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

// goUses lists the directories that a go.work uses. What it cannot read is left
// out: a module that is then taken by itself only fails to find its neighbours,
// before the patch as well.
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

// Command is a command of Go in the module at root. The image's own script sets
// up what every one of them needs: no network, no other toolchain, cgo only where the
// image has a compiler for it (see images/steps/find_c.sh), and the standard library
// compiled ahead. Modules come from the layer of dependencies, or from a vendor directory.
func Command(b check.Bench, root string, args ...string) guest.Command {
	return guest.Command{
		Args: append([]string{b.Tools.Go}, args...), Dir: path.Join(check.Work, root), MaxOutput: check.MaxToolOutput,
		Env: map[string]string{"GOWORK": goWork(b.View, root)},
	}
}

// A goPackage is one package as the go command lists it, compiled. The tests of a
// package are packages of their own.
type goPackage struct {
	path, dir string
	// The package that this one tests, "" for none.
	tests string
	// Not of the module, but needed by it.
	dependency bool
	// How many packages below it are broken: it was not compiled then.
	below int
	// Where and why it is broken itself; the place may stand in the text only.
	pos, err string
}

// broken reports whether a package was not compiled to its end.
func (p goPackage) broken() bool { return p.below > 0 || p.err != "" }

// owner is the package that p belongs to: itself, or the one that it tests.
func (p goPackage) owner() string {
	return strings.TrimSuffix(cmp.Or(p.tests, p.path), ".test")
}

// goTemplate prints a goPackage on one line, its texts quoted as Go does it. The
// alternative, JSON, repeats every error in every package above it. The lines of
// the standard library say nothing.
const goTemplate = `{{if or .Error (not .Standard)}}{{printf "%q %q %q" .ImportPath .Dir .ForTest}} {{.DepOnly}} {{len .DepsErrors}} ` +
	`{{with .Error}}{{printf "%q %q" .Pos .Err}}{{else}}"" ""{{end}}{{end}}`

// goList compiles all packages of a module and their tests and lists them. The
// compiler tells all of its errors, not the first ten. No code of the workspace
// runs: nothing is generated. A module that cannot be listed at
// all, for its go.mod, gives one package that says so.
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

// goLine is the form of goTemplate's lines.
var goLine = func() *lazyregexp.Regexp {
	const quoted = `("(?:[^"\\]|\\.)*")`
	return lazyregexp.New(`^` + strings.Repeat(quoted+` `, 3) + `(true|false) (\d+) ` + quoted + ` ` + quoted + `$`)
}()

// readGoPackage reads one line; an empty one stands for a package of the standard
// library.
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
	p.below, _ = strconv.Atoi(m[5]) // digits; too many of them are broken all the same
	p.dependency = m[4] == "true"
	return p, p.path != ""
}

// wholeModule stands for a module as a whole in place of a package.
const wholeModule = "go.mod"

// goOwn matches what the go command says of a module's own files, as opposed to
// trouble with its cache or the machine.
var goOwn = lazyregexp.New(`go\.mod|go\.work|go\.sum|\bmodules?\b|vendor|import cycle`)

// goProgress matches what the go command tells beside that.
var goProgress = lazyregexp.New(`^(?:warning|downloading|finding|extracting|found|added|upgraded|creating)\b`)

// goRefuses reports that the go command did not begin because of a file of the
// workspace, with its reason.
func goRefuses(status int, stderr string) (reason string, ok bool) {
	if status == 0 {
		return "", false
	}
	for line := range strings.Lines(stderr) {
		if text, cut := strings.CutPrefix(line, "go: "); cut && !goProgress.MatchString(text) {
			switch rest := check.FirstLine(stderr[strings.Index(stderr, line)+len(line):]); {
			case strings.HasSuffix(text, " it:\n"): // the command that would
				text += rest
			// The heading of a list tells less than its first line.
			case strings.HasSuffix(text, ":\n") && rest != "":
				text = rest
			}
			return check.Shorten(text), goOwn.MatchString(line)
		}
	}
	return "", false
}

// The names of Go's checks.
const (
	TypesName       = "go build"
	VetName         = "go vet"
	StaticcheckName = "staticcheck"
	TestsName       = "go test"
)

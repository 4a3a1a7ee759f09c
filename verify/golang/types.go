package golang

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/compare"
)

// goAbsent matches the errors about a module that is rightly required but is not on this machine, for which a patch is not
// to blame. If only the module's go.mod is there, the go command would fetch the rest.
var goAbsent = lazyregexp.New(`missing go\.sum entry|module lookup disabled|GOPROXY|cannot query module|/cache/download/\S+\.lock: permission denied`)

// The rules of Go's types check. An absent module is one fact for all packages, see key in package compare.
const (
	ruleGoTypes  = "go-types"
	ruleGoAbsent = "import-not-found"
)

// goNotInstalled says that modules are absent, and how to cure it.
const goNotInstalled = "the modules of go.mod are not installed: name them in go.mod and go.sum, or keep them in vendor"

// findings lists the faults of one package itself.
func (p goPackage) findings(root string) []check.Finding {
	at := at(root, p.pos)
	at.Rule = ruleGoTypes
	switch {
	case p.err == "":
		return nil
	case goAbsent.MatchString(p.err):
		at.Rule, at.Message = ruleGoAbsent, "a module that go.mod requires is not installed"
		at.File = cmp.Or(at.File, path.Join(root, "go.mod"))
	case p.path == wholeModule:
		at.File, at.Message = path.Join(root, "go.mod"), p.err
	case strings.HasPrefix(p.err, "# "):
		if found := Compiled(root, p.err); len(found) > 0 {
			return found
		}
		fallthrough // an error that cannot be parsed is still an error
	default:
		at.Message = check.Shorten(goUninstalled.ReplaceAllString(check.FirstLine(strings.TrimPrefix(p.err, "# ")), ""))
		at.File = cmp.Or(at.File, check.Relative(p.dir, check.Work))
	}
	return []check.Finding{at}
}

// Compiled reads the compiler's errors for one package. An indented line continues the one before: what was had and what
// was wanted.
func Compiled(root, text string) []check.Finding {
	var found []check.Finding
	for line := range strings.Lines(text) {
		f := at(root, strings.TrimRight(line, "\n"))
		if n := len(found); n > 0 && f.Message == "too many errors" {
			// When it is compiled for its own sake, the package reports them all.
			break
		} else if f.Message != "" {
			f.Rule = ruleGoTypes
			found = append(found, f)
		} else if n > 0 && strings.HasPrefix(line, "\t") {
			found[n-1].Message = check.Shorten(found[n-1].Message + " " + line)
		}
	}
	return found
}

// goUninstalled matches the part of a message that is about the machine.
var goUninstalled = lazyregexp.New(` \(/[^)]*\)|; to add it:$|: import lookup disabled by -mod=\w+`)

// goPlace matches how Go's tools write a place, at the start of a message.
var goPlace = lazyregexp.New(`^(.+?\.\w+):(\d+)(?::(\d+))?(?:: (.+))?$`)

// at reads a place with or without a message: "lib/a.go:3:4: undefined: x".
//
// For any other text it returns the zero Finding, which callers recognize by its Message or its Line.
func at(root, text string) (f check.Finding) {
	m := goPlace.FindStringSubmatch(text)
	if m == nil {
		return f
	}
	if !path.IsAbs(m[1]) {
		m[1] = path.Join(check.Work, root, m[1])
	}
	f.File, f.Message = check.Relative(m[1], check.Work), check.Shorten(m[4])
	f.Line, _ = strconv.Atoi(m[2]) // digits, as the pattern says
	f.Column, _ = strconv.Atoi(m[3])
	return f
}

// Types compiles Go. The planted caller passes a wrong argument to a function of another package. So does a planted test,
// which nothing but a test run compiles.
var Types = check.Check{
	Name: TypesName, Gate: check.GateTypes, Group: check.GroupStatic, Run: runGoTypes, Applies: goApplies, Judge: judgeGoTypes,
	Tools: []string{"go"}, Inert: true, Family: Modules, Places: Roots,
	Planted: map[string]string{
		"go.mod":             "module planted\n\ngo 1.21\n",
		"sound/sound.go":     Planted,
		"caller/caller.go":   "package caller\n\nimport \"planted/sound\"\n\nvar Total = sound.Double(\"21\")\n",
		"sound/call_test.go": "package sound_test\n\nimport \"planted/sound\"\n\nvar _ = sound.Double()\n",
		"absent/absent.go":   "package absent\n\nimport _ \"planted/nowhere\"\n",
	},
	Prove: check.Proves(runGoTypes, map[string]string{
		"caller/caller.go": ruleGoTypes, "sound/call_test.go": ruleGoTypes, "absent/absent.go": ruleGoTypes,
	}),
}

// Planted is a package to which no tool objects. It imports nothing.
const Planted = "// Package sound is sound.\npackage sound\n\n// Double doubles.\nfunc Double(n int) int { return 2 * n }\n"

// runGoTypes compiles every module of the workspace.
func runGoTypes(ctx context.Context, b check.Bench) check.Outcome {
	var total check.Outcome
	sum := goTypes{unjudged: map[string]bool{}, seen: map[check.Finding]bool{}}
	for _, root := range check.InOrder(b, Roots(b.View), check.Itself) {
		packages, out, done := goList(ctx, b, root)
		if total = check.AddCost(total, out); !done {
			return total
		}
		total.Output = out.Output
		for _, p := range packages {
			sum.add(p, root)
		}
	}
	total.Detail = fmt.Sprintf("the Go compiler, packages: %d", sum.packages)
	if sum.judged < sum.packages {
		total.Detail += fmt.Sprintf(", %d of them not judged", sum.packages-sum.judged)
	}
	if sum.absent {
		total.Detail += ": " + goNotInstalled
	}
	// With nothing judged there is nothing to compare, unless there are other modules.
	if sum.judged == 0 && sum.packages > 0 && b.Reach == nil {
		total.Blocked = "no Go package could be compiled"
		if sum.absent {
			total.Blocked = goNotInstalled
		}
	}
	total.Unjudged = slices.Sorted(maps.Keys(sum.unjudged))
	total.Findings = check.NewSources(b.View).Fill(sum.found)
	return total
}

// A goTypes gathers the faults in the packages of a workspace.
type goTypes struct {
	// packages counts the packages without tests, and judged those of them that the compiler has seen.
	packages, judged int
	// absent says that a module is not installed.
	absent bool
	found  []check.Finding
	// seen avoids repetition: a package and its tests are compiled from the same files.
	seen map[check.Finding]bool
	// unjudged holds scopes, see goScope.
	unjudged map[string]bool
}

// add takes in one package. The compiler has seen all of a package that it refuses, and nothing of a package that needs a
// broken one.
func (s *goTypes) add(p goPackage, root string) {
	unseen := p.broken() && !strings.HasPrefix(p.err, "# ")
	// The program that runs the tests is not code of the workspace.
	if !p.dependency && !strings.HasSuffix(p.path, ".test") {
		if unseen {
			s.unjudged[goScope(p, root)] = true
		}
		if p.tests == "" {
			s.packages++
			if !unseen {
				s.judged++
			}
		}
	}
	for _, f := range p.findings(root) {
		s.absent = s.absent || f.Rule == ruleGoAbsent
		if !s.seen[f] {
			s.seen[f] = true
			s.found = append(s.found, f)
		}
	}
}

// goScope names a package's files for check.Outcome.Unjudged: "dir/*.go" for those without the tests, "dir/*_test.go" for
// the tests, and "dir/..." for a whole module.
func goScope(p goPackage, root string) string {
	switch {
	case p.path == wholeModule:
		return path.Join(root, "...")
	case p.tests != "":
		return path.Join(check.Relative(p.dir, check.Work), "*_test.go")
	}
	return path.Join(check.Relative(p.dir, check.Work), "*.go")
}

// unseen reports whether the file at p lies in one of the scopes.
//
// A scope that ends in "..." covers every directory below it, including nested modules.
func unseen(scopes []string, p string) bool {
	kind := "*.go"
	if strings.HasSuffix(p, "_test.go") {
		kind = "*_test.go"
	}
	if slices.Contains(scopes, path.Join(path.Dir(p), kind)) {
		return true
	}
	for dir := path.Dir(p); ; dir = path.Dir(dir) {
		if slices.Contains(scopes, path.Join(dir, "...")) {
			return true
		}
		if dir == "." {
			return false
		}
	}
}

// judgeGo is compare.JudgeFindings for a tool that sees some packages and not others. Findings in a package that it could
// not see before the patch may be old, and count as old unless the patch wrote the line.
func judgeGo(base, cand check.Outcome, d check.Diff) check.Gate {
	hidden := 0
	known := cand
	known.Findings = slices.DeleteFunc(slices.Clone(cand.Findings), func(f check.Finding) bool {
		old := unseen(base.Unjudged, f.File) && !rewrote(d, f)
		if old {
			hidden++
		}
		return old
	})
	g := compare.JudgeFindings(base, known, d)
	g.Old += hidden
	return g
}

// judgeGoTypes requires a reason for every package that the patch keeps from being compiled. Without one, what is wrong with
// the package is unknown, and the verdict is infra.
func judgeGoTypes(base, cand check.Outcome, d check.Diff) check.Gate {
	g := judgeGo(base, cand, d)
	for _, scope := range cand.Unjudged {
		if g.Verdict == check.Pass && !slices.Contains(base.Unjudged, scope) && !slices.Contains(base.Unjudged, path.Join(path.Dir(scope), "...")) {
			g.Verdict = check.Infra
			g.Detail = fmt.Sprintf("%s could not be compiled: %s", scope, goNotInstalled)
		}
	}
	return g
}

// rewrote reports whether f is on a line that the patch wrote.
func rewrote(d check.Diff, f check.Finding) bool {
	return slices.ContainsFunc(d.Hunks[f.File], func(r check.Region) bool { return r.NewFrom <= f.Line && f.Line < r.NewTo })
}

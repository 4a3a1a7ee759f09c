package golang

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
	"agent/verify/policy/checker"
)

// Vet is Go's own check for code that compiles but is a mistake.
var Vet = check.Check{
	Name: VetName, Gate: check.GateLint, Group: check.GroupStatic, Run: runVet, Applies: goApplies, Judge: judgeGo,
	Tools: []string{"go"}, Inert: true, Family: Modules, Places: Roots,
	Planted: plantedGoLint,
	Prove:   check.Proves(runVet, map[string]string{"fault/fault.go": "vet-assign", "fault/fault_test.go": "vet-tests", "half/half.go": "vet-assign"}),
}

// Staticcheck checks for mistakes that need more than one look.
var Staticcheck = check.Check{
	Name: StaticcheckName, Gate: check.GateLint, Group: check.GroupStatic, Run: runStatic, Applies: goApplies, Judge: judgeGo,
	Tools: []string{"staticcheck"}, Inert: true, Family: Modules, Places: Roots, Config: []string{staticcheckConf},
	Planted: plantedGoLint,
	Prove:   check.Proves(runStatic, map[string]string{"fault/fault.go": "SA4018", "half/half.go": "SA4018"}),
}

// plantedGoLint has a variable assigned to itself, a test with a wrong name, a package whose tests do not compile, and a
// package that itself does not compile, about which both tools say nothing.
var plantedGoLint = map[string]string{
	"go.mod":              "module planted\n\ngo 1.21\n",
	"sound/sound.go":      Planted,
	"broken/broken.go":    "package broken\n\nvar x = y\n",
	"half/half.go":        "package half\n\nfunc Keep(n int) int {\n\tn = n\n\treturn n\n}\n",
	"half/half_test.go":   "package half\n\nvar x = y\n",
	"fault/fault.go":      "package fault\n\nfunc Keep(n int) int {\n\tn = n\n\treturn n\n}\n",
	"fault/fault_test.go": "package fault\n\nimport \"testing\"\n\nfunc Testsmall(t *testing.T) { t.Log(Keep(1)) }\n",
}

// staticcheckConf configures staticcheck for its directory.
const staticcheckConf = "staticcheck.conf"

// staticRules select what is certainly a mistake, for a workspace that does not say what it wants. Deprecation is not one, nor
// is an empty branch, nor code that could be shorter or faster.
const staticRules = "SA*,-SA1019,-SA4001,-SA4021,-SA6*,-SA9003"

// goBatch is how many packages one command gets by name, since the size of a command in bytes may be bounded.
const goBatch = 400

// lintGo runs a tool over the packages of the workspace that compile, module by module. The types gate reports the others,
// and a linter would only repeat it.
func lintGo(ctx context.Context, b check.Bench, args []string, parse func(guest.Result, int) ([]check.Finding, string, error)) check.Outcome {
	var total check.Outcome
	seen := map[check.Finding]bool{}
	unjudged := map[string]bool{}
	for _, root := range check.InOrder(b, Roots(b.View), check.Itself) {
		packages, out, done := goList(ctx, b, root)
		if total = check.AddCost(total, out); !done {
			return total
		}
		sound, half, scopes := goSound(packages, root)
		maps.Copy(unjudged, scopes)
		type batch struct {
			names    []string
			packages int
		}
		var batches []batch
		for names := range slices.Chunk(sound, goBatch) {
			batches = append(batches, batch{names, len(names)})
		}
		for _, dir := range half {
			// Without file names, the tools would take another package.
			if files := goFiles(b.View, root, dir); len(files) > 0 {
				batches = append(batches, batch{files, 1})
			}
		}
		for _, one := range batches {
			res, out, done := b.Command(ctx, Command(b, root, slices.Concat(args, one.names)...))
			if total = check.AddCost(total, out); !done {
				return total
			}
			found, blocked, err := parse(res, one.packages)
			if err != nil {
				total.Verdict, total.Detail = check.Infra, fmt.Sprintf("read the output of %s: %v", args[0], err)
				return total
			}
			total.Blocked = cmp.Or(total.Blocked, blocked)
			for _, f := range found {
				// A file belongs both to a package and to its tests.
				if !seen[f] {
					seen[f] = true
					total.Findings = append(total.Findings, f)
				}
			}
			total.Output = check.Tail(check.Clean(check.Bytes(res.Stderr)), check.MaxTail)
		}
	}
	total.Unjudged = slices.Sorted(maps.Keys(unjudged))
	total.Findings = check.NewSources(b.View).Fill(total.Findings)
	return total
}

// goFiles lists the files of a package without its tests, relative to root. Given a list of files, the tools load a package
// without tests.
func goFiles(v check.View, root, dir string) (files []string) {
	for _, p := range v.Paths() {
		if path.Dir(p) == dir && path.Ext(p) == ".go" && !lang.IsTest(p) {
			files = append(files, "./"+strings.TrimPrefix(p, root+"/"))
		}
	}
	return files
}

// goSound lists the packages of a module that compile with all of their tests, the directories of packages of which only the
// tests do not compile, and the scopes that no tool sees as a result.
//
// Where the tools load a package and its tests together, both stand or fall together: the tools give up on both.
func goSound(packages []goPackage, root string) (sound, half []string, unjudged map[string]bool) {
	broken := map[string]bool{}
	unjudged = map[string]bool{}
	for _, p := range packages {
		if !p.dependency && p.broken() {
			broken[p.owner()] = true
		}
	}
	for _, p := range packages {
		switch {
		case p.dependency || p.path != p.owner():
		case !broken[p.path]:
			sound = append(sound, p.path)
		default:
			if p.broken() {
				unjudged[goScope(p, root)] = true
			} else {
				half = append(half, check.Relative(p.dir, check.Work))
			}
			p.tests = p.path
			unjudged[goScope(p, root)] = true
		}
	}
	return sound, half, unjudged
}

// runVet runs go vet. It uses the compiled packages that the types check needs too.
func runVet(ctx context.Context, b check.Bench) check.Outcome {
	out := lintGo(ctx, b, []string{"go", "vet", "-gcflags=-e", "-json"}, parseVet)
	if out.Verdict == "" {
		out.Detail = "go vet over the workspace"
	}
	return out
}

// parseVet reads the documents that go vet prints, at least one for each package:
//
//	{"package": {"analyzer": [{"posn": "file:line:column", "message": "…"}]}}
//
// An analyzer that gives up has an object in place of its list.
//
// go vet must report on at least as many packages as were requested; one that is left out would count as sound.
func parseVet(res guest.Result, packages int) (found []check.Finding, blocked string, err error) {
	text := check.FirstLine(check.Clean(check.Bytes(res.Stderr)))
	if res.Exit != 0 || res.Stdout.Dropped > 0 {
		return nil, "", fmt.Errorf("exit status %d: %s", res.Exit, text)
	}
	count := 0
	d := json.NewDecoder(bytes.NewReader(res.Stdout.Head))
	for {
		var units map[string]map[string][]struct {
			Posn    string `json:"posn"`
			Message string `json:"message"`
		}
		err := d.Decode(&units)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, "", err
		}
		count++
		for _, analyzers := range units {
			for _, name := range slices.Sorted(maps.Keys(analyzers)) {
				for _, r := range analyzers[name] {
					f := at("", r.Posn)
					if f.Line == 0 || r.Message == "" {
						return nil, "", fmt.Errorf("%s reports %q at %q", check.Shorten(name), check.Shorten(r.Message), check.Shorten(r.Posn))
					}
					f.Rule, f.Message = "vet-"+check.Shorten(name), check.Shorten(r.Message)
					f.Help = check.Link("https://pkg.go.dev/golang.org/x/tools/go/analysis/passes/" + name)
					found = append(found, f)
				}
			}
		}
	}
	if count < packages {
		return nil, "", fmt.Errorf("it reports on %d of %d packages: %s", count, packages, text)
	}
	return found, "", nil
}

// runStatic runs staticcheck, with the workspace's own choice of rules if it has made one. Findings in tests count only if the project
// itself runs staticcheck: the tests are run anyway, and a risky way of doing something in a test is no fault of the program.
func runStatic(ctx context.Context, b check.Bench) check.Outcome {
	args := []string{"staticcheck", "-f", "json"}
	// The base decides, as it does about all configuration.
	base := check.OnBase(b.View.Base)
	if slices.ContainsFunc(base.Paths(), func(p string) bool { return path.Base(p) == staticcheckConf }) {
		return overWorkspace(lintGo(ctx, b, args, parseStatic), "")
	}
	args = append(args, "-checks", staticRules)
	out := lintGo(ctx, b, args, parseStatic)
	if checker.Runs(StaticcheckName, base.Paths(), base.Text) || slices.ContainsFunc(base.Paths(), isGolangci) {
		return overWorkspace(out, "")
	}
	out.Findings = slices.DeleteFunc(out.Findings, func(f check.Finding) bool { return lang.IsTest(f.File) })
	return overWorkspace(out, " except tests: nothing in the project runs it")
}

// overWorkspace adds to an outcome what staticcheck looked at.
func overWorkspace(out check.Outcome, but string) check.Outcome {
	if out.Verdict == "" {
		out.Detail = "staticcheck over the workspace" + but
	}
	return out
}

// isGolangci reports whether a file configures golangci-lint, which runs staticcheck unless told otherwise.
func isGolangci(p string) bool { return strings.HasPrefix(path.Base(p), ".golangci.") }

// A staticLine is one finding as staticcheck prints it with -f json.
type staticLine struct {
	// Code is such as "SA4006"; "compile" and "config" are for what keeps staticcheck from working.
	Code     string `json:"code"`
	Location struct {
		// File is absolute.
		File   string `json:"file"`
		Line   int    `json:"line"`
		Column int    `json:"column"`
	} `json:"location"`
	Message string `json:"message"`
}

// parseStatic reads staticcheck's findings. Status 0 must come with none and status 1 with some. A finding about its
// configuration ends its work.
func parseStatic(res guest.Result, _ int) (found []check.Finding, blocked string, err error) {
	if res.Stdout.Dropped > 0 {
		return nil, "", fmt.Errorf("more than %d MiB of findings", check.MaxToolOutput>>20)
	}
	for line := range bytes.Lines(res.Stdout.Head) {
		var l staticLine
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, "", fmt.Errorf("line %q: %w", check.Shorten(string(line)), err)
		}
		if l.Code == "" || l.Message == "" {
			return nil, "", fmt.Errorf("line %q: no code or message", check.Shorten(string(line)))
		}
		f := check.Finding{
			File: check.Relative(l.Location.File, check.Work), Line: max(l.Location.Line, 0), Column: max(l.Location.Column, 0),
			Rule: l.Code, Message: check.Shorten(l.Message), Help: "https://staticcheck.dev/docs/checks#" + l.Code,
		}
		switch l.Code {
		case "config":
			blocked = fmt.Sprintf("staticcheck does not accept %s: %s", f.File, f.Message)
		case "compile":
			// The compiler has just accepted it, so the package is not at fault.
			return nil, "", fmt.Errorf("it does not compile: %s", f.Message)
		}
		found = append(found, f)
	}
	if res.Exit != 0 && res.Exit != 1 || (res.Exit == 1) != (len(found) > 0) {
		return nil, "", fmt.Errorf("exit status %d with %d findings: %s", res.Exit, len(found), check.FirstLine(check.Clean(check.Bytes(res.Stderr))))
	}
	return found, blocked, nil
}

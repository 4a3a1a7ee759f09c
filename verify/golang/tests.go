package golang

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/crash"
)

// Tests runs Go's tests.
var Tests = check.Check{
	Name: TestsName, Gate: check.GateTests, Group: check.GroupTests, Run: runMeasured, Applies: goTestsApply, Judge: compare.JudgeTests,
	Tools: []string{"go"}, Family: Modules, Places: Roots, Repeats: true,
	Planted: map[string]string{
		"go.mod":         "module planted\n\ngo 1.21\n",
		"sound.go":       Planted,
		"sound_test.go":  "package sound\n\nimport \"testing\"\n\nfunc TestTrue(t *testing.T) {\n\tif Double(1) != 2 {\n\t\tt.Fatal()\n\t}\n}\n\nfunc TestFalse(t *testing.T) {\n\tt.Fatal(\"planted\")\n}\n",
		"no/no.go":       "package no\n\nvar x = y\n",
		"no/no_test.go":  "package no\n\nimport \"testing\"\n\nfunc TestNever(t *testing.T) {}\n",
		"end/end.go":     "package end\n",
		"end/a_test.go":  "package end\n\nimport \"testing\"\n\nfunc TestMain(*testing.M) { panic(\"planted\") }\n\nfunc TestNever(t *testing.T) {}\n",
		"none/none.go":   "package none\n",
		"testdata/x.go":  "package\n",
		"skip/a_test.go": "package skip\n\nimport \"testing\"\n\nfunc TestSkipped(test *testing.T) { test.Skip(\"planted\") }\n",
	},
	Prove: proveGoTests,
}

// goTestsApply returns the reason why there are no Go tests to run, or "".
//
// A module without tests is not a failure: the other gates then judge alone, and the report gives the reason with what was
// skipped.
func goTestsApply(v check.View) string {
	if reason := goApplies(v); reason != "" {
		return reason
	}
	if !slices.ContainsFunc(v.Paths(), IsTest) {
		return "the workspace has no Go tests (*_test.go)"
	}
	return ""
}

// IsTest reports whether the go command takes the file at p for a test file.
func IsTest(p string) bool { return path.Ext(p) == ".go" && lang.IsTest(p) && !Ignored(path.Dir(p)) }

// goSelected lists the arguments of go test for the tests requested in a module: their functions and their packages. If none
// are requested, that is all of them.
func goSelected(b check.Bench, root string) []string {
	if len(b.Asked()) == 0 {
		return []string{"./..."}
	}
	var dirs, tests []string
	for _, id := range b.Asked() {
		file, test, _ := strings.Cut(id, "::")
		// A test that no file of its package declares is identified by the directory.
		dir := file
		if IsTest(file) {
			dir = path.Dir(file)
		}
		if check.Nearest(check.Rooted(Roots(b.View)), dir) != root {
			continue
		}
		// A subtest runs with the test that contains it, since its name need not be what selects it.
		test, _, _ = strings.Cut(test, "/")
		dirs, tests = append(dirs, "./"+strings.TrimPrefix(strings.TrimPrefix(dir, root), "/")), append(tests, regexp.QuoteMeta(test))
	}
	if len(tests) == 0 {
		return nil
	}
	slices.Sort(dirs)
	if dirs = slices.Compact(dirs); len(b.Only) == 0 {
		return dirs // packages, whole
	}
	return append([]string{"-run=^(" + strings.Join(tests, "|") + ")$"}, dirs...)
}

// runGoTests runs the tests of every module to their end, one module after the other, or only the requested tests.
func runGoTests(ctx context.Context, b check.Bench, t *tracer) check.Outcome {
	var total check.Outcome
	files := newGoTestFiles(b.View)
	var all check.TestRun
	for _, root := range check.InOrder(b, Roots(b.View), check.Itself) {
		selected := goSelected(b, root)
		if selected == nil {
			continue
		}
		dirs, out, done := goDirs(ctx, b, root)
		if total = check.AddCost(total, out); !done {
			return total
		}
		// go test would complain that it matches no packages.
		if len(dirs) == 0 {
			continue
		}
		if b.Witnessed() {
			files.own = files.witnesses(dirs, b.Picks)
		}
		var run goTestRun
		if err := files.own.During(ctx, b.Box, func() { run, out, done = t.test(ctx, goTests{b, root, dirs, files}, selected) }); err != nil {
			return check.Infraf("%v", err)
		}
		results, seen := files.own.Take(run.results)
		total.Traced, total.Witnesses = t.said(), append(total.Witnesses, seen...)
		if total = check.AddCost(total, out); !done && out.Verdict != check.Timeout && out.Verdict != check.OOM {
			return total
		}
		all.Results = append(all.Results, results...)
		total.Tests, total.Output = all.Results, run.said
		if !done {
			if at := underWay(results); at != "" && out.Verdict == check.Timeout {
				total.Running = at
				total.Detail = fmt.Sprintf("%s did not finish: go test was stopped after %s", at, b.Timeout)
			}
			return total
		}
		// The other modules run all the same: the results of their tests help whoever fixes the trouble.
		if run.trouble != "" {
			total.Blocked = run.trouble
		}
	}
	total.Detail = "go test: " + all.Summary()
	return total
}

// goTests is go test in one module.
type goTests struct {
	bench check.Bench
	root  string
	dirs  map[string]string
	files *goTestFiles
}

// run runs go test with further arguments. It reads as much as an unfinished command left behind.
func (g goTests) run(ctx context.Context, args ...[]string) (goTestRun, check.Outcome, bool) {
	// Vet's findings belong to the lint gate, and a cached result would be no result.
	words := append([]string{"go", "test", "-json", "-vet=off", "-count=1", "-timeout=0"}, slices.Concat(args...)...)
	cmd := Command(g.bench, g.root, words...)
	cmd.MaxOutput = guest.MaxKept
	res, out, done := g.bench.Command(ctx, cmd)
	return parseGoTests(res, g.root, g.dirs, g.files), out, done
}

// goDirs maps the import paths of a module's packages to their directories in the workspace. A module that cannot be listed
// has none: the types gate reports it.
func goDirs(ctx context.Context, b check.Bench, root string) (map[string]string, check.Outcome, bool) {
	res, out, done := b.Command(ctx, Command(b, root, "go", "list", "-e", "-find", "-f", `{{printf "%q %q \"\"" .ImportPath .Dir}} false 0 "" ""`, "./..."))
	if !done {
		return nil, out, false
	}
	packages, err := parseGoList(res)
	if err != nil {
		out.Verdict, out.Detail = check.Infra, fmt.Sprintf("read the output of go list: %v", err)
		return nil, out, false
	}
	dirs, module := map[string]string{}, modfile.ModulePath([]byte(b.View.Text(path.Join(root, "go.mod"))))
	for _, p := range packages {
		below, own := strings.CutPrefix(p.path+"/", module+"/")
		switch {
		case p.path == wholeModule:
		// If a package's imports are in modules that are not there, go list gives nothing but the package's name.
		case p.dir == "" && own:
			dirs[p.path] = path.Join(root, below)
		default:
			dirs[p.path] = path.Join(".", check.Relative(p.dir, check.Work))
		}
	}
	return dirs, out, true
}

// A goEvent is one line of go test -json. Package is set except in events of a build.
type goEvent struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
}

// A goUnit is one test, or a whole package if it has no test name.
type goUnit struct {
	name, outcome string
	// output is the end of what it wrote.
	output []byte
	// within says that it fails and contains a failing test, which says why.
	within bool
	// ends counts how many tests of its name have ended.
	ends int
}

// maxGoOutput is how much of one test's output is searched for a place, in bytes.
const maxGoOutput = 64 << 10

// goEnds are the actions that end a test or a package.
var goEnds = map[string]string{"pass": "passed", "fail": "failed", "skip": "skipped"}

// A goTestRun is what go test reported about one module.
type goTestRun struct {
	results []check.TestResult
	// trouble says why the run cannot be taken for the result, "" if it can.
	trouble string
	// said is what the tests and the compiler wrote, for people: the events that contain it are not for reading.
	said string
}

// A goTestReader reads the events of go test. Test code writes to the same stream as its package, so nothing is trusted
// beyond its form.
type goTestReader struct {
	root  string
	dirs  map[string]string
	files *goTestFiles

	builds map[string][]byte             // what the compiler printed, by package
	units  map[string]map[string]*goUnit // by package and test, "" for the package
	order  []string                      // packages in the order in which they began
	tests  map[string][]string           // their tests in the order in which they began
	failed map[string]string             // package to the build that failed
	absent bool                          // a build lacks a module that is not installed
	said   []byte                        // the end of all that was written
}

// parseGoTests reads the output of one go test. Of a killed run it reads as much as is there.
func parseGoTests(res guest.Result, root string, dirs map[string]string, files *goTestFiles) goTestRun {
	r := &goTestReader{
		root: root, dirs: dirs, files: files, builds: map[string][]byte{}, units: map[string]map[string]*goUnit{},
		tests: map[string][]string{}, failed: map[string]string{},
	}
	var trouble string
	for line := range bytes.Lines(res.Stdout.Head) {
		var e goEvent
		if err := json.Unmarshal(line, &e); err != nil {
			trouble = fmt.Sprintf("the record of the tests is broken: line %q", check.Shorten(string(line)))
			break
		}
		if !r.event(e) {
			trouble = fmt.Sprintf("the record of the tests is broken: %s of %q in %q", check.Shorten(e.Action), check.Shorten(e.Test), check.Shorten(e.Package))
			break
		}
	}
	run := goTestRun{results: r.results(), trouble: trouble, said: check.Tail(check.Clean(append(r.said, check.Bytes(res.Stderr)...)), check.MaxTail)}
	bad := slices.ContainsFunc(run.results, check.TestResult.Bad)
	text := check.Clean(check.Bytes(res.Stderr))
	switch reason, refused := goRefuses(res.Exit, text); {
	case trouble != "":
	case res.Stdout.Dropped > 0:
		run.trouble = fmt.Sprintf("the tests wrote more than %d MiB", guest.MaxKept>>20)
	case refused && len(r.order) == 0:
		run.trouble = "go test did not start: " + reason
	case res.Exit != 0 && res.Exit != 1 || (res.Exit == 1) != (bad || r.absent):
		run.trouble = strings.TrimSuffix(fmt.Sprintf("go test's exit status %d does not match its results: %s", res.Exit, check.FirstLine(text)), ": ")
	}
	return run
}

// event takes in one line. It returns false for a line that cannot be genuine.
func (r *goTestReader) event(e goEvent) bool {
	if e.Test == "" {
		e.Output = unprofiled(e.Output)
	}
	if !r.hides(e) {
		r.said = appendTail(r.said, e.Output)
	}
	switch e.Action {
	// The compiler's output comes under the name of the build, which has no test, and often before the package is known to
	// have failed.
	case "build-output":
		r.builds[e.ImportPath] = appendTail(r.builds[e.ImportPath], e.Output)
		return true
	case "build-fail":
		return true
	}
	// The go command did not write a line about a package that was not requested.
	if _, known := r.dirs[e.Package]; !known {
		return false
	}
	units := r.units[e.Package]
	if units == nil {
		units = map[string]*goUnit{"": {}}
		r.units[e.Package], r.order = units, append(r.order, e.Package)
	}
	u := units[e.Test]
	if u == nil {
		u = &goUnit{name: e.Test}
		units[e.Test] = u
		r.tests[e.Package] = append(r.tests[e.Package], e.Test)
	}
	// Two tests of one name are reported as one, with the worse of their outcomes.
	open := u.outcome == "" || u.ends == 1 && e.Test != "" && r.files.both(r.dirs[e.Package], e.Test)
	switch e.Action {
	case "start", "run", "pause", "cont", "bench", "attr", "artifacts":
		return open
	case "output":
		u.output = appendTail(u.output, e.Output)
		return true
	}
	end, ok := goEnds[e.Action]
	// The go command does not report a second end.
	if !ok || !open {
		return false
	}
	u.ends++
	if u.outcome == "" || end == "failed" || end == "passed" && u.outcome == "skipped" {
		u.outcome = end
	}
	if e.Test == "" && e.FailedBuild != "" {
		r.failed[e.Package] = e.FailedBuild
	}
	return true
}

// goVerdict matches what go test prints for a package in which a test failed.
var goVerdict = lazyregexp.New(`^(?:FAIL|exit status 1|FAIL\t.*)\n$`)

// hides reports whether an event belongs to the gate's own tests: their output, or the verdict on a package in which no
// other test failed.
func (r *goTestReader) hides(e goEvent) bool {
	if e.Test != "" || r.files.own.Empty() || !goVerdict.MatchString(e.Output) {
		return e.Test != "" && r.files.own.Names(e.Test)
	}
	own := false
	for name, u := range r.units[e.Package] {
		if u.outcome != "failed" || name == "" {
			continue
		}
		if !r.files.own.Names(name) {
			return false
		}
		own = true
	}
	return own
}

// appendTail appends text to what a test wrote, and keeps the end.
//
// It keeps the end since a failing test says last why it fails. It cuts to half the limit, so that not every line of a test
// that prints without end causes a copy.
func appendTail(data []byte, text string) []byte {
	data = append(data, text...)
	if len(data) > maxGoOutput {
		data = append([]byte{}, data[len(data)-maxGoOutput/2:]...)
	}
	return data
}

// results lists the outcome of each test, package by package.
func (r *goTestReader) results() []check.TestResult {
	var list []check.TestResult
	for _, name := range r.order {
		dir, units := r.dirs[name], r.units[name]
		if build, ok := r.failed[name]; ok {
			list = append(list, r.unbuilt(dir, build))
			continue
		}
		failing := map[string]bool{}
		for _, test := range r.tests[name] {
			// What contains a failed test fails with it and has nothing of its own to say: it is marked, and the test inside
			// is blamed.
			if u := units[test]; u.outcome != "passed" && u.outcome != "skipped" {
				for above := path.Dir(test); above != "."; above = path.Dir(above) {
					failing[above] = true
				}
				failing[""] = true
			}
		}
		for _, test := range r.tests[name] {
			u := units[test]
			u.within = failing[test] && u.outcome == "failed"
			list = append(list, r.result(dir, u))
		}
		// The package fails with no test to blame, or did not end.
		if whole := units[""]; whole.outcome == "failed" && !failing[""] || whole.outcome == "" {
			list = append(list, r.result(dir, whole))
		}
	}
	for i, a := range list {
		// A package without tests has none to lose, so what keeps it from being built is reported once.
		list[i].Within = a.Within || a.Outcome == "error" && !r.files.any(a.ID) &&
			slices.ContainsFunc(list, func(b check.TestResult) bool {
				return b.Outcome == "error" && b.ID != a.ID && b.File == a.File && b.Line == a.Line && !b.Within
			})
	}
	return list
}

// notEnded is the message of a test of which nothing is known but that it began.
const notEnded = "it did not finish"

// underWay names the tests that a stopped command left running, of nested ones the innermost, or "" for none.
func underWay(results []check.TestResult) string {
	var open []string
	for _, r := range results {
		if r.Message == notEnded && strings.Contains(r.ID, "::") {
			open = slices.DeleteFunc(open, func(id string) bool { return strings.HasPrefix(r.ID, id+"/") })
			open = append(open, check.Shorten(r.ID))
		}
	}
	if len(open) > 2 {
		return fmt.Sprintf("%s and %d more", strings.Join(open[:2], ", "), len(open)-2)
	}
	return strings.Join(open, " and ")
}

// unbuilt returns the result of a package whose tests do not compile: none of them ran. A module that is not installed is
// not the fault of the tests.
func (r *goTestReader) unbuilt(dir, build string) check.TestResult {
	result := check.TestResult{ID: dir, Outcome: "error", Message: "the tests of " + dir + " do not build"}
	if found := Compiled(r.root, string(r.builds[build])); len(found) > 0 {
		result.File, result.Line = found[0].File, found[0].Line
		result.Message += ": " + found[0].Message
	} else if text := check.FirstLine(check.Clean(r.builds[build])); text != "" {
		result.Message = check.Shorten(result.Message + ": " + text)
	}
	if goAbsent.Match(r.builds[build]) {
		r.absent, result.Outcome, result.Message = true, "skipped", goNotInstalled
	}
	return result
}

// result returns how one test ended, with the last place that its output names.
func (r *goTestReader) result(dir string, u *goUnit) check.TestResult {
	result := check.TestResult{ID: dir, Outcome: u.outcome, Within: u.within}
	if u.name != "" {
		result.ID = r.files.of(dir, u.name) + "::" + u.name
	}
	// It was under way when the program ended, so this test, or one that ran at the same time, is to blame.
	if u.outcome == "" {
		result.Outcome, result.Message = "failed", notEnded
	}
	if result.Outcome == "passed" {
		return result
	}
	text := check.Clean(u.output)
	if crashes := crash.InGo(strings.Split(text, "\n")); len(crashes) > 0 {
		crash := crashes[0]
		result.File, result.Line, result.Message = crash.File, crash.Line, crash.Message
		result.Within = false
		return result
	}
	for line := range strings.Lines(text) {
		// The testing package names the file without its directory.
		if f := at(dir, strings.TrimSpace(line)); f.Message != "" && strings.HasPrefix(line, "    ") {
			result.File, result.Line, result.Message = f.File, f.Line, f.Message
		}
	}
	if result.Message == "" && u.name == "" {
		result.Message = check.Shorten(check.FirstLine(text))
	}
	return result
}

// proveGoTests requires a test that passes, one that fails, one that is skipped, a package that does not build, and one that
// ends before its tests.
func proveGoTests(ctx context.Context, b check.Bench) error {
	out := runGoTests(ctx, b, nil)
	if err := check.Judged(out); err != nil {
		return err
	}
	got := map[string]string{}
	for _, t := range out.Tests {
		got[t.ID] = t.Outcome
	}
	want := map[string]string{
		"sound_test.go::TestTrue": "passed", "sound_test.go::TestFalse": "failed",
		"skip/a_test.go::TestSkipped": "skipped", "no": "error", "end": "failed",
	}
	// Every way to end is planted: a reader of the record that lost one of them would let a broken package pass as one
	// without tests.
	if fmt.Sprint(got) != fmt.Sprint(want) { // maps are printed in order
		return fmt.Errorf("the planted tests ended as %v", got)
	}
	if b.Witnessed() && !slices.ContainsFunc(out.Witnesses, func(w check.Witness) bool { return w.Place == "." && w.Failing > 0 && w.AsDrawn() }) {
		return fmt.Errorf("the witnesses ended as %+v", out.Witnesses)
	}
	return nil
}

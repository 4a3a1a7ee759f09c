package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/node/npmscript"
	"agent/verify/node/testreport"
	"agent/verify/witness"
)

// A packageRunner is a test runner that workspaces bring with them as an npm package. Like the tests themselves it is code
// of the workspace's choice, and no planted fault can prove it in an image that does not have it. The proof shows that a
// package that reports as the runner does is found, started and read. Beyond that, the runner's report must agree with
// itself and with the exit status.
type packageRunner struct {
	name string
	// args come after those of the script, and make the runner write its report.
	args func(report string) []string
	// byPath come before the files if only some files run.
	byPath []string
	// stdout says that the report is its standard output, not a file.
	stdout bool
	// versioned returns further arguments for a version of it; nil for none.
	versioned func(version string) []string
	// reporter is the gate's reporter that replaces the runner's own; nil to keep that one.
	reporter func(t check.Tools) string
	// env returns further variables that are set for it; nil for none.
	env func(v check.View, u packageUse) map[string]string
	// again returns the arguments for one more run if the results do not fit the output. The report then says so and has one
	// more failing test; nil for none.
	again func(written string) []string
	// values are its options with a value in the next word. defaults are the files that it collects if neither its arguments
	// nor its configuration say so; see collects.
	values, defaults []string
	// keeps lists the runnerOptions that mean something else to it.
	keeps []string
	// attribute finds which of some files contains a test that is reported without a file.
	attribute func(files []string, title string) (file, rest string)
	// perFile says that each file runs by itself, since the report does not tell files apart.
	perFile bool
	// parse reads the report.
	parse func(data []byte, r testreport.Reading) ([]check.TestResult, error)
	// witness is its name in package witness, which gives its files witnesses; "" for none. With witnesses, beside returns
	// further arguments, alone reports whether a run in which only they failed ended with 1 for them alone, and unlike
	// reports that this cannot be told, so that there are none. Each may be nil.
	witness string
	beside  func(t check.Tools) []string
	alone   func(res guest.Result, report string) bool
	unlike  func(v check.View, u packageUse) bool
	// status returns the exit status with that many failures, if other than 1.
	status func(failures int) int
	// planted is the report of the planted package, with a test that passes and one that fails. proof is how these are read,
	// if not like those of the others.
	planted string
	proof   []string
}

// These are the names of the runners' checks.
const (
	VitestName = "vitest"
	JestName   = "jest"
	MochaName  = "mocha"
	AvaName    = "ava"
	TapName    = "tap"
	TapeName   = "tape"
	UvuName    = "uvu"
)

// The runners. If one finds no tests, the comparison with those found before reports it, test by test.
var (
	vitest = packageRunner{
		name: VitestName, parse: testreport.Jest, planted: plantedJest, defaults: []string{"**/*.{test,spec}.?(c|m)[jt]s?(x)"}, env: vitestEnv, versioned: vitestWhole,
		witness: witness.VitestLike, alone: vitestAlone, unlike: vitestTypes, beside: func(t check.Tools) []string { return []string{"--reporter=" + t.VitestFaults} },
		again: vitestAgain,
		args: func(report string) []string {
			return []string{"--watch=false", "--coverage=false", "--passWithNoTests", "--reporter=json", "--outputFile=" + report}
		},
	}
	jest = packageRunner{
		name: JestName, parse: testreport.Jest, planted: plantedJest, byPath: []string{"--runTestsByPath"},
		witness: witness.JestLike, alone: jestAlone, unlike: jestUnlike,
		defaults: []string{"**/__tests__/**/*.?([mc])[jt]s?(x)", "**/?(*.)+(spec|test).?([mc])[jt]s?(x)"},
		args: func(report string) []string {
			return []string{
				"--ci", "--watchAll=false", "--watchman=false", "--coverage=false", "--bail=0", "--passWithNoTests",
				"--cacheDirectory=/tmp/jest", "--testLocationInResults", "--json", "--outputFile=" + report,
			}
		},
	}
	mocha = packageRunner{
		name: MochaName, parse: testreport.Mocha, planted: plantedMocha, defaults: []string{"test/*.{js,cjs,mjs}"}, values: mochaValues, keeps: []string{"-u", "-f"}, status: func(failures int) int { return min(failures, 255) },
		witness: witness.MochaLike, versioned: mochaWhole, reporter: func(t check.Tools) string { return t.MochaReport },
		args: func(report string) []string { return []string{"--full-trace", "-O", "output=" + report} },
	}
)

// vitestWhole makes vitest go on after a failure, whatever its configuration says; versions before 0.31 do not know the option.
func vitestWhole(version string) []string {
	if minor, ok := strings.CutPrefix(version, "0."); ok {
		if minor, _, _ = strings.Cut(minor, "."); len(minor) < 2 || minor < "31" {
			return nil
		}
	}
	return []string{"--bail=0"}
}

// mochaWhole makes mocha run all tests and end, whatever its configuration says; versions before 6 do not know these options.
func mochaWhole(version string) []string {
	if major, _, _ := strings.Cut(version, "."); len(major) == 1 && major < "6" {
		return nil
	}
	return []string{"--no-watch", "--no-bail"}
}

// mochaValues are the options of mocha that take a value.
var mochaValues = []string{
	"-r", "--require", "--import", "--file", "--extension", "-t", "--timeout", "-s", "--slow", "-u", "--ui", "-g", "--grep", "-f", "--fgrep", "--config", "--package", "--ignore", "--exclude",
	"-j", "--jobs", "--retries", "-n", "--node-option", "--loader", "--experimental-loader",
}

// packageRunners lists all runners.
func packageRunners() []packageRunner {
	return []packageRunner{vitest, jest, mocha, ava, tap, tape, uvu}
}

// Runners returns the checks of all runners.
func Runners() (list []check.Check) {
	for _, r := range packageRunners() {
		list = append(list, r.check())
	}
	return list
}

// check makes the check of a runner.
func (r packageRunner) check() check.Check {
	return check.Check{
		Name: r.name, Gate: check.GateTests, Group: check.GroupTests, Run: traced(r.run), Applies: r.applies, Judge: r.judge, Family: Packages, Places: r.places, Repeats: true,
		Planted: map[string]string{
			"package.json": fmt.Sprintf(`{"devDependencies": {%q: "1"}}`, r.name),
			"node_modules/" + r.name + "/package.json":    fmt.Sprintf(`{"version": "1.0.0", "bin": {%q: "./run.cjs"}}`, r.name),
			"node_modules/" + r.name + "/run.cjs":         r.plantedProgram(),
			"node_modules/" + r.name + "/lib/report.json": r.planted,
		},
		Prove: r.prove,
	}
}

// runnerOptions are the script options that are left out: those that watch, stop early, write elsewhere, or look at only a
// part. True marks an option with a value.
var runnerOptions = map[string]bool{
	"run": false, "watch": false, "dev": false, "-w": false, "--run": false, "--watch": false, "--watchAll": false, "--ui": false, "--open": false,
	"--bail": false, "-b": false, "--coverage": false, "--collectCoverage": false, "--coverage.enabled": false, "--coverageReporters": true, "--coverageThreshold": true,
	"--coverageDirectory": true, "--reporter": true, "--reporters": true, "-R": true, "--reporter-option": true, "--reporter-options": true, "-O": true,
	"--json": false, "--outputFile": true, "--changed": false, "--changedSince": true, "--onlyChanged": false, "-o": false, "--onlyFailures": false,
	"-f": false, "--lastCommit": false, "--shard": true, "-u": false, "--update": false, "--updateSnapshot": false, "--cacheDirectory": true,
	"--inspect": false, "--inspect-brk": false, "--passWithNoTests": false, "--tap": false, "--fail-fast": false, "--update-snapshots": false,
}

// arguments returns the arguments of a use that are not left out.
func (r packageRunner) arguments(u packageUse) []string {
	left := maps.Clone(runnerOptions)
	for _, name := range r.keeps {
		delete(left, name)
	}
	return without(u.args, left)
}

// uses lists the packages whose tests the runner runs.
func (r packageRunner) uses(v check.View) []packageUse { return testUses(v, r.name) }

// places lists the directories of its uses.
func (r packageRunner) places(v check.View) []string { return dirs(r.uses(v), packageUse.dir) }

// applies returns the reason why there are no tests to run, or "". It is the same for all runners, so that a report gives it once.
func (r packageRunner) applies(v check.View) string {
	if len(r.uses(v)) > 0 {
		return ""
	}
	var names []string
	for _, other := range packageRunners() {
		names = append(names, other.name)
	}
	return "no package.json runs its tests with " + strings.Join(names, ", ")
}

// selected lists the arguments that select the requested tests of a package: their files, since titles need not be unique.
// ok reports whether the package has any. If no tests are requested, there are no arguments and all tests run.
func (r packageRunner) selected(b check.Bench, roots map[string]string, root string) (args []string, ok bool) {
	if len(b.Asked()) == 0 {
		return nil, true
	}
	for _, id := range b.Asked() {
		file, _, _ := strings.Cut(id, "::")
		// The test is reported without a file, so all tests run.
		if r.stdout && file == path.Join(root, "package.json") {
			return nil, true
		}
		if name := "./" + strings.TrimPrefix(file, root+"/"); check.Nearest(roots, path.Dir(file)) == root && !slices.Contains(args, name) {
			args = append(args, name)
		}
	}
	return append(slices.Clone(r.byPath), args...), len(args) > 0
}

// run runs the tests of each package, or the files of the requested tests, and reads the runner's reports.
func (r packageRunner) run(ctx context.Context, b check.Bench) check.Outcome {
	uses := r.uses(b.View)
	found, total, done := installed(ctx, b, r.name, r.name, uses)
	if !done {
		return total
	}
	total.Output = ""
	roots := map[string]string{}
	for _, u := range uses {
		roots[u.root] = ""
	}
	var all check.TestRun
	var ready preparation
	rest := remainder{map[string]string{}, map[string][]check.TestResult{}}
	version := ""
	for i, u := range check.InOrder(b, uses, packageUse.dir) {
		if found[i] == nil {
			total.Blocked = cmp.Or(total.Blocked, Absent(r.name, u.root))
			continue
		}
		files, ok := r.selected(b, roots, u.root)
		if !ok {
			continue
		}
		failed, out, done := ready.run(ctx, b, u.root, u.before)
		all.Results = append(all.Results, failed...)
		if total = check.AddCost(total, out); !done {
			return total
		}
		version = " " + check.Shorten(found[i].Version)
		report := fmt.Sprintf("/tmp/agent-%s-%d", r.name, i)
		results, out, done := r.use(ctx, b, u, *found[i], report, files)
		if built, cost := ready.build(ctx, b, u.root, results, out); done && built {
			total = check.AddCost(total, plus(out, cost))
			results, out, done = r.use(ctx, b, u, *found[i], report+"-built", files)
		}
		total.Output = check.Tail(total.Output+"\n"+out.Output, check.MaxTail)
		total.Seconds, total.Peak = total.Seconds+out.Seconds, max(total.Peak, out.Peak)
		if !done {
			out.Tests = all.Results
			return out
		}
		total.Witnesses = append(total.Witnesses, used(out.Witnesses, u.mark)...)
		version += out.Detail
		if out.Blocked != "" && len(results) == 0 && around(uses, u.root) >= 0 {
			rest.refused[u.root] = cmp.Or(rest.refused[u.root], out.Blocked)
		} else {
			total.Blocked = cmp.Or(total.Blocked, out.Blocked)
		}
		all.Results = append(all.Results, rest.sort(marked(results, u.mark), u.root, roots)...)
	}
	out, done := rest.asked(ctx, b, r, uses, found, roots)
	if total = check.AddCost(total, out); !done {
		return total
	}
	more, blocked := rest.settle(r.name)
	all.Results, total.Blocked, total.Witnesses = append(all.Results, more...), cmp.Or(total.Blocked, blocked), append(total.Witnesses, out.Witnesses...)
	total.Tests, total.Detail = all.Results, r.name+version+": "+all.Summary()
	return total
}

// use runs the tests of one package, all of them or those of some files, with witnesses among them unless tests are
// requested by ID.
func (r packageRunner) use(ctx context.Context, b check.Bench, u packageUse, p installedPackage, report string, files []string) (results []check.TestResult, total check.Outcome, done bool) {
	if r.env != nil {
		u.env = npmscript.Joined(u.env, r.env(b.View, u))
	}
	return witnessed(ctx, b, r.witnesses(b, u), func(set *witness.Set) ([]check.TestResult, check.Outcome, bool) {
		name := report
		report += "-again"
		return r.files(ctx, b, u, p, name, files, set)
	})
}

// files runs the tests of a package at once, or each file by itself. Each run has a report of its own, so that none counts
// for another.
func (r packageRunner) files(ctx context.Context, b check.Bench, u packageUse, p installedPackage, report string, files []string, set *witness.Set) (results []check.TestResult, total check.Outcome, done bool) {
	args, collected := r.arguments(u), r.collected(b.View, u)
	if r.versioned != nil {
		args = append(args, r.versioned(p.Version)...)
	}
	if r.reporter != nil {
		args = append(args, "--reporter", r.reporter(b.Tools))
	}
	runs := [][]string{files}
	if r.perFile && len(collected) > 0 {
		args, _ = positionals(args, r.values)
		runs = nil
		for _, file := range collected {
			if len(files) == 0 || slices.Contains(files, "./"+file) {
				runs = append(runs, []string{"./" + file})
			}
		}
	}
	if !set.Empty() && r.beside != nil {
		args = append(args, r.beside(b.Tools)...)
	}
	for i, one := range runs {
		name := report + ".json"
		if i > 0 {
			name = fmt.Sprintf("%s-%d.json", report, i)
		}
		cmd := startedThrough(b, u, useCommand(b, u, p, slices.Concat(args, r.args(name), one)...))
		cmd.Env = measured(b, cmd.Env)
		found, out, ended := r.attempt(ctx, b, cmd, name, u.root, set)
		if total = plus(total, out); !ended {
			return results, total, false
		}
		if out.Blocked != "" && r.again != nil && len(r.again(out.Output)) > 0 {
			cmd.Args = append(cmd.Args, r.again(out.Output)...)
			second, more, ended := r.attempt(ctx, b, cmd, name, u.root, set)
			if total = plus(total, more); !ended {
				return results, total, false
			}
			if more.Blocked == "" { // so that a patch that causes this is seen
				manifest := path.Join(u.root, "package.json")
				second = append(second, check.TestResult{ID: manifest + "::" + r.name, Outcome: "failed", File: manifest, Message: out.Blocked})
			}
			found, out.Blocked = second, more.Blocked
			total.Detail = " with " + strings.Join(r.again(out.Output), " ")
		}
		total.Blocked = cmp.Or(total.Blocked, out.Blocked)
		results = append(results, r.located(found, u.root, ran(one, collected))...)
	}
	return results, total, true
}

// plus adds the cost and the output of one run of a runner.
func plus(total, out check.Outcome) check.Outcome {
	total.Output = check.Tail(total.Output+"\n"+out.Output, check.MaxTail)
	return check.AddCost(total, out)
}

// attempt starts the runner and reads its report.
func (r packageRunner) attempt(ctx context.Context, b check.Bench, cmd guest.Command, report, root string, set *witness.Set) (found []check.TestResult, out check.Outcome, ended bool) {
	if cmd.Collect = []string{report, report + faultsSuffix}; r.stdout {
		cmd.Collect, cmd.MaxOutput = nil, check.MaxToolOutput
	}
	res, out, ended := b.Command(ctx, cmd)
	// A test can end its runner in any way; see pytestOnce in package python.
	if out.Verdict == check.Infra && !res.Killed && (res.Signal != "" || res.Exit != 0) {
		out.Verdict, out.Detail, ended = "", "", true
	}
	if !ended {
		return nil, out, false
	}
	if r.stdout && res.Stdout.Dropped == 0 && len(res.Stdout.Head) > 0 {
		res.Files = map[string][]byte{report: check.Bytes(res.Stdout)}
	}
	found, out.Blocked = r.read(res, report, root, set)
	return found, out, true
}

// ran returns the test files that a run with these arguments reached, out of those that the runner collects by itself.
func ran(args, collected []string) (files []string) {
	for _, arg := range args {
		if file, ok := strings.CutPrefix(arg, "./"); ok {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return collected
	}
	return files
}

// located moves tests that are reported for their package to the files that contain them.
func (r packageRunner) located(results []check.TestResult, root string, files []string) []check.TestResult {
	var l testreport.List
	for _, t := range results {
		file, title, ok := strings.Cut(t.ID, "::")
		if ok && r.stdout && file == path.Join(root, "package.json") {
			// In a run of a single file a title may omit the file, but the ID must be the same as in a run of several.
			at, rest := "", title
			if r.attribute != nil {
				at, rest = r.attribute(files, title)
			}
			if at == "" && len(files) == 1 {
				at = files[0]
			}
			if at != "" {
				t.ID = path.Join(root, at) + "::" + rest
			}
		}
		l.Add(t)
	}
	return l.Results
}

// read reads what the runner left. trouble says why that cannot be taken for the result of the tests, "" if it can.
func (r packageRunner) read(res guest.Result, report, root string, set *witness.Set) (results []check.TestResult, trouble string) {
	data, ok := res.Files[report]
	switch {
	case res.Signal != "":
		return nil, fmt.Sprintf("%s was ended by %s before its tests finished", r.name, res.Signal)
	case !ok && r.perFile && res.Exit == 0 && len(res.Stdout.Head) == 0:
		return nil, "" // a file that tests load is among them, and has no tests itself
	case !ok:
		return nil, strings.TrimSuffix(fmt.Sprintf("%s ended with exit status %d and left no report: %s", r.name, res.Exit, nodeComplaint(res)), ": ")
	}
	results, err := r.parse(data, newReading(root, res.Files[report+faultsSuffix], set))
	if err != nil {
		return nil, fmt.Sprintf("the report of %s is broken: %v", r.name, err)
	}
	failures, ours := 0, 0
	for _, t := range results {
		if !t.Bad() {
			continue
		}
		failures++
		switch _, title, isTest := strings.Cut(t.ID, "::"); {
		case set.Titles(title):
			ours++
		case !isTest && set.Names(t.Message):
			return nil, fmt.Sprintf("%s ran into a hook that fails after a test that fails: %s", r.name, t.Message)
		}
	}
	fits := res.Exit == 1 && failures > 0 || res.Exit == 0 && failures == 0 || r.status != nil && res.Exit == r.status(failures)
	if failures > 0 && failures == ours {
		fits = r.status == nil && res.Exit == 1 && r.alone(res, report) || r.status != nil && res.Exit == r.status(failures)
	}
	if !fits {
		return results, fmt.Sprintf("the exit status %d of %s does not match its results: %s", res.Exit, r.name, nodeComplaint(res))
	}
	return results, ""
}

// judge is compare.JudgeTests for a runner that need not be installed: one that a patch names first, and that is not
// installed, has nothing to be compared with.
func (r packageRunner) judge(base, cand check.Outcome, d check.Diff) check.Gate {
	switch fresh := base.Blocked == "" && len(base.Tests) == 0; {
	case cand.Verdict != "" || !fresh:
	case IsAbsent(r.name, cand):
		return check.Gate{Detail: "not judged: " + cand.Blocked}
	case cand.Blocked == "" && len(cand.Tests) == 0:
		return check.Gate{Detail: "found no tests"}
	}
	return compare.JudgeTests(base, cand, d)
}

// prove requires both tests of the planted report, and the version of the planted package.
func (r packageRunner) prove(ctx context.Context, b check.Bench) error {
	out := r.run(ctx, b)
	if err := check.Judged(out); err != nil {
		return err
	}
	var got []string
	for _, t := range out.Tests {
		got = append(got, t.ID+" "+t.Outcome)
	}
	want := []string{"planted.test.js::suite > true passed", "planted.test.js::suite > false failed"}
	if r.proof != nil {
		want = r.proof
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the planted tests ended as %q", got)
	}
	if !strings.Contains(out.Detail, " 1.0.0:") {
		return errors.New("the planted package is not the one that ran")
	}
	return nil
}

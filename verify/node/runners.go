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

// A packageRunner is a test runner that workspaces bring with them, a package of
// npm. It is code of the workspace's choice, like the tests themselves, and no
// planted fault can prove it in an image that does not have it. What is proved is
// that a package which reports as it does is found, started and read. Beyond that
// its report must agree with itself and with the exit status.
type packageRunner struct {
	name string
	// args are given behind those of the script, and make it write its report.
	args func(report string) []string
	// byPath are given before the files that are run alone.
	byPath []string
	// Its report is what it writes to standard output, and no file.
	stdout bool
	// What it is started with by its version, besides; nil for nothing.
	versioned func(version string) []string
	// The reporter of ours that it is given in place of its own; nil for its own.
	reporter func(t check.Tools) string
	// What is set for it besides; nil for nothing.
	env func(v check.View, u packageUse) map[string]string
	// With which arguments it is run once more where its results do not fit what it wrote, which
	// the report then says, and one more test that fails; nil for none.
	again func(written string) []string
	// Its options with a value in the next word, and the files that it collects where neither
	// its arguments nor its configuration say so; see collects.
	values, defaults []string
	// Those of runnerOptions that mean something else to it.
	keeps []string
	// attribute finds for tests that are told of no file the ones of files in which they stand.
	attribute func(files []string, title string) (file, rest string)
	// Each file is run by itself, since its report does not tell them apart.
	perFile bool
	// parse reads the report.
	parse func(data []byte, r testreport.Reading) ([]check.TestResult, error)
	// As package witness knows it, whose files are given witnesses; "" for none. Then what it is
	// given besides, whether a run in which nothing but these failed ended with 1 for them alone, and
	// where that cannot be told, so that there are none; nil for nothing.
	witness string
	beside  func(t check.Tools) []string
	alone   func(res guest.Result, report string) bool
	unlike  func(v check.View, u packageUse) bool
	// status is the exit status with that many failures, other than 1.
	status func(failures int) int
	// What the planted package reports, a test that passes and one that fails, and how these are
	// read where that is not as of the others.
	planted string
	proof   []string
}

// The names of their checks.
const (
	VitestName = "vitest"
	JestName   = "jest"
	MochaName  = "mocha"
	AvaName    = "ava"
	TapName    = "tap"
	TapeName   = "tape"
	UvuName    = "uvu"
)

// The runners. That none is found is told by what was found before, test by test.
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

// vitestWhole has vitest go on behind a failure, whatever its configuration says; those before 0.31 know no such option.
func vitestWhole(version string) []string {
	if minor, ok := strings.CutPrefix(version, "0."); ok {
		if minor, _, _ = strings.Cut(minor, "."); len(minor) < 2 || minor < "31" {
			return nil
		}
	}
	return []string{"--bail=0"}
}

// mochaWhole has mocha run all tests and end, whatever its configuration says; those before 6 know no such options.
func mochaWhole(version string) []string {
	if major, _, _ := strings.Cut(version, "."); len(major) == 1 && major < "6" {
		return nil
	}
	return []string{"--no-watch", "--no-bail"}
}

// mochaValues are the options of mocha with a value.
var mochaValues = []string{
	"-r", "--require", "--import", "--file", "--extension", "-t", "--timeout", "-s", "--slow", "-u", "--ui", "-g", "--grep", "-f", "--fgrep", "--config", "--package", "--ignore", "--exclude",
	"-j", "--jobs", "--retries", "-n", "--node-option", "--loader", "--experimental-loader",
}

// packageRunners lists them all.
func packageRunners() []packageRunner {
	return []packageRunner{vitest, jest, mocha, ava, tap, tape, uvu}
}

// Runners are the checks of them all.
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

// runnerOptions are those of the scripts that are left out: what watches, stops
// early, writes elsewhere, or looks at a part only. True for one with a value.
var runnerOptions = map[string]bool{
	"run": false, "watch": false, "dev": false, "-w": false, "--run": false, "--watch": false, "--watchAll": false, "--ui": false, "--open": false,
	"--bail": false, "-b": false, "--coverage": false, "--collectCoverage": false, "--coverage.enabled": false, "--coverageReporters": true, "--coverageThreshold": true,
	"--coverageDirectory": true, "--reporter": true, "--reporters": true, "-R": true, "--reporter-option": true, "--reporter-options": true, "-O": true,
	"--json": false, "--outputFile": true, "--changed": false, "--changedSince": true, "--onlyChanged": false, "-o": false, "--onlyFailures": false,
	"-f": false, "--lastCommit": false, "--shard": true, "-u": false, "--update": false, "--updateSnapshot": false, "--cacheDirectory": true,
	"--inspect": false, "--inspect-brk": false, "--passWithNoTests": false, "--tap": false, "--fail-fast": false, "--update-snapshots": false,
}

// arguments are those of a use that are not left out.
func (r packageRunner) arguments(u packageUse) []string {
	left := maps.Clone(runnerOptions)
	for _, name := range r.keeps {
		delete(left, name)
	}
	return without(u.args, left)
}

// uses lists the packages whose tests it runs.
func (r packageRunner) uses(v check.View) []packageUse { return testUses(v, r.name) }

// places lists their directories.
func (r packageRunner) places(v check.View) []string { return dirs(r.uses(v), packageUse.dir) }

// applies gives the reason why there are no tests to run, or "". It is the same for all, so that a report tells it once.
func (r packageRunner) applies(v check.View) string {
	if len(r.uses(v)) > 0 {
		return ""
	}
	var names []string
	for _, other := range packageRunners() {
		names = append(names, other.name)
	}
	return "no package.json has its tests run by " + strings.Join(names, ", ")
}

// selected lists the arguments by which a package's tests that are asked for are run:
// their files, since titles need not be unique. It reports whether there are any; without
// tests that are asked for there are no arguments, and all are run.
func (r packageRunner) selected(b check.Bench, roots map[string]string, root string) (args []string, ok bool) {
	if len(b.Asked()) == 0 {
		return nil, true
	}
	for _, id := range b.Asked() {
		file, _, _ := strings.Cut(id, "::")
		// It is told of no file: all are run.
		if r.stdout && file == path.Join(root, "package.json") {
			return nil, true
		}
		if name := "./" + strings.TrimPrefix(file, root+"/"); check.Nearest(roots, path.Dir(file)) == root && !slices.Contains(args, name) {
			args = append(args, name)
		}
	}
	return append(slices.Clone(r.byPath), args...), len(args) > 0
}

// run runs the tests of each package, or the files of those that are asked for, and reads
// the runner's reports.
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

// use runs the tests of one package, all of them or those of some files, with witnesses among them
// in the first case.
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

// files runs the tests of a package at once or each file by itself. The report of each run is
// another file, so that none counts for another one.
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
			if more.Blocked == "" { // a patch that brings this about is seen
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

// plus adds what one run of a runner cost and wrote.
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
	// A test can end its runner in any way; see runTests.
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

// ran are the files of tests that a run of a runner with these arguments came to, of those that it collects by itself.
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

// located tells tests that are told of their package only of the files in which they stand.
func (r packageRunner) located(results []check.TestResult, root string, files []string) []check.TestResult {
	var l testreport.List
	for _, t := range results {
		file, title, ok := strings.Cut(t.ID, "::")
		if ok && r.stdout && file == path.Join(root, "package.json") {
			// With one file alone a title may do without it, and must be the same as beside others.
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

// read reads what the runner left, and says why it cannot be taken for the result
// of the tests, "" when it can.
func (r packageRunner) read(res guest.Result, report, root string, set *witness.Set) (results []check.TestResult, trouble string) {
	data, ok := res.Files[report]
	switch {
	case res.Signal != "":
		return nil, fmt.Sprintf("%s was ended by %s before its tests were over", r.name, res.Signal)
	case !ok && r.perFile && res.Exit == 0 && len(res.Stdout.Head) == 0:
		return nil, "" // what tests load lies among them, and has none of its own
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
			return nil, fmt.Sprintf("%s ran into a hook that fails behind a test which does: %s", r.name, t.Message)
		}
	}
	fits := res.Exit == 1 && failures > 0 || res.Exit == 0 && failures == 0 || r.status != nil && res.Exit == r.status(failures)
	if failures > 0 && failures == ours {
		fits = r.status == nil && res.Exit == 1 && r.alone(res, report) || r.status != nil && res.Exit == r.status(failures)
	}
	if !fits {
		return results, fmt.Sprintf("the exit status %d of %s does not fit its results: %s", res.Exit, r.name, nodeComplaint(res))
	}
	return results, ""
}

// judge is compare.JudgeTests for a runner that need not be there: one that
// a patch names first, and that nobody has installed, has nothing to be compared with.
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

// prove wants both tests of the planted report, and its version.
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
		return fmt.Errorf("the planted tests end as %q", got)
	}
	if !strings.Contains(out.Detail, " 1.0.0:") {
		return errors.New("the planted package is not the one that ran")
	}
	return nil
}

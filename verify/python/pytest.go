package python

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/witness"
)

// Pytest runs Python's tests.
var Pytest = check.Check{
	Name: PytestName, Gate: check.GateTests, Group: check.GroupTests, Run: runTests, Applies: testsApply, Judge: compare.ByRoot(compare.RuleSession, compare.JudgeTests),
	Tools: []string{"pytest"}, Repeats: true,
	Planted: map[string]string{"test_planted.py": "def test_true():\n    assert True\n\n\ndef test_false():\n    assert not True\n\n\ndef never():\n    return 1\n"},
	Prove:   proveTests,
}

// record is the file in the box to which the recorder of run_tests.py writes. The guest collects it when the session is
// over; the text on the terminal is for people.
const record = "/tmp/agent-tests.jsonl"

// recordOf returns the record of one of the roots. Each root has its own, so that no record counts for another root.
func recordOf(roots []string, root string) string {
	if root == "." {
		return record
	}
	return fmt.Sprintf("/tmp/agent-tests-%d.jsonl", slices.Index(roots, root))
}

// IsTest reports whether pytest collects the file at p by its name.
func IsTest(p string) bool {
	return path.Ext(p) == ".py" && lang.IsTest(p)
}

// testsApply returns the reason why there are no tests to run, or "".
func testsApply(v check.View) string {
	if slices.ContainsFunc(v.Paths(), IsTest) || len(unittests(v)) > 0 || hasNamedTests(v) || v.Python() && slices.ContainsFunc(optionsOf(v, ".", nil).asked, doctests) {
		return ""
	}
	return "the workspace has no test files (test_*.py, *_test.py)"
}

// testsCommand runs every test to its end: neither a first failure nor a module that cannot be imported hides the rest,
// whatever the workspace's options say. Not pytest itself but run_tests.py loads plugins, and leaves out those that would
// break the record.
//
// pytest runs from one of the roots, over the files that are not in a root inside it, and not where a link leads back.
func testsCommand(b check.Bench, roots []string, root string, o testOptions, to string) guest.Command {
	env := map[string]string{"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
	if named := ownedBy(roots, root, unittests(b.View)); len(named) > 0 {
		env[envTestFiles] = strings.Join(named, "\n")
	}
	args := []string{
		// -s: a directory that tests can write to has no say in how the next run begins.
		b.Tools.Python, "-s", "-B", b.Tools.Tests, to, "-q", "--continue-on-collection-errors", "--maxfail=0",
		"--color=no", "--tb=short", "-o", "cache_dir=/tmp/pytest_cache",
	}
	args = slices.Concat(args, o.forced, o.asked)
	if root != "." || len(b.Asked()) > 0 || len(o.paths) > 0 {
		// pytest would otherwise make IDs relative to the directory that the tests have in common, or to that of a
		// configuration above.
		args = append(args, "--rootdir="+path.Join(check.Work, root))
	}
	if root != "." {
		env[envTestPaths] = strings.Join(importPaths(b.View, root), "\n")
		// A root without its own configuration follows the one above it.
		if _, own := pytestConfigured(b.View, root); !own {
			args = append(args, "--confcutdir="+check.Work)
		}
	}
	for _, inner := range slices.Concat(check.InsideOf(roots, root), b.View.LoopsInside(root)) {
		args = append(args, "--ignore="+path.Join(check.Work, inner))
	}
	if len(b.Asked()) == 0 {
		args = append(args, o.paths...)
	}
	for _, id := range ownedBy(roots, root, b.Asked()) {
		if root != "." {
			id = "./" + strings.TrimPrefix(id, root+"/") // so that it is not taken for an option
		}
		args = append(args, id)
	}
	return guest.Command{Args: args, Dir: check.Work, Env: env, Collect: []string{to}}
}

// ownedBy lists the files, or the tests by their IDs, that belong to one root.
func ownedBy(roots []string, root string, names []string) (own []string) {
	for _, name := range names {
		if file, _, _ := strings.Cut(name, "::"); check.Nearest(check.Rooted(roots), file) == root {
			own = append(own, name)
		}
	}
	return own
}

// runTests runs the tests of every root, or of the roots that own the requested tests.
func runTests(ctx context.Context, b check.Bench) check.Outcome {
	roots := TestRoots(b.View)
	run := slices.DeleteFunc(slices.Clone(roots), func(root string) bool {
		return len(b.Asked()) > 0 && len(ownedBy(roots, root, b.Asked())) == 0
	})
	tracer := NewTracer(ctx, b)
	out := b.OverRoots(roots, run, func(b check.Bench, root string) check.Outcome { return runPytest(ctx, b, tracer, roots, root) })
	out.Traced = tracer.Trace()
	if len(run) > 1 && out.Verdict == "" {
		out.Detail = fmt.Sprintf("pytest in %d directories: %s", len(run), check.TestRun{Results: out.Tests}.Summary())
	}
	return out
}

// mostAttempts bounds how often pytest starts in one root: again without the options that it refused, and again without
// those of the project's commands.
const mostAttempts = 4

// runPytest runs pytest in one root, with the options that it accepts. The detail of the outcome says what was left out.
func runPytest(ctx context.Context, b check.Bench, tracer *Tracer, roots []string, root string) check.Outcome {
	var unknown []string
	spent, said := check.Outcome{}, ""
	if made := versionFiles(b.View, root); !made.Empty() {
		// The box belongs to the tests, and nothing but results leaves it.
		if err := b.Box.Apply(ctx, made); err != nil {
			return check.Infraf("write the version file that a build would write: %v", err)
		}
		said = "; with the version file that a build of the project would write"
	}
	set := witnesses(b, roots, root)
	alone := false // without what the project's commands ask for
	for attempt := 0; ; attempt++ {
		o := optionsOf(b.View, root, unknown)
		if alone {
			o.asked, o.paths = nil, nil
		}
		to := recordOf(roots, root)
		if attempt > 0 {
			to += fmt.Sprintf(".%d", attempt)
		}
		out, res := pytestOnce(ctx, b, tracer, testsCommand(b, roots, root, o, to), to, set)
		out.Seconds, out.Peak = out.Seconds+spent.Seconds, max(out.Peak, spent.Peak)
		refused := slices.DeleteFunc(refusedOptions(res), func(name string) bool {
			// An option that the patch brings is the patch's own affair.
			return slices.Contains(unknown, name) || !hadOption(b.View, root, name) && !slices.Contains(o.asked, strings.ReplaceAll(name, " ", ""))
		})
		switch {
		case attempt+1 >= mostAttempts || out.Verdict != "" || out.Blocked == "":
		case len(refused) > 0 && !alone:
			unknown, spent = append(unknown, refused...), out
			continue
		case len(o.asked) > 0 && len(out.Tests) == 0:
			alone, spent = true, out
			said = "; without " + strings.Join(o.asked, " ") + " from the project's commands, with which pytest does not start"
			continue
		case !set.Empty():
			// A suite may end because of a test that is not one of its own, or because of one that fails.
			plain, _ := pytestOnce(ctx, b, tracer, testsCommand(b, roots, root, o, to+".plain"), to+".plain", nil)
			plain.Seconds, plain.Peak, plain.Witnesses = plain.Seconds+out.Seconds, max(plain.Peak, out.Peak), set.Lost()
			out = plain
		}
		if len(o.dropped) > 0 {
			said += "; without " + strings.Join(slices.Compact(o.dropped), ", ") + ", options of plugins that are not loaded"
		}
		out.Detail += said
		return out
	}
}

// pytestOnce runs pytest and reads the recorder's file. A session that pytest itself did not finish is Blocked, with the
// results recorded until then.
func pytestOnce(ctx context.Context, b check.Bench, tracer *Tracer, cmd guest.Command, to string, set *witness.Set) (out check.Outcome, res guest.Result) {
	done := false
	if err := set.During(ctx, b.Box, func() { res, out, done = tracer.Command(ctx, b, cmd) }); err != nil {
		return check.Infraf("%v", err), res
	}
	// What means trouble for a tool may be the doing of a test here: a test can end its process by a signal or with any
	// status. Only the death of the box itself and a runner that did not start keep their verdicts.
	own := res.Signal != "" || res.Exit > 125 && !strings.HasPrefix(string(res.Stderr.Head), "pytest: ")
	if out.Verdict == check.Infra && own && !res.Killed {
		out.Verdict, done = "", true
	}
	run, err := check.ParseRecord(res.Files[to])
	if err != nil && out.Verdict == "" {
		out.Blocked = "the record of the tests is broken: " + err.Error()
		return out, res
	}
	out.Tests, out.Witnesses = set.Take(run.Results)
	out.Altered = run.Altered
	if !set.Empty() {
		shown := res
		shown.Stdout = guest.Output{Head: []byte(set.HidePytest(string(check.Bytes(res.Stdout))))}
		out.Output = check.Shown(shown)
	}
	if out.Verdict == check.Timeout && run.Running != "" {
		out.Running = run.Running
		out.Detail = fmt.Sprintf("%s did not finish: pytest was stopped after %s", run.Running, b.Timeout)
	}
	if !done {
		return out, res
	}
	out.Detail = fmt.Sprintf("pytest: %s", check.TestRun{Results: out.Tests}.Summary())
	out.Blocked = trouble(run, res)
	return out, res
}

// mostWitnessed bounds how many files of one root get witnesses: one process runs all of them.
const mostWitnessed = 4

// judgesItself matches what makes the end of a session depend on more than its tests. A session may look at that only when
// no test fails.
var judgesItself = lazyregexp.New(`exitstatus|testsfailed|sessionfinish`)

// witnesses draws the witnesses of a root, in files that pytest collects there.
func witnesses(b check.Bench, roots []string, root string) *witness.Set {
	if !b.Witnessed() {
		return nil
	}
	from := readPytest(b.View, root).testpaths
	named := unittests(b.View)
	files := slices.DeleteFunc(ownedBy(roots, root, b.View.Paths()), func(p string) bool {
		within := len(from) == 0 || slices.ContainsFunc(from, func(dir string) bool { return check.Below(p, path.Join(root, dir)) })
		return !within || !b.Picks(p) || !IsTest(p) && !slices.Contains(named, p) || check.Installed(p) || check.InTestData(p)
	})
	d, set := witness.NewDraw(), &witness.Set{}
	touched := func(p string) bool { _, ok := b.View.Changed[p]; return ok }
	base := b.View.Unpatched()
	quiet := slices.ContainsFunc(ownedBy(roots, root, base.Paths()), func(p string) bool {
		return path.Base(p) == "conftest.py" && judgesItself.MatchString(base.Text(p))
	})
	picked := d.Some(files, touched, mostWitnessed)
	d.Shuffle(len(picked), func(i, j int) { picked[i], picked[j] = picked[j], picked[i] }) // hides which file has the further forms
	for _, p := range picked {
		set.Python(d, b.View, p, quiet)
	}
	return set
}

// trouble says why the session's record cannot be taken for its result, or "" if it can.
func trouble(s check.TestRun, res guest.Result) string {
	failing := slices.ContainsFunc(s.Results, check.TestResult.Bad)
	// The cases are in the order of trust: what the guest saw of the process comes before what the record claims.
	first := complaint(check.Clean(check.Bytes(res.Stderr)))
	switch {
	case res.Signal != "":
		return "pytest was ended by " + res.Signal + " before its session finished"
	case !s.Finished:
		return strings.TrimSuffix(fmt.Sprintf("pytest ended with exit status %d before its session finished: %s", res.Exit, first), ": ")
	case s.Status != res.Exit:
		return fmt.Sprintf("pytest's session says %d, but pytest ended with exit status %d", s.Status, res.Exit)
	case s.Status == 5 && s.Collected == 0 && s.Ran == 0 && !failing:
		return "" // no tests collected
	case s.Status > 1: // interrupted, internal error, wrong options
		return strings.TrimSuffix(fmt.Sprintf("pytest gave up with exit status %d: %s", s.Status, first), ": ")
	case s.Ran != s.Collected:
		return fmt.Sprintf("pytest collected %d tests and ran %d", s.Collected, s.Ran)
	case (s.Status == 1) != failing:
		return fmt.Sprintf("pytest's exit status %d does not match its results", s.Status)
	}
	return ""
}

// complaint returns the line of pytest's standard error that says what is wrong; with wrong options that is not the first.
func complaint(text string) string {
	for line := range strings.Lines(text) {
		if _, what, ok := strings.Cut(line, ": error: "); ok {
			return check.Shorten(what)
		}
	}
	return check.Shorten(check.FirstLine(text))
}

// proveTests requires one test to pass and one to fail, which a runner that only looks at the exit status cannot tell apart,
// and the executed lines to be reported.
func proveTests(ctx context.Context, b check.Bench) error {
	b.Lines = check.Lines{"test_planted.py": {2, 3, 6, 10}}
	out := runTests(ctx, b)
	if err := check.Judged(out); err != nil {
		return err
	}
	got := map[string]string{}
	for _, t := range out.Tests {
		// The module is known; what counts is the test in it.
		_, name, _ := strings.Cut(t.ID, "::")
		got[name] = t.Outcome
	}
	if len(got) != 2 || got["test_true"] != "passed" || got["test_false"] != "failed" {
		return fmt.Errorf("the planted tests ended as %v", got)
	}
	if b.Witnessed() && (len(out.Witnesses) != 1 || !out.Witnesses[0].AsDrawn()) {
		return fmt.Errorf("the witnesses ended as %+v", out.Witnesses)
	}
	if lines := fmt.Sprint(out.Traced.With(&check.Trace{})); lines != "&{map[test_planted.py:[2 6 10]] map[test_planted.py:[2 6]]}" {
		return fmt.Errorf("the lines of the planted tests are reported as %s", lines)
	}
	return nil
}

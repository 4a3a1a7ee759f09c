package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lang"
)

// pytestCheck runs Python's tests.
var pytestCheck = check{
	name: checkPytest, gate: gateTests, group: groupTests, run: runTests, applies: testsApply, judge: byRoot(ruleSession, judgeTests),
	tools: []string{"pytest"}, repeats: true,
	planted: map[string]string{"test_planted.py": "def test_true():\n    assert True\n\n\ndef test_false():\n    assert not True\n"},
	prove:   proveTests,
}

// record is where the recorder of run_tests.py writes in the box. The guest
// collects it when the session is over; the text on the terminal is for people.
const record = "/tmp/agent-tests.jsonl"

// recordOf is where it writes what happens in one of the roots: each has its own,
// so that none counts for another one.
func recordOf(roots []string, root string) string {
	if root == "." {
		return record
	}
	return fmt.Sprintf("/tmp/agent-tests-%d.jsonl", slices.Index(roots, root))
}

// A testResult is how one test, or one module that could not be collected, ended.
type testResult struct {
	// The node ID of pytest, "tests/test_a.py::test_b[1]".
	ID string `json:"id"`
	// One of passed, failed, error, skipped, xfailed; no other is accepted.
	Outcome string `json:"outcome"`
	// Where it failed, which may lie in the code under test.
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message,omitempty"`
	// It fails because of the tests in it, which tell why themselves.
	Within bool `json:"within,omitempty"`
}

// bad reports whether the test counts as failing.
func (t testResult) bad() bool { return t.Outcome == "failed" || t.Outcome == "error" }

// skipped reports whether the test's assertions did not count, be it that it was
// not run or that it was expected to fail.
func (t testResult) skipped() bool { return t.Outcome == "skipped" || t.Outcome == "xfailed" }

// ran reports whether the assertions of a test counted, whatever came of them. A
// module that was not collected has none.
func (t testResult) ran() bool { return !t.skipped() && strings.Contains(t.ID, "::") }

// isTest reports whether pytest collects the file at p by its name.
func isTest(p string) bool {
	return path.Ext(p) == ".py" && lang.IsTest(p)
}

// testsApply gives the reason why there are no tests to run, or "".
func testsApply(v view) string {
	if slices.ContainsFunc(v.paths(), isTest) || len(unittests(v)) > 0 {
		return ""
	}
	return "the workspace has no test files (test_*.py, *_test.py)"
}

// testsCommand runs every test to its end: a first failure or a module that
// cannot be imported does not hide the rest, whatever the workspace's options
// say. Plugins are not loaded by themselves, since which ones the image happens
// to hold is no business of the workspace.
//
// It is run from one of the roots, on what is not in a root inside it, and not where a
// link leads back.
func testsCommand(b bench, roots []string, root string) guest.Command {
	env := map[string]string{"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
	if named := ownedBy(roots, root, unittests(b.view)); len(named) > 0 {
		env[envTestFiles] = strings.Join(named, "\n")
	}
	to := recordOf(roots, root)
	args := []string{
		b.tools.Python, "-B", b.tools.Tests, to, "-q", "--continue-on-collection-errors", "--maxfail=0",
		"--color=no", "--tb=short", "-o", "cache_dir=/tmp/pytest_cache",
	}
	if root != "." || len(b.only) > 0 {
		// pytest would else count IDs from the directory that the tests have in
		// common, or from that of a configuration above.
		args = append(args, "--rootdir="+path.Join(work, root))
	}
	if root != "." {
		env[envTestPaths] = strings.Join(b.view.importPaths(root), "\n")
		// Without a configuration of its own a root goes by what lies above it.
		if _, own := b.view.pytestConfigured(root); !own {
			args = append(args, "--confcutdir="+work)
		}
	}
	for _, inner := range slices.Concat(insideOf(roots, root), b.view.loopsInside(root)) {
		args = append(args, "--ignore="+path.Join(work, inner))
	}
	for _, id := range ownedBy(roots, root, b.only) {
		if root != "." {
			id = "./" + strings.TrimPrefix(id, root+"/") // which is no option
		}
		args = append(args, id)
	}
	return guest.Command{Args: args, Dir: work, Env: env, Collect: []string{to}}
}

// ownedBy lists the files, or the tests by their IDs, that are of one root.
func ownedBy(roots []string, root string, names []string) (own []string) {
	for _, name := range names {
		if file, _, _ := strings.Cut(name, "::"); nearest(rooted(roots), file) == root {
			own = append(own, name)
		}
	}
	return own
}

// runTests runs the tests of every root, or of those that are asked for.
func runTests(ctx context.Context, b bench) outcome {
	roots := pythonRoots(b.view)
	run := slices.DeleteFunc(slices.Clone(roots), func(root string) bool {
		return len(b.only) > 0 && len(ownedBy(roots, root, b.only)) == 0
	})
	out := b.overRoots(roots, run, func(b bench, root string) outcome { return runPytest(ctx, b, roots, root) })
	if len(run) > 1 && out.Verdict == "" {
		out.Detail = fmt.Sprintf("pytest in %d directories: %s", len(run), testRun{results: out.Tests}.summary())
	}
	return out
}

// runPytest runs pytest in one root and reads the recorder's file. A session that
// pytest itself did not finish is Blocked, with what was recorded until then.
func runPytest(ctx context.Context, b bench, roots []string, root string) outcome {
	res, out, done := b.command(ctx, testsCommand(b, roots, root))
	// What is trouble for a tool may be a test's doing here: a test can end the
	// process that it runs in by a signal or with any status. Only the box's own
	// death and a runner that did not start stay what they are.
	own := res.Signal != "" || res.Exit > 125 && !strings.HasPrefix(string(res.Stderr.Head), "pytest: ")
	if out.Verdict == Infra && own && !res.Killed {
		out.Verdict, done = "", true
	}
	run, err := parseRecord(res.Files[recordOf(roots, root)])
	if err != nil && out.Verdict == "" {
		out.Blocked = "the record of the tests is broken: " + err.Error()
		return out
	}
	out.Tests = run.results
	if !done {
		return out
	}
	out.Detail = fmt.Sprintf("pytest: %s", run.summary())
	out.Blocked = run.trouble(res)
	return out
}

// A testRun is what the recorder wrote of one run of pytest. Until it is checked
// by trouble it is only a claim.
type testRun struct {
	// In the order of the record.
	results []testResult
	// How many tests pytest announced, and how many have a result.
	collected, ran int
	// The last record is there, with the status that the session ended with.
	finished bool
	status   int
}

// outcomes are the ends that each kind of record may tell. Another word would be
// neither a failure nor a pass, and so hide that a test is gone.
var outcomes = map[string][]string{
	"collect": {"error", "skipped"},
	"test":    {"passed", "failed", "error", "skipped", "xfailed"},
}

// parseRecord reads the recorder's lines. Test code shares the recorder's
// process, so nothing here is trusted beyond its form. An incomplete last line
// is what a killed session leaves, and no error.
func parseRecord(data []byte) (testRun, error) {
	var s testRun
	for line := range bytes.Lines(data) {
		var r struct {
			testResult
			Kind   string   `json:"kind"`
			IDs    []string `json:"ids"`
			Status int      `json:"status"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			if !bytes.HasSuffix(line, []byte("\n")) {
				break
			}
			return s, fmt.Errorf("line %q: %w", shorten(string(line)), err)
		}
		// pytest is done with everything then: who writes now is somebody else.
		if s.finished {
			return s, fmt.Errorf("something follows its end")
		}
		switch r.Kind {
		case "collected":
			s.collected += len(r.IDs)
		case "collect", "test":
			if !slices.Contains(outcomes[r.Kind], r.Outcome) {
				return s, fmt.Errorf("a %s record ends as %q", r.Kind, shorten(r.Outcome))
			}
			if r.Kind == "test" {
				s.ran++
			}
			r.Message, r.File = shorten(r.Message), relative(r.File, work)
			s.results = append(s.results, r.testResult)
		case "finished":
			s.finished, s.status = true, r.Status
		default:
			return s, fmt.Errorf("a record of the kind %q", shorten(r.Kind))
		}
	}
	return s, nil
}

// trouble says why the session's record cannot be taken for its result, "" when it can.
func (s testRun) trouble(res guest.Result) string {
	failing := slices.ContainsFunc(s.results, testResult.bad)
	// The order of the cases is that of trust: what the guest saw of the process
	// comes before what the record claims.
	first := complaint(clean(whole(res.Stderr)))
	switch {
	case res.Signal != "":
		return "pytest was ended by " + res.Signal + " before its session was over"
	case !s.finished:
		return strings.TrimSuffix(fmt.Sprintf("pytest ended with exit status %d before its session was over: %s", res.Exit, first), ": ")
	case s.status != res.Exit:
		return fmt.Sprintf("pytest's session says %d and its exit status %d", s.status, res.Exit)
	case s.status == 5 && s.collected == 0 && s.ran == 0 && !failing:
		return "" // no tests collected
	case s.status > 1: // interrupted, internal error, wrong options
		return strings.TrimSuffix(fmt.Sprintf("pytest gave up with exit status %d: %s", s.status, first), ": ")
	case s.ran != s.collected:
		return fmt.Sprintf("pytest collected %d tests and ran %d", s.collected, s.ran)
	case (s.status == 1) != failing:
		return fmt.Sprintf("pytest's exit status %d does not fit its results", s.status)
	}
	return ""
}

// complaint is the line of pytest's standard error that says what is wrong;
// with wrong options that is not the first.
func complaint(text string) string {
	for line := range strings.Lines(text) {
		if _, what, ok := strings.Cut(line, ": error: "); ok {
			return shorten(what)
		}
	}
	return shorten(firstLine(text))
}

// summary counts the results for people.
func (s testRun) summary() string {
	count := map[string]int{}
	for _, r := range s.results {
		count[r.Outcome]++
	}
	parts := []string{fmt.Sprintf("%d passed", count["passed"])}
	for _, outcome := range []string{"failed", "error", "skipped", "xfailed"} {
		if count[outcome] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[outcome], outcome))
		}
	}
	return strings.Join(parts, ", ")
}

// The rules of the tests gate. Those in testPolicy are no proof that the code
// is worse, but that less is proved than before: a person decides.
const (
	ruleTestFailed  = "test-failed"
	ruleTestError   = "test-error"
	ruleTestLost    = "test-lost"    // passed before, not run now, and the patch did not touch its file
	ruleTestRemoved = "test-removed" // the patch deleted or rewrote it
	ruleTestSkipped = "test-skipped" // ran before, skipped now
	ruleSession     = "test-session"
)

// testPolicy holds the rules whose verdict is Policy.
var testPolicy = map[string]bool{ruleTestRemoved: true, ruleTestSkipped: true, ruleTestHelper: true}

// judgeTests compares the two sides test by test, by node ID: a failure that was
// there before is old, however its message reads. A module that could not even be
// imported must at least fail to be for the same reason.
func judgeTests(base, cand outcome, d diff) Gate {
	g := gateOf(gateTests, cand)
	if g.Verdict != "" {
		return g
	}
	before := map[string]testResult{}
	for _, r := range base.Tests {
		// Under the name that the test would have now.
		before[d.newID(r.ID)] = r
	}
	after := map[string]testResult{}
	for _, r := range cand.Tests {
		after[r.ID] = r
		old, known := before[r.ID]
		switch {
		case r.bad() && known && old.bad() && (old.Outcome != "error" || sameMessage(old.Message, r.Message)):
			g.Old++
			g.OldFindings = d.oldTest(g.OldFindings, r)
		case r.bad() && r.Within:
			// A test in it fails that did not fail before either.
		case r.bad():
			g.Findings = append(g.Findings, d.testFinding(r))
		case known && old.bad() && r.Outcome == "passed":
			g.Fixed++
		case known && old.ran() && r.skipped():
			// A failing test that is switched off proves nothing any more either.
			f := d.testFinding(r)
			f.Rule, f.Message = ruleTestSkipped, fmt.Sprintf("%s ran before the patch and is %s now: %s", shorten(r.ID), r.Outcome, r.Message)
			g.Findings = append(g.Findings, f)
		}
	}
	g.Findings = append(g.Findings, d.lostTests(base.Tests, after)...)
	// Even when every test passed: nobody knows which ones did not get to run.
	if cand.Blocked != "" {
		g.Findings = append(g.Findings, Finding{Rule: ruleSession, Message: cand.Blocked})
	}
	g.Verdict = Pass
	for _, f := range g.Findings {
		if !testPolicy[f.Rule] {
			g.Verdict = Fail
			return g
		}
		g.Verdict = Policy
	}
	return g
}

// lostTests reports the tests of the baseline that have no result now. Those
// of a module that could not be collected, or of a package that does not build, are
// lost with it: its own error tells.
func (d diff) lostTests(base []testResult, after map[string]testResult) []Finding {
	var found []Finding
	for _, old := range base {
		id := d.newID(old.ID)
		file, _, isTest := strings.Cut(id, "::") // or a module that was not collected
		if _, there := after[id]; there || !isTest || after[file].Outcome == "error" || after[path.Dir(file)].Outcome == "error" {
			continue
		}
		// A person who deletes a test means it; one that vanishes from a file that
		// nobody touched is broken.
		if d.deleted[file] || d.touched[file] || after[file].Outcome == "skipped" {
			found = append(found, Finding{File: file, Rule: ruleTestRemoved, Message: shorten(id) + " was there before the patch and is gone"})
		} else if old.Outcome == "passed" {
			found = append(found, Finding{File: file, Rule: ruleTestLost, Message: shorten(id) + " passed before the patch and does not run any more"})
		}
	}
	return found
}

// oldTest appends a test that failed before to list, unless that is full.
func (d diff) oldTest(list []Finding, r testResult) []Finding {
	if len(list) == maxOld {
		return list
	}
	f := d.testFinding(r)
	f.Old = true
	return append(list, f)
}

// testFinding tells of one failing test, at the place where it failed.
func (d diff) testFinding(r testResult) Finding {
	rule := ruleTestFailed
	if r.Outcome == "error" {
		rule = ruleTestError
	}
	f := Finding{File: r.File, Line: r.Line, Rule: rule, Message: shorten(r.ID) + ": " + r.Message}
	if f.File == "" {
		f.File, _, _ = strings.Cut(r.ID, "::")
	}
	f.Source = d.sources.line(f.File, f.Line)
	return f
}

// newID follows renames of test files.
func (d diff) newID(id string) string {
	file, rest, cut := strings.Cut(id, "::")
	if to, ok := d.moved[file]; ok {
		file = to
	}
	if !cut {
		return file
	}
	return file + "::" + rest
}

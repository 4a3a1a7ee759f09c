package node

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/compare"
)

// TestsName is the name of the check of node's own runner.
const TestsName = "node"

// Tests runs the tests of JavaScript that node runs by itself.
var Tests = check.Check{
	Name: TestsName, Gate: check.GateTests, Group: check.GroupTests, Run: runNodeTests, Applies: nodeTestsApply, Judge: compare.JudgeTests,
	Tools: []string{"node"}, Family: Packages, Places: nodePlaces, Repeats: true,
	Planted: map[string]string{
		"planted.test.mjs": "import test from \"node:test\";\nimport assert from \"node:assert\";\n\n" +
			"test(\"true\", () => assert.ok(true));\ntest(\"false\", () => assert.ok(false));\n",
		"broken.test.mjs": "import \"node:test\";\nthrow new Error(\"planted\");\n",
	},
	Prove: proveNodeTests,
}

// Record is where the reporter of node_reporter.mjs writes in the box.
//
// It lies outside the workspace, so that no test finds a file there which the
// user would not have.
const Record = "/tmp/agent-node-tests.jsonl"

// collectedTest matches the names by which the runners of JavaScript collect tests without configuration.
var collectedTest = regexp.MustCompile(`(?:[.\-_]test|\.spec)\.(?:[cm]?[jt]s|[jt]sx)$`)

// IsTest reports whether a file holds tests by its name.
func IsTest(p string) bool { return collectedTest.MatchString(path.Base(p)) }

// nodePattern matches the names that node's runner takes for tests by itself
// (nodejs.org, Test runner, "Running tests from the command line").
var nodePattern = regexp.MustCompile(`(^|/)([^/]+[.\-_]test|test-[^/]+|test)\.[cm]?js$|(^|/)test/.*\.[cm]?js$`)

// A nodeProject is a directory whose tests node runs.
type nodeProject struct {
	root string
	// Relative to root.
	files []string
	// Of the test script, besides --test: what is loaded before the tests.
	options []string
}

// dir is the project's directory.
func (p nodeProject) dir() string { return p.root }

// nodePlaces lists the directories whose tests node runs.
func nodePlaces(v check.View) []string { return dirs(nodeProjects(v), nodeProject.dir) }

// nodeScript matches a test script that starts node's runner, with its arguments.
var nodeScript = regexp.MustCompile(`^(?:(?:cross-env )?(?:\w+=\S+ )*)node ((?:[^&|;<>$\x60]* )?--test(?: [^&|;<>$\x60]*)?)$`)

// nodeProjects lists the projects of a view with tests for node's runner: where the
// test script of package.json says so, and where there is no such script, the
// tests that import node:test.
//
// A script that starts anything else than node's runner is not guessed at: such a
// project has no tests here, whatever its files are called.
func nodeProjects(v check.View) []nodeProject {
	return check.Recall(v, "node projects", func() []nodeProject { return listNodeProjects(v) })
}

func listNodeProjects(v check.View) []nodeProject {
	roots := map[string]string{".": ""} // directory: its test script
	for _, r := range Roots(v) {
		roots[r.Dir] = strings.TrimSpace(r.Scripts["test"])
	}
	// Those of another runner; a script that starts node's says that both run.
	others := map[string]bool{}
	for _, r := range packageRunners() {
		for _, u := range r.uses(v) {
			others[u.root] = roots[u.root] == ""
		}
	}
	found, tests := map[string]*nodeProject{}, map[string]func(string) bool{}
	for _, p := range v.Paths() {
		if !isScript(p) || strings.Contains("/"+p, "/node_modules/") {
			continue
		}
		root := check.Nearest(roots, path.Dir(p))
		script, name := roots[root], strings.TrimPrefix(p, root+"/")
		options, patterns, ours := nodeOptions(script)
		if tests[root] == nil {
			tests[root] = matching(patterns)
		}
		if !ours || others[root] || !tests[root](name) {
			continue
		}
		if len(patterns) == 0 {
			data, err := v.Read(p)
			// In a directory of tests lie their aids as well.
			if err != nil || script == "" && !bytes.Contains(data, []byte("node:test")) {
				continue
			}
		}
		if found[root] == nil {
			found[root] = &nodeProject{root: root, options: options}
		}
		found[root].files = append(found[root].files, name)
	}
	var list []nodeProject
	for _, p := range v.Paths() {
		if n := found[path.Dir(p)]; n != nil && path.Base(p) == "package.json" {
			list = append(list, *n)
		}
	}
	if n := found["."]; n != nil && !slices.ContainsFunc(list, func(p nodeProject) bool { return p.root == "." }) {
		list = append(list, *n)
	}
	return list
}

// nodeOptions reads a test script: what it gives to node, the patterns of the
// tests, and whether node's runner is meant at all, as it is without a script.
func nodeOptions(script string) (options, patterns []string, ours bool) {
	if script == "" {
		return nil, nil, true
	}
	m := nodeScript.FindStringSubmatch(script)
	if m == nil {
		return nil, nil, false
	}
	words := strings.Fields(m[1])
	for i := 0; i < len(words); i++ {
		w := strings.Trim(words[i], `"'`)
		switch {
		case w == "--import" || w == "--require" || w == "-r" || w == "--loader" || w == "--conditions" || w == "-C":
			// The option and its value are two words, and belong together.
			if i++; i < len(words) {
				options = append(options, w, strings.Trim(words[i], `"'`))
			}
		case strings.HasPrefix(w, "--test-reporter") || w == "--test" || w == "--watch" || w == "--test-only":
			// The reporter is ours, and every test counts.
			if !strings.Contains(w, "=") && strings.HasPrefix(w, "--test-reporter") {
				i++
			}
		case strings.HasPrefix(w, "-"):
			options = append(options, w)
		default:
			patterns = append(patterns, strings.TrimPrefix(w, "./"))
		}
	}
	return options, patterns, true
}

// isScript reports whether node runs a file as it is, by its name.
func isScript(p string) bool {
	ext := path.Ext(p)
	return ext == ".js" || ext == ".cjs" || ext == ".mjs"
}

// matching tells which scripts are tests: by node's own names where no pattern is
// given, and a directory stands for what these find in it.
func matching(patterns []string) func(name string) bool {
	if len(patterns) == 0 {
		return nodePattern.MatchString
	}
	var wanted []*regexp.Regexp
	for _, p := range patterns {
		// The order of the replacements counts: two stars are looked for before
		// one.
		re := regexp.QuoteMeta(p)
		for _, r := range [][2]string{{`\*\*/`, `(.*/)?`}, {`\*\*`, `.*`}, {`\*`, `[^/]*`}, {`\?`, `[^/]`}} {
			re = strings.ReplaceAll(re, r[0], r[1])
		}
		if one, err := regexp.Compile("^(" + re + "|" + regexp.QuoteMeta(strings.TrimSuffix(p, "/")) + "/.*)$"); err == nil {
			wanted = append(wanted, one)
		}
	}
	return func(name string) bool {
		return slices.ContainsFunc(wanted, func(re *regexp.Regexp) bool { return re.MatchString(name) })
	}
}

// nodeTestsApply gives the reason why there are no tests to run, or "".
func nodeTestsApply(v check.View) string {
	if len(nodeProjects(v)) > 0 {
		return ""
	}
	return "the workspace has no tests for node --test"
}

// nodeCommand runs the tests of one project. The reporter runs in the runner's
// own process and the tests in others.
func nodeCommand(b check.Bench, p nodeProject) guest.Command {
	args := append([]string{b.Tools.Node}, p.options...)
	args = append(args, "--test", "--test-reporter=spec", "--test-reporter-destination=stdout",
		"--test-reporter="+b.Tools.NodeReporter, "--test-reporter-destination="+Record)
	return guest.Command{
		Args: append(args, p.files...), Dir: path.Join(check.Work, p.root),
		Env: map[string]string{"AGENT_WORKSPACE": check.Work, "NODE_ENV": "test"}, Collect: []string{Record},
	}
}

// selectedFiles leaves of a project's files those with tests that are asked for; without
// any that is all of them.
func selectedFiles(b check.Bench, root string, files []string) (list []string) {
	if len(b.Only) == 0 {
		return files
	}
	for _, name := range files {
		if slices.ContainsFunc(b.Only, func(id string) bool {
			file, _, _ := strings.Cut(id, "::")
			return file == path.Join(root, name)
		}) {
			list = append(list, name)
		}
	}
	return list
}

// runNodeTests runs node's runner in each project and reads the reporter's file. Where
// some tests are asked for, it runs the files in which they stand.
func runNodeTests(ctx context.Context, b check.Bench) check.Outcome {
	total, all := check.Outcome{}, check.TestRun{}
	for _, p := range check.InOrder(b, nodeProjects(b.View), nodeProject.dir) {
		if p.files = selectedFiles(b, p.root, p.files); len(p.files) == 0 {
			continue
		}
		res, out, done := b.Command(ctx, nodeCommand(b, p))
		// A test can send its parent a signal; see runTests.
		if out.Verdict == check.Infra && !res.Killed && res.Signal != "" {
			out.Verdict, done = "", true
		}
		run, err := check.ParseRecord(res.Files[Record])
		all.Results = append(all.Results, run.Results...)
		total.Seconds, total.Peak = total.Seconds+out.Seconds, max(total.Peak, out.Peak)
		total.Output = check.Tail(total.Output+"\n"+out.Output, check.MaxTail)
		switch {
		case err != nil && out.Verdict == "":
			total.Blocked = "the record of the tests is broken: " + err.Error()
		case !done:
			out.Tests = all.Results
			return out
		case total.Blocked == "":
			total.Blocked = nodeTrouble(run, res)
		}
	}
	total.Tests, total.Detail = all.Results, "node: "+all.Summary()
	return total
}

// nodeTrouble says why the record cannot be taken for the result of node's
// runner, "" when it can.
//
// The record is written by the reporter and the exit status is node's own; a test
// that tampers with one of them has not tampered with the other.
func nodeTrouble(s check.TestRun, res guest.Result) string {
	failing := slices.ContainsFunc(s.Results, check.TestResult.Bad)
	first := check.Shorten(check.FirstLine(check.Clean(check.Bytes(res.Stderr))))
	switch {
	case res.Signal != "":
		return "node was ended by " + res.Signal + " before its tests were over"
	case !s.Finished:
		return strings.TrimSuffix(fmt.Sprintf("node ended with exit status %d before its tests were over: %s", res.Exit, first), ": ")
	case s.Status != res.Exit || res.Exit > 1:
		return fmt.Sprintf("the record of node's tests says %d and its exit status %d", s.Status, res.Exit)
	case (s.Status == 1) != failing:
		return fmt.Sprintf("node's exit status %d does not fit its results", s.Status)
	}
	return ""
}

// proveNodeTests wants a test passed, one failed, and a file that breaks off.
func proveNodeTests(ctx context.Context, b check.Bench) error {
	out := runNodeTests(ctx, b)
	if err := check.Judged(out); err != nil {
		return err
	}
	got := map[string]string{}
	for _, t := range out.Tests {
		got[t.ID] = t.Outcome
	}
	if len(got) != 3 || got["planted.test.mjs::true"] != "passed" || got["planted.test.mjs::false"] != "failed" || got["broken.test.mjs"] != "error" {
		return fmt.Errorf("the planted tests end as %v", got)
	}
	return nil
}

package node

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/node/glob"
	"agent/verify/node/npmscript"
	"agent/verify/witness"
)

// TestsName is the name of the check of node's own test runner.
const TestsName = "node"

// Tests runs the JavaScript tests that node runs by itself.
var Tests = check.Check{
	Name: TestsName, Gate: check.GateTests, Group: check.GroupTests, Run: traced(runNodeTests), Applies: nodeTestsApply, Judge: compare.JudgeTests,
	Tools: []string{"node"}, Family: Packages, Places: nodePlaces, Repeats: true,
	Planted: map[string]string{
		"planted.test.mjs": "import test from \"node:test\";\nimport assert from \"node:assert\";\n\n" +
			"test(\"true\", () => assert.ok(true));\ntest(\"false\", () => assert.ok(false));\nexport const never = () => 1;\n",
		"broken.test.mjs": "import \"node:test\";\nthrow new Error(\"planted\");\n",
	},
	Prove: proveNodeTests,
}

// Record is the file in the box to which the reporter of node_reporter.mjs writes.
//
// It lies outside the workspace, so that no test finds a file there that the user would not have.
const Record = "/tmp/agent-node-tests.jsonl"

// collectedTest matches the names by which JavaScript test runners collect tests without configuration.
var collectedTest = lazyregexp.New(`(?:[.\-_]test|\.spec)\.(?:[cm]?[jt]s|[jt]sx)$`)

// IsTest reports whether the name of a file says that it holds tests.
func IsTest(p string) bool { return collectedTest.MatchString(path.Base(p)) }

// nodePattern matches the names that node's runner takes for tests by itself (nodejs.org, Test runner, "Running tests from
// the command line"), and typedPattern those that it takes with a TypeScript loader.
var (
	nodePattern  = lazyregexp.New(`(^|/)([^/]+[.\-_]test|test-[^/]+|test)\.[cm]?js$|(^|/)test/.*\.[cm]?js$`)
	typedPattern = lazyregexp.New(`(^|/)([^/]+[.\-_]test|test-[^/]+|test)\.[cm]?[jt]s$|(^|/)test/.*\.[cm]?[jt]s$`)
	// typeLoader matches the options that make node accept TypeScript.
	typeLoader = lazyregexp.New(`tsx|ts-node|swc|esbuild|jiti|amaro|strip-types|transform-types|tsimp|@oxc-node|sucrase`)
)

// A nodeProject is the tests that node runs in one directory by one command.
type nodeProject struct {
	root string
	// files are relative to root.
	files []string
	// env and options come from the test script, besides --test: what it sets, and what it loads before the tests.
	env     map[string]string
	options []string
	// mark and before are as in packageUse.
	mark   string
	before []npmscript.Step
}

// dir returns the project's directory.
func (p nodeProject) dir() string { return p.root }

// nodePlaces lists the directories whose tests node runs.
func nodePlaces(v check.View) []string { return dirs(nodeProjects(v), nodeProject.dir) }

// nodeProjects lists the projects of a view with tests for node's runner: where a test script of package.json says so and,
// without such a script, the tests that import node:test.
func nodeProjects(v check.View) []nodeProject {
	return check.Recall(v, "node projects", func() []nodeProject { return listNodeProjects(v) })
}

func listNodeProjects(v check.View) (list []nodeProject) {
	roots := map[string]bool{".": true} // directory: whether it has neither a script for tests nor another runner
	plans := testPlans(v)
	for _, p := range plans {
		roots[p.Dir] = !p.aside && len(p.steps) == 0 && !slices.ContainsFunc(packageRunners(), func(r packageRunner) bool { return p.needs[r.name] })
	}
	// A package inside another one tests its own files.
	slices.SortStableFunc(plans, func(a, b testPlan) int { return strings.Count(b.Dir+"/", "/") - strings.Count(a.Dir+"/", "/") })
	taken := map[string]string{} // file: the package that runs it
	for _, p := range plans {
		list = append(list, p.nodeProjects(v, taken)...)
	}
	alone := map[string]*nodeProject{}
	for _, p := range v.Paths() {
		root := check.Nearest(roots, path.Dir(p))
		if !roots[root] || taken[p] != "" || !isScript(p) || strings.Contains("/"+p, "/node_modules/") || !nodePattern.MatchString(inside(p, root)) {
			continue
		}
		// A directory of tests also holds their helpers.
		if data, err := v.Read(p); err != nil || !bytes.Contains(data, []byte("node:test")) {
			continue
		}
		if alone[root] == nil {
			alone[root] = &nodeProject{root: root}
		}
		alone[root].files = append(alone[root].files, inside(p, root))
	}
	for _, root := range slices.Sorted(maps.Keys(alone)) {
		list = append(list, *alone[root])
	}
	slices.SortStableFunc(list, func(a, b nodeProject) int { return strings.Compare(a.root, b.root) })
	return list
}

// inside returns a path below root relative to it.
func inside(p, root string) string { return strings.TrimPrefix(p, root+"/") }

// nodeProjects lists the commands of one package that start node's runner, with their files. Files that an inner package
// runs are left to that package.
func (p testPlan) nodeProjects(v check.View, taken map[string]string) (list []nodeProject) {
	for i, s := range p.steps {
		if s.Kind != npmscript.RunsNode {
			continue
		}
		n := nodeProject{root: p.Dir, env: s.Env, before: p.made(i)}
		var patterns []string
		n.options, patterns = runnerPatterns(s.Words)
		is := nodeCollects(patterns, n.options)
		for _, file := range v.Paths() {
			if !check.Below(path.Dir(file), p.Dir) || strings.Contains("/"+file, "/node_modules/") || !is(inside(file, p.Dir)) || taken[file] != "" && taken[file] != p.Dir {
				continue
			}
			if taken[file] == p.Dir {
				n.mark = s.Text
			}
			n.files = append(n.files, inside(file, p.Dir))
		}
		for _, file := range n.files {
			taken[path.Join(p.Dir, file)] = p.Dir
		}
		if len(n.files) > 0 {
			list = append(list, n)
		}
	}
	return list
}

// nodeCollects returns a function that reports whether node's runner collects a file.
func nodeCollects(patterns, options []string) func(name string) bool {
	switch {
	case len(patterns) > 0:
		return glob.Matching(patterns)
	case slices.ContainsFunc(options, typeLoader.MatchString):
		return typedPattern.MatchString
	}
	return nodePattern.MatchString
}

// runnerPatterns splits a command that starts node's runner into the options for node and the patterns of the tests. It drops
// options that would watch, measure coverage or change these two: the reporter is the gate's own, and every test counts.
func runnerPatterns(words []string) (options, patterns []string) {
	given, patterns := npmscript.NodeOptions(words)
	for i, w := range patterns {
		patterns[i] = strings.TrimPrefix(w, "./")
	}
	for i := 0; i < len(given); i++ {
		name, _, joined := strings.Cut(given[i], "=")
		value := slices.Contains(npmscript.NodeValues, name) && !joined && i+1 < len(given)
		dropped := strings.HasPrefix(name, "--test-reporter") || strings.HasPrefix(name, "--watch") || strings.Contains(name, "-coverage") ||
			slices.Contains([]string{"--test", "--test-only", "--test-shard", "--test-update-snapshots", "--test-force-exit"}, name)
		if !dropped || name == "--test-force-exit" {
			options = append(options, given[i])
		}
		if value {
			if i++; !dropped {
				options = append(options, given[i])
			}
		}
	}
	return options, patterns
}

// isScript reports whether node runs a file as it is, going by its name.
func isScript(p string) bool {
	ext := path.Ext(p)
	return ext == ".js" || ext == ".cjs" || ext == ".mjs"
}

// nodeTestsApply returns the reason why there are no tests to run, or "".
func nodeTestsApply(v check.View) string {
	if len(nodeProjects(v)) > 0 {
		return ""
	}
	return "the workspace has no tests for node --test"
}

// nodeCommand runs the tests of one project. The reporter runs in the runner's own process and the tests in others.
func nodeCommand(b check.Bench, p nodeProject) guest.Command {
	args := append([]string{b.Tools.Node}, p.options...)
	args = append(args, "--test", "--test-reporter=spec", "--test-reporter-destination=stdout",
		"--test-reporter="+b.Tools.NodeReporter, "--test-reporter-destination="+Record)
	return guest.Command{
		Args: append(args, p.files...), Dir: path.Join(check.Work, p.root),
		Env: measured(b, npmscript.Joined(p.env, map[string]string{"AGENT_WORKSPACE": check.Work})), Collect: []string{Record},
	}
}

// selectedFiles returns those of a project's files that have requested tests, or all of them if no tests are requested.
func selectedFiles(b check.Bench, root string, files []string) (list []string) {
	if len(b.Asked()) == 0 {
		return files
	}
	for _, name := range files {
		if slices.ContainsFunc(b.Asked(), func(id string) bool {
			file, _, _ := strings.Cut(id, "::")
			return file == "" || file == path.Join(root, name) // the reporter gives no file where it knows none
		}) {
			list = append(list, name)
		}
	}
	return list
}

// runNodeTests runs node's runner in each project and reads the reporter's file. If only some tests are requested, it runs
// the files that contain them.
func runNodeTests(ctx context.Context, b check.Bench) check.Outcome {
	total, all := check.Outcome{}, check.TestRun{}
	var ready preparation
	for _, p := range check.InOrder(b, nodeProjects(b.View), nodeProject.dir) {
		if p.files = selectedFiles(b, p.root, p.files); len(p.files) == 0 {
			continue
		}
		failed, out, done := ready.run(ctx, b, p.root, p.before)
		all.Results = append(all.Results, failed...)
		if total = check.AddCost(total, out); !done {
			return total
		}
		results, out, done := witnessed(ctx, b, witnesses(b, witness.NodeTests, p.root, p.files), func(*witness.Set) ([]check.TestResult, check.Outcome, bool) { return runNodeProject(ctx, b, p) })
		all.Results = append(all.Results, marked(results, p.mark)...)
		total.Seconds, total.Peak = total.Seconds+out.Seconds, max(total.Peak, out.Peak)
		total.Output = check.Tail(total.Output+"\n"+out.Output, check.MaxTail)
		total.Witnesses = append(total.Witnesses, used(out.Witnesses, p.mark)...)
		if !done {
			out.Tests = all.Results
			return out
		}
		total.Blocked = cmp.Or(total.Blocked, out.Blocked)
	}
	total.Tests, total.Detail = all.Results, "node: "+all.Summary()
	return total
}

// runNodeProject runs the tests of one project and reads the reporter's file.
func runNodeProject(ctx context.Context, b check.Bench, p nodeProject) ([]check.TestResult, check.Outcome, bool) {
	res, out, done := b.Command(ctx, nodeCommand(b, p))
	// A test can send its parent a signal; see pytestOnce in package python.
	if out.Verdict == check.Infra && !res.Killed && res.Signal != "" {
		out.Verdict, done = "", true
	}
	run, err := check.ParseRecord(res.Files[Record])
	switch {
	case err != nil && out.Verdict == "":
		out.Blocked, done = "the record of the tests is broken: "+err.Error(), true
	case done:
		out.Blocked = nodeTrouble(run, res)
	}
	return run.Results, out, done
}

// marked sets the IDs of results apart from those of an earlier command for the same files.
func marked(results []check.TestResult, mark string) []check.TestResult {
	if mark == "" {
		return results
	}
	named := slices.Clone(results)
	for i, r := range named {
		if strings.Contains(r.ID, "::") {
			named[i].ID += " [" + mark + "]"
		}
	}
	return named
}

// used sets witnesses apart from those of an earlier command for the same files.
func used(list []check.Witness, mark string) []check.Witness {
	for i := range list {
		list[i].Use = mark
	}
	return list
}

// nodeTrouble says why the record cannot be taken for the result of node's runner, or "" if it can.
//
// The reporter writes the record, and the exit status is node's own: a test that tampers with one of them has not tampered
// with the other.
func nodeTrouble(s check.TestRun, res guest.Result) string {
	failing := slices.ContainsFunc(s.Results, check.TestResult.Bad)
	first := check.Shorten(check.FirstLine(check.Clean(check.Bytes(res.Stderr))))
	switch {
	case res.Signal != "":
		return "node was ended by " + res.Signal + " before its tests finished"
	case !s.Finished:
		return strings.TrimSuffix(fmt.Sprintf("node ended with exit status %d before its tests finished: %s", res.Exit, first), ": ")
	case s.Status != res.Exit || res.Exit > 1:
		return fmt.Sprintf("the record of node's tests says %d, but node ended with exit status %d", s.Status, res.Exit)
	case (s.Status == 1) != failing:
		return fmt.Sprintf("node's exit status %d does not match its results", s.Status)
	}
	return ""
}

// proveNodeTests requires a test that passes, one that fails, a file that breaks off, and the executed lines to be reported.
func proveNodeTests(ctx context.Context, b check.Bench) error {
	b.Lines = check.Lines{"planted.test.mjs": {1, 2, 3, 4, 5, 6}}
	out := traced(runNodeTests)(ctx, b)
	if err := check.Judged(out); err != nil {
		return err
	}
	got := map[string]string{}
	for _, t := range out.Tests {
		got[t.ID] = t.Outcome
	}
	if len(got) != 3 || got["planted.test.mjs::true"] != "passed" || got["planted.test.mjs::false"] != "failed" || got["broken.test.mjs"] != "error" {
		return fmt.Errorf("the planted tests ended as %v", got)
	}
	if lines := fmt.Sprint(out.Traced.With(&check.Trace{})); lines != "&{map[planted.test.mjs:[1 2 4 5 6]] map[planted.test.mjs:[1 2 4 5]]}" {
		return fmt.Errorf("the lines of the planted tests are reported as %s", lines)
	}
	return nil
}

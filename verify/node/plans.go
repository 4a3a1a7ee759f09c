package node

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/node/npmscript"
)

// A testPlan is what the scripts of a package do to test it.
type testPlan struct {
	Root
	steps []npmscript.Step
	// aside says that its scripts do not run to test the workspace: it has no steps.
	aside bool
}

// made lists the commands before step i that make what tests use.
func (p testPlan) made(i int) (before []npmscript.Step) {
	for _, s := range p.steps[:i] {
		if s.Kind == npmscript.Makes {
			before = append(before, s)
		}
	}
	return before
}

// elsewhere matches the names of test scripts that are for another purpose than a test of the package.
var elsewhere = lazyregexp.New(`[:_-](?:watch|update|debug|dev|cov|coverage|report|perf|bench|benchmark|browsers?|e2e|open|ui|ci|fix|only|regen|snap)(?:$|[:_-])`)

// testPlans lists the plans of a view. If the script test leads to no test, other scripts with the name of tests count.
func testPlans(v check.View) []testPlan {
	return check.Recall(v, "test plans", func() (plans []testPlan) {
		roots := Roots(v)
		for _, r := range roots {
			if aside(r.Dir) { // a plan of its own: its files are not tests of another package
				plans = append(plans, testPlan{Root: Root{Dir: r.Dir}, aside: true})
				continue
			}
			steps := npmscript.Read(r.Scripts, "test")
			if !slices.ContainsFunc(steps, tests) {
				var others []string
				for _, name := range slices.Sorted(maps.Keys(r.Scripts)) {
					if base, _, _ := strings.Cut(name, ":"); name == "tests" || name == "unit" || base == "test" && name != base && !elsewhere.MatchString(name) {
						others = append(others, name)
					}
				}
				steps = append(steps, npmscript.Read(r.Scripts, others...)...)
			}
			for i, s := range steps {
				// A tool that no package.json names is started as a shell finds it.
				if s.Kind == npmscript.Runs && !hasAbove(roots, r, s.Tool) {
					steps[i].Kind = npmscript.General
				}
			}
			p := testPlan{Root: r, steps: steps}
			for i, s := range steps {
				// The commands before, or a program that stands in for the runner, make the tests, which cannot be named
				// until then.
				if s.Kind == npmscript.RunsNode && (len(p.made(i)) > 0 || s.StandIn) && namesNone(v, r.Dir, s) {
					steps[i].Kind = npmscript.General
				}
			}
			plans = append(plans, p)
		}
		return plans
	})
}

// namesNone reports whether the patterns that a command gives to node's runner name no file of a view.
func namesNone(v check.View, root string, s npmscript.Step) bool {
	options, patterns := runnerPatterns(s.Words)
	is := nodeCollects(patterns, options)
	return len(patterns) > 0 && !slices.ContainsFunc(v.Paths(), func(p string) bool { return check.Below(path.Dir(p), root) && is(inside(p, root)) })
}

// tests reports whether a command tests something, here or elsewhere.
func tests(s npmscript.Step) bool { return s.Kind != npmscript.Looks && s.Kind != npmscript.Makes }

// A NotRun is a command of a test script that nothing here runs.
type NotRun struct {
	Root, Command string
	// Foreign says that it would run tests, and cannot here.
	Foreign bool
}

// NotRunCommands lists, by package directory, the commands of test scripts that nothing runs: those that need something that
// a box does not have and, if no other command tests anything, all commands.
func NotRunCommands(v check.View) map[string][]NotRun {
	list := map[string][]NotRun{}
	for _, p := range testPlans(v) {
		tested := slices.ContainsFunc(p.steps, tests)
		for _, s := range p.steps {
			if s.Kind == npmscript.Foreign || !tested {
				list[p.Dir] = append(list[p.Dir], NotRun{p.Dir, s.Text, s.Kind == npmscript.Foreign})
			}
		}
	}
	return list
}

// Cannot reports whether one of some commands cannot run here.
func Cannot(list []NotRun) bool {
	return slices.ContainsFunc(list, func(c NotRun) bool { return c.Foreign })
}

// WhyNotRun says which commands of a package's test script are not run, and what would run them.
func WhyNotRun(list []NotRun) string {
	var names []string
	for _, c := range list {
		if c.Foreign == Cannot(list) {
			names = append(names, check.Shorten(c.Command))
		}
	}
	manifest, text := path.Join(list[0].Root, "package.json"), strings.Join(names, ", ")
	if Cannot(list) {
		return fmt.Sprintf("nothing here can run this part of the test script of %s: %s; a [[gate]] in agent.toml can, in an image that has what it needs", manifest, text)
	}
	return fmt.Sprintf("no command that the test script of %s starts tests anything: %s; a [[gate]] in agent.toml can", manifest, text)
}

// aside reports whether a package is test data, an example, a template or a benchmark, whose scripts do not run to test the
// workspace.
func aside(dir string) bool {
	return dir != "." && (check.Installed(dir) || lang.InTests(dir+"/") || slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool {
		return slices.Contains([]string{"__fixtures__", "examples", "example", "templates", "template", "benchmarks", "benchmark"}, part)
	}))
}

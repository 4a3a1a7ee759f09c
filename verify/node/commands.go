package node

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/node/failing"
	"agent/verify/node/npmscript"
)

// CommandsName is the name of the check of test commands that no other check knows.
const CommandsName = "test script" // no gate of a workspace can have a space in its name

// Commands runs what test scripts start besides the known runners. Each command is one test, with its exit status. The box
// contains what it does.
var Commands = check.Check{
	Name: CommandsName, Gate: check.GateTests, Group: check.GroupTests, Run: traced(runCommands), Applies: commandsApply, Judge: judgeCommands,
	Family: Packages, Places: func(v check.View) []string { return dirs(testCommands(v), testCommand.dir) }, Repeats: true,
	Planted: map[string]string{
		"package.json": `{"scripts": {"test": "node true.cjs && node false.cjs"}}`, "true.cjs": "", "false.cjs": "throw new Error(\"planted\");\n",
	},
	Prove: proveCommands,
}

// A testCommand is one such command.
type testCommand struct {
	root string
	npmscript.Step
	before []npmscript.Step
}

// dir returns the directory of its package.
func (c testCommand) dir() string { return c.root }

// id returns its ID as a test.
func (c testCommand) id() string {
	return path.Join(c.root, "package.json") + "::" + c.Script + " > " + c.Text
}

// testCommands lists the test commands of a view. The text of a script comes from the base if the base has the package: a
// patch does not write the command that is to prove it.
func testCommands(v check.View) []testCommand {
	return check.Recall(v, "test commands", func() (list []testCommand) {
		base := v.Unpatched()
		known := check.Rooted(scriptRoots(base))
		for _, p := range testPlans(base) {
			if v.Has(path.Join(p.Dir, "package.json")) {
				list = append(list, p.commands()...)
			}
		}
		for _, p := range testPlans(v) {
			if _, ok := known[p.Dir]; !ok {
				list = append(list, p.commands()...)
			}
		}
		return list
	})
}

// commands lists the commands of one package.
func (p testPlan) commands() (list []testCommand) {
	for i, s := range p.steps {
		if s.Kind == npmscript.General {
			list = append(list, testCommand{p.Dir, s, p.made(i)})
		}
	}
	return list
}

// commandsApply returns the reason why there is nothing to run, or "".
func commandsApply(v check.View) string {
	if len(testCommands(v)) > 0 {
		return ""
	}
	return "no test script starts anything but known runners"
}

// runCommands runs each command, or only those that are requested.
func runCommands(ctx context.Context, b check.Bench) check.Outcome {
	var total check.Outcome
	var ready preparation
	for _, c := range check.InOrder(b, testCommands(b.View), testCommand.dir) {
		if len(b.Only) > 0 && !slices.ContainsFunc(b.Only, func(id string) bool { return failing.Command(id) == c.id() }) {
			continue
		}
		failed, out, done := ready.run(ctx, b, c.root, c.before)
		total.Tests = append(total.Tests, failed...)
		if total = check.AddCost(total, out); !done {
			return total
		}
		res, out, done := runStep(ctx, b, c.root, c.Step)
		if total = check.AddCost(total, out); !done {
			return total
		}
		total.Output = check.Tail(check.Join([]string{total.Output, out.Output}, "\n"), check.MaxTail)
		result := check.TestResult{ID: c.id(), Outcome: "passed"}
		if res.Exit != 0 || res.Signal != "" {
			result.Outcome, result.File = "failed", path.Join(c.root, "package.json")
			result.Message = check.Shorten(ended(res) + ": " + stepTold(res))
		}
		total.Tests = append(append(total.Tests, result), failing.Results(result, string(check.Bytes(res.Stdout))+"\n"+string(check.Bytes(res.Stderr)), b.Only)...)
	}
	total.Detail = "test script: " + (check.TestRun{Results: total.Tests}).Summary()
	return total
}

// judgeCommands is compare.JudgeTests, except that commands which all failed before the patch as well judge nothing. For a
// command that failed on both sides, the tests that it names count; for any other, how it ended says everything.
func judgeCommands(base, cand check.Outcome, d check.Diff) check.Gate {
	base.Tests, cand.Tests = failing.Compared(base.Tests, cand.Tests)
	isOld := func(t check.TestResult) bool {
		return t.Bad() && slices.ContainsFunc(base.Tests, func(was check.TestResult) bool { return was.ID == t.ID && was.Bad() })
	}
	if why := FailedBefore(base, cand); cand.Verdict == "" && len(why) > 0 && !slices.ContainsFunc(cand.Tests, func(t check.TestResult) bool { return !isOld(t) }) {
		return check.Gate{Detail: "not judged: even before the patch, " + why[0]}
	}
	return compare.JudgeTests(base, cand, d)
}

// FailedBefore describes the commands that fail with the patch as they did without it, and so prove nothing.
func FailedBefore(base, cand check.Outcome) (list []string) {
	old := map[string]bool{}
	for _, t := range base.Tests {
		old[t.ID] = t.Bad()
	}
	for _, t := range cand.Tests {
		if t.Bad() && old[t.ID] && failing.Command(t.ID) == t.ID {
			_, name, ok := strings.Cut(t.ID, " > ")
			if !ok { // it makes files for the tests
				_, name, _ = strings.Cut(t.ID, ") ")
			}
			list = append(list, fmt.Sprintf("%s failed: %s", check.Shorten(name), t.Message))
		}
	}
	return list
}

// proveCommands requires one command to pass and one to fail.
func proveCommands(ctx context.Context, b check.Bench) error {
	out := runCommands(ctx, b)
	if err := check.Judged(out); err != nil {
		return err
	}
	var got []string
	for _, t := range out.Tests {
		got = append(got, t.ID+" "+t.Outcome)
	}
	if want := []string{"package.json::test > node true.cjs passed", "package.json::test > node false.cjs failed"}; !slices.Equal(got, want) {
		return fmt.Errorf("the planted commands ended as %q", got)
	}
	return nil
}

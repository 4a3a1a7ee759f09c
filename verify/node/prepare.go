package node

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/node/npmscript"
	tapreport "agent/verify/node/tap"
)

// stepCommand runs a command of a script as npm would: in a shell, with the programs of its package and of those above it
// first in PATH.
func stepCommand(b check.Bench, root string, s npmscript.Step) guest.Command {
	env := map[string]string{"npm_lifecycle_event": s.Script}
	maps.Copy(env, s.Env)
	env["CI"] = "1"
	return guest.Command{
		Args: []string{b.Tools.Env, "--", "sh", "-c", "PATH=\"$1$PATH\"; export PATH; eval \"$2\"", "sh", programsOf(root), s.Text},
		Dir:  path.Join(check.Work, root, s.Dir), Env: measured(b, env), MaxOutput: maxStepOutput,
	}
}

// programsOf lists where the programs of the packages at and above a root lie, each followed by a colon.
func programsOf(root string) (bin string) {
	for dir := path.Join(check.Work, root); ; dir = path.Dir(dir) {
		bin += dir + "/node_modules/.bin:"
		if dir == check.Work || dir == "/" {
			return bin
		}
	}
}

// startedThrough makes the project's own program start a runner if its script does so.
func startedThrough(b check.Bench, u packageUse, cmd guest.Command) guest.Command {
	if u.through != "" {
		cmd.Args = append([]string{
			b.Tools.Env, "--", "sh", "-c", "PATH=\"$1$PATH\"; export PATH; shift; exec \"$@\"", "sh", programsOf(u.root), b.Tools.Node, u.through,
		}, cmd.Args...)
	}
	return cmd
}

// maxStepOutput bounds how many bytes of one command's output are kept.
const maxStepOutput = 4 << 20

// runStep runs a command of a script. However the command ends, even by a signal, that is its answer: done is false only if
// the box or a deadline ended it.
func runStep(ctx context.Context, b check.Bench, root string, s npmscript.Step) (res guest.Result, out check.Outcome, done bool) {
	res, out, done = b.Command(ctx, stepCommand(b, root, s))
	if out.Verdict == check.Infra && !res.Killed && (res.Signal != "" || res.Exit != 0) {
		out.Verdict, out.Detail, done = "", "", true
	}
	return res, out, done
}

// ended says how a command that did not succeed ended.
func ended(res guest.Result) string {
	if res.Signal != "" {
		return "ended by " + res.Signal
	}
	return fmt.Sprintf("exit status %d", res.Exit)
}

// stepTold returns what a command wrote about its failure, for a message: the first failed test of a TAP report, after which
// much more may follow, or else the end of the output.
func stepTold(res guest.Result) string {
	text := check.Shown(res)
	return check.Shorten(cmp.Or(tapreport.FirstFailed(text), check.Tail(text, check.MaxMessage/2)))
}

// A preparation runs the commands that make the files that tests use, each once in a box.
type preparation struct{ done []string }

// run runs the commands of a package that have not run yet. One that fails is a result like that of a module that does not
// load: it counts against a patch if it did not fail before, and proves nothing when it succeeds.
func (p *preparation) run(ctx context.Context, b check.Bench, root string, list []npmscript.Step) (failed []check.TestResult, out check.Outcome, done bool) {
	b.Lines = nil // a build runs the program in no test
	for _, s := range list {
		key := root + "\n" + s.Dir + "\n" + s.Text
		if slices.Contains(p.done, key) {
			continue
		}
		p.done = append(p.done, key)
		res, one, ok := runStep(ctx, b, root, s)
		if out = check.AddCost(out, one); !ok {
			return failed, out, false
		}
		if res.Exit != 0 || res.Signal != "" {
			manifest := path.Join(root, "package.json")
			failed = append(failed, check.TestResult{
				ID: fmt.Sprintf("%s (%s) %s", manifest, s.Script, s.Text), Outcome: "failed", File: manifest,
				Message: check.Shorten(ended(res) + ": " + stepTold(res)),
			})
		}
	}
	return failed, out, true
}

// unloaded matches what runners say of a missing module, or of missing test files: those that a compiler writes.
var unloaded = lazyregexp.New(`Cannot find (?:module|package)|ERR_MODULE_NOT_FOUND|TS2307|Failed to resolve|[Nn]o test(?:s| files)? found|Couldn.t find any files to test|Could not find '`)

// makers are the scripts that make what a package is used by; npm runs the first ones when it installs a checkout.
var makers = []string{"prepare", "prepublish", "build", "compile", "prepublishOnly", "prepack"}

// build makes what a package is used by, if its tests did not load without that or were not there, and reports whether there
// is something new for them. No test script says so, but people who work on the project have done it before.
func (p *preparation) build(ctx context.Context, b check.Bench, root string, results []check.TestResult, out check.Outcome) (built bool, cost check.Outcome) {
	if !unloaded.MatchString(out.Blocked) && !slices.ContainsFunc(results, func(r check.TestResult) bool { return r.Outcome == "error" && unloaded.MatchString(r.Message) }) {
		return false, cost
	}
	roots := Roots(b.View)
	i := slices.IndexFunc(roots, func(r Root) bool { return r.Dir == root })
	for _, name := range makers {
		steps := npmscript.Read(roots[i].Scripts, name)
		if steps = slices.DeleteFunc(steps, func(s npmscript.Step) bool { return s.Kind != npmscript.Makes }); len(steps) > 0 {
			before := len(p.done)
			// A compiler that complains may have written its output all the same.
			_, cost, done := p.run(ctx, b, root, steps)
			return done && len(p.done) > before, cost
		}
	}
	return false, cost
}

package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
)

// The names of the gates, in the order of a report.
const (
	gateFormat = "format"
	gateSyntax = "syntax"
	gateLint   = "lint"
	gateTypes  = "types"
	gateSmoke  = "smoke"
	gateTests  = "tests"
)

// gateOrder is that order.
var gateOrder = []string{gateFormat, gateSyntax, gateLint, gateTypes, gateSmoke, gateTests}

// The names of the checks: the tools behind the gates.
const (
	checkFormat  = "ruff format"
	checkSyntax  = "parsers"
	checkRuff    = "ruff"
	checkShell   = "shellcheck"
	checkMypy    = "mypy"
	checkProgram = "program"
	checkPytest  = "pytest"
)

// The groups of gates that share a box, and so a cached baseline.
const (
	groupStatic = "static"
	groupSmoke  = "smoke"
	groupTests  = "tests"
)

// work is the workspace's place in a box.
const work = "/work"

// definitions is raised whenever a gate's command or the reading of its output
// changes: baselines and proofs of an older one are then made anew.
const definitions = "4"

// toolPaths are where the gates' programs lie in the toolchain image. Absolute
// paths, because a workspace may hold a file of any name and could set PATH for
// nobody but itself.
type toolPaths struct {
	// The tools as the distribution installs them. Env finds a configured
	// command in the box's PATH.
	Ruff, Mypy, Python, Node, Env, Shellcheck string
	// The project's own scripts, which the image carries.
	Syntax, Tests string
}

// toolchain is the layout of the image.
var toolchain = toolPaths{
	Ruff: "/usr/bin/ruff", Mypy: "/usr/bin/mypy", Python: "/usr/bin/python3",
	Node: "/usr/bin/node", Env: "/usr/bin/env", Shellcheck: "/usr/bin/shellcheck",
	Syntax: "/agent/syntax.py", Tests: "/agent/run_tests.py",
}

// A runner is a box as the gates see it. *sandbox.Box is one. A gate neither
// starts nor closes its box, so that several can share one in a fixed order.
type runner interface {
	Apply(ctx context.Context, cs workspace.Changeset) error
	Run(ctx context.Context, cmd guest.Command) (guest.Result, error)
}

// A bench is what a gate works with: one box and what stands in it.
type bench struct {
	box   runner
	tools toolPaths
	// What the box holds at this moment; lines of findings are read from it.
	view view
	// Of every command that brings none of its own.
	timeout time.Duration
	// What the workspace sets for the smoke gate.
	smoke Smoke
	// Of the smoke gate.
	entry entry
}

// An outcome is what a gate found on one side, base or candidate. It is kept
// as JSON in the cache.
type outcome struct {
	// All of them, each with its source line.
	Findings []Finding `json:"findings,omitempty"`
	// Infra, Timeout or OOM when the tool did not get to judge.
	Verdict Verdict `json:"verdict,omitempty"`
	// Why the workspace itself kept the tool from judging all of it.
	Blocked string  `json:"blocked,omitempty"`
	Detail  string  `json:"detail,omitempty"`
	Output  string  `json:"output,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	Peak    int64   `json:"peak,omitempty"`
	// Of the tests gate only, in the order in which they ran.
	Tests []testResult `json:"tests,omitempty"`
	// Of the smoke gate only; nil when the program was not started.
	Ending *ending `json:"ending,omitempty"`
}

// infra is the outcome of a gate that could not work.
func infra(format string, args ...any) outcome {
	return outcome{Verdict: Infra, Detail: fmt.Sprintf(format, args...)}
}

// A check is one tool's part of a gate: lint is ruff for Python and shellcheck
// for shell scripts. Each is run, compared with its own baseline, proved and
// judged for itself, so that one that cannot judge hides nothing of the others;
// the report shows the gate, which is all of its checks together.
type check struct {
	name string
	gate string
	// Checks of one group share a box and a row of the cache.
	group string
	run   func(ctx context.Context, b bench) outcome
	// applies gives the reason why the gate has nothing to do in a view, or "".
	applies func(v view) string
	// judge says what the candidate's outcome means next to the baseline's.
	judge func(base, cand outcome, d diff) Gate
}

// checks lists those that have a baseline, by gate and, within a box, in the
// order in which they run. What may run workspace code comes last in its box.
func checks() []check {
	python := func(v view) string {
		if v.python() {
			return ""
		}
		return "the workspace has no Python file"
	}
	return []check{
		{checkRuff, gateLint, groupStatic, runLint, python, judgeFindings},
		{checkShell, gateLint, groupStatic, runShell, shellApplies, judgeFindings},
		{checkMypy, gateTypes, groupStatic, runTypes, python, judgeFindings},
		{checkProgram, gateSmoke, groupSmoke, runSmoke, nil, judgeSmoke}, // applies when there is an entry: see session.plan
		{checkPytest, gateTests, groupTests, runTests, testsApply, judgeTests},
	}
}

// allChecks lists every check in the order of a report. Format and syntax have
// no baseline in the sense of the others: the former changes bytes instead of
// judging them, the latter looks at touched files only and finds their old text
// in the same box.
func allChecks() []check {
	return append([]check{
		{name: checkFormat, gate: gateFormat, group: groupStatic, judge: judgeFindings},
		{name: checkSyntax, gate: gateSyntax, group: groupStatic, judge: judgeFindings},
	}, checks()...)
}

// checksOf lists the checks of a gate, in the order of the table.
func checksOf(gate string) []check {
	return slices.DeleteFunc(allChecks(), func(c check) bool { return c.gate != gate })
}

// checkNamed is the check of that name, the zero check for none.
func checkNamed(name string) check {
	for _, c := range allChecks() {
		if c.name == name {
			return c
		}
	}
	return check{}
}

// gateOfCheck names the gate that a check belongs to.
func gateOfCheck(name string) string { return checkNamed(name).gate }

// definitionDigest identifies everything that shapes an outcome besides the
// snapshot and the image, so that it can stand in a cache key. It covers the whole
// configuration for every gate, although the linter does not care how long the
// smoke test is: configurations change rarely, and one digest is easy to trust.
func definitionDigest(tools toolPaths, cfg Config) string {
	data, err := json.Marshal(struct {
		Definitions string
		Tools       toolPaths
		Smoke       Smoke
		Limits      sandbox.Limits
		Timeout     time.Duration
	}{definitions, tools, cfg.Smoke, cfg.Limits, cfg.Timeout})
	if err != nil {
		return "" // not possible: the struct holds plain values
	}
	sum := sha256.Sum256(data)
	// 64 bits are enough where nobody gains by a collision of their own keys.
	return hex.EncodeToString(sum[:8])
}

// toolOf names the programs behind a check, as Request.Versions does.
func toolOf(name string) []string {
	switch name {
	case checkFormat:
		return []string{"ruff"}
	case checkSyntax:
		return []string{"python3", "node"}
	case checkProgram:
		return nil // the workspace's own
	}
	return []string{name}
}

// toolVersion is the Gate.Tool of a check, "" when the version is not known.
func toolVersion(name string, versions map[string]string) string {
	var known []string
	for _, tool := range toolOf(name) {
		if v := versions[tool]; v != "" {
			// Some tools print their own name with the version, some do not.
			known = append(known, tool+" "+strings.TrimPrefix(v, tool+" "))
		}
	}
	return strings.Join(known, ", ")
}

// command runs one tool and sorts out every end that is no answer: done is
// false and out says what it means. Otherwise the tool ran to its own end.
func (b bench) command(ctx context.Context, cmd guest.Command) (res guest.Result, out outcome, done bool) {
	// The smoke test brings its own, which is the time of the watch.
	if cmd.Timeout == 0 {
		cmd.Timeout = b.timeout
	}
	tool := cmd.Args[0]
	start := time.Now()
	res, err := b.box.Run(ctx, cmd)
	// The order of the cases matters: a box that ran out of memory is often also
	// late, killed or ended by a signal, and memory is what explains it.
	out = outcome{Output: shown(res), Seconds: time.Since(start).Seconds(), Peak: res.PeakBytes}
	switch {
	case err != nil:
		out.Verdict, out.Detail = Infra, fmt.Sprintf("run %s: %v", tool, err)
	case res.OOM:
		out.Verdict, out.Detail = OOM, fmt.Sprintf("%s ran out of the box's memory", tool)
	case res.TimedOut:
		out.Verdict, out.Detail = Timeout, fmt.Sprintf("%s did not end within %s", tool, cmd.Timeout)
	case res.Killed:
		out.Verdict, out.Detail = Infra, fmt.Sprintf("the box died while %s ran", tool)
	// Found but not executable, and not found: POSIX, "Exit Status for
	// Commands". No tool here uses these two for anything else.
	case res.Exit == 126 || res.Exit == 127:
		out.Verdict, out.Detail = Infra, missing(tool)
	case res.Signal != "":
		out.Verdict, out.Detail = Infra, fmt.Sprintf("%s was ended by %s", tool, res.Signal)
	default:
		return res, out, true
	}
	return res, out, false
}

// missing says that a tool is not in the image, and the cure.
func missing(tool string) string {
	return fmt.Sprintf("%s is missing or does not start in the toolchain image; rebuild it with: agent images build", tool)
}

package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agent/sandbox"
	"agent/sandbox/egress"
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

// gateOrder is that order. The gates that the workspace defines come after them.
var gateOrder = []string{gateFormat, gateSyntax, gateLint, gateTypes, gateSmoke, gateTests}

// The names of the checks: the tools behind the gates.
const (
	checkFormat    = "ruff format"
	checkSyntax    = "parsers"
	checkRuff      = "ruff"
	checkShell     = "shellcheck"
	checkLinks     = "links"
	checkBiome     = "biome"
	checkScript    = "typescript"
	checkMypy      = "mypy"
	checkPyright   = "pyright"
	checkTy        = "ty"
	checkProgram   = "program"
	checkImports   = "imports"
	checkPytest    = "pytest"
	checkNode      = "node"
	checkGoTypes   = "go build"
	checkVet       = "go vet"
	checkStatic    = "staticcheck"
	checkGoTests   = "go test"
	checkVitest    = "vitest"
	checkJest      = "jest"
	checkMocha     = "mocha"
	checkESLint    = "eslint"
	checkStylelint = "stylelint"
	checkCompiler  = "tsc"
)

// The groups of gates that share a box, and so a cached baseline.
const (
	groupStatic   = "static"
	groupSmoke    = "smoke"
	groupTests    = "tests"
	groupCompiler = "tsc"
	// Before the name of a gate that the workspace defines.
	groupOwn = "gate-"
)

// packageGroups are those of the linters and the compiler that workspaces bring,
// each with a box of its own.
var packageGroups = []string{checkESLint, checkStylelint, groupCompiler}

// work is the workspace's place in a box.
const work = "/work"

// definitions is raised whenever a gate's command or the reading of its output
// changes: baselines and proofs of an older one are then made anew.
const definitions = "11"

// Definitions is the version of what the gates run and how they read it: judgements of
// another may differ.
const Definitions = definitions

// toolPaths are where the gates' programs lie in the toolchain image. Absolute
// paths, because a workspace may hold a file of any name and could set PATH for
// nobody but itself.
type toolPaths struct {
	// The tools as the distribution installs them. Env finds a configured
	// command in the box's PATH.
	Ruff, Mypy, Ty, Python, Node, Env, Shellcheck, Gofmt string
	// The directory of the packages of npm, and one of them.
	Packages, Pyright string
	// The project's own scripts, which the image carries. Go runs a command of Go
	// with its caches and variables.
	Syntax, Tests, Types, Links, Go string
	// Those for JavaScript and TypeScript, and what biome goes by where the
	// workspace says nothing.
	Script, NodeReporter, Biome string
}

// toolchain is the layout of the image.
var toolchain = toolPaths{
	Ruff: "/usr/bin/ruff", Mypy: "/usr/bin/mypy", Ty: "/usr/bin/ty", Python: "/usr/bin/python3",
	Node: "/usr/bin/node", Env: "/usr/bin/env", Shellcheck: "/usr/bin/shellcheck",
	Gofmt:    "/usr/lib/go-1.26/bin/gofmt",
	Packages: "/usr/lib/agent/npm", Pyright: "/usr/lib/agent/npm/pyright/index.js",
	Syntax: "/agent/syntax.py", Tests: "/agent/run_tests.py", Types: "/agent/types_cache.py", Links: "/agent/links.py",
	Go:     "/usr/lib/agent/go/run",
	Script: "/agent/typescript.cjs", NodeReporter: "/agent/node_reporter.mjs", Biome: "/agent/biome.json",
}

// A runner is a box as the gates see it. *sandbox.Box is one. A gate neither
// starts nor closes its box, so that several can share one in a fixed order.
type runner interface {
	Apply(ctx context.Context, cs workspace.Changeset) error
	Run(ctx context.Context, cmd guest.Command) (guest.Result, error)
}

// A cacheRow is what a tool left behind in an earlier box.
type cacheRow interface {
	// Load returns it packed, nil when there is none.
	Load(ctx context.Context) []byte
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
	// What mypy knows; nil where its cache is neither used nor kept.
	known cacheRow
	// Of the tests gate: the IDs of the only tests to run; nil for all.
	only []string
	// What the patch can affect, for a check of a family. The other packages come
	// last, or are left out.
	reach reach
	leave bool
	// Called before the first of the others; nil for no one to tell.
	affectedDone func()
}

// An outcome is what a gate found on one side, base or candidate. It is kept
// as JSON in the cache.
type outcome struct {
	// All of them, each with its source line.
	Findings []Finding `json:"findings,omitempty"`
	// Infra, Timeout or OOM when the tool did not get to judge.
	Verdict Verdict `json:"verdict,omitempty"`
	// Why the workspace itself kept the tool from judging all of it.
	Blocked string `json:"blocked,omitempty"`
	// The parts of the workspace that it did not see, as patterns: see goScope.
	Unjudged []string `json:"unjudged,omitempty"`
	Detail   string   `json:"detail,omitempty"`
	Output   string   `json:"output,omitempty"`
	Seconds  float64  `json:"seconds,omitempty"`
	Peak     int64    `json:"peak,omitempty"`
	// The limits of the box that it ran into, as the guest names them.
	Reached []string `json:"reached,omitempty"`
	// Of Python's checks where the workspace has several roots: what kept each from
	// being judged, "" for nothing.
	Roots map[string]string `json:"roots,omitempty"`
	// Of the tests gate only, in the order in which they ran.
	Tests []testResult `json:"tests,omitempty"`
	// Of the smoke gate only, in the order of their names.
	Imports []importResult `json:"imports,omitempty"`
	// Of the smoke gate and of the workspace's own; nil when nothing was started.
	Ending *ending `json:"ending,omitempty"`
	// Of mypy only: its cache, when that is worth a row of its own.
	learned []byte
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
	// judge says what the candidate's outcome means next to the baseline's. No
	// verdict, with the reason as the detail, leaves the check out.
	judge func(base, cand outcome, d diff) Gate
	// The packages of which it works in some, one by one; nil for one that sees the
	// workspace as a whole.
	family *family
	places func(v view) []string
	// It runs no code of the workspace, so what it leaves in its box can be trusted.
	inert bool
	// It runs the tests of bench.only alone, or their files, so that tests that may fail
	// by chance can be repeated.
	repeats bool
	// The programs behind it, by their names in Request.Versions.
	tools []string
	// Base names of the files that configure it: these come from the base
	// revision. Nil for a check that sees the workspace as the patch leaves it.
	config []string
	// inside lists the files that run inside the tool: those of the first view,
	// the base, and what the second would have in their place. They come from the
	// base revision too. Nil for a tool without plugins.
	inside func(base, cand view) []string
	// The files of its proof, by path: prove runs the check on them in an empty box
	// and says what it did not do as it must. See proof.go.
	planted map[string]string
	prove   func(ctx context.Context, b bench) error
}

// checks lists those that have a baseline, by gate and, within a box, in the
// order in which they run. What may run workspace code comes last in its box.
// Each language's file lists its own.
func checks() []check {
	return slices.Concat(
		lintChecks(), typeChecks(),
		[]check{{
			name: checkProgram, gate: gateSmoke, group: groupSmoke, run: runSmoke, judge: judgeSmoke,
			planted: plantedSmoke, prove: proveSmoke, // applies when there is an entry: see session.plan
		}, importCheck},
		testChecks(),
	)
}

// lintChecks lists the linters.
func lintChecks() []check {
	list := []check{ruffCheck, shellCheck, linkCheck, vetCheck, staticCheck, biomeCheck}
	for _, l := range packageLinters() {
		list = append(list, l.check())
	}
	return list
}

// typeChecks lists the type checkers. A plugin of mypy is workspace code, so it is
// the last.
func typeChecks() []check {
	return []check{goTypesCheck, scriptCheck, compilerCheck, tyCheck, pyrightCheck, mypyCheck}
}

// testChecks lists the test runners, each with a box of its own.
func testChecks() []check {
	list := []check{pytestCheck, nodeCheck, goTestCheck}
	for _, r := range packageRunners() {
		list = append(list, r.check())
	}
	return list
}

// allChecks lists every check in the order of a report. Format and syntax have
// no baseline in the sense of the others: the former changes bytes instead of
// judging them, the latter looks at touched files only and finds their old text
// in the same box.
func allChecks() []check {
	return append([]check{
		{name: checkFormat, gate: gateFormat, group: groupStatic, judge: judgeFindings, tools: []string{"ruff", "go"}, prove: proveFormat},
		{
			name: checkSyntax, gate: gateSyntax, group: groupStatic, judge: judgeFindings, tools: []string{"python3", "node", "go"},
			planted: plantedSyntax, prove: proveSyntax,
		},
	}, checks()...)
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
		Runtime     string `json:",omitempty"`
		Timeout     time.Duration
		Gates       []CustomGate `json:",omitempty"`
		Affected    bool         `json:",omitempty"`
		Egress      egress.List  `json:",omitempty"`
	}{definitions, tools, cfg.Smoke, cfg.Limits, cfg.Runtime, cfg.Timeout, cfg.Gates, cfg.AffectedTests, cfg.Egress})
	if err != nil {
		return "" // not possible: the struct holds plain values
	}
	sum := sha256.Sum256(data)
	// 64 bits are enough where nobody gains by a collision of their own keys.
	return hex.EncodeToString(sum[:8])
}

// toolVersion is the Gate.Tool of a check, "" when the version is not known.
func toolVersion(name string, versions map[string]string) string {
	var known []string
	for _, tool := range checkNamed(name).tools {
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
	cmd.Env = withoutCaches(cmd.Env)
	tool := cmd.Args[0]
	start := time.Now()
	res, err := b.box.Run(ctx, cmd)
	// The order of the cases matters: a box that ran out of memory is often also
	// late, killed or ended by a signal, and memory is what explains it.
	out = outcome{Output: shown(res), Seconds: time.Since(start).Seconds(), Peak: res.PeakBytes, Reached: res.Reached}
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

// withoutCaches adds to an environment what keeps Python from believing byte
// code that lies in the workspace: it says itself which source it was made of.
func withoutCaches(env map[string]string) map[string]string {
	env = maps.Clone(env)
	if env == nil {
		env = map[string]string{}
	}
	env["PYTHONPYCACHEPREFIX"] = "/tmp/pycache"
	return env
}

// missing says that a tool is not in the image, and the cure.
func missing(tool string) string {
	return fmt.Sprintf("%s is missing or does not start in the toolchain image; rebuild it with: agent images build", tool)
}

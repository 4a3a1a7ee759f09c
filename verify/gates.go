package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"agent/sandbox"
	"agent/sandbox/egress"
	"agent/verify/check"
	"agent/verify/golang"
	"agent/verify/python"
)

// gateOrder is that order. The gates that the workspace defines come after them.
var gateOrder = []string{check.GateFormat, check.GateSyntax, check.GateLint, check.GateTypes, check.GateSmoke, check.GateTests}

// checkFormat is the name of the formatters' check.
const checkFormat = "ruff format"

// checkSyntax is the name of the parsers' check.
const checkSyntax = "parsers"

// checkShell is the name of the check.
const checkShell = "shellcheck"

// The names of the checks of what a browser reads.
const (
	checkLinks = "links"
	checkBiome = "biome"
)

// The names of the checks of a program.
const (
	checkProgram = "program"
	checkImports = "imports"
)

// The names of the checks of JavaScript and TypeScript.
const (
	checkScript    = "typescript"
	checkNode      = "node"
	checkVitest    = "vitest"
	checkJest      = "jest"
	checkMocha     = "mocha"
	checkESLint    = "eslint"
	checkStylelint = "stylelint"
	checkCompiler  = "tsc"
)

// packageGroups are those of the linters and the compiler that workspaces bring,
// each with a box of its own.
var packageGroups = []string{checkESLint, checkStylelint, check.GroupCompiler}

// definitions is raised whenever a gate's command or the reading of its output
// changes: baselines and proofs of an older one are then made anew.
const definitions = "11"

// Definitions is the version of what the gates run and how they read it: judgements of
// another may differ.
const Definitions = definitions

// checks lists those that have a baseline, by gate and, within a box, in the
// order in which they run. What may run workspace code comes last in its box.
// Each language's file lists its own.
func checks() []check.Check {
	return slices.Concat(
		lintChecks(), typeChecks(),
		[]check.Check{{
			Name: checkProgram, Gate: check.GateSmoke, Group: check.GroupSmoke, Run: runSmoke, Judge: judgeSmoke,
			Planted: plantedSmoke, Prove: proveSmoke, // applies when there is an entry: see session.plan
		}, importCheck},
		testChecks(),
	)
}

// lintChecks lists the linters.
func lintChecks() []check.Check {
	return append([]check.Check{python.Ruff, shellCheck, linkCheck, golang.Vet, golang.Staticcheck, biomeCheck}, linterChecks()...)
}

// typeChecks lists the type checkers. A plugin of mypy is workspace code, so it is
// the last.
func typeChecks() []check.Check {
	return []check.Check{golang.Types, scriptCheck, compilerCheck, python.Ty, python.Pyright, python.Mypy}
}

// testChecks lists the test runners, each with a box of its own.
func testChecks() []check.Check {
	return append([]check.Check{python.Pytest, nodeCheck, golang.Tests}, runnerChecks()...)
}

// allChecks lists every check in the order of a report. Format and syntax have
// no baseline in the sense of the others: the former changes bytes instead of
// judging them, the latter looks at touched files only and finds their old text
// in the same box.
func allChecks() []check.Check {
	return append([]check.Check{
		{Name: checkFormat, Gate: check.GateFormat, Group: check.GroupStatic, Judge: check.JudgeFindings, Tools: []string{"ruff", "go"}, Prove: proveFormat},
		{
			Name: checkSyntax, Gate: check.GateSyntax, Group: check.GroupStatic, Judge: check.JudgeFindings, Tools: []string{"python3", "node", "go"},
			Planted: plantedSyntax, Prove: proveSyntax,
		},
	}, checks()...)
}

// checkNamed is the check of that name, the zero check for none.
func checkNamed(name string) check.Check {
	for _, c := range allChecks() {
		if c.Name == name {
			return c
		}
	}
	return check.Check{}
}

// definitionDigest identifies everything that shapes an outcome besides the
// snapshot and the image, so that it can stand in a cache key. It covers the whole
// configuration for every gate, although the linter does not care how long the
// smoke test is: configurations change rarely, and one digest is easy to trust.
func definitionDigest(tools check.Tools, cfg Config) string {
	data, err := json.Marshal(struct {
		Definitions string
		Tools       check.Tools
		Smoke       check.Smoke
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
	for _, tool := range checkNamed(name).Tools {
		if v := versions[tool]; v != "" {
			// Some tools print their own name with the version, some do not.
			known = append(known, tool+" "+strings.TrimPrefix(v, tool+" "))
		}
	}
	return strings.Join(known, ", ")
}

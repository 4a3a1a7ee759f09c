package verify

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/format"
	"agent/verify/golang"
	"agent/verify/node"
	"agent/verify/python"
	"agent/verify/shell"
	"agent/verify/smoke"
	"agent/verify/syntax"
	"agent/verify/web"
)

// gateOrder lists the built-in gates in the order of a report. The gates that the workspace defines come after them.
var gateOrder = []string{check.GateFormat, check.GateSyntax, check.GateLint, check.GateTypes, check.GateSmoke, check.GateTests}

// allChecks returns the table of all checks, in the order of a report.
func allChecks() []check.Check {
	return append([]check.Check{format.Check, syntax.Check}, checks()...)
}

// checks lists the checks that have a baseline, by gate and, within a box, in the order in which they run. Checks that
// may run workspace code, such as mypy with its plugins, come last in their box. Format and syntax have no baseline in
// this sense: format changes bytes instead of judging them, and syntax looks only at touched files and finds their old
// text in the same box.
func checks() []check.Check {
	return slices.Concat(
		[]check.Check{python.Ruff, shell.Shellcheck, web.Links, golang.Vet, golang.Staticcheck, web.Biome}, node.Linters(),
		[]check.Check{golang.Types, node.Script, node.Compiler, python.Ty, python.Pyright, python.Mypy},
		[]check.Check{smoke.Program, smoke.Imports},
		[]check.Check{python.Pytest, node.Tests, golang.Tests}, node.Runners(), []check.Check{node.Commands},
	)
}

// checkNamed returns the check with that name, or the zero Check.
func checkNamed(name string) check.Check {
	for _, c := range allChecks() {
		if c.Name == name {
			return c
		}
	}
	return check.Check{}
}

// toolVersion returns the Gate.Tool of a check, "" if the version is unknown.
func toolVersion(name string, versions map[string]string) string {
	var known []string
	for _, tool := range checkNamed(name).Tools {
		if v := versions[tool]; v != "" {
			// Some tools print their own name with the version, and some do not.
			known = append(known, tool+" "+strings.TrimPrefix(v, tool+" "))
		}
	}
	return strings.Join(known, ", ")
}

// staticConfig reports whether a file, in any directory, configures a static gate.
func staticConfig(p string) bool {
	return slices.ContainsFunc(checks(), func(c check.Check) bool { return slices.Contains(c.Config, path.Base(p)) })
}

// splitConfig separates the changes to the configuration of the static gates from the rest.
func splitConfig(cs workspace.Changeset) (config, rest workspace.Changeset) {
	return check.SplitChanges(cs, staticConfig)
}

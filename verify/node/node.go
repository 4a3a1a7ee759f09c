// Package node holds the checks of JavaScript and TypeScript: node's own test runner and the
// compiler of the image, and what workspaces bring themselves: vitest, jest, mocha, eslint,
// stylelint and tsc. It owns the packages of a workspace, how their scripts start a tool
// (they are read, never run), and the reading of the tools' reports.
package node

import "agent/verify/check"

// The names of the checks of JavaScript and TypeScript.
const (
	ScriptName    = "typescript"
	TestsName     = "node"
	VitestName    = "vitest"
	JestName      = "jest"
	MochaName     = "mocha"
	ESLintName    = "eslint"
	StylelintName = "stylelint"
	CompilerName  = "tsc"
)

// OwnGroups are those of the linters and the compiler that workspaces bring,
// each with a box of its own.
var OwnGroups = []string{ESLintName, StylelintName, check.GroupCompiler}

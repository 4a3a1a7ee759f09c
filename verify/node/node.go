// Package node holds the checks of JavaScript and TypeScript: node's own test runner and the
// compiler of the image, and what workspaces bring themselves: runners of tests, eslint, stylelint
// and tsc, and the commands of test scripts that are none of these. It owns the packages of a workspace, how their scripts start a tool
// (they are read, never run as a whole), and the reading of the tools' reports.
package node

import "agent/verify/check"

// OwnGroups are those of the linters and the compiler that workspaces bring,
// each with a box of its own.
var OwnGroups = []string{ESLintName, StylelintName, check.GroupCompiler}

// packageLinters lists them all.
func packageLinters() []packageLinter { return []packageLinter{eslint, stylelint} }

// Linters are the checks of them all.
func Linters() (list []check.Check) {
	for _, l := range packageLinters() {
		list = append(list, l.check())
	}
	return list
}

// LinterCode lists the files that their configuration is made of: those of the base, and
// what cand would have in their place.
func LinterCode(base, cand check.View) (files []string) {
	for _, l := range packageLinters() {
		files = append(files, l.code(base, cand)...)
	}
	return files
}

// Package node implements the checks of JavaScript and TypeScript: node's own test runner, the compiler of the image, the
// tools that workspaces bring themselves (test runners, eslint, stylelint and tsc), and the commands of test scripts that
// are none of these. It owns the packages of a workspace, how their scripts start a tool (scripts are read, never run as a
// whole), and the reading of the tools' reports.
package node

import (
	"context"
	"path"

	"agent/verify/check"
	"agent/verify/witness"
)

// OwnGroups lists the groups of the linters and the compiler that workspaces bring, each with a box of its own.
var OwnGroups = []string{ESLintName, StylelintName, check.GroupCompiler}

// packageLinters lists all linters that packages bring.
func packageLinters() []packageLinter { return []packageLinter{eslint, stylelint} }

// Linters returns the checks of all these linters.
func Linters() (list []check.Check) {
	for _, l := range packageLinters() {
		list = append(list, l.check())
	}
	return list
}

// LinterCode lists the files that make up the configuration of the linters: those of the base, and those that cand would
// have in their place.
func LinterCode(base, cand check.View) (files []string) {
	for _, l := range packageLinters() {
		files = append(files, l.code(base, cand)...)
	}
	return files
}

// mostForms bounds the forms of assertion for which a file gets witnesses.
const mostForms = 3

// witnesses draws witnesses for files of a package, given by their paths in it; none if only some tests run.
func witnesses(b check.Bench, runner, root string, files []string) *witness.Set {
	if !b.Witnessed() {
		return nil
	}
	set, places := &witness.Set{}, make([]string, 0, len(files))
	for _, name := range files {
		if p := path.Join(root, name); b.Picks(p) {
			places = append(places, p)
		}
	}
	set.AppendScripts(witness.NewDraw(), b.View, runner, places, mostForms)
	return set
}

// witnessed runs tests with witnesses among them, and once more without if there is no result with them, since that may be
// their doing. It removes the witnesses from the results.
func witnessed(ctx context.Context, b check.Bench, set *witness.Set, run func(set *witness.Set) (results []check.TestResult, out check.Outcome, done bool)) (results []check.TestResult, out check.Outcome, done bool) {
	// A run that does not end says why itself, and its box need not outlive it.
	if err := set.During(ctx, b.Box, func() { results, out, done = run(set) }); err != nil && (done || out.Verdict == "") {
		return nil, check.Infraf("%v", err), false
	}
	if done && out.Blocked != "" && !set.Empty() {
		again, more, ended := run(nil)
		more.Witnesses = set.Lost()
		more.Seconds, more.Peak = out.Seconds+more.Seconds, max(out.Peak, more.Peak)
		return again, more, ended
	}
	results, out.Witnesses = set.Take(results)
	out.Output = set.Hide(out.Output)
	return results, out, done
}

// witnesses draws witnesses for a use of a runner, in the files that it collects.
func (r packageRunner) witnesses(b check.Bench, u packageUse) *witness.Set {
	if r.witness == "" || r.unlike != nil && r.unlike(b.View, u) {
		return nil
	}
	return witnesses(b, r.witness, u.root, r.collected(b.View, u))
}

// Package node holds the checks of JavaScript and TypeScript: node's own test runner and the
// compiler of the image, and what workspaces bring themselves: runners of tests, eslint, stylelint
// and tsc, and the commands of test scripts that are none of these. It owns the packages of a workspace, how their scripts start a tool
// (they are read, never run as a whole), and the reading of the tools' reports.
package node

import (
	"context"
	"path"

	"agent/verify/check"
	"agent/verify/witness"
)

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

// mostForms is how many ways to assert a file is given witnesses for.
const mostForms = 3

// witnesses draws those of some files of a package, by their paths in it; none where only some
// tests are run.
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

// witnessed runs tests among which the witnesses stand, and once more without them where there is
// no result with them: that may be their doing. They are taken out of what it gives.
func witnessed(ctx context.Context, b check.Bench, set *witness.Set, run func(set *witness.Set) (results []check.TestResult, out check.Outcome, done bool)) (results []check.TestResult, out check.Outcome, done bool) {
	// A run that comes to no end says why itself, and its box need not outlive it.
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

// witnesses draws those of a use of a runner, in the files that it collects.
func (r packageRunner) witnesses(b check.Bench, u packageUse) *witness.Set {
	if r.witness == "" || r.unlike != nil && r.unlike(b.View, u) {
		return nil
	}
	return witnesses(b, r.witness, u.root, r.collected(b.View, u))
}

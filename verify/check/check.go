// Package check is the contract of a check: what one tool of a gate is given, a box and a
// view of the workspace as it stands in it, and what it gives, an outcome of findings or of
// tests. It owns the view, the reading of what any tool wrote, and the helpers that every
// language's checks share: roots of a monorepo, what a patch can reach, planted faults,
// where the tools lie in the image. It starts no box, runs no tool by itself and gives a
// candidate no verdict; packages compare and verify do.
//
// # A new check
//
// A language's package declares a variable of type Check and the table of verify/gates.go
// has a row for it. It needs:
//
//	Run      a command with absolute paths, read strictly: exit status, output and
//	         findings must agree, or the outcome is infra
//	Applies  why there is nothing to do in a workspace, for the report
//	Config   the names of files by which the tool is configured; Variants or Closure where these
//	         name more
//	Planted  files with faults and files without, for Prove
//	Inert    set only where the tool runs nothing of the workspace; Plugged where it has plugins
//
// TestEveryToolIsMissedWhenTheImageHasLostIt, the plan's and the proofs' tests
// then ask for it by themselves. What it makes of an unpatched workspace is the
// baseline, so a check that finds much in old code refuses nobody.
package check

import (
	"context"
	"slices"

	"agent/sandbox/workspace"
)

// The names of the gates, in the order of a report.
const (
	GateFormat = "format"
	GateSyntax = "syntax"
	GateLint   = "lint"
	GateTypes  = "types"
	GateSmoke  = "smoke"
	GateTests  = "tests"
)

// The groups of gates that share a box, and so a cached baseline.
const (
	GroupStatic   = "static"
	GroupSmoke    = "smoke"
	GroupTests    = "tests"
	GroupCompiler = "tsc"
	// Before the name of a gate that the workspace defines.
	GroupOwn = "gate-"
)

// A Check is one tool's part of a gate: lint is ruff for Python and shellcheck
// for shell scripts. Each is run, compared with its own baseline, proved and
// judged for itself, so that one that cannot judge hides nothing of the others;
// the report shows the gate, which is all of its checks together.
type Check struct {
	Name string
	Gate string
	// Checks of one group share a box and a row of the cache.
	Group string
	Run   func(ctx context.Context, b Bench) Outcome
	// Applies gives the reason why the gate has nothing to do in a view, or "".
	Applies func(v View) string
	// Judge says what the candidate's outcome means next to the baseline's. No
	// verdict, with the reason as the detail, leaves the check out.
	Judge func(base, cand Outcome, d Diff) Gate
	// The packages of which it works in some, one by one; nil for one that sees the
	// workspace as a whole.
	Family *Family
	Places func(v View) []string
	// It runs no code of the workspace, so what it leaves in its box can be trusted.
	Inert bool
	// It runs the tests of Bench.Only alone, or their files, so that tests that may fail
	// by chance can be repeated.
	Repeats bool
	// The programs behind it, by their names in Request.Versions.
	Tools []string
	// Base names of the files that configure it: these come from the base
	// revision. Nil for a check that sees the workspace as the patch leaves it.
	Config []string
	// Inside lists the files that run inside the tool: those of the first view,
	// the base, and what the second would have in their place. They come from the
	// base revision too. Nil for a tool without plugins.
	Inside func(base, cand View) []string
	// Variants lists what else of a candidate it judges, nil for nothing; Closure finds the files that its
	// configuration is made of, nil where Config has them all.
	Variants func(base, cand View) []Variant
	Closure  *Closure
	// Plugged reports whether code of the workspace runs inside it at a base: that is of the tree
	// that Bench.Kept names. Nil for a tool without plugins.
	Plugged func(base View) bool
	// It is judged by itself: how it ended before the patch says nothing.
	Alone bool
	// The files of its proof, by path: prove runs the check on them in an empty box
	// and says what it did not do as it must. See proof.go.
	Planted map[string]string
	Prove   func(ctx context.Context, b Bench) error
}

// Unplug separates what of a changeset runs inside the tool of a check from the rest.
func (c Check) Unplug(base, cand View, cs workspace.Changeset) (own, rest workspace.Changeset) {
	if c.Inside == nil {
		return workspace.Changeset{}, cs
	}
	inside := c.Inside(base, cand)
	return SplitChanges(cs, func(p string) bool { return slices.Contains(inside, p) })
}

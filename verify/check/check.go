// Package check defines the contract between a gate and the checks that it is made of, one check for each tool. A check
// receives a box and a view of the workspace as it stands in that box, and returns an outcome: findings or test
// results.
//
// The package owns the view, the reading of tool output, and the helpers that the checks of every language share: roots
// of a monorepo, what a patch can reach, planted faults, and the locations of the tools in the image. It starts no box,
// runs no tool on its own and gives a candidate no verdict; packages compare and verify do.
//
// # A new check
//
// A language's package declares a variable of type Check, and the table in verify/gates.go has a row for it. It needs:
//
//	Run      a command with absolute paths, read strictly: exit status, output and
//	         findings must agree, or the outcome is infra
//	Applies  why there is nothing to do in a workspace, for the report
//	Config   the names of the files that configure the tool; also Variants or Closure if
//	         these files name others
//	Planted  files with faults and files without, for Prove
//	Inert    set only if the tool runs no workspace code; Plugged if it has plugins
//
// TestEveryToolIsMissedWhenTheImageHasLostIt and the tests of the plan and the proofs then cover it without further
// work. What the check reports on an unpatched workspace is the baseline, so a check that finds much in old code
// rejects no patch.
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

// The groups of gates that share a box, and therefore a cached baseline.
const (
	GroupStatic   = "static"
	GroupSmoke    = "smoke"
	GroupTests    = "tests"
	GroupCompiler = "tsc"
	// GroupOwn precedes the name of a gate that the workspace defines.
	GroupOwn = "gate-"
)

// A Check is one tool's part of a gate: lint, for example, is ruff for Python and shellcheck for shell scripts. Each
// check is run, compared with its own baseline, proved and judged separately, so a check that cannot judge hides no
// result of the others. The report shows the gate, which combines all of its checks.
type Check struct {
	Name string
	Gate string
	// Checks of one group share a box and a row of the cache.
	Group string
	Run   func(ctx context.Context, b Bench) Outcome
	// Applies returns the reason why the gate has nothing to do in a view, or "".
	Applies func(v View) string
	// Judge decides what the candidate's outcome means next to the baseline's. A gate without a verdict, with the
	// reason as its detail, leaves the check out.
	Judge func(base, cand Outcome, d Diff) Gate
	// Family is the set of packages that the check works in one by one; nil for a check that sees the workspace as a
	// whole. Places lists those of a view that it works in.
	Family *Family
	Places func(v View) []string
	// Inert says that it runs no workspace code, so what it leaves in its box can be trusted.
	Inert bool
	// Repeats says that it can run only the tests in Bench.Only, or only their files, so that possibly flaky tests can
	// be repeated.
	Repeats bool
	// Tools are the programs behind it, by their names in Request.Versions.
	Tools []string
	// Config has the base names of the files that configure it: these come from the base revision. It is nil for a
	// check that sees the workspace as the patch leaves it.
	Config []string
	// Inside lists the files that run inside the tool: those of the base, and those that the candidate would have in
	// their place. They also come from the base revision. It is nil for a tool without plugins.
	Inside func(base, cand View) []string
	// Variants lists the other forms of a candidate that it judges; nil for none. Closure finds the files that its
	// configuration is made of; nil if Config names them all.
	Variants func(base, cand View) []Variant
	Closure  *Closure
	// Plugged reports whether workspace code runs inside it at a base: that code comes from the tree that Bench.Kept
	// names. It is nil for a tool without plugins.
	Plugged func(base View) bool
	// Alone says that it is judged by itself: how it ended before the patch does not matter.
	Alone bool
	// Planted holds the files of its proof, by path. Prove runs the check on them in an empty box and returns what it
	// did wrong. See proof.go.
	Planted map[string]string
	Prove   func(ctx context.Context, b Bench) error
}

// Unplug separates the changes to files that run inside the check's tool from the rest of a changeset.
func (c Check) Unplug(base, cand View, cs workspace.Changeset) (own, rest workspace.Changeset) {
	if c.Inside == nil {
		return workspace.Changeset{}, cs
	}
	inside := c.Inside(base, cand)
	return SplitChanges(cs, func(p string) bool { return slices.Contains(inside, p) })
}

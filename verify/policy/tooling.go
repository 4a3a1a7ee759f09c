package policy

import (
	"maps"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/node"
	"agent/verify/python"
)

// toolHolds lists the changes of cs to code that runs inside the tools that judge it, to the
// files that their configuration names, and to what a package.json says of them, and the
// stubs that hide a module from type checkers. The judgement itself is made with that code
// as base has it; from the next run on it would be what the patch made of it.
func toolHolds(base *workspace.Manifest, cs workspace.Changeset) (holds []Hold) {
	before, after := check.NewView(base, workspace.Changeset{}), check.NewView(base, cs)
	inside := slices.Concat(python.TypePlugins(before, after), python.TestPlugins(before, after))
	inside = append(inside, node.LinterCode(before, after)...)
	own, _ := check.SplitChanges(cs, func(p string) bool { return slices.Contains(inside, p) })
	for _, c := range own.Changes {
		holds = append(holds, Hold{
			Path: c.Path, Kind: Tooling, Block: true, Reason: "It is a plugin of the tools that judge the patch, or part of one.",
		})
	}
	holds = append(holds, extendedHolds(before, after, cs, inside)...)
	holds = append(holds, stubHolds(before, after, cs)...)
	keys := node.ChangedKeys(before, after)
	for _, p := range slices.Sorted(maps.Keys(keys)) {
		holds = append(holds, Hold{
			Path: p, Kind: Tooling, Block: true, Reason: "It says otherwise how the tools that judge the patch are started or set up: " + strings.Join(keys[p], ", ") + ".",
		})
	}
	return holds
}

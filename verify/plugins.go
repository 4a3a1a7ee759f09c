package verify

import (
	"context"
	"maps"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/node"
	"agent/verify/policy"
	"agent/verify/python"
)

// Holds lists the changes of cs to code that runs inside the tools that judge
// it, to the files that their configuration names, and to what a package.json says of
// them, and the stubs that hide a module from type checkers. The judgement itself is made with that code as base has it; from the
// next run on it would be what the patch made of it.
func Holds(base *workspace.Manifest, cs workspace.Changeset) (holds []policy.Hold) {
	before, after := check.NewView(base, workspace.Changeset{}), check.NewView(base, cs)
	inside := slices.Concat(python.TypePlugins(before, after), python.TestPlugins(before, after))
	inside = append(inside, node.LinterCode(before, after)...)
	own, _ := check.SplitChanges(cs, func(p string) bool { return slices.Contains(inside, p) })
	for _, c := range own.Changes {
		holds = append(holds, policy.Hold{
			Path: c.Path, Kind: policy.Tooling, Block: true, Reason: "It is a plugin of the tools that judge the patch, or part of one.",
		})
	}
	holds = append(holds, extendedHolds(before, after, cs, inside)...)
	holds = append(holds, stubHolds(before, after, cs)...)
	keys := node.ChangedKeys(before, after)
	for _, p := range slices.Sorted(maps.Keys(keys)) {
		holds = append(holds, policy.Hold{
			Path: p, Kind: policy.Tooling, Block: true, Reason: "It says otherwise how the tools that judge the patch are started or set up: " + strings.Join(keys[p], ", ") + ".",
		})
	}
	return holds
}

// unplugged runs a check with the plugins that the workspace gives it as they
// were before the patch cs. The patch's own stand in the box again afterwards,
// for the checks that come next.
func (s *session) unplugged(ctx context.Context, def check.Check, b check.Bench, cs workspace.Changeset) check.Outcome {
	own, others := def.Unplug(s.base, b.View, cs)
	if own.Empty() {
		return def.Run(ctx, b)
	}
	if err := b.Box.Apply(ctx, own.Reverse()); err != nil {
		return check.Infraf("put the plugins back: %v", err)
	}
	b.View = check.NewView(s.req.Base, others)
	out := def.Run(ctx, b)
	if err := b.Box.Apply(ctx, own); err != nil {
		return check.Infraf("put the patch's plugins in place: %v", err)
	}
	out.Detail += ", with plugins as they were before the patch"
	return out
}

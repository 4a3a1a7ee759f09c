package policy

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/deps"
	"agent/verify/check"
	"agent/verify/policy/acting"
	"agent/verify/policy/concealed"
)

// entryFiles lists the files without which a program cannot start; see ReviewText.
var entryFiles = []string{"main.jsx", "main.tsx", "index.html", "vite.config.js", "vite.config.ts"}

// Review lists everything that a person should see in cs before it is written to base: findings from its text, then gates (the
// holds that verify found while judging), then changes to the tools that judge, then code that reaches for what runs its tests,
// then files that the repository's configuration has git read or run, then files that git hides. protect and gates may be nil. A
// file about which git gives no answer is held too. What gates measured about a suppression replaces the finding from the text.
func Review(ctx context.Context, base *workspace.Manifest, cs workspace.Changeset, protect *Protection, gates []Hold) []Hold {
	tools := toolHolds(base, cs)
	// A file that a gate saw a tool load is often one that the text names as well.
	found := slices.DeleteFunc(slices.Clone(gates), func(h Hold) bool {
		return h.Kind == Tooling && slices.ContainsFunc(tools, func(t Hold) bool { return t.Kind == h.Kind && t.Path == h.Path })
	})
	reaching := runnerHolds(check.OnBase(base), cs)
	return slices.Concat(measured(ReviewText(cs, protect), gates), found, tools, reaching, gitHolds(ctx, base, cs), hiddenHolds(ctx, base, cs))
}

// ReviewText lists what the text of cs alone shows, in the order of the paths, then weakened checks, then the paths that protect names;
// protect may be nil. It covers CI definitions, git attributes and modules, code owners, dependency manifests and lock files (with the
// packages that change), tool configuration, editor and agent hooks, agent.toml, the deletion or emptying of an entry page, and lines
// that introduce a credential or that show a person something other than what a machine reads. Weakened checks are suppressions, tests
// that test less, and types and handlers that let everything through. A hold with Block set must not be written without approval.
func ReviewText(cs workspace.Changeset, protect *Protection) []Hold {
	var holds []Hold
	for _, c := range cs.Sorted() {
		for _, name := range slices.Compact([]string{c.Path, c.From}) {
			if rule, ok := ruleFor(name); ok && (acting.Acts(rule.keys, c.Before) || acting.Acts(rule.keys, c.After)) {
				holds = append(holds, ruleHolds(rule, c, name)...)
			}
		}
		emptied := c.Op == workspace.Delete || c.Op == workspace.Modify && len(c.After) == 0 && len(c.Before) > 0
		if emptied && slices.Contains(entryFiles, strings.ToLower(path.Base(c.Path))) {
			holds = append(holds, Hold{
				Path: c.Path, Kind: Tooling, Block: true, Reason: "It is where the program starts, and nothing is left of it.",
			})
		}
		holds = append(holds, secretHolds(c)...)
		holds = append(holds, concealedHolds(c)...)
	}
	holds = append(holds, weakHolds(cs)...)
	return append(holds, protect.holds(cs)...)
}

// ruleHolds returns the holds of a change under rule, which fits its name or its old name.
func ruleHolds(rule holdRule, c workspace.Change, name string) []Hold {
	h := Hold{Path: name, Kind: rule.kind, Reason: rule.reason, Block: rule.block}
	if rule.reason == nameIsHidden && saysAVersion(c) {
		return nil
	}
	if rule.kind != Dependencies {
		return []Hold{h}
	}
	effect := deps.Effect{Installs: true}
	if c.Op == workspace.Modify { // a manifest contains more than what is installed
		effect = deps.EffectOf(name, c.Before, c.After)
	}
	var holds []Hold
	if len(effect.Tools) > 0 {
		holds = append(holds, Hold{Path: name, Kind: Tooling, Block: true, Reason: "It changes how tools that judge the patch are set up: " + strings.Join(effect.Tools, ", ") + "."})
	}
	if len(effect.Scripts) > 0 {
		holds = append(holds, Hold{Path: name, Kind: Tooling, Reason: "It changes scripts that are started by name: " + quote(strings.Join(effect.Scripts, ", ")) + "."})
	}
	if !effect.Installs {
		return holds
	}
	if list := packageChanges(c, name); list != "" {
		h.Reason = strings.TrimSuffix(h.Reason, ".") + ": " + list
	}
	return append(holds, h)
}

// packageChanges returns deps.Changes for a change and the name that the hold is about. For a rename, the old and the
// new name are each described on their own.
func packageChanges(c workspace.Change, name string) string {
	before, after := c.Before, c.After
	// A creation has no bytes before it and a deletion none after.
	if c.Op == workspace.Rename { // the file of that name appears or disappears
		if name == c.From {
			after = nil
		} else {
			before = nil
		}
	}
	return deps.Changes(name, before, after)
}

// concealedHolds lists the lines that a change adds and that tell a machine something other than they tell a person.
func concealedHolds(c workspace.Change) (holds []Hold) {
	if c.Op == workspace.Delete || workspace.IsBinary(c.After) {
		return nil
	}
	after := string(c.After)
	for _, line := range slices.Concat(concealed.Find(string(c.Before), after, concealed.IsCode(c.Path, after)), concealed.Names(c.Path, string(c.Before), after)) {
		holds = append(holds, Hold{Path: c.Path, Kind: Unseen, Block: true, Reason: fmt.Sprintf("Line %d %s: a person sees something other than what a machine reads.", line.Number, line.What)})
	}
	return holds
}

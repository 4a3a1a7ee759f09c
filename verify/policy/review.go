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

// entryFiles are those whose loss ends a program; see ReviewText.
var entryFiles = []string{"main.jsx", "main.tsx", "index.html", "vite.config.js", "vite.config.ts"}

// Review lists all that a person should see of cs, a changeset to base, before it is written: what its text tells, then gates, which
// verify found while it judged, then what changes the tools that judge, then code that reaches for what runs its tests, then what the
// repository's configuration has git read or run, then what git hides. protect and gates may be nil. What git gives no answer about is
// held too. What gates measured takes the place of what the text tells of the same suppression.
func Review(ctx context.Context, base *workspace.Manifest, cs workspace.Changeset, protect *Protection, gates []Hold) []Hold {
	tools := toolHolds(base, cs)
	// What a gate saw a tool load is often what the text names as well.
	found := slices.DeleteFunc(slices.Clone(gates), func(h Hold) bool {
		return h.Kind == Tooling && slices.ContainsFunc(tools, func(t Hold) bool { return t.Kind == h.Kind && t.Path == h.Path })
	})
	reaching := runnerHolds(check.OnBase(base), cs)
	return slices.Concat(measured(ReviewText(cs, protect), gates), found, tools, reaching, gitHolds(ctx, base, cs), hiddenHolds(ctx, base, cs))
}

// ReviewText lists what the text of cs alone tells, in the order of the paths, then what weakens a check, then what
// protect names, which may be nil: CI definitions, git attributes and modules, code owners, dependency manifests and
// lock files (with the packages that change), tool configuration, editor and agent hooks, agent.toml, the deletion or
// emptying of an entry page, lines that introduce a credential or that show something else than a machine reads, and
// what makes checks weaker: suppressions, tests that test less, and types and handlers that let everything through.
// Those with Block are not to be written without approval.
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

// ruleHolds are the holds of a change by the rule that its name, or the old one, fits.
func ruleHolds(rule holdRule, c workspace.Change, name string) []Hold {
	h := Hold{Path: name, Kind: rule.kind, Reason: rule.reason, Block: rule.block}
	if rule.reason == nameIsHidden && saysAVersion(c) {
		return nil
	}
	if rule.kind != Dependencies {
		return []Hold{h}
	}
	effect := deps.Effect{Installs: true}
	if c.Op == workspace.Modify { // a manifest holds more than what is installed
		effect = deps.EffectOf(name, c.Before, c.After)
	}
	var holds []Hold
	if len(effect.Tools) > 0 {
		holds = append(holds, Hold{Path: name, Kind: Tooling, Block: true, Reason: "It sets up tools that judge the patch otherwise: " + strings.Join(effect.Tools, ", ") + "."})
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

// packageChanges is deps.Changes of a change, for the name that the hold is about: of a
// rename either the old or the new one, each told by itself.
func packageChanges(c workspace.Change, name string) string {
	before, after := c.Before, c.After
	// A creation has no bytes before it and a deletion none after.
	if c.Op == workspace.Rename { // the file of that name comes or goes
		if name == c.From {
			after = nil
		} else {
			before = nil
		}
	}
	return deps.Changes(name, before, after)
}

// concealedHolds lists the lines that a change brings and that say something else to a machine than to a person.
func concealedHolds(c workspace.Change) (holds []Hold) {
	if c.Op == workspace.Delete || workspace.IsBinary(c.After) {
		return nil
	}
	after := string(c.After)
	for _, line := range slices.Concat(concealed.Find(string(c.Before), after, concealed.IsCode(c.Path, after)), concealed.Names(c.Path, string(c.Before), after)) {
		holds = append(holds, Hold{Path: c.Path, Kind: Unseen, Block: true, Reason: fmt.Sprintf("Line %d %s: a person sees something else than a machine reads.", line.Number, line.What)})
	}
	return holds
}

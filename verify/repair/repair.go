// Package repair has linters repair what they alone have against a patch, each in a box and by what its makers call
// safe, before a model is asked. One row of fixers is one linter.
//
// It takes a repair only where it rewrites lines of the patch itself, judges nothing, and trusts nothing: what it
// returns is another candidate, for fresh boxes.
package repair

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/node"
	"agent/verify/room"
	"agent/verify/web"
)

// fixers lists them, by group: each group has its own box, since that of eslint runs code of the workspace. What formatters
// repair is repaired already, by package format.
func fixers() []check.Fixer { return []check.Fixer{ruff, web.BiomeFix, node.ESLintFix} }

// A Repairer repairs candidates. It is safe for concurrent use.
type Repairer struct {
	Boxes verify.Launcher
	// Tools are where those of the image lie; the zero value for check.Toolchain.
	Tools check.Tools
}

// Repair repairs the changeset of req, which failed its gates as they say. It returns the repaired changeset with what was done in
// a sentence, and "" where that would not settle all that there is against it: where another gate fails, or
// a finding can only be repaired by hand or in lines that are not the patch's. The error is trouble of the engine.
func (r *Repairer) Repair(ctx context.Context, req verify.Request, gates []check.Gate) (cs workspace.Changeset, what string, err error) {
	todo := findings(gates)
	if todo == nil {
		return cs, "", nil
	}
	done := map[string]map[string]bool{} // rules by the tool that repaired them
	cs = workspace.Changeset{Changes: slices.Clone(req.Changeset.Changes)}
	for _, f := range fixers() {
		files := todo[f.Check]
		if len(files) == 0 {
			continue
		}
		fixed := false
		if err := r.inBox(ctx, req, f.Group, func(b check.Bench) { fixed = fixAll(ctx, b, f, cs, files) }); err != nil || !fixed {
			return cs, "", err
		}
		done[f.Check] = rulesOf(slices.Concat(slices.Collect(maps.Values(files))...))
	}
	var parts []string
	for _, tool := range slices.Sorted(maps.Keys(done)) {
		parts = append(parts, fmt.Sprintf("%s repaired %s by itself", tool, strings.Join(slices.Sorted(maps.Keys(done[tool])), ", ")))
	}
	return cs, strings.Join(parts, "; "), nil
}

// findings returns what there is to repair, by check and file; nil where a repair would not be enough.
func findings(gates []check.Gate) map[string]map[string][]check.Finding {
	var todo map[string]map[string][]check.Finding
	for _, g := range gates {
		if g.Verdict == check.Pass {
			continue
		}
		if g.Name != check.GateLint || g.Verdict != check.Fail || len(g.Findings) == 0 {
			return nil
		}
		todo = map[string]map[string][]check.Finding{}
		for _, f := range g.Findings {
			i := slices.IndexFunc(fixers(), func(x check.Fixer) bool { return x.Check == f.Tool })
			if i < 0 || f.File == "" || !f.Fixable {
				return nil
			}
			if todo[f.Tool] == nil {
				todo[f.Tool] = map[string][]check.Finding{}
			}
			todo[f.Tool][f.File] = append(todo[f.Tool][f.File], f)
		}
	}
	return todo
}

// inBox lets use work in a box that holds the base of req and nothing of the patch, so that the configuration which
// holds is the one of before.
func (r *Repairer) inBox(ctx context.Context, req verify.Request, group string, use func(check.Bench)) error {
	box, err := r.Boxes.Start(ctx, sandbox.Spec{
		Image: req.Snapshot, Delta: req.Delta, Run: req.Run, Purpose: "repair-" + group, Lease: req.Lease,
		Limits: room.For(req.Config.Limits, req.Base), Runtime: req.Config.Runtime,
	})
	if err != nil {
		return fmt.Errorf("start a box to repair in: %w", err)
	}
	b := check.Bench{Box: box, Tools: r.Tools, View: check.NewView(req.Base, workspace.Changeset{}), Timeout: req.Config.Timeout}
	if r.Tools == (check.Tools{}) {
		b.Tools, _ = node.Suited(check.Toolchain, nil, b.View)
	}
	use(b)
	if err := box.Release(ctx); err != nil {
		return fmt.Errorf("give the box back that was repaired in: %w", err)
	}
	return ctx.Err()
}

// fixAll repairs the files that one linter has findings in, and reports whether that settles all of them.
func fixAll(ctx context.Context, b check.Bench, f check.Fixer, cs workspace.Changeset, files map[string][]check.Finding) bool {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		i := slices.IndexFunc(cs.Changes, func(c workspace.Change) bool { return c.Path == name && c.Op != workspace.Delete })
		if i < 0 {
			return false
		}
		c := &cs.Changes[i]
		fixed, out := f.Fix(ctx, b, name, c.After, slices.Sorted(maps.Keys(rulesOf(files[name]))))
		if fixed == nil || out.Verdict != "" {
			return false
		}
		text, taken := within(c.Before, c.After, fixed)
		if len(taken) == 0 {
			return false
		}
		c.After = text
	}
	return true
}

// rulesOf names the rules of findings.
func rulesOf(list []check.Finding) map[string]bool {
	rules := map[string]bool{}
	for _, f := range list {
		rules[f.Rule] = true
	}
	return rules
}

// within returns what becomes of a text that a patch made of before when of its fixed form only what rewrites lines of the
// patch is taken, and these places.
func within(before, text, fixed []byte) (merged []byte, taken []check.Region) {
	own := map[int]bool{}
	for _, r := range compare.Regions(before, text) {
		for n := r.NewFrom; n < r.NewTo; n++ {
			own[n] = true
		}
	}
	old, now := strings.SplitAfter(string(text), "\n"), strings.SplitAfter(string(fixed), "\n")
	var out strings.Builder
	at := 1 // the next line of text to be copied
	for _, r := range singly(compare.Regions(text, fixed)) {
		inside := r.OldTo > r.OldFrom || own[r.OldFrom-1] || own[r.OldFrom] // lines that are new stand beside one of the patch
		for n := r.OldFrom; n < r.OldTo; n++ {
			inside = inside && own[n]
		}
		if !inside {
			continue
		}
		out.WriteString(strings.Join(old[at-1:r.OldFrom-1], ""))
		out.WriteString(strings.Join(now[r.NewFrom-1:r.NewTo-1], ""))
		at, taken = r.OldTo, append(taken, r)
	}
	out.WriteString(strings.Join(old[at-1:], ""))
	return []byte(out.String()), taken
}

// singly takes places apart in which each line has its own successor, or all go, so that each line counts by itself.
func singly(places []check.Region) (list []check.Region) {
	for _, r := range places {
		keep := r.NewTo - r.NewFrom
		if keep != 0 && keep != r.OldTo-r.OldFrom {
			list = append(list, r)
			continue
		}
		for n := range r.OldTo - r.OldFrom {
			to := r.NewFrom + min(n, keep)
			list = append(list, check.Region{OldFrom: r.OldFrom + n, OldTo: r.OldFrom + n + 1, NewFrom: to, NewTo: min(to+1, r.NewTo)})
		}
	}
	return list
}

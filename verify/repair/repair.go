// Package repair has linters repair a patch to which only they object, before a model is asked. Each linter runs in a
// box and applies only fixes that its makers call safe. One row of fixers is one linter.
//
// The package takes a repair only if it rewrites lines of the patch itself. It judges nothing and trusts nothing:
// what it returns is another candidate, for fresh boxes.
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

// fixers lists the linters. Each group has its own box, since eslint's box runs code of the workspace. Package format
// has already repaired what formatters repair.
func fixers() []check.Fixer { return []check.Fixer{ruff, web.BiomeFix, node.ESLintFix} }

// A Repairer repairs candidates. It is safe for concurrent use.
type Repairer struct {
	Boxes verify.Launcher
	// Tools are the places of the image's tools. The zero value means check.Toolchain.
	Tools check.Tools
}

// Repair repairs the changeset of req, which failed the given gates. It returns the repaired changeset and a sentence
// about what was done, or "" if a repair would not settle everything against the changeset: another gate fails, or a
// finding can only be repaired by hand or in lines that are not the patch's. An error is trouble with the engine.
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

// findings returns what there is to repair, by check and file, or nil if a repair would not be enough.
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

// inBox calls use with a box that contains the base of req and nothing of the patch, so that the configuration from
// before the patch applies.
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
		return fmt.Errorf("give back the box of the repair: %w", err)
	}
	return ctx.Err()
}

// fixAll repairs the files in which one linter has findings, and reports whether that settles all of them.
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

// rulesOf returns the rules of findings.
func rulesOf(list []check.Finding) map[string]bool {
	rules := map[string]bool{}
	for _, f := range list {
		rules[f.Rule] = true
	}
	return rules
}

// within merges into text, which a patch made from before, only those parts of its fixed form that rewrite lines of
// the patch. taken lists these places.
func within(before, text, fixed []byte) (merged []byte, taken []check.Region) {
	own := map[int]bool{}
	for _, r := range compare.Regions(before, text) {
		for n := r.NewFrom; n < r.NewTo; n++ {
			own[n] = true
		}
	}
	old, now := strings.SplitAfter(string(text), "\n"), strings.SplitAfter(string(fixed), "\n")
	var out strings.Builder
	at := 1 // the next line of text to copy
	for _, r := range singly(compare.Regions(text, fixed)) {
		inside := r.OldTo > r.OldFrom || own[r.OldFrom-1] || own[r.OldFrom] // new lines must be next to a line of the patch
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

// singly splits places in which each line has its own successor, or all lines are removed, so that each line counts by itself.
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

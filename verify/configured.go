package verify

import (
	"context"
	"path"
	"slices"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/policy"
	"agent/verify/python"
	"agent/verify/trial"
)

// configured runs a check on the candidate cs, which is in the box, under the configuration of the base, whatever files
// that consists of. It also runs the check on the variants of cs. Afterwards all of cs is in the box again, for the
// checks that come next.
func (s *session) configured(ctx context.Context, def check.Check, b check.Bench, cs workspace.Changeset) check.Outcome {
	own, out := s.loaded(ctx, def, b, cs)
	if out.Verdict != "" {
		return out
	}
	rest := cs
	if !own.Empty() {
		_, rest = check.SplitChanges(cs, among(own))
		b.View = check.NewView(s.req.Base, rest)
		var paths []string
		for _, c := range own.Changes {
			paths = append(paths, c.Path)
		}
		s.results.keptBack(def.Name, paths)
	}
	out = def.Run(ctx, b)
	if len(out.Kept) > 0 {
		s.results.keptBack(def.Name, out.Kept)
	}
	if def.Variants != nil && out.Verdict == "" {
		for _, v := range def.Variants(s.base, b.View) {
			out = s.beside(ctx, def, b, rest, v, out)
		}
	}
	if !own.Empty() {
		if err := b.Box.Apply(ctx, own); err != nil {
			return check.Infraf("apply the patch's configuration: %v", err)
		}
		out.Detail += ", with its configuration as before the patch"
	}
	return out
}

// among returns a function that reports whether a path is in a changeset, on either side of a rename.
func among(cs workspace.Changeset) func(p string) bool {
	return func(p string) bool {
		return slices.ContainsFunc(cs.Changes, func(c workspace.Change) bool { return c.Path == p || check.OldPath(c) == p })
	}
}

// loaded undoes the changes in cs to files that a check's configuration consists of, before the patch or with it, and
// returns these changes.
func (s *session) loaded(ctx context.Context, def check.Check, b check.Bench, cs workspace.Changeset) (own workspace.Changeset, trouble check.Outcome) {
	if def.Closure == nil {
		return own, check.Outcome{}
	}
	may, _ := check.SplitChanges(cs, def.Closure.May)
	if may.Empty() || !check.Extends(s.base, def.Config) {
		return own, check.Outcome{}
	}
	if err := b.Box.Apply(ctx, may.Reverse()); err != nil {
		return own, check.Infraf("restore the configuration: %v", err)
	}
	b.View = s.base
	files, out, done := def.Closure.Files(ctx, b)
	if !done {
		return own, out
	}
	own, others := check.SplitChanges(may, func(p string) bool { return slices.Contains(files, p) })
	if others.Empty() {
		return own, check.Outcome{}
	}
	if err := b.Box.Apply(ctx, others); err != nil {
		return own, check.Infraf("apply the patch: %v", err)
	}
	if files, out, done = def.Closure.Files(ctx, b); !done {
		return own, out
	}
	// Files that only the patch makes it load are not configuration of the base, nor are the files that lead to them.
	if slices.ContainsFunc(files, among(others)) {
		if err := b.Box.Apply(ctx, others.Reverse()); err != nil {
			return own, check.Infraf("restore the configuration: %v", err)
		}
		return may, check.Outcome{}
	}
	return own, check.Outcome{}
}

// beside adds to the check's findings in cs those in a variant of it.
func (s *session) beside(ctx context.Context, def check.Check, b check.Bench, cs workspace.Changeset, v check.Variant, out check.Outcome) check.Outcome {
	back, rest := check.SplitChanges(cs, v.Back)
	if back.Empty() || out.Verdict != "" {
		return out
	}
	if err := b.Box.Apply(ctx, back.Reverse()); err != nil {
		return check.Infraf("revert part of the patch: %v", err)
	}
	b.View, b.Known = check.NewView(s.req.Base, rest), nil
	also := def.Run(ctx, b)
	if err := b.Box.Apply(ctx, back); err != nil {
		return check.Infraf("apply the patch: %v", err)
	}
	if out.Ending != nil {
		s.results.heldBack(def.Name, back, !out.Ending.Crashed() && (also.Ending == nil || also.Ending.Crashed()))
	}
	out = check.AddCost(out, also)
	if out.Verdict == "" && out.Blocked == "" {
		out.Blocked = also.Blocked
	}
	type place struct {
		file, rule, message string
		line, column        int
	}
	told := map[place]bool{}
	at := func(f check.Finding) place { return place{f.File, f.Rule, f.Message, f.Line, f.Column} }
	for _, f := range out.Findings {
		told[at(f)] = true
	}
	known := len(out.Findings)
	for _, f := range also.Findings {
		if f.File != "" && v.Counts(f.File) && !told[at(f)] {
			out.Findings = append(out.Findings, f)
		}
	}
	if len(out.Findings) > known {
		s.results.keptBack(def.Name, nil)
	}
	return out
}

// keptBack records that a check judged with the configuration from before the patch. The changes in paths are held, and
// the outcome is not a baseline for the resulting workspace.
func (r *results) keptBack(name string, paths []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.partial[name] = true
	for _, p := range paths {
		h := policy.Hold{Path: p, Kind: policy.Tooling, Block: true, Reason: "It is part of the configuration of the tools that judge the patch: " + name + " loads it."}
		if !slices.Contains(r.configuring, h) {
			r.configuring = append(r.configuring, h)
		}
	}
}

// heldBack records that the patch changes what a gate of the workspace consists of: no run shows what the gate lets
// pass from now on. fails says that the gate passes only with these changes.
func (r *results) heldBack(name string, own workspace.Changeset, fails bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reason := "The gate " + name + " starts it."
	if fails {
		reason = "The gate " + name + " starts it, and fails with the version from before the patch."
	}
	for _, c := range own.Changes {
		r.configuring = append(r.configuring, policy.Hold{Path: c.Path, Kind: policy.Tooling, Block: true, Reason: reason})
	}
}

// keep saves the tree of the base, which is in the box before cs is applied, if workspace code runs inside one of the
// checks. It returns where.
func (s *session) keep(ctx context.Context, b check.Bench, defs []check.Check, cs workspace.Changeset) (tree string, err error) {
	if !slices.ContainsFunc(defs, func(def check.Check) bool { return def.Plugged != nil && def.Plugged(s.base) }) {
		return "", nil
	}
	return python.KeepTree(ctx, b, cs)
}

// misconfigured reports whether a check rejects the candidate under a configuration of the base that the patch changes,
// and a person wrote the patch: a model would switch off what rejects it. It is called with mu held.
func (r *results) misconfigured(def check.Check, g check.Gate) bool {
	if g.Verdict != check.Fail || len(g.Findings) == 0 || def.Config == nil || r.request.Model {
		return false
	}
	config, _ := splitConfig(r.final)
	return r.partial[def.Name] || slices.ContainsFunc(config.Changes, func(c workspace.Change) bool { return slices.Contains(def.Config, path.Base(c.Path)) })
}

// bring runs the waiting checks under the configuration of the patch, which was approved in advance. Findings that
// occur only under the configuration of the base are then held and are not faults.
func (s *session) bring(ctx context.Context) {
	s.results.mu.Lock()
	names := slices.Clone(s.results.waiting)
	s.results.mu.Unlock()
	for _, name := range names {
		def, out := checkNamed(name), check.Outcome{}
		give := s.turn(ctx)
		err := s.withBox(ctx, s.req.patched(), "brought-", def.Group, func(box *sandbox.Box) {
			if err := box.Apply(ctx, s.final); err != nil {
				out = check.Infraf("apply the patch: %v", err)
				return
			}
			b := s.bench(box, check.NewView(s.req.Base, s.final), check.Entry{})
			b.Reach, b.Leave = s.reach[name], s.leaves(def)
			out = def.Run(ctx, b)
		})
		give()
		if err != nil {
			out = check.Infraf("%v", err)
		}
		if ctx.Err() == nil {
			s.results.bring(name, out)
		}
	}
}

// bring records the findings of a check under the configuration of the patch, which its judgement has waited for.
func (r *results) bring(name string, out check.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g, reason := judge(r.named(name), r.base[name], out.Beside(r.base[name], r.left[name]), r.proof[name], r.diff)
	r.brought[name] = reason == "" && g.Verdict == check.Pass
	r.judge(name)
}

// asBrought returns the judgement of a check whose findings are gone under the configuration of the patch.
func asBrought(g check.Gate) check.Gate {
	g.Verdict, g.Findings = check.Policy, slices.Clone(g.Findings)
	for i := range g.Findings {
		f := &g.Findings[i]
		f.Message = check.Join([]string{f.Rule, f.Message}, ": ") + " (with the configuration before the patch; the patch's configuration allows it)"
		f.Rule = trial.RuleConfigured
	}
	return g
}

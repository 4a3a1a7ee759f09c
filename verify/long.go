package verify

import (
	"context"
	"maps"
	"slices"

	"agent/verify/check"
	"agent/verify/node"
)

// mayBeLong reports whether some test files can stand in for all tests of a check.
func mayBeLong(def check.Check) bool { return def.Repeats && def.Name != node.CommandsName }

// recallLong determines which checks recently did not end in time on both sides. These are not run as a whole: narrow
// runs some of their test files right away.
func (s *session) recallLong(ctx context.Context) {
	for _, def := range checks() {
		if !mayBeLong(def) {
			continue
		}
		if since, ok := s.store.Long(ctx, s.req.Base.Root, s.base.Paths(), def.Name); ok {
			s.since[def.Name] = since
		}
	}
	if len(s.since) == 0 {
		return
	}
	// An outcome for exactly this base is better.
	known := map[string]check.Outcome{}
	if _, err := s.store.Load(ctx, s.store.BaselineKey(standing(s.req.Base.Digest(), s.req.Installed), check.GroupTests), &known); err != nil {
		s.results.note(err.Error())
	}
	for name := range known {
		delete(s.since, name)
	}
}

// hurried reports whether a check that runs no tests ended in time without the patch and not with it: boxes of the same
// judgement may have kept the machine busy. It is called with mu held.
func (r *results) hurried(def check.Check, base, cand check.Outcome) bool {
	static := def.Group == check.GroupStatic || slices.Contains(node.OwnGroups, def.Group)
	return static && cand.Verdict == check.Timeout && base.Verdict == "" && !r.retimed[def.Name]
}

// retime repeats the checks for which hurried is true, while no other box of this judgement is running.
func (s *session) retime(ctx context.Context) {
	for _, def := range s.results.hurriedAway() {
		out, ran := s.rerun(ctx, "alone-", []check.Check{def}, s.final)[def.Name]
		s.results.ranAlone(def.Name, out, ran && ctx.Err() == nil)
	}
}

// hurriedAway lists the checks that wait for retime.
func (r *results) hurriedAway() (defs []check.Check) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(r.cand)) {
		_, skipped := r.skipped[name]
		if base, compared := r.base[name]; compared && !skipped && r.hurried(r.named(name), base, r.cand[name]) {
			defs = append(defs, r.named(name))
		}
	}
	return defs
}

// ranAlone records how a check ended alone, if it ran, and judges it.
func (r *results) ranAlone(name string, out check.Outcome, ran bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retimed[name] = true
	if ran {
		r.cand[name] = out
	}
	r.judge(name)
}

// timedOut returns the outcome, on either side, of a check that recently did not end in time; ok is false for other checks.
func (s *session) timedOut(def check.Check) (out check.Outcome, ok bool) {
	_, ok = s.since[def.Name]
	return check.Outcome{Verdict: check.Timeout, Detail: def.Name}, ok
}

// keepLong remembers that a check did not end in time on both sides, unless recallLong has just recalled that.
func (s *session) keepLong(ctx context.Context, name string) {
	if _, known := s.since[name]; known || s.results.late(name) < 2 {
		return
	}
	if err := s.store.SaveLong(ctx, s.req.Base.Root, s.base.Paths(), name); err != nil {
		s.results.note(err.Error())
	}
}

package verify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"agent/sandbox"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/policy"
	"agent/verify/trial"
)

// trials prepares the second run of each check of tests that existed before, if the patch touches the tests or what
// they are made of.
func (s *session) trials(defs []check.Check) (todo []check.Check) {
	parts := trial.SplitPatch(s.req.Base, s.req.Changeset)
	t := trial.Trial{Aids: parts.Aids, Values: parts.Values, Before: s.base, OnlyRemoved: parts.OnlyRemoves()}
	if !s.req.Model {
		t.Names = parts.Lost(check.NewView(s.req.Base, s.req.Changeset))
	}
	if !parts.Wanted() && len(t.Names) == 0 {
		return nil
	}
	for _, def := range defs {
		if def.Applies(s.base) == "" && def.Applies(check.NewView(s.req.Base, parts.Program)) == "" {
			s.results.await(def.Name, t)
			todo = append(todo, def)
		}
	}
	return todo
}

// unaided runs a check of tests in its own box, with only the patch's changes to the program. Like program, it records
// nothing if ctx ends.
func (s *session) unaided(ctx context.Context, def check.Check) {
	if s.idle(def) {
		s.results.tried(def.Name, check.Outcome{})
		return
	}
	if _, long := s.timedOut(def); long || s.results.late(def.Name) > 0 {
		s.results.tried(def.Name, check.Outcome{Verdict: check.Timeout}) // see narrow
		return
	}
	err := s.withBox(ctx, s.req.patched(), "unaided-", def.Group, func(box *sandbox.Box) {
		select {
		case <-s.settled:
		case <-ctx.Done():
			return
		}
		program := trial.SplitPatch(s.req.Base, s.final).Program
		if err := box.Apply(ctx, program); err != nil {
			s.results.tried(def.Name, check.Infraf("apply the patch without its tests: %v", err))
			return
		}
		out := def.Run(ctx, s.within(s.bench(box, check.NewView(s.req.Base, program), s.after), def))
		if ctx.Err() == nil {
			s.results.tried(def.Name, out)
		}
	})
	if err != nil && ctx.Err() == nil {
		s.results.tried(def.Name, check.Infraf("%v", err))
	}
}

// await makes the judgement of a check wait for its trial.
func (r *results) await(name string, t trial.Trial) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trials[name] = &t
}

// tried records the outcome of a trial.
func (r *results) tried(name string, out check.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trials[name].Old = &out
	r.judge(name)
}

// predate runs rewritten tests once more, in their new form and on the old program, after everything else is done, and
// judges the checks: a test that was made to accept both programs proves nothing.
func (s *session) predate(ctx context.Context) {
	parts := trial.SplitPatch(s.req.Base, s.final)
	for name, ids := range s.results.due((*trial.Trial).Asked) {
		def, out := checkNamed(name), check.Outcome{}
		give := s.turn(ctx)
		err := s.withBox(ctx, s.req.layer(), "predate-", def.Group, func(box *sandbox.Box) {
			if err := box.Apply(ctx, parts.Tests); err != nil {
				out = check.Infraf("apply the tests of the patch: %v", err)
				return
			}
			b := s.bench(box, check.NewView(s.req.Base, parts.Tests), check.Entry{})
			b.Only = ids
			out = def.Run(ctx, b)
		})
		give()
		if err != nil {
			out = check.Infraf("%v", err)
		}
		// Tests without a measurement prove nothing, so they block.
		if ctx.Err() == nil {
			s.results.answered(name, out)
		}
	}
}

// confirm repeats tests, in their old form on the patched program, that would block because they failed there once.
func (s *session) confirm(ctx context.Context) {
	program := trial.SplitPatch(s.req.Base, s.final).Program
	for name, ids := range s.results.due((*trial.Trial).Doubted) {
		count, deadline := map[string]compare.Tally{}, time.Now().Add(s.req.Config.Timeout)
		for left := trial.Confirmations; !s.results.settled(name, count, left); left-- {
			give := s.turn(ctx)
			compare.Count(count, s.repeatOnce(ctx, checkNamed(name), program, ids, nil, deadline))
			give()
		}
		if ctx.Err() == nil {
			s.results.confirmed(name, count)
		}
	}
}

// settled reports whether more runs of the tests that a trial doubts would show nothing; left is how many runs are left.
func (r *results) settled(name string, count map[string]compare.Tally, left int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trials[name].Settled(count, left)
}

// confirmed records how these tests ended and judges the check again.
func (r *results) confirmed(name string, count map[string]compare.Tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trials[name].Confirm(count)
	r.judge(name)
}

// due returns the tests that trials select for another run, by check.
func (r *results) due(named func(*trial.Trial) []string) map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	todo := map[string][]string{}
	for name, t := range r.trials {
		if _, skipped := r.skipped[name]; !skipped && len(named(t)) > 0 {
			todo[name] = named(t)
		}
	}
	return todo
}

// answered records how these tests ended; the judgement has waited for it.
func (r *results) answered(name string, out check.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trials[name].New = &out
	r.judge(name)
}

// Approvals lists the kinds of approval that would let gates with the verdict Policy pass; see trial.Approvals.
func Approvals(gates []Gate) []string { return trial.Approvals(gates) }

// maxApproved bounds the holds for what was approved: ten are enough for a reviewer.
const maxApproved = 10

// approve lets a gate pass that only policy counts against, if all of that was approved in advance: it is then recorded
// as holds. It is called with mu held.
func (r *results) approve(name string, g check.Gate) check.Gate {
	kinds := trial.Approvals([]Gate{g})
	if len(kinds) == 0 || slices.ContainsFunc(kinds, func(kind string) bool { return !slices.Contains(r.request.Allow, kind) }) {
		return g
	}
	for i, f := range g.Findings {
		if i == maxApproved {
			g.Detail += fmt.Sprintf("; %d more that prove less than before", len(g.Findings)-i)
			break
		}
		r.approved[name] = append(r.approved[name], policy.Hold{Path: f.File, Kind: trial.ApprovedBy[f.Rule], Block: true, Reason: f.Message})
	}
	g.Verdict, g.Findings = check.Pass, []check.Finding{}
	return g
}

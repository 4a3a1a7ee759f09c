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

// trials prepares the second run of each check of tests that was there before,
// when the patch touches them or what they are made of.
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

// unaided runs a check of tests in a box of its own, on the program alone. Like
// program it records nothing when ctx ends.
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

// predate runs rewritten tests once more, as they are now and on the program as it was, when
// all else is done, and has the checks judged: a test that was made to accept both proves nothing.
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
		// What was not measured proves nothing, so the tests block.
		if ctx.Err() == nil {
			s.results.answered(name, out)
		}
	}
}

// confirm runs tests again as they were on the patched program that would block for having failed there once.
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

// settled reports whether more runs of the tests that a trial doubts, of which as many are left, would tell nothing.
func (r *results) settled(name string, count map[string]compare.Tally, left int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trials[name].Settled(count, left)
}

// confirmed records how these tests ended, and has the check judged again.
func (r *results) confirmed(name string, count map[string]compare.Tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trials[name].Confirm(count)
	r.judge(name)
}

// due returns the tests that trials name for another run, by their checks.
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

// answered records how these tests ended, for which the judgement has waited.
func (r *results) answered(name string, out check.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trials[name].New = &out
	r.judge(name)
}

// Approvals lists the kinds that would let gates pass whose verdict is Policy; see trial.Approvals.
func Approvals(gates []Gate) []string { return trial.Approvals(gates) }

// maxApproved bounds the holds of what was approved: who has seen ten has seen enough.
const maxApproved = 10

// approve lets a gate pass that only policy speaks against, where all of it was approved in
// advance: the record then has it as holds. It is called with mu held.
func (r *results) approve(name string, g check.Gate) check.Gate {
	kinds := trial.Approvals([]Gate{g})
	if len(kinds) == 0 || slices.ContainsFunc(kinds, func(kind string) bool { return !slices.Contains(r.request.Allow, kind) }) {
		return g
	}
	for i, f := range g.Findings {
		if i == maxApproved {
			g.Detail += fmt.Sprintf("; %d more of which less is proved than before", len(g.Findings)-i)
			break
		}
		r.approved[name] = append(r.approved[name], policy.Hold{Path: f.File, Kind: trial.ApprovedBy[f.Rule], Block: true, Reason: f.Message})
	}
	g.Verdict, g.Findings = check.Pass, []check.Finding{}
	return g
}

package verify

import (
	"context"
	"maps"
	"slices"
	"time"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/trial"
)

// How long the tests of mutants may run, besides those without one: as a share of what the gate took, and at least.
const (
	weighShare = 0.5
	leastWeigh = 10 * time.Second
)

// weigh measures rewritten tests by mutants, when all else is done and nothing speaks against the candidate.
func (s *session) weigh(ctx context.Context) {
	if !s.results.passed() {
		return
	}
	todo := s.results.weighings(s.earlier(ctx))
	for _, name := range slices.Sorted(maps.Keys(todo)) {
		if s.weighOne(ctx, checkNamed(name), todo[name]); ctx.Err() == nil {
			s.results.weighed(name, todo[name])
		}
	}
}

// mostEarlier bounds the test files of which it is asked what they held before.
const mostEarlier = 20

// earlier finds out what the test files that the candidate rewrites held before the last promotions. What cannot be had is remarked
// on: the tests of the base are there in any case.
func (s *session) earlier(ctx context.Context) map[string][]byte {
	texts := map[string][]byte{}
	for i, c := range trial.SplitPatch(s.req.Base, s.final).Tests.Changes {
		if i == mostEarlier || s.req.Earlier == nil {
			break
		}
		if c.Op == workspace.Create {
			continue
		}
		text, err := s.req.Earlier(ctx, check.OldPath(c), c.Before)
		if err != nil && ctx.Err() == nil {
			s.results.note(err.Error())
		}
		if text != nil && err == nil {
			texts[check.OldPath(c)] = text
		}
	}
	return texts
}

// weighOne runs the tests of a check as they were on mutants of the base, then those of now on the ones that these
// failed on, and the first that shows something once more.
func (s *session) weighOne(ctx context.Context, def check.Check, w *trial.Weighing) {
	least := leastWeigh
	if s.weighFor > 0 {
		least = s.weighFor
	}
	budget := max(least, time.Duration(weighShare*s.results.seconds(def.Name)*float64(time.Second)))
	// What a box is waited for costs no mutant.
	on := func(side trial.Side, lines check.Lines, share float64) {
		if len(w.Tests[side]) == 0 || ctx.Err() != nil {
			return
		}
		s.weighOn(ctx, def, w, side, func(m *trial.Mutants) {
			if m.Begin(ctx, lines) {
				m.Try(ctx, time.Now().Add(time.Duration(share*float64(budget))))
			}
		})
	}
	on(trial.AsWas, w.Lines, 0.5)
	on(trial.Earlier, nil, 0.1)
	if w.Wanted() {
		on(trial.AsIs, w.LinesNow(), 0.4)
	}
	if i, found := w.Weaker(); found {
		s.weighOn(ctx, def, w, w.ShownBy(i), func(m *trial.Mutants) { w.Confirmed(i, m.Run(ctx, i)) })
	}
}

// weighOn has use work in a box with the tests and the program of a side.
func (s *session) weighOn(ctx context.Context, def check.Check, w *trial.Weighing, side trial.Side, use func(m *trial.Mutants)) {
	layer, cs := s.req.layer(), workspace.Changeset{}
	switch side {
	case trial.AsIs:
		layer, cs = s.req.patched(), s.seenBy(def, s.final)
	case trial.Earlier:
		cs = w.Back
	}
	give := s.turn(ctx)
	defer give()
	err := s.withBox(ctx, layer, "weigh-", def.Group, func(box *sandbox.Box) {
		if err := box.Apply(ctx, cs); err != nil {
			w.Fail("apply the patch: " + err.Error())
			return
		}
		b := s.bench(box, check.NewView(s.req.Base, cs), check.Entry{})
		b.Only = w.Tests[side]
		use(w.In(def, side, b))
	})
	if err != nil {
		w.Fail(err.Error())
	}
}

// seconds is how long a check took with the patch.
func (r *results) seconds(name string) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cand[name].Seconds
}

// weighings prepares the measures that are due, by check; earlier is what the files of tests held before.
func (r *results) weighings(earlier map[string][]byte) map[string]*trial.Weighing {
	r.mu.Lock()
	defer r.mu.Unlock()
	todo := map[string]*trial.Weighing{}
	for name, t := range r.trials {
		if _, judged := r.judged[name]; !judged {
			continue
		}
		t.Earlier = earlier
		if w := t.Weigh(r.base[name], r.cand[name], r.diff, r.final, check.NewView(r.request.Base, r.final)); w != nil {
			todo[name] = w
		}
	}
	return todo
}

// weighed takes in what a measure has come to; the report says what it cost.
func (r *results) weighed(name string, w *trial.Weighing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trials[name].Weighed(w)
	g := r.judged[name]
	g.Detail = check.Join([]string{g.Detail, w.Said()}, "; ")
	r.judged[name] = g
}

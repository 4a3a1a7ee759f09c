package verify

import (
	"context"
	"maps"
	"slices"
	"time"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/contrary"
	"agent/verify/trial"
)

// How long the tests of mutants may run, in addition to those without a mutant: as a share of the gate's duration, and at least.
const (
	weighShare = 0.5
	leastWeigh = 10 * time.Second
)

// measure finds out what the tests are worth, after everything else is done and if nothing counts against the candidate. Mutants and
// altered expected values do not depend on each other, so they are tried at the same time.
func (s *session) measure(ctx context.Context) {
	if !s.results.passed() {
		return
	}
	asked := make(chan map[string]*contrary.Question, 1)
	go func() { asked <- s.contradict(ctx) }()
	s.weigh(ctx)
	questions := <-asked
	for _, name := range slices.Sorted(maps.Keys(questions)) {
		s.results.contradicted(name, questions[name])
	}
}

// weigh measures rewritten tests by mutants.
func (s *session) weigh(ctx context.Context) {
	todo := s.results.weighings(s.earlier(ctx))
	for _, name := range slices.Sorted(maps.Keys(todo)) {
		if s.weighOne(ctx, checkNamed(name), todo[name]); ctx.Err() == nil {
			s.results.weighed(name, todo[name])
		}
	}
}

// mostEarlier bounds for how many test files the earlier content is requested.
const mostEarlier = 20

// earlier returns what the test files that the candidate rewrites held before the last promotions. A failure is only
// noted: the tests of the base are available in any case.
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

// weighOne runs the old tests of a check on mutants of the base, then the new tests on the mutants that the old ones
// failed on. It runs the first mutant that shows something once more.
func (s *session) weighOne(ctx context.Context, def check.Check, w *trial.Weighing) {
	least := leastWeigh
	if s.weighFor > 0 {
		least = s.weighFor
	}
	budget := max(least, time.Duration(weighShare*s.results.seconds(def.Name)*float64(time.Second)))
	// The wait for a box does not count against the time for mutants.
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

// weighOn calls use with a box that holds the tests and the program of a side.
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

// seconds returns how long a check took with the patch.
func (r *results) seconds(name string) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cand[name].Seconds
}

// weighings prepares the measurements that are due, by check; earlier is the earlier content of test files.
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

// weighed records the result of a measurement; the report says what it cost.
func (r *results) weighed(name string, w *trial.Weighing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trials[name].Weighed(w)
	g := r.judged[name]
	g.Detail = check.Join([]string{g.Detail, w.Said()}, "; ")
	r.judged[name] = g
}

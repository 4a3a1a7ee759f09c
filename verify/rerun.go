package verify

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/compare"
)

// repeat runs the suspects of each check again, with the patch and without, when
// all else is done, and has the checks judged. The judgement waits for it, so a repetition
// that cannot be made excuses nothing.
func (s *session) repeat(ctx context.Context) {
	todo := s.results.suspected()
	for _, name := range slices.Sorted(maps.Keys(todo)) {
		def, again := checkNamed(name), compare.Repetition{Suspects: todo[name]}
		var before, after []string
		for _, one := range again.Suspects {
			before, after = append(before, one.Base), append(after, one.Cand)
		}
		// All of it together may take as long as the gate itself.
		deadline := time.Now().Add(s.req.Config.Timeout)
		again.Cand = s.repeats(ctx, def, s.final, after, deadline)
		// Otherwise no test is flaky, whatever it does before the patch.
		if slices.ContainsFunc(again.Suspects, func(one compare.Suspect) bool { return again.Cand[one.Cand].Passed > 0 }) {
			again.Base = s.repeats(ctx, def, workspace.Changeset{}, before, deadline)
		}
		if ctx.Err() == nil {
			s.results.repeated(name, again)
		}
	}
}

// maxRepeats is how often, on each side, each time in a box of its own: what a
// test leaves behind must not make the next time fail. It is below maxBoxes.
const maxRepeats = 3

// repeats runs tests of one side, each time in a box of its own and all at once,
// and counts how they end. A run that comes to no end of its own counts for nothing.
func (s *session) repeats(ctx context.Context, def check.Check, cs workspace.Changeset, ids []string, deadline time.Time) map[string]compare.Tally {
	var mu sync.Mutex
	count := map[string]compare.Tally{}
	var wg sync.WaitGroup
	for range maxRepeats {
		give := s.turn(ctx)
		wg.Go(func() {
			defer give()
			err := s.withBox(ctx, s.req.layer(), "repeat-", def.Group, func(box *sandbox.Box) {
				b := s.bench(box, check.NewView(s.req.Base, cs), check.Entry{})
				b.Only, b.Timeout = ids, time.Until(deadline)
				if b.Timeout <= 0 || !cs.Empty() && box.Apply(ctx, cs) != nil {
					return
				}
				out := def.Run(ctx, b)
				mu.Lock()
				defer mu.Unlock()
				compare.Count(count, out)
			})
			if err != nil && ctx.Err() == nil {
				s.results.note(err.Error())
			}
		})
	}
	wg.Wait()
	return count
}

// suspected returns the suspects of the checks that wait for their repetition.
func (r *results) suspected() map[string][]compare.Suspect {
	r.mu.Lock()
	defer r.mu.Unlock()
	todo := map[string][]compare.Suspect{}
	for name, list := range r.suspects {
		if _, skipped := r.skipped[name]; !skipped {
			todo[name] = list
		}
	}
	return todo
}

// repeated records a repetition, for which the judgement has waited.
func (r *results) repeated(name string, again compare.Repetition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.repetitions[name] = &again
	r.judge(name)
}

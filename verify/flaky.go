package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
)

const (
	// maxSuspects is how many failing tests are repeated. A patch that breaks more
	// has broken something.
	maxSuspects = 5
	// maxRepeats is how often, on each side, each time in a box of its own: what a
	// test leaves behind must not make the next time fail. It is below maxBoxes.
	maxRepeats = 3
)

// A suspect is a test that passed before the patch and failed with it, by its ID
// on each side.
type suspect struct{ base, cand string }

// A repetition is what became of the suspects of one check: how often each, by its
// ID on that side, ended how.
type repetition struct {
	suspects   []suspect
	base, cand map[string]tally
}

// A tally counts the repeats of one test.
type tally struct{ passed, failed int }

// suspects lists the tests whose failing is all that a judgement holds against the
// patch, nil when there are too many or when something else speaks against it
// too: then it does not matter which of them fail by chance.
func suspects(g check.Gate, base, cand check.Outcome, d check.Diff) []suspect {
	if g.Verdict != check.Fail || base.Verdict != "" || base.Blocked != "" || cand.Blocked != "" {
		return nil
	}
	passed := map[string]string{}
	for _, r := range base.Tests {
		if r.Outcome == "passed" {
			passed[d.NewID(r.ID)] = r.ID
		}
	}
	var list []suspect
	for _, r := range cand.Tests {
		// A test can be asked for by its ID, unless its runner took that for an option.
		// What fails because of the tests in it is repeated with them.
		if old, ok := passed[r.ID]; ok && r.Bad() && r.Ran() && !r.Within && !strings.HasPrefix(r.ID, "-") && !strings.HasPrefix(old, "-") {
			list = append(list, suspect{old, r.ID})
		}
	}
	against := 0
	for _, f := range g.Findings {
		if !check.TestPolicy[f.Rule] {
			against++
		}
	}
	if len(list) != against || len(list) > maxSuspects {
		return nil
	}
	return list
}

// flaky says that a test fails by chance: some of the repeats before the patch
// failed and some passed, and with the patch some passed. A test that fails each
// time with the patch is the patch's, however it was before.
func (r *repetition) flaky(s suspect) (why string, ok bool) {
	base, cand := r.base[s.base], r.cand[s.cand]
	if base.failed == 0 || base.passed == 0 || cand.passed == 0 {
		return "", false
	}
	return fmt.Sprintf("flaky: failed %d of %d times before the patch", base.failed, base.failed+base.passed), true
}

// excuse shows both sides as they would be if the flaky tests had failed before the
// patch too: they are then told as old.
func (r *repetition) excuse(base, cand check.Outcome) (check.Outcome, check.Outcome) {
	if r == nil {
		return base, cand
	}
	base.Tests, cand.Tests = slices.Clone(base.Tests), slices.Clone(cand.Tests)
	for _, s := range r.suspects {
		why, ok := r.flaky(s)
		if !ok {
			continue
		}
		for i, t := range base.Tests {
			if t.ID == s.base {
				base.Tests[i].Outcome = "failed"
			}
		}
		for i, t := range cand.Tests {
			if t.ID == s.cand {
				cand.Tests[i].Message = why + ": " + t.Message
			}
		}
	}
	return base, cand
}

// repeat runs the suspects of each check again, with the patch and without, when
// all else is done, and has the checks judged. The judgement waits for it, so a repetition
// that cannot be made excuses nothing.
func (s *session) repeat(ctx context.Context) {
	todo := s.results.suspected()
	for _, name := range slices.Sorted(maps.Keys(todo)) {
		def, again := checkNamed(name), repetition{suspects: todo[name]}
		var before, after []string
		for _, one := range again.suspects {
			before, after = append(before, one.base), append(after, one.cand)
		}
		// All of it together may take as long as the gate itself.
		deadline := time.Now().Add(s.req.Config.Timeout)
		again.cand = s.repeats(ctx, def, s.final, after, deadline)
		// Otherwise no test is flaky, whatever it does before the patch.
		if slices.ContainsFunc(again.suspects, func(one suspect) bool { return again.cand[one.cand].passed > 0 }) {
			again.base = s.repeats(ctx, def, workspace.Changeset{}, before, deadline)
		}
		if ctx.Err() == nil {
			s.results.repeated(name, again)
		}
	}
}

// repeats runs tests of one side, each time in a box of its own and all at once,
// and counts how they end. A run that comes to no end of its own counts for nothing.
func (s *session) repeats(ctx context.Context, def check.Check, cs workspace.Changeset, ids []string, deadline time.Time) map[string]tally {
	var mu sync.Mutex
	count := map[string]tally{}
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
				tallied(count, out)
			})
			if err != nil && ctx.Err() == nil {
				s.results.note(err.Error())
			}
		})
	}
	wg.Wait()
	return count
}

// tallied adds one run to the count of its tests.
func tallied(count map[string]tally, out check.Outcome) {
	if out.Verdict != "" || out.AnyBlocked() {
		return
	}
	for _, t := range out.Tests {
		n := count[t.ID]
		switch {
		case t.Bad():
			n.failed++
		case t.Outcome == "passed":
			n.passed++
		}
		count[t.ID] = n
	}
}

// suspected returns the suspects of the checks that wait for their repetition.
func (r *results) suspected() map[string][]suspect {
	r.mu.Lock()
	defer r.mu.Unlock()
	todo := map[string][]suspect{}
	for name, list := range r.suspects {
		if _, skipped := r.skipped[name]; !skipped {
			todo[name] = list
		}
	}
	return todo
}

// repeated records a repetition, for which the judgement has waited.
func (r *results) repeated(name string, again repetition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.repetitions[name] = &again
	r.judge(name)
}

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

// contradict runs tests with other expected values, since a test that passes whatever it expects says nothing. It returns what was
// asked of each check, with the answers.
func (s *session) contradict(ctx context.Context) map[string]*contrary.Question {
	todo := s.results.questions()
	for _, name := range slices.Sorted(maps.Keys(todo)) {
		q := todo[name]
		for patched, cs, due := q.Next(); due && ctx.Err() == nil; patched, cs, due = q.Next() {
			s.asksOtherwise(ctx, checkNamed(name), q, patched, cs)
		}
	}
	return todo
}

// asksOtherwise performs the run of q that is due, on the patch or on the base.
func (s *session) asksOtherwise(ctx context.Context, def check.Check, q *contrary.Question, patched bool, tests workspace.Changeset) {
	layer, cs := s.req.layer(), workspace.Changeset{}
	if patched {
		layer, cs = s.req.patched(), s.seenBy(def, s.final)
	}
	give := s.turn(ctx)
	defer give()
	err := s.withBox(ctx, layer, "contrary-", def.Group, func(box *sandbox.Box) {
		for _, part := range []workspace.Changeset{cs, tests} {
			if err := box.Apply(ctx, part); err != nil {
				q.Fail("the tests with altered expected values were not written: " + err.Error())
				return
			}
		}
		b := s.bench(box, check.NewView(s.req.Base, cs), check.Entry{})
		b.Only = q.Tests
		b.Timeout = min(b.Timeout, max(leastWeigh, 2*time.Duration(s.results.seconds(def.Name)*float64(time.Second))))
		q.Ended(def.Run(ctx, b))
	})
	if err != nil {
		q.Fail("the tests with altered expected values were not run: " + err.Error())
	}
}

// questions prepares the questions for the checks of tests that judged, by check.
func (r *results) questions() map[string]*contrary.Question {
	r.mu.Lock()
	defer r.mu.Unlock()
	todo, program := map[string]*contrary.Question{}, trial.SplitPatch(r.request.Base, r.final).Program
	for name := range r.judged {
		if def := r.named(name); def.Gate == check.GateTests && def.Repeats && def.Group == check.GroupTests {
			if q := contrary.Ask(check.NewView(r.request.Base, workspace.Changeset{}), check.NewView(r.request.Base, r.final), r.base[name].Tests, program); q != nil {
				todo[name] = q
			}
		}
	}
	return todo
}

// contradicted records the answer to a question.
func (r *results) contradicted(name string, q *contrary.Question) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.contrary = append(r.contrary, q.Holds()...)
	g := r.judged[name]
	g.Detail = check.Join([]string{g.Detail, q.Trouble()}, "; ")
	r.judged[name] = g
}

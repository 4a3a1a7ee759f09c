package builder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"agent/orchestrator/crew"
	"agent/orchestrator/gate/batch"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

// An arrival is a change that passed and is to be added to the integration tree.
type arrival struct {
	task crew.Task
	got  trial
	// at is the attempt that merges it.
	at Attempt
	// over says that it has landed or has failed to; problem concerns the whole plan.
	over    bool
	problem *run.Problem
}

// A company is the tries whose changes passed together. They land together, since only that was proved.
type company struct {
	left    int // members that have neither arrived nor left
	arrived []*arrival
	broken  bool          // a member left: the others alone are not proved
	whole   chan struct{} // closed when all have arrived or left
}

// land adds a task's change to the integration tree: as it is if the tree has not moved since, and otherwise merged and
// judged again. Changes that arrive while another is judged wait, and all of them are then merged and judged together.
func (w *work) land(ctx context.Context, n int, got trial) (trial, *run.Problem) {
	t, _ := w.task(n)
	a := &arrival{task: t, got: got}
	if whole := w.arrives(a); whole != nil {
		select {
		case <-whole:
		case <-ctx.Done():
			return got, trouble(ctx, "", ctx.Err())
		}
	}
	w.landing.Lock()
	defer w.landing.Unlock()
	if !a.over {
		w.mu.Lock()
		all := w.arrived
		w.arrived = nil
		w.mu.Unlock()
		problem := w.landAll(ctx, all)
		for _, other := range all {
			if !other.over {
				other.over, other.problem = true, problem
			}
		}
	}
	return a.got, a.problem
}

// arrives queues a change to land. A change that passed with others waits until the returned channel, otherwise nil, is closed.
func (w *work) arrives(a *arrival) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.got.with == nil {
		w.arrived = append(w.arrived, a)
		return nil
	}
	c := w.company(a.got.with)
	c.arrived = append(c.arrived, a)
	w.gathered(c)
	return c.whole
}

// leave says that of all changes judged together with a try, none lands except those of got.with.
func (w *work) leave(got trial) {
	if got.member == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range got.member.Batches() {
		if b != got.with {
			c := w.company(b)
			c.broken = true
			w.gathered(c)
		}
	}
}

// company returns the company of a batch; mu is held.
func (w *work) company(b *batch.Batch) *company {
	c := w.batches[b]
	if c == nil {
		c = &company{left: len(b.Members), whole: make(chan struct{})}
		w.batches[b] = c
	}
	return c
}

// gathered notes that one more has arrived or left; mu is held.
func (w *work) gathered(c *company) {
	if c.left--; c.left > 0 {
		return
	}
	slices.SortFunc(c.arrived, func(a, b *arrival) int { return cmp.Compare(a.task.N, b.task.N) })
	w.arrived = append(w.arrived, c.arrived...)
	close(c.whole)
}

// landAll lands changes: first those that are proved on the present tree, then the others.
func (w *work) landAll(ctx context.Context, all []*arrival) *run.Problem {
	var rest []*arrival
	proved := map[*batch.Batch]bool{} // batches whose first change landed as it is
	for _, a := range all {
		ok := proved[a.got.with]
		if !ok {
			tree, problem := w.tree(ctx, w.on(a))
			if problem != nil {
				return problem
			}
			ok = w.proved(a, tree)
		}
		if !ok {
			rest = append(rest, a)
			continue
		}
		if a.got.with != nil {
			proved[a.got.with] = true
		}
		if problem := w.arrive(ctx, a); problem != nil {
			return problem
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return w.merge(ctx, rest)
}

// proved reports whether a change is proved on a tree, alone or with all the others of its company, which land with it.
func (w *work) proved(a *arrival, tree *workspace.Manifest) bool {
	same := tree.Digest() == a.got.proof.Snapshot
	switch {
	case w.again != nil:
		_, merged := w.again.find(LandKind, a.task.N, a.got.attempt.Try)
		return same || !merged // then judged together with what landed before it, and now alone
	case a.got.unsure:
		return false
	case a.got.with != nil:
		w.mu.Lock()
		defer w.mu.Unlock()
		return same && !w.company(a.got.with).broken
	}
	return same
}

// on returns how many tasks have their changes in the tree on which a change is to land.
func (w *work) on(a *arrival) int {
	if w.again != nil {
		return w.again.landedOn(a.got.attempt)
	}
	_, done := w.task(a.task.N)
	return done
}

// merge lands changes on a tree that has moved since they were made: it merges them and has them judged together. If
// they do not pass together, each is judged alone, in the order in which they came.
func (w *work) merge(ctx context.Context, all []*arrival) *run.Problem {
	all, problem := w.fitting(ctx, all)
	if problem != nil || len(all) == 0 {
		return problem
	}
	doc := w.judge(ctx, all)
	var last trial
	problem = last.read(doc)
	switch {
	case problem == nil && last.outcome == Passed:
		for _, a := range all {
			if a.at.Run = doc.Run; problem == nil {
				problem = troubleIf(ctx, "record the plan", w.end(ctx, a.at, Passed, ""))
			}
			if problem == nil {
				problem = w.arrive(ctx, a)
			}
		}
		return problem
	case problem == nil && len(all) > 1:
		w.say(0, "the merged changes do not pass together; each is judged alone")
		for _, a := range all {
			if problem := w.merge(ctx, []*arrival{a}); problem != nil {
				return problem
			}
		}
		return nil
	case problem == nil:
		all[0].at.Run = doc.Run
		return w.unfit(ctx, all[0], last.why)
	}
	for _, a := range all {
		a.at.Run = doc.Run
		_ = w.end(ctx, a.at, outcomeOf(problem), problem.Message)
	}
	return problem
}

// fitting begins the attempts to merge changes, and leaves out changes that clash with the tree or with an earlier change.
func (w *work) fitting(ctx context.Context, all []*arrival) (fit []*arrival, problem *run.Problem) {
	for _, a := range all {
		if a.at.ID != "" { // an earlier merge with others began it
			fit = append(fit, a)
			continue
		}
		var err error
		if a.at, err = w.begin(ctx, LandKind, a.task.N, crew.Lead, max(0, a.task.Tries-1), w.on(a)+len(fit)); err != nil {
			return nil, trouble(ctx, "record the plan", err)
		}
		w.say(a.task.N, fmt.Sprintf("task %d: passed; the tree has moved, so it is merged and judged again", a.task.N))
		disk, problem := w.scan(ctx, w.req)
		if problem != nil {
			return nil, problem
		}
		before := append(w.first(w.on(a)), changes(fit)...)
		_, was, err := crew.Integrate(disk, before)
		var now *workspace.Manifest
		if err == nil {
			_, now, err = crew.Integrate(disk, append(before, a.got.proof.Candidate.Changeset))
		}
		if clash, ok := errors.AsType[*crew.ClashError](err); ok {
			if problem := w.unfit(ctx, a, "it clashes with what was done meanwhile: "+clash.Error()); problem != nil {
				return nil, problem
			}
			continue
		}
		if err != nil {
			return nil, w.clash(err)
		}
		if was.Digest() == now.Digest() { // others did the same in the meantime
			a.got.proof.Candidate.Changeset = workspace.Changeset{}
		}
		fit = append(fit, a)
	}
	return fit, nil
}

// changes returns the changesets of arrivals.
func changes(all []*arrival) (list []workspace.Changeset) {
	for _, a := range all {
		list = append(list, a.got.proof.Candidate.Changeset)
	}
	return list
}

// judge has the gates judge the changes of tasks together on the tree, with the acceptance of each.
func (w *work) judge(ctx context.Context, all []*arrival) run.Document {
	landed, own := w.first(w.on(all[0])), changes(all)
	req := w.req
	req.Patch, req.Commit, req.Approver, req.NoPromote, req.Found = nil, nil, nil, true, true
	var tasks []crew.Task
	var numbers []int
	for _, a := range all {
		tasks, numbers = append(tasks, a.task), append(numbers, a.task.N)
	}
	req.Iteration, req.Config.Gates = all[0].at.ID, withAcceptance(req.Config.Gates, tasks...)
	runner := w.runner(all[0].task.N)
	if w.queue != nil {
		m := w.queue.Alone(runner.Verifier)
		defer m.Close()
		runner.Verifier = m
	}
	return runner.ProveRevision(ctx, req, fmt.Sprintf("plan %d: merge task %s", w.plan.ID, crew.Numbers(numbers)), func(_ context.Context, disk *workspace.Manifest) (run.Revision, error) {
		_, tree, err := crew.Integrate(disk, landed)
		if err != nil {
			return run.Revision{}, err
		}
		whole, _, err := crew.Integrate(tree, own)
		return run.Revision{Base: tree, Changes: whole}, err
	})
}

// runner returns a runner whose events are noted for a task.
func (w *work) runner(task int) *run.Runner {
	return w.Runner(func(e run.Event) { w.note(Note{Task: task, Run: e.Run, Event: &e}) })
}

// unfit records that a change did not land.
func (w *work) unfit(ctx context.Context, a *arrival, why string) *run.Problem {
	a.over, a.got.outcome, a.got.why = true, Refused, why
	if a.at.Run != "" {
		a.got.run = a.at.Run
	}
	return troubleIf(ctx, "record the plan", w.end(ctx, a.at, Refused, why))
}

// arrive records that a change landed.
func (w *work) arrive(ctx context.Context, a *arrival) *run.Problem {
	if err := w.landedAs(ctx, a.task.N, a.got.run, a.got.proof.Candidate.Changeset); err != nil {
		return trouble(ctx, "record the plan", err)
	}
	a.over = true
	w.say(a.task.N, fmt.Sprintf("task %d: done", a.task.N))
	return nil
}

// landedAs records that a task is done and that the tree has its change; if the row cannot be written, neither holds.
func (w *work) landedAs(ctx context.Context, n int, id string, cs workspace.Changeset) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.plan.Task(n)
	was := *t
	if t.State, t.Run = crew.Done, id; w.plan.Loop == nil {
		t.Why = ""
	}
	if !cs.Empty() {
		t.Landed = len(w.landed) + 1
	}
	if err := w.save(ctx); err != nil {
		*t = was
		return err
	}
	if !cs.Empty() {
		w.landed = append(w.landed, cs)
	}
	return nil
}

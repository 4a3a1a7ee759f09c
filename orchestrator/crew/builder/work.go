package builder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"agent/orchestrator/crew"
	"agent/orchestrator/gate/batch"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

// A work is a plan in progress.
type work struct {
	*Builder
	req run.Request

	mu   sync.Mutex // guards the fields below
	plan crew.Plan
	// The changes of the tasks that are done, in the order in which they landed.
	landed []workspace.Changeset
	// The attempts that a process left unfinished, the oldest first, and those that ended.
	left, past []Attempt
	// How often each task, by number, had been tried before somebody asked for more.
	before map[int]int
	// The plan that is carried out again from its record, nil for none.
	again *record
	// Whether a person was told that the task file has changed.
	changed bool

	// Changes that passed and wait to land, and companies that have not completely arrived; see land.
	arrived []*arrival
	batches map[*batch.Batch]*company
	// The queue that judges changes of concurrent tasks; nil if each is judged alone.
	queue *batch.Queue

	landing sync.Mutex // only one judgement's changes land at a time
}

// errCancelled is the cause of a context that `agent jobs cancel` ended.
var errCancelled = errors.New("cancelled from elsewhere")

// Build carries out a plan as far as possible: the tasks, the review, and the delivery of the whole as the request
// says. p is the plan as it was read; its owner must be dead or this process.
func (b *Builder) Build(ctx context.Context, req run.Request, p crew.Plan) Result {
	// It takes hours, and all of it concerns one directory.
	if req.Place == nil {
		var problem *run.Problem
		if req.Place, problem = run.Resolve(req.Workspace); problem != nil {
			return failed(p, problem)
		}
		defer req.Place.Close()
	}
	taken, err := b.Plans.TakePlan(ctx, p.ID, p.Owner, b.Owner)
	if err != nil {
		return failed(p, trouble(ctx, "take up the plan", err))
	}
	b.begins(taken)
	w := &work{Builder: b, req: req, plan: taken, before: map[int]int{}, batches: map[*batch.Batch]*company{}}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	res := w.build(ctx, cancel)
	// Give the plan back, whatever its state.
	settled, done := context.WithTimeout(context.WithoutCancel(ctx), run.SettleFor)
	defer done()
	if err := b.Plans.SavePlan(settled, res.Plan, b.Owner); err != nil && res.Error == nil {
		return failed(res.Plan, trouble(ctx, "record the plan", err))
	}
	if w.again != nil && res.Error == nil {
		if res.Differs, err = w.differs(settled); err != nil {
			return failed(res.Plan, trouble(ctx, "compare with the record", err))
		}
		if len(res.Differs) > 0 {
			res.Exit = run.ExitFail
		}
	}
	res.Plan.Owner = ""
	b.tell(res.Plan, 0, fmt.Sprintf("plan %d: %s", res.Plan.ID, res.Plan.State))
	return res
}

// failed returns the result of a plan that a problem ended.
func failed(p crew.Plan, problem *run.Problem) Result {
	return Result{Plan: p, Error: problem, Exit: run.ExitOf(problem)}
}

// build is Build for a plan that this process owns.
func (w *work) build(ctx context.Context, cancel context.CancelCauseFunc) Result {
	if problem := w.recall(ctx); problem != nil {
		return w.stopped(problem)
	}
	if problem := w.start(ctx); problem != nil {
		return w.stopped(problem)
	}
	if w.parallel() > 1 {
		w.queue = cmp.Or(w.Queue, &batch.Queue{})
	}
	if res := w.promoted(ctx); res != nil {
		return *res
	}
	w.reopen()
	w.plan.State, w.plan.Why = crew.Building, ""
	if err := w.save(ctx); err != nil {
		return w.stopped(trouble(ctx, "record the plan", err))
	}
	watch := w.watch(ctx, cancel)
	defer watch.stop()
	for {
		problem := w.tasks(ctx, watch)
		if problem != nil {
			return w.stopped(problem)
		}
		if watch.paused() {
			w.plan.State, w.plan.Why = crew.Paused, "paused from elsewhere"
			return w.result(nil, &run.Problem{Kind: run.ProblemCancelled, Message: "paused; what is done is kept", Next: resume})
		}
		if w.plan.Loop == nil && w.plan.Left() > 0 && !w.Partial {
			return w.undone()
		}
		finish := w.finish
		if w.plan.Loop != nil {
			finish = w.loop
		}
		again, res := finish(ctx)
		if !again {
			return res
		}
	}
}

// recall reads what was done for the plan before: the changes that landed, and the unfinished attempts. A task that was
// in progress when its process died waits again; its attempt continues.
func (w *work) recall(ctx context.Context) *run.Problem {
	list, err := w.Plans.Attempts(ctx, w.plan.ID)
	if err == nil && w.plan.Replays != 0 {
		w.again, err = w.Builder.record(ctx, w.plan.Replays)
	}
	if err != nil {
		return trouble(ctx, "read what was done for the plan", err)
	}
	for _, a := range list {
		if w.again != nil {
			old, _ := w.again.find(a.Kind, a.Task, a.Try)
			a.Of = old.ID
		}
		if a.Outcome == "" {
			w.left = append(w.left, a)
		} else {
			w.past = append(w.past, a)
		}
	}
	for _, t := range w.plan.Landed() {
		proof, err := w.Proof(ctx, t.Run)
		if err != nil {
			return trouble(ctx, fmt.Sprintf("read what task %d changed", t.N), err)
		}
		w.landed = append(w.landed, proof.Candidate.Changeset)
	}
	for i := range w.plan.Tasks {
		t := &w.plan.Tasks[i]
		if t.State == crew.Running {
			t.State = crew.Waiting
		}
		// An unfinished try continues, and so does one whose change passed and has not landed.
		if t.State == crew.Waiting && slices.ContainsFunc(list, func(a Attempt) bool {
			return a.Kind == TaskKind && a.Task == t.N && a.Try == t.Tries-1 && (a.Outcome == "" || a.Outcome == Passed)
		}) {
			t.Tries--
		}
	}
	return nil
}

// reopen lets tasks that failed or were held be tried again, since somebody asks for it.
func (w *work) reopen() {
	if w.plan.Loop != nil { // the next loop is another try
		return
	}
	for _, t := range w.plan.Tasks {
		if t.State == crew.Undone || t.State == crew.Held {
			w.plan.Reopen(t.N)
			w.plan.Task(t.N).Why = t.Why
			w.before[t.N] = t.Tries
		}
	}
}

// tasks carries out the tasks that can begin, until none is left.
func (w *work) tasks(ctx context.Context, watch *watch) *run.Problem {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan *run.Problem)
	running := 0
	var first *run.Problem
	for {
		if first == nil && !watch.paused() && ctx.Err() == nil {
			for _, n := range w.ready(w.parallel() - running) {
				running++
				go func() { results <- w.carry(ctx, n) }()
			}
		}
		if running == 0 {
			if first == nil && ctx.Err() != nil {
				first = trouble(ctx, "", ctx.Err())
			}
			return first
		}
		problem := <-results
		running--
		// Trouble of one is trouble of all: the engine, the database, a cap. Running tasks may finish.
		if problem != nil && first == nil {
			first = problem
		}
	}
}

// say reports what happens to the plan; mu is not held.
func (w *work) say(task int, text string) {
	w.mu.Lock()
	p := w.plan.Clone()
	w.mu.Unlock()
	w.note(Note{Plan: p, Task: task, Text: text})
}

// parallel returns how many tasks may be in progress at the same time.
func (w *work) parallel() int {
	if w.again != nil {
		return 1
	}
	return min(orDefault(w.Parallel, defaultParallel), MaxParallel)
}

// ready marks as running up to n tasks that may begin, and lists them.
func (w *work) ready(n int) []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.plan.Ready()
	if w.again != nil {
		list = w.again.next(&w.plan, list)
	}
	list = list[:max(0, min(n, len(list)))]
	for _, n := range list {
		w.plan.Task(n).State = crew.Running
	}
	return list
}

// update changes the plan and records it.
func (w *work) update(ctx context.Context, change func(*crew.Plan)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.plan)
	return w.save(ctx)
}

// save records the plan; mu is held, or no other goroutine is running. It also records what was decided if ctx has just
// ended.
func (w *work) save(ctx context.Context) error {
	settled, cancel := context.WithTimeout(context.WithoutCancel(ctx), run.SettleFor)
	defer cancel()
	return w.Plans.SavePlan(settled, w.plan, w.Owner)
}

// tree returns the integration tree of the first n tasks that landed.
func (w *work) tree(ctx context.Context, n int) (*workspace.Manifest, *run.Problem) {
	disk, problem := w.scan(ctx, w.req)
	if problem != nil {
		return nil, problem
	}
	_, tree, err := crew.Integrate(disk, w.first(n))
	if err != nil {
		return nil, w.clash(err)
	}
	return tree, nil
}

// first returns the first n changes that landed.
func (w *work) first(n int) []workspace.Changeset {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.landed[:min(n, len(w.landed))])
}

// clash returns the problem for changes that do not fit the present files.
func (w *work) clash(err error) *run.Problem {
	if _, ok := errors.AsType[*crew.ClashError](err); !ok {
		return &run.Problem{Kind: run.ProblemInfra, Message: err.Error(), Next: "run `agent doctor`, then " + resume}
	}
	return &run.Problem{
		Kind: run.ProblemConflict, Message: "the files were edited since, and what is done no longer fits: " + err.Error(),
		Next: fmt.Sprintf("undo that edit, then %s; or drop the plan with `agent plan drop %d` and plan again", resume, w.plan.ID),
	}
}

// stopped returns the result of a plan that has stopped; a later process continues it.
func (w *work) stopped(p *run.Problem) Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan.State, w.plan.Why = crew.Paused, p.Message
	for i := range w.plan.Tasks {
		if t := &w.plan.Tasks[i]; t.State == crew.Running {
			t.State = crew.Waiting
		}
	}
	return w.result(nil, p)
}

// undone returns the result of a plan with failed tasks.
func (w *work) undone() Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan.State = crew.Failed
	problem := &run.Problem{Kind: run.ProblemPatch, Next: fmt.Sprintf("see why with `agent plan show %d`; %s, change what is left with `agent plan edit %d`, or deliver what is done with --partial", w.plan.ID, resume, w.plan.ID)}
	for _, t := range w.plan.Tasks {
		switch t.State {
		case crew.Held:
			problem.Kind = run.ProblemPolicy
			problem.Message = fmt.Sprintf("task %d (%s) is held: %s", t.N, t.Title, t.Why)
			problem.Next = fmt.Sprintf("see its diff with `agent runs diff %s`; let tasks touch other files with `agent build --resume --outside`", t.Run)
		case crew.Undone:
			if problem.Kind != run.ProblemPolicy {
				problem.Message = fmt.Sprintf("task %d (%s) was not done: %s", t.N, t.Title, crew.Clip(t.Why, 400))
			}
		}
	}
	w.plan.Why = problem.Message
	return w.result(nil, problem)
}

// result returns the result to report; its plan no longer has an owner once it is recorded.
func (w *work) result(doc *run.Document, p *run.Problem) Result {
	res := Result{Plan: w.plan.Clone(), Document: doc, Error: p}
	if p != nil {
		res.Exit = run.ExitOf(p)
	}
	return res
}

// A watch sees what others request of a plan.
type watch struct {
	mu     sync.Mutex
	wanted string
	stop   func()
}

// paused reports whether a pause was requested.
func (w *watch) paused() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wanted == "pause"
}

// watch checks every second what is requested, and cancels the plan on request.
func (w *work) watch(ctx context.Context, cancel context.CancelCauseFunc) *watch {
	seen := &watch{}
	ctx, stop := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		tick := time.NewTicker(wantedEvery)
		defer tick.Stop()
		for {
			// An error does not count as a request: the database may be away for a moment.
			wanted, err := w.Plans.Wanted(ctx, w.plan.ID)
			if err == nil {
				seen.mu.Lock()
				seen.wanted = wanted
				seen.mu.Unlock()
				if wanted == "cancel" {
					cancel(errCancelled)
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	seen.stop = func() { stop(); looking.Wait() }
	return seen
}

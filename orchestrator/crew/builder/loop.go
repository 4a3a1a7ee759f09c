package builder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent/orchestrator/agent"
	"agent/orchestrator/crew"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

// The bounds on what one loop learns about earlier ones.
const (
	maxPending  = 5
	maxRecalled = 20 // calls of tools
	maxIdle     = 2  // consecutive loops without a change that end the plan
)

// Loop records, as drafted, a plan that carries out a task file loop after loop; [Builder.Build] carries it out. text
// is the file's content, which counts from then on.
func (b *Builder) Loop(ctx context.Context, root, file string, text []byte, loops int) (crew.Plan, *run.Problem) {
	goal, l, err := crew.ReadTask(file, text)
	if err == nil && loops > crew.MaxLoops {
		err = fmt.Errorf("%d loops are more than the maximum of %d", loops, crew.MaxLoops)
	}
	if err != nil {
		return crew.Plan{}, &run.Problem{Kind: run.ProblemUsage, Message: file + ": " + err.Error(), Next: "see `agent help task-files`"}
	}
	if loops > 0 {
		l.Limits.Loops = loops
	}
	p := crew.Plan{Workspace: root, Goal: goal, State: crew.Drafted, Loop: &l}
	p.Tasks = []crew.Task{loopTask(1, goal)}
	if p.ID, err = b.Plans.AddPlan(ctx, p); err != nil {
		return p, trouble(ctx, "record the loop", err)
	}
	return p, nil
}

// loopTask returns loop n as a task of the plan; goal is what is pending.
func loopTask(n int, goal string) crew.Task {
	t := crew.Task{N: n, Title: fmt.Sprintf("loop %d", n), Goal: goal, Role: crew.Worker, State: crew.Waiting}
	t.Message = t.Title
	return t
}

// accepts returns the acceptance of the task file as a task's.
func (w *work) accepts() crew.Task { return crew.Task{N: 0, Accept: w.plan.Loop.Accept} }

// loop examines the result of a loop: whether the acceptance is met, and what a review that knows nothing about the author finds
// missing. again says that another loop follows; otherwise the whole was delivered, or the loops ended in another way.
func (w *work) loop(ctx context.Context) (again bool, res Result) {
	disk, problem := w.scan(ctx, w.req)
	if problem != nil {
		return false, w.stopped(problem)
	}
	whole, tree, err := crew.Integrate(disk, w.landed)
	if err != nil {
		return false, w.stopped(w.clash(err))
	}
	w.frozen()
	did := w.plan.Tasks[len(w.plan.Tasks)-1]
	met, why, problem := w.accept(ctx, did.N, whole, tree)
	if problem == nil {
		problem = w.reviewLoop(ctx, did, whole, met, why)
	}
	if problem != nil {
		return false, w.stopped(problem)
	}
	r := w.plan.Review
	ok := met && (w.unreviewed() || r != nil && r.Accepted || w.Despite)
	switch {
	case ok && !whole.Empty():
		w.plan.Ending = crew.EndAccepted
		return w.deliver(ctx)
	case w.idle() >= maxIdle:
		w.plan.Ending = crew.EndNoProgress
	case did.N >= w.plan.Loop.Limits.Loops:
		w.plan.Ending = crew.EndLoops
	default:
		next := loopTask(did.N+1, pending(r, met, why))
		w.plan.Tasks, w.plan.Ending = append(w.plan.Tasks, next), ""
		if err := w.save(ctx); err != nil {
			return false, w.stopped(trouble(ctx, "record the plan", err))
		}
		w.say(next.N, next.Title+": "+strings.ReplaceAll(next.Goal, "\n", " "))
		return true, Result{}
	}
	if w.Partial && !whole.Empty() {
		return w.deliver(ctx)
	}
	return false, w.unmet(why, r)
}

// idle counts the last consecutive loops that changed nothing.
func (w *work) idle() (n int) {
	for _, t := range slices.Backward(w.plan.Tasks) {
		if t.Landed > 0 {
			break
		}
		n++
	}
	return n
}

// unmet returns the result of loops that ended without acceptance.
func (w *work) unmet(why string, r *crew.Review) Result {
	n := len(w.plan.Tasks)
	problem := &run.Problem{Kind: run.ProblemBudget, Message: fmt.Sprintf("limits.loops: the task is not done after %d loops, the maximum", n)}
	if w.plan.Ending == crew.EndNoProgress {
		problem.Kind, problem.Message = run.ProblemPatch, fmt.Sprintf("no progress: %d loops in a row changed nothing", maxIdle)
	}
	switch t := w.plan.Tasks[n-1]; {
	case why != "":
		problem.Message += ": " + firstLine(why)
	case r != nil && !r.Accepted:
		problem.Message += ": " + firstFinding(*r)
	case t.Why != "":
		problem.Message += ": " + firstLine(t.Why)
	}
	problem.Next = fmt.Sprintf("see what is left with `agent plan show %d`; continue with `agent loop --resume --loops N`, deliver what is done with --partial, or give it up with `agent plan drop %d`", w.plan.ID, w.plan.ID)
	w.plan.State, w.plan.Why = crew.Failed, problem.Message
	return w.result(nil, problem)
}

// pending says what the next loop must do: why the acceptance is not met, and the review's steps, or its findings if it names none.
func pending(r *crew.Review, met bool, why string) string {
	var list []string
	if !met {
		list = append(list, "the acceptance is not met: "+why)
	}
	if r != nil {
		for _, t := range r.Next {
			list = append(list, strings.TrimSpace(t.Title+": "+t.Goal))
		}
		for _, f := range r.Findings {
			if len(r.Next) == 0 && (f.Severity == crew.Blocker || f.Severity == crew.Major) {
				list = append(list, f.String())
			}
		}
	}
	if len(list) == 0 {
		return "the review named no step; look what of the task is still open"
	}
	var b strings.Builder
	for i, s := range list[:min(len(list), maxPending)] {
		fmt.Fprintf(&b, "%d. %s\n", i+1, crew.Clip(s, 800))
	}
	return strings.TrimSpace(b.String())
}

// accept finds out whether the whole meets the acceptance of the task file: the required files exist, and the command
// succeeds in a box, as one more gate. why says what is missing.
func (w *work) accept(ctx context.Context, n int, whole workspace.Changeset, tree *workspace.Manifest) (met bool, why string, problem *run.Problem) {
	a := w.plan.Loop.Accept
	for _, name := range a.Tests {
		if _, ok := tree.Lookup(name); !ok {
			return false, name + " must exist in the end, but does not", nil
		}
	}
	switch {
	case len(a.Command) == 0:
		return true, "", nil
	case whole.Empty():
		return false, "nothing was changed", nil
	}
	if past, ok := last(w.past, AcceptKind, n, 0); ok && past.Landed == len(w.landed) {
		return past.Outcome == Passed, past.Why, nil
	}
	at, err := w.begin(ctx, AcceptKind, n, crew.Lead, 0, len(w.landed))
	if err != nil {
		return false, "", trouble(ctx, "record the loop", err)
	}
	w.say(n, fmt.Sprintf("loop %d: is the acceptance met?", n))
	got, problem := w.proveWhole(ctx, at, n, whole)
	if problem != nil {
		_ = w.end(ctx, got.attempt, outcomeOf(problem), problem.Message)
		return false, "", problem
	}
	if got.outcome == Refused {
		w.say(n, fmt.Sprintf("loop %d: the acceptance is not met: %s", n, firstLine(got.why)))
	}
	return got.outcome == Passed, got.why, troubleIf(ctx, "record the loop", w.end(ctx, got.attempt, got.outcome, got.why))
}

// proveWhole has everything judged as one change, with the acceptance among the gates, and promotes nothing.
func (w *work) proveWhole(ctx context.Context, a Attempt, n int, whole workspace.Changeset) (trial, *run.Problem) {
	req := w.req
	req.Patch, req.Commit, req.Approver, req.NoPromote, req.Found = nil, nil, nil, true, true
	req.Iteration, req.Config.Gates = a.ID, withAcceptance(req.Config.Gates, w.accepts())
	runner := w.Runner(func(e run.Event) { w.note(Note{Task: n, Run: e.Run, Event: &e}) })
	doc := runner.ProveRevision(ctx, req, fmt.Sprintf("plan %d: the acceptance after loop %d", w.plan.ID, n), func(_ context.Context, disk *workspace.Manifest) (run.Revision, error) {
		changes, _, err := crew.Rebase(whole, disk)
		return run.Revision{Base: disk, Changes: changes}, err
	})
	got := trial{attempt: a, run: doc.Run}
	got.attempt.Run = doc.Run
	return got, got.read(doc)
}

// reviewLoop has the whole reviewed after a loop. The reviewer sees the task, the change, the calls and the gates' verdicts, but
// nothing that the author says about it. After a loop that changed nothing, the findings of the earlier review stay.
func (w *work) reviewLoop(ctx context.Context, did crew.Task, whole workspace.Changeset, met bool, why string) *run.Problem {
	if w.unreviewed() || whole.Empty() || did.Landed == 0 && w.plan.Review != nil {
		return nil
	}
	role := w.Roles[crew.Reviewer]
	a, kept := last(w.past, ReviewKind, did.N, 0)
	if !kept || a.Landed != len(w.landed) {
		var err error
		if a, err = w.begin(ctx, ReviewKind, did.N, role.Name, 0, len(w.landed)); err != nil {
			return trouble(ctx, "record the loop", err)
		}
	}
	tasks, problem := w.seen(ctx, did, met, why)
	if problem != nil {
		return problem
	}
	w.say(did.N, fmt.Sprintf("loop %d: review", did.N))
	brief := agent.Brief{Role: strings.TrimSpace(role.Prompt), Goal: w.plan.Goal, Tasks: tasks, Diff: crew.Clip(whole.Diff(), maxReviewed)}
	r, problem := w.question(ctx, &a, role, brief)
	if problem != nil {
		return problem
	}
	if w.plan.Review = r; r == nil {
		return nil
	}
	w.say(did.N, fmt.Sprintf("loop %d: review: %s", did.N, verdictOf(*r, len(r.Next) > 0)))
	return w.reviewEnded(ctx, a, *r)
}

// seen returns what a reviewer learns about a loop besides the change: all of it comes from the record.
func (w *work) seen(ctx context.Context, did crew.Task, met bool, why string) (string, *run.Problem) {
	var b strings.Builder
	fmt.Fprintf(&b, "After loop %d. It is done when: %s\n", did.N, w.plan.Loop.Accept)
	if met {
		b.WriteString("What of that a machine can tell is met.\n")
	} else {
		fmt.Fprintf(&b, "It is not met: %s\n", why)
	}
	if did.N > 1 {
		fmt.Fprintf(&b, "This loop was to do:\n%s\n", did.Goal)
	}
	if did.Run != "" && did.State == crew.Done {
		proof, err := w.Proof(ctx, did.Run)
		if err != nil {
			return "", trouble(ctx, "read what the gates said", err)
		}
		fmt.Fprintf(&b, "The gates of its change: %s\n", gates(proof.Candidate))
	}
	acts, problem := w.actions(ctx, did.N)
	if problem != nil {
		return "", problem
	}
	b.WriteString(told(acts))
	return b.String(), nil
}

// gates lists the verdicts of the gates on a candidate: "lint pass, tests pass".
func gates(c gate.Candidate) string {
	var list []string
	for _, g := range c.Gates {
		list = append(list, strings.TrimSpace(g.Name+" "+string(g.Verdict)))
	}
	return strings.Join(list, ", ")
}

// told lists the recorded calls of tools.
func told(a Actions) string {
	var b strings.Builder
	if n := len(a.List); n > 0 {
		fmt.Fprintf(&b, "The last of %s of tools, as recorded:\n%s\n", run.Count(n, "call"), strings.Join(a.List[max(0, n-maxRecalled):], "\n"))
	}
	for _, l := range a.Limits {
		fmt.Fprintf(&b, "A limit was reached: %s\n", l)
	}
	return b.String()
}

// actions returns the actions of the last execution of a loop.
func (w *work) actions(ctx context.Context, n int) (Actions, *run.Problem) {
	if w.Actions == nil {
		return Actions{}, nil
	}
	list, err := w.Plans.Attempts(ctx, w.plan.ID)
	if err != nil {
		return Actions{}, trouble(ctx, "read what was done for the plan", err)
	}
	a, ok := last(list, TaskKind, n, 0)
	if !ok {
		return Actions{}, nil
	}
	acts, err := w.Actions(ctx, a.ID)
	return acts, troubleIf(ctx, "read the recorded calls", err)
}

// harness tells an execution about earlier loops: its number, the files that they touched, their last calls, and what is pending.
func (w *work) harness(ctx context.Context, t crew.Task) (string, *run.Problem) {
	var b strings.Builder
	fmt.Fprintf(&b, "This is loop %d of %d, of %d questions at most.\n", t.N, w.plan.Loop.Limits.Loops, w.plan.Loop.Limits.Iterations)
	if t.N == 1 {
		return b.String(), nil
	}
	b.WriteString("Whoever was at it before is gone; the files are as the work so far leaves them.\n")
	touched := map[string][]string{}
	for _, cs := range w.first(len(w.plan.Tasks)) {
		for _, c := range cs.Changes {
			if op := string(c.Op); !slices.Contains(touched[op], c.Path) {
				touched[op] = append(touched[op], c.Path)
			}
		}
	}
	for _, op := range []workspace.Op{workspace.Create, workspace.Modify, workspace.Rename, workspace.Delete} {
		if list := touched[string(op)]; len(list) > 0 {
			fmt.Fprintf(&b, "Files so far, %s: %s\n", op, strings.Join(list, ", "))
		}
	}
	before, _ := w.task(t.N - 1)
	acts, problem := w.actions(ctx, before.N)
	if problem != nil {
		return "", problem
	}
	b.WriteString(told(acts))
	if before.State != crew.Done && before.Why != "" {
		fmt.Fprintf(&b, "Loop %d came to nothing: %s\n", before.N, before.Why)
	}
	fmt.Fprintf(&b, "What is pending, the first thing first:\n%s\n", t.Goal)
	return crew.Clip(b.String(), 2*maxMemory), nil
}

// capped turns a conversation that a cap of the task file ended into the end of that execution only: the next loop
// continues. The task keeps which caps were reached.
func (w *work) capped(ctx context.Context, got *trial, p *run.Problem) *run.Problem {
	if w.plan.Loop == nil || w.Actions == nil || p != nil && p.Kind != run.ProblemBudget {
		return p
	}
	acts, err := w.Actions(ctx, got.attempt.ID)
	if err != nil {
		return trouble(ctx, "read the recorded calls", err)
	}
	if len(acts.Limits) == 0 {
		return p
	}
	reached := strings.Join(acts.Limits, "; ")
	if p != nil || got.outcome == Refused {
		got.outcome, got.why = Refused, strings.TrimSpace(reached+"\n"+got.why)
		return nil
	}
	n := got.attempt.Task
	return troubleIf(ctx, "record the plan", w.update(ctx, func(p *crew.Plan) { p.Task(n).Why = reached }))
}

// touches reports whether a change concerns a path.
func touches(cs workspace.Changeset, path string) bool {
	return slices.ContainsFunc(cs.Changes, func(c workspace.Change) bool { return c.Path == path || c.From == path })
}

// frozen reports once that the task file has changed: the text from the beginning of the loops counts.
func (w *work) frozen() {
	l, name := w.plan.Loop, w.plan.Loop.File
	if !filepath.IsAbs(name) {
		name = filepath.Join(w.plan.Workspace, filepath.FromSlash(name))
	}
	h := sha256.New()
	f, err := os.Open(name)
	if err == nil {
		_, err = io.Copy(h, io.LimitReader(f, crew.MaxTaskFile+1))
		f.Close()
	}
	if w.changed || err == nil && hex.EncodeToString(h.Sum(nil)) == l.SHA256 {
		return
	}
	w.changed = true
	w.say(0, l.File+" has changed; its text at the beginning of the loops counts")
}

// Package exec makes the change of a run with a user's command in a workbench: a box with the workspace's snapshot, in which a coding
// agent, a codemod or a person works.
//
// It owns what the command gets and how it is ended, and takes out what changed as a changeset. That is a stranger's patch: how the
// command ended and what it said are not evidence. The gates judge the changeset in boxes of their own, and [run.Execution] asks about
// it and promotes it like any other.
package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"agent/images"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workbench"
	"agent/sandbox/workspace"
	"agent/verify/node"
	"agent/verify/room"
)

const (
	// DefaultTimeout is how long a command may take by default.
	DefaultTimeout = 30 * time.Minute
	// spare is how much longer a workbench may live than its command: it is filled before, and emptied after.
	spare = 10 * time.Minute
	// longestIntent bounds how much of a command is in the intent of a run, in bytes.
	longestIntent = 200
)

// Minimum sizes of a workbench: programs keep caches there, and a coding agent is usually a Node program.
const (
	workRoom = 1 << 30
	tmpRoom  = 512 << 20
	memory   = 2 << 30
	pids     = 512
)

// Bounds on what is taken out. A file larger than a patch may write is left behind.
const (
	maxFiles = workspace.MaxChanges
	maxBytes = 64 << 20
)

// Work is one command in a workbench.
type Work struct {
	// Command is the program, looked up in the box, and its arguments, as the user gave them. Start is what is started in its place,
	// nil for the same.
	Command, Start []string
	Env            map[string]string
	// Stdin is what the command reads, nil for nothing.
	Stdin []byte
	// Timeout is how long the command may take; 0 means DefaultTimeout.
	Timeout time.Duration
	// Equip installs on an image what the command needs besides the tools; nil for nothing.
	Equip func(ctx context.Context, on images.Image) (images.Image, error)
	// Connect opens a way out of the workbench for a run; nil for none.
	Connect func(ctx context.Context, x *run.Execution) (Way, error)
	// Keep leaves the workbench for another command. In says what a workbench kept that way holds, which Start then opens; nil for a
	// fresh one.
	Keep bool
	In   *Held
	// Model says that a model writes the change, which is then judged as strictly as one that a model is asked for.
	Model bool
}

// A Way is a way out of a workbench.
type Way struct {
	sandbox.Egress
	// Told is called when the command has ended. It says what went through, "" for nothing, and why nothing of the change may be
	// judged, such as a cap that was reached.
	Told func() (note string, problem *run.Problem)
}

// A Box is a workbench. *sandbox.Box implements it.
type Box interface {
	RunAt(ctx context.Context, cmd guest.Command, at workbench.Console) (guest.Result, error)
	Extract(ctx context.Context, rules guest.Rules, known []guest.Known) (workbench.Extract, error)
	Apply(ctx context.Context, cs workspace.Changeset) error
	AllowEgress(e sandbox.Egress)
	// Keep leaves the box as it is, for another run than this one.
	Keep(ctx context.Context, run string) error
	ID() string
	Close() error
}

// A Runner takes runs whose change a command makes through the gate.
type Runner struct {
	*run.Runner
	// Start starts a workbench.
	Start func(ctx context.Context, spec sandbox.Spec) (Box, error)
	// Attend is called right before the command begins, when the progress display gives up the terminal. It is nil if nobody watches.
	Attend func(ctx context.Context) (Attendance, error)
}

// An Attendance is a watcher of a command.
type Attendance struct {
	Console workbench.Console
	// Terminal is the size of the watcher's terminal, nil for none.
	Terminal *guest.Size
	// End is called when the command has ended, even if it did not begin.
	End func()
}

// Run has the command of w work on the workspace of a request, and has its changes judged. The document is complete whatever happens;
// its Exit is the exit code, which is unrelated to that of the command.
func (r *Runner) Run(ctx context.Context, req run.Request, w Work) run.Document {
	intent := "exec " + strings.Join(w.Command, " ")
	if r.Hide != nil {
		intent = r.Hide(intent)
	}
	if len(intent) > longestIntent {
		intent = strings.ToValidUTF8(intent[:longestIntent], "") + "…"
	}
	req.Found = w.Model
	return r.Runner.Start(ctx, req, run.Record{Intent: intent}, func(ctx context.Context, x *run.Execution) run.Ending {
		return r.work(ctx, x, req, w)
	})
}

// work freezes the workspace, has the command work on it and proves what it left.
func (r *Runner) work(ctx context.Context, x *run.Execution, req run.Request, w Work) run.Ending {
	// What a command writes is a patch that was given, even before it exists.
	req.Patch = []byte{}
	if err := x.Advance(ctx, run.Analyzing, "scan the workspace"); err != nil {
		return run.End(run.Failed, x.Trouble(ctx, "record the run", err))
	}
	st, end := x.Freeze(ctx, req, nil)
	if end != nil {
		return *end
	}
	if err := x.Advance(ctx, run.Proposing, "the command runs in a box of its own"); err != nil {
		return run.End(run.Failed, x.Trouble(ctx, "record the run", err))
	}
	cs, end := r.take(ctx, x, req, st, w)
	if end != nil {
		return *end
	}
	if cs.Empty() {
		return x.LeaveUnchanged()
	}
	return x.ProveTaken(ctx, req, st, cs)
}

// take runs the command in a workbench and returns what it changed. The workbench is then gone, or kept.
func (r *Runner) take(ctx context.Context, x *run.Execution, req run.Request, st gate.Stage, w Work) (cs workspace.Changeset, end *run.Ending) {
	stop := func(state run.State, p *run.Problem) (workspace.Changeset, *run.Ending) {
		e := run.End(state, p)
		return workspace.Changeset{}, &e
	}
	w.Timeout = cmp.Or(w.Timeout, DefaultTimeout)
	box, err := r.open(ctx, x, req, st, w)
	if err != nil {
		return stop(run.Failed, x.Trouble(ctx, "start the box", err))
	}
	defer func() { // a kept one has nothing to close
		if err := box.Close(); err != nil && end == nil {
			cs, end = stop(run.Failed, x.Trouble(ctx, "remove the box", err))
		}
	}()
	if problem := prepare(ctx, x, box, st.Base, w.In); problem != nil {
		return stop(problem.state, problem.told)
	}
	way := Way{Told: func() (string, *run.Problem) { return "", nil }}
	if w.Connect != nil {
		if way, err = w.Connect(ctx, x); err != nil {
			return stop(run.Failed, x.Trouble(ctx, "connect the box to the model", err))
		}
		box.AllowEgress(way)
	}
	w.Env = node.Environment(w.Env, st.Base)
	result, err := r.attend(ctx, box, w)
	if err != nil {
		return stop(run.Failed, x.Trouble(ctx, "run the command", err))
	}
	box.AllowEgress(nil)
	note, problem := way.Told()
	if note != "" {
		x.Notify(run.Event{Note: note})
	}
	told := run.DocumentCommand{
		Args: w.Command, Exit: result.Exit, Signal: result.Signal, TimedOut: result.TimedOut, Seconds: result.Wall.Seconds(), Left: []run.DocumentLeft{},
	}
	if problem = cmp.Or(cutOff(result, w), problem); problem != nil {
		x.Ran(told)
		return stop(run.Rejected, problem)
	}
	cs, left, err := takeOut(ctx, box, st.Base)
	told.LeftCount = left.count
	told.Left = append(told.Left, left.named...)
	if err == nil && !cs.Empty() {
		told.Commits = commits(ctx, box)
	}
	var kept error
	if w.Keep && err == nil {
		if kept = box.Keep(ctx, x.ID()); kept == nil {
			told.Kept = name(box)
		}
	}
	x.Ran(told)
	x.Notify(run.Event{Note: ended(told, cs)})
	switch {
	case told.Kept != "":
		x.Notify(run.Event{Note: "the workbench is kept: agent sandbox exec --in " + told.Kept + " -- COMMAND"})
	case kept != nil:
		x.Notify(run.Event{Note: "the workbench could not be kept: " + kept.Error()})
	}
	for _, note := range left.notes() {
		x.Notify(run.Event{Note: note})
	}
	if err != nil {
		return stop(untaken(ctx, x, err))
	}
	return cs, nil
}

// open starts a workbench, or opens the one that was kept.
func (r *Runner) open(ctx context.Context, x *run.Execution, req run.Request, st gate.Stage, w Work) (Box, error) {
	spec := sandbox.Spec{
		Image: st.Image.ID, Delta: st.Delta, Run: x.ID(), Purpose: "exec", Lease: time.Now().Add(w.Timeout + spare),
		Limits: limits(req.Config.Limits, st.Base), Runtime: req.Config.Runtime,
	}
	if w.Keep {
		spec.Keep, spec.Lease = x.Workspace(), spec.Lease.Add(KeptFor)
	}
	if w.Equip != nil && w.In == nil {
		equipped, err := x.Gate(req).Equip(ctx, st, w.Equip)
		if err != nil {
			return nil, fmt.Errorf("equip it for the command: %w", err)
		}
		spec.Image, spec.Delta = equipped.ID, nil
	}
	return r.Start(ctx, spec)
}

// untaken returns how a run ends if nothing could be taken out.
func untaken(ctx context.Context, x *run.Execution, err error) (run.State, *run.Problem) {
	var over *workbench.ExtractError
	var refused *workspace.PathError
	if errors.As(err, &over) || errors.As(err, &refused) {
		return run.Rejected, &run.Problem{
			Kind: run.ProblemPatch, Message: "what the command changed is too much for a patch: " + err.Error(),
			Next: "nothing was written; have it write less, or leave out what is not source with exclude in agent.toml",
		}
	}
	return run.Failed, x.Trouble(ctx, "take out what changed", err)
}

// attend runs the command to its end.
func (r *Runner) attend(ctx context.Context, box Box, w Work) (guest.Result, error) {
	var by Attendance
	if r.Attend != nil {
		var err error
		if by, err = r.Attend(ctx); err != nil {
			return guest.Result{}, err
		}
		defer by.End()
	}
	start := w.Start
	if start == nil {
		start = w.Command
	}
	return box.RunAt(ctx, guest.Command{
		// The shell finds the program by its own rules: it may be anywhere in the box. Nothing that it does there counts.
		Args: append([]string{"/bin/sh", "-c", `exec "$@"`, "sh"}, start...),
		Env:  w.Env, Stdin: w.Stdin, Terminal: by.Terminal, Timeout: w.Timeout, Stream: by.Console.Stdout != nil,
	}, by.Console)
}

// limits returns the limits of a workbench: what the configuration sets stays as it is.
func limits(set sandbox.Limits, base *workspace.Manifest) sandbox.Limits {
	l := room.For(set, base)
	if set.Work == 0 {
		l.Work = max(l.Work, workRoom)
	}
	if set.Tmp == 0 {
		l.Tmp = max(l.Tmp, tmpRoom)
	}
	if set.Memory == 0 {
		l.Memory = max(memory, l.Programs) + l.Work
	}
	if set.PIDs == 0 {
		l.PIDs = pids
	}
	return l
}

// cutOff returns the problem of a command that did not end by itself, nil for one that did. What it left half-done is not judged.
func cutOff(r guest.Result, w Work) *run.Problem {
	switch {
	case r.TimedOut:
		return &run.Problem{
			Kind: run.ProblemBudget, Message: fmt.Sprintf("the command was still running after %s and was ended", w.Timeout),
			Next: "nothing was judged or written; give it more time with --timeout",
		}
	case r.Killed && r.OOM:
		return &run.Problem{
			Kind: run.ProblemPatch, Message: "the command used up the memory of its box, and the box ended",
			Next: "nothing was judged or written; raise limits.memory in your configuration",
		}
	case r.Killed:
		return &run.Problem{Kind: run.ProblemPatch, Message: "the command ended its box", Next: "nothing was judged or written; run it again"}
	}
	return nil
}

// ended tells people how a command ended and what it left.
func ended(c run.DocumentCommand, cs workspace.Changeset) string {
	how := fmt.Sprintf("exit code %d", c.Exit)
	if c.Signal != "" {
		how = c.Signal
	}
	what := "it changed nothing"
	if n := len(cs.Changes); n > 0 {
		what = run.Count(n, "file") + " changed"
	}
	return fmt.Sprintf("the command ended with %s after %.1f s; %s", how, c.Seconds, what)
}

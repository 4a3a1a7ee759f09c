package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/checkpoint"
	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/sarif"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/agent"
	"agent/orchestrator/ledger"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
	"agent/orchestrator/tournament"
)

// An Attempt takes a request through the gate, and reports how it ended.
type Attempt struct {
	*cmdline.Line
	Session  *wire.Session
	Settings config.Settings
	// Guard, if not nil, returns the approver that decides at the checkpoints instead of the given one.
	Guard func(*checkpoint.Approver) run.Approver
	// Ended is the document of the last run that ended, nil if none has.
	Ended *run.Document
}

// approver returns the approver for the checkpoints of a run, or of all runs of a loop.
func (a *Attempt) approver(req run.Request, board *term.Board, loop bool) run.Approver {
	a.Alerts = a.Settings["notify"].Text
	asked := &checkpoint.Approver{
		Console: &a.Console, Yes: a.Settings.On("yes"), Features: req.Features, Allow: req.Allow, Wait: a.Settings.Patience(), Board: board, Loop: loop,
	}
	if a.Guard == nil {
		return asked
	}
	return a.Guard(asked)
}

// Prove takes a given patch through the gate.
func (a *Attempt) Prove(ctx *cli.Context, req run.Request) error {
	board, err := a.Prepare(ctx.Context, a.Session, &req.Config)
	if err != nil {
		return err
	}
	defer board.Close()
	req.Approver = a.approver(req, board, false)
	return a.conclude(ctx, req, board, a.Session.Runner(board.Event).Run(ctx.Context, req))
}

// conclude reports how a run ended, and updates the ledger with what the run wrote.
func (a *Attempt) conclude(ctx *cli.Context, req run.Request, board *term.Board, doc run.Document) error {
	// The board is closed before the result is printed, so that its remains are above it.
	a.fold(board)
	board.Close()
	a.Ended = &doc
	reported := a.deliver(ctx, doc)
	// The change is written and reported; only then find out which files it concerns.
	if doc.Promotion != nil {
		if err := a.Session.Ripple(ctx.Context, doc, req.Exclude); err != nil {
			fmt.Fprintf(a.Stderr, "agent: the ledger was not brought up to date: %s\nnext: run `agent analyze`\n", term.CleanLine(err.Error()))
		}
	}
	return reported
}

// fold removes from the screen what the result that is printed next repeats.
func (a *Attempt) fold(board *term.Board) {
	if !a.Settings.On("json") && term.Terminal(a.Stdout) != nil {
		board.Fold()
	}
}

// deliver reports the result of a run, and writes the findings to the file that --sarif names. The exit code stays the
// run's own.
func (a *Attempt) deliver(ctx *cli.Context, doc run.Document) error {
	reported := a.Report(doc, a.Settings.On("json"))
	name := ctx.String("sarif")
	if name == "" {
		return reported
	}
	if err := sarif.WriteFile(name, doc); err != nil {
		fmt.Fprintf(a.Stderr, "agent: %s\nnext: `agent runs show %s --sarif -` prints them\n", term.CleanLine(err.Error()), doc.Run)
	}
	return reported
}

// newLoop assembles what iterations need: the approver for checkpoints, the crew that finds changes, and what learns
// from them. For a replay it puts the orders of the recorded iterations into start.
func (a *Attempt) newLoop(ctx *cli.Context, req *run.Request, start *loop.Start) (*loop.Loop, *term.Board, error) {
	recorded, err := recording(ctx, a.Session, start)
	if err != nil {
		return nil, nil, err
	}
	board, err := a.Prepare(ctx.Context, a.Session, &req.Config)
	if err != nil {
		return nil, nil, err
	}
	a.Session.Notify = board.Event
	// The user can ask to see each question before it is sent. That needs a person at the terminal who has not said yes
	// to everything.
	var before func(context.Context, agent.Question) (agent.Question, error)
	if (ctx.Bool("ask-model") || a.Settings["checkpoint"].Text == "model") && a.Attended() && !a.Settings.On("yes") && recorded == nil {
		before = (&checkpoint.Sender{Console: &a.Console, Model: wire.FirstModel(a.Settings), Wait: a.Settings.Patience(), Board: board}).Before
	}
	// The budget belongs to the loop, whichever process resumes it.
	scope := "loop"
	if start.Order.Single {
		scope = "run"
	}
	crew, err := a.Session.Crews(a.Settings, scope, before, recorded)
	if err != nil {
		board.Close()
		return nil, nil, err
	}
	req.Approver = a.approver(*req, board, !start.Order.Single)
	return &loop.Loop{
		Runner: a.Session.Runner(board.Event), Iterations: a.Session.DB, Knowledge: a.Session.DB, Crew: crew,
		Study: func(ctx context.Context, dir string, found func([]ledger.Ripple) error) error {
			return a.Session.Follow(ctx, dir, req.Exclude, found)
		},
		Export:   a.Session.Export,
		Attended: a.Settings.On("yes") || a.Attended() || req.NoPromote,
	}, board, nil
}

// recording returns the iterations to replay, nil for none.
func recording(ctx *cli.Context, s *wire.Session, start *loop.Start) ([]wire.Recorded, error) {
	of := ctx.String("replay")
	if of == "" {
		return nil, nil
	}
	const next = "see `agent runs list` for runs with a goal, `agent sql \"select * from v_iterations\"` for loops"
	if !start.Order.Single {
		list, err := s.DB.LoopIterations(ctx.Context, of)
		if errors.Is(err, database.ErrNotFound) {
			return nil, fault.Usage(next, "no loop is named %s", of)
		}
		if err != nil {
			return nil, err
		}
		var recs []wire.Recorded
		for _, it := range list {
			// An iteration that ended before it had a plan has nothing to repeat.
			if it.Plan != nil {
				recs = append(recs, wire.Recorded{Plan: it.Plan, Asked: it.ID})
			}
		}
		first := list[0].Order
		start.Order = loop.Order{Goal: first.Goal, Iterations: len(recs), UntilClean: first.UntilClean, Candidates: first.Candidates}
		return recs, nil
	}
	found, err := s.DB.Run(ctx.Context, of)
	if err != nil {
		return nil, err
	}
	plan, asked, err := s.DB.Plan(ctx.Context, found.ID)
	if err != nil {
		return nil, err
	}
	// A run with a patch has gates and files on record, but no question.
	if plan == nil {
		return nil, fault.Usage(next, "run %s made no plan: it was given its patch, or ended before it made one", found.ID)
	}
	p, err := tournament.RecordedPlan(plan).Read()
	start.Order.Goal = p.Task.Brief.Goal
	return []wire.Recorded{{Plan: plan, Asked: asked}}, err
}

// Iterate carries out a run without a patch: one iteration of the loop. It prints the result as soon as the run has
// ended; learning from it follows.
func (a *Attempt) Iterate(ctx *cli.Context, req run.Request) error {
	start := loop.Start{Order: loop.Order{Single: true, Goal: req.Goal, Scope: req.Scope, Candidates: req.Candidates, Iterations: 1}}
	l, board, err := a.newLoop(ctx, &req, &start)
	if err != nil {
		return err
	}
	defer board.Close()
	l.MaxFailures = 1 // the caller of one run decides about another
	var ended *run.Document
	var reported error
	l.Tell = func(_ loop.Round, doc *run.Document) {
		if doc == nil {
			return
		}
		a.fold(board)
		defer board.Pause()()
		a.Ended = doc
		ended, reported = doc, a.deliver(ctx, *doc)
	}
	res := l.Run(ctx.Context, req, start)
	board.Close()
	switch {
	case ended == nil && res.Error != nil:
		return problemFault(*res.Error, res.Exit)
	case res.Error != nil && ended.Error == nil:
		// The run is done and reported; only the learning is not.
		fmt.Fprintf(a.Stderr, "agent: the run is done, but nothing was learnt from it yet: %s\nnext: %s\n", term.CleanLine(res.Error.Message), term.CleanLine(res.Error.Next))
	}
	return reported
}

// problemFault returns the error for a problem that no document reports.
//
// It keeps kind, hint and exit code, so that a script sees the same whether the problem occurred before the run or in
// it.
func problemFault(p run.Problem, exit int) error {
	return &fault.Error{Exit: exit, Kind: p.Kind, Next: p.Next, Err: errors.New(p.Message)}
}

// tellRound prints the beginning of an iteration and the end of its run.
func tellRound(c *cmdline.Line, r loop.Round, doc *run.Document, asJSON bool) {
	switch {
	case doc != nil && asJSON:
		term.PrintJSONLine(c.Stdout, doc) // whether someone still reads it changes nothing about the loop
	case doc != nil:
		c.Summary().Document(*doc)
		fmt.Fprintln(c.Stdout)
	case r.Phase == loop.Settled:
	case r.Of > 0:
		fmt.Fprintf(c.Stderr, "iteration %d of %d\n", r.N, r.Of)
	default:
		fmt.Fprintf(c.Stderr, "iteration %d\n", r.N)
	}
}

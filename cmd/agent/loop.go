package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/images"
	"agent/orchestrator/agent"
	"agent/orchestrator/ledger"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/tournament"
)

// loopCommand describes the loop. What aims and caps one run does the
// same for each iteration here.
func (c *cmdline) loopCommand() *cli.Command {
	return &cli.Command{
		Name: "loop", Usage: "find and prove changes, iteration after iteration",
		Description: "Each iteration chooses a file (one that uses what was just changed, else the model's choice),\n" +
			"has a model review it, proves the change in throwaway containers, has it repaired, writes\n" +
			"back what passed, and remembers what was done. Without a terminal it needs --yes.\n" +
			"A review that finds nothing may propose a feature; that is kept for `agent proposals list`,\n" +
			"and only a person at the terminal, or `agent sandbox run --proposal N`, has it written.\n" +
			"It ends when told, after failures in a row, when every file was reviewed since it last\n" +
			"changed, or when a cap is reached. Caps hold for the loop as a whole, what it spent before\n" +
			"--resume included. --resume carries it on where it stood, and no answer of a model is paid\n" +
			"for twice.\n\n" + examples(
			"agent sandbox loop --iterations 3 --yes", "three changes at most",
			"agent sandbox loop --until-clean --yes", "until a review finds nothing",
			"agent sandbox loop --resume --yes", "after Ctrl-C or a reboot; after a cap with a higher one",
			"agent sandbox loop --replay 1k3 --yes", "a recorded loop again, no model asked"),
		Flags: slices.Concat([]cli.Flag{
			workspaceFlag(),
			&cli.IntFlag{Name: "iterations", Aliases: []string{"n"}, Usage: "end after `N` iterations; 0 goes on until nothing is left to review"},
			&cli.BoolFlag{Name: "until-clean", Usage: "end when a review finds nothing; propose no features", DisableDefaultText: true},
			&cli.DurationFlag{Name: "rest", Value: 120 * time.Second, Usage: "pause for `TIME` between iterations"},
			&cli.IntFlag{Name: "max-failures", Value: 3, Usage: "end after `N` failures in a row"},
			&cli.BoolFlag{Name: "resume", Usage: "carry on the last loop of the workspace", DisableDefaultText: true},
			&cli.BoolFlag{Name: "fresh", Usage: "give up an interrupted iteration, begin anew", DisableDefaultText: true},
			&cli.StringFlag{Name: "replay", Usage: "take plans and answers from the record of `LOOP`; no model is asked"},
			&cli.StringFlag{Name: "goal", Aliases: []string{"g"}, Usage: "what every change is for, as `TEXT`"},
			&cli.StringSliceFlag{Name: "file", Usage: "work on `PATH`; with more of them, what to read too"},
		}, modelFlags(), []cli.Flag{
			yesFlag("write what passed without asking"),
			allowFlag(),
			noInstallFlag(),
			jsonFlag(),
		}),
		Action: c.sandboxLoop,
	}
}

// modelFlags say who is asked and what it may cost.
//
// They are text, also where they mean a number: the same values come from the
// environment and from files, and all are checked in one place.
func modelFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "candidates", Usage: "ask for `N` different changes, take the best (1 to 64) [$AGENT_CANDIDATES]"},
		&cli.StringSliceFlag{Name: "model", Usage: "ask `VENDOR/NAME` (gemini/…, ollama/…); more of them are fallbacks, in order [$AGENT_MODEL]"},
		&cli.StringFlag{Name: "max-cost", Usage: "spend at most `AMOUNT`, in the currency of the prices [$AGENT_MAX_COST]"},
		&cli.StringFlag{Name: "max-tokens", Usage: "use at most `N` tokens [$AGENT_MAX_TOKENS]"},
		&cli.StringFlag{Name: "max-requests", Usage: "make at most `N` requests [$AGENT_MAX_REQUESTS]"},
		&cli.StringFlag{Name: "max-time", Usage: "wait for models at most for `TIME`, as 10m [$AGENT_MAX_TIME]"},
	}
}

// allowFlag approves kinds of changes in advance.
//
// The kinds are spelt out in the help, since a person meets them first in a
// refusal, and then looks here.
func allowFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "allow", Usage: "approve changes of this `KIND` (ci, git, dependencies, tooling, agent, secret, suppression, weaker-test, weaker-type, changed-test, unseen, protected) in advance; may be repeated [$AGENT_ALLOW]"}
}

// noInstallFlag leaves out what the workspace depends on.
//
// Whoever says so gets gates that do not see what is imported; for a workspace
// whose lock files cannot be installed that is better than none.
func noInstallFlag() cli.Flag {
	return &cli.BoolFlag{Name: "no-install", Usage: "install nothing that the workspace depends on, as AGENT_INSTALL=false says; else what its lock files name is installed once, in an image", DisableDefaultText: true}
}

// sandboxLoop runs the loop and prints each run as it ends.
func (c *cmdline) sandboxLoop(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	start, err := loopStart(ctx, set)
	if err != nil {
		return err
	}
	req, err := c.baseRequest(set)
	if err == nil && ctx.String("replay") == "" {
		// Asked before anything is built: without a model the loop could only
		// fail, minutes later. A replay asks none.
		err = wire.CheckAnyModel(ctx.Context, set)
	}
	if err != nil {
		return err
	}
	return c.with(ctx.Context, set, true, func(s *session) error {
		f, err := c.fleet(ctx, set, s, &req, &start)
		if err != nil {
			return err
		}
		f.loop.Rest, f.loop.MaxFailures = ctx.Duration("rest"), ctx.Int("max-failures")
		if ctx.String("replay") != "" {
			f.loop.Rest = 0 // it is for the vendor's sake
		}
		asJSON := set.On("json")
		// The board is taken off the terminal while something is printed, and
		// drawn again below it.
		f.loop.Tell = func(r loop.Round, doc *run.Document) {
			defer f.board.Pause()()
			c.tellRound(r, doc, asJSON)
		}
		res := f.loop.Run(ctx.Context, req, start)
		f.board.Close()
		return c.reportLoop(res, asJSON)
	})
}

// loopStart reads what the loop is told.
//
// A loop that is resumed has its order on record; one that is replayed gets the
// order of the recorded loop later, see recording.
func loopStart(ctx *cli.Context, set config.Settings) (loop.Start, error) {
	start := loop.Start{Resume: ctx.Bool("resume"), Fresh: ctx.Bool("fresh")}
	if start.Resume {
		// A flag that changes nothing would be believed to.
		for _, flag := range []string{"fresh", "iterations", "until-clean", "goal", "file", "candidates", "replay"} {
			if ctx.IsSet(flag) {
				return start, fault.Usage("leave --"+flag+" out: the loop that is carried on has it", "--resume and --%s do not go together", flag)
			}
		}
		return start, nil
	}
	for _, flag := range []string{"iterations", "max-failures"} {
		if ctx.Int(flag) < 0 {
			return start, fault.Usage("give a number from 0", "--%s is %d", flag, ctx.Int(flag))
		}
	}
	// Most often a shell variable that was not set. Without a goal the loop would
	// do something else, and pay for it.
	if ctx.IsSet("goal") && ctx.String("goal") == "" {
		return start, fault.Usage("say what the changes are for, or leave --goal out", "the goal is empty")
	}
	n, err := strconv.Atoi(set["candidates"].Text) // checked with the settings
	start.Order = loop.Order{
		Goal: ctx.String("goal"), Scope: ctx.StringSlice("file"), Iterations: ctx.Int("iterations"),
		UntilClean: ctx.Bool("until-clean"), Candidates: n,
	}
	return start, err
}

// A fleet is a loop and the board that shows it.
type fleet struct {
	loop  *loop.Loop
	board *term.Board
}

// fleet puts together what iterations need: who decides at checkpoints,
// who finds changes, and who learns from them. For a replay it puts into
// start what the recorded iterations were told.
func (c *cmdline) fleet(ctx *cli.Context, set config.Settings, s *session, req *run.Request, start *loop.Start) (*fleet, error) {
	// Building the toolchain can take minutes the first time; it has
	// BuildKit's own display, before the first run begins.
	if _, err := s.Builder.Ensure(ctx.Context, images.Toolchain); err != nil {
		return nil, fmt.Errorf("build the toolchain image: %w", err)
	}
	if err := s.SettleRuntime(ctx.Context, &req.Config, c.Stderr); err != nil {
		return nil, err
	}
	s.Builder.Progress = nil // from here on the terminal is the board's
	// A replay that names no loop ends here, before a board is drawn.
	recorded, err := s.recording(ctx, start)
	if err != nil {
		return nil, err
	}
	board := c.NewBoard(time.Duration(cmp.Or(req.Config.Smoke.Seconds, 10)) * time.Second)
	s.Notify = board.Event
	// A question is shown before it is sent where its answer will be: to
	// a person who has not said yes to everything.
	var before func(context.Context, agent.Question) (agent.Question, error)
	if c.Attended() && !set.On("yes") && recorded == nil {
		before = (&sender{cmdline: c, wait: set.Patience(), board: board}).before
	}
	// A loop spends from one purse, whatever process carries it on.
	scope := "loop"
	if start.Order.Single {
		scope = "run"
	}
	crew, err := s.Crews(set, scope, before, recorded)
	if err != nil {
		board.Close()
		return nil, err
	}
	req.Approver = s.guarded(&approver{cmdline: c, yes: set.On("yes"), allow: req.Allow, wait: set.Patience(), board: board})
	return &fleet{board: board, loop: &loop.Loop{
		Runner: s.Runner(board.Event), Iterations: s.DB, Knowledge: s.DB, Crew: crew,
		Study: func(ctx context.Context, dir string, found func([]ledger.Ripple) error) error {
			return s.Follow(ctx, dir, req.Exclude, found)
		},
		Export:   s.Export,
		Attended: set.On("yes") || c.Attended() || req.NoPromote,
	}}, nil
}

// recording returns the iterations that are to be replayed, nil for none.
func (s *session) recording(ctx *cli.Context, start *loop.Start) ([]wire.Recorded, error) {
	of := ctx.String("replay")
	if of == "" {
		return nil, nil
	}
	const next = "see `agent runs list` for runs with a goal, `agent sql \"select * from v_iterations\"` for loops"
	// The beginning of a name is enough, as everywhere.
	if !start.Order.Single {
		list, err := s.DB.LoopIterations(ctx.Context, of)
		if errors.Is(err, store.ErrNotFound) {
			return nil, fault.Usage(next, "no loop is named %s", of)
		}
		if err != nil {
			return nil, err
		}
		var recs []wire.Recorded
		for _, it := range list {
			// One that ended before it had a plan has nothing to repeat.
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
		return nil, fault.Usage(next, "run %s made no plan: it was given its patch, or ended before", found.ID)
	}
	p, err := tournament.RecordedPlan(plan).Plan(ctx.Context, nil, run.Request{})
	start.Order.Goal = p.Task.Brief.Goal
	return []wire.Recorded{{Plan: plan, Asked: asked}}, err
}

// iterate is a run without a patch: one iteration of the loop. Its result
// is printed as soon as the run has ended; what is learnt from it follows.
func (c *cmdline) iterate(ctx *cli.Context, set config.Settings, s *session, req run.Request) error {
	start := loop.Start{Order: loop.Order{Single: true, Goal: req.Goal, Scope: req.Scope, Candidates: req.Candidates, Iterations: 1}}
	f, err := c.fleet(ctx, set, s, &req, &start)
	if err != nil {
		return err
	}
	f.loop.MaxFailures = 1 // whoever waits for one run decides about another
	var ended *run.Document
	var reported error
	f.loop.Tell = func(_ loop.Round, doc *run.Document) {
		if doc == nil {
			return
		}
		defer f.board.Pause()()
		s.ended = doc
		ended, reported = doc, c.deliver(ctx, set, *doc)
	}
	res := f.loop.Run(ctx.Context, req, start)
	f.board.Close()
	switch {
	// No run came to its end, so no document tells the reason.
	case ended == nil && res.Error != nil:
		return problemFault(*res.Error, res.Exit)
	case res.Error != nil && ended.Error == nil:
		// The run is done and told; only the learning is not.
		fmt.Fprintf(c.Stderr, "agent: not learnt from it yet: %s\nnext: %s\n", term.CleanLine(res.Error.Message), term.CleanLine(res.Error.Next))
	}
	return reported
}

// problemFault is the fault of a problem that no document tells.
//
// It keeps kind, hint and exit code, so that a script sees the same whether the
// problem came up before the run or in it.
func problemFault(p run.Problem, exit int) error {
	return &fault.Error{Exit: exit, Kind: p.Kind, Next: p.Next, Err: errors.New(p.Message)}
}

// tellRound prints the beginning of an iteration and the end of its run.
func (c *cmdline) tellRound(r loop.Round, doc *run.Document, asJSON bool) {
	switch {
	case doc != nil && asJSON:
		term.PrintJSONLine(c.Stdout, doc) // what nobody reads any more changes nothing about the loop
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

// reportLoop prints what the loop did and ends with its exit code.
//
// A reader that went away is no error of the loop: what was promoted is promoted,
// and the exit code says how it ended.
func (c *cmdline) reportLoop(res loop.Result, asJSON bool) error {
	if asJSON {
		if err := term.PrintJSONLine(c.Stdout, res); err != nil && !errors.Is(err, syscall.EPIPE) {
			return fault.Infra("see `agent sql \"select * from v_iterations\"`", "print the result: %w", err)
		}
	} else {
		c.Summary().Loop(res)
	}
	if res.Exit == run.ExitDone {
		return nil
	}
	return fault.Reported{Exit: res.Exit}
}

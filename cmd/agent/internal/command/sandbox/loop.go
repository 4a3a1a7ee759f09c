package sandbox

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
)

// Rebuilds makes each iteration of a loop build the next image of the agent, if the workspace is the agent's own source; package self has
// it.
type Rebuilds interface {
	// Check refuses a loop that is impossible, before anything is built.
	Check(set config.Settings) error
	// Around returns the work around the run of each iteration, and prepares the request and the approver for it. Each
	// new image is watched for the time of trial before it is kept.
	Around(a *Attempt, req *run.Request, trial time.Duration) loop.Around
}

// loopCommand returns the command for the loop. Flags that aim and cap one run do the same for each iteration here.
func (c command) loopCommand(own Rebuilds) *cli.Command {
	return &cli.Command{
		Name: "loop", Usage: "find and prove changes, iteration after iteration",
		Description: "Each iteration takes up the next thing (your next directive, else the oldest proposal kept from\n" +
			"before, else a file that uses what was just changed, else the model's choice of the files whose\n" +
			"turn it is), has a model review it, proves the change in throwaway containers, has it repaired,\n" +
			"writes back what passed, and remembers what was done. Without a terminal it needs --yes. With\n" +
			"--yes nothing is invented: a review that finds nothing proposes no feature. Without --yes a\n" +
			"feature is kept for `agent proposals list`, and only a person at the terminal, `agent sandbox\n" +
			"run --proposal N` or --features has it written. A question without an answer ends the loop. With\n" +
			"--wrap-up it ends after that many promotions; in the hours of loop.quiet it begins nothing. It\n" +
			"ends on request, after failures in a row, when every file was reviewed since it last changed, or\n" +
			"when a cap is reached. Caps apply to the loop as a whole, including what it spent before\n" +
			"--resume. --resume continues it where it stopped, and no answer of a model is paid for twice.\n\n" + cmdline.Examples(
			"agent sandbox loop --iterations 3 --yes", "three changes at most",
			"agent sandbox loop --until-clean --yes --max-wall 8h", "review every file that is due, for a night at most",
			"agent sandbox loop --wrap-up 8 --yes", "eight changes to look at, and a pull request for them",
			"agent sandbox loop --self --iterations 3 --yes", "the agent's own source: each change becomes its next image",
			"agent sandbox loop --resume --yes", "after Ctrl-C or a reboot; after a cap, with a higher one",
			"agent sandbox loop --replay 1k3 --yes", "a recorded loop again, without a model"),
		Flags: slices.Concat([]cli.Flag{
			cmdline.WorkspaceFlag(),
			&cli.IntFlag{Name: "iterations", Aliases: []string{"n"}, Usage: "end after `N` iterations; 0 continues until nothing is left to review"},
			&cli.BoolFlag{Name: "until-clean", Usage: "review every file that is due, and end when none is; propose no features", DisableDefaultText: true},
			&cli.DurationFlag{Name: "rest", Value: 120 * time.Second, Usage: "pause for `TIME` between iterations"},
			&cli.IntFlag{Name: "wrap-up", Usage: "end after `N` promotions, with a summary and the command that makes a pull request of them; 0 for never"},
			&cli.BoolFlag{Name: "self", Usage: "the workspace is the agent's own source: every change goes through what `agent self rebuild` does", DisableDefaultText: true},
			&cli.DurationFlag{Name: "trial", Value: 30 * time.Second, Usage: "with --self: watch each new image for `TIME` before it is kept"},
			&cli.IntFlag{Name: "max-failures", Value: 3, Usage: "end after `N` failures in a row"},
			&cli.BoolFlag{Name: "resume", Usage: "continue the last loop of the workspace", DisableDefaultText: true},
			&cli.BoolFlag{Name: "fresh", Usage: "discard the interrupted iteration and start over", DisableDefaultText: true},
			&cli.StringFlag{Name: "replay", Usage: "take plans and answers from the record of `LOOP`; no model is asked"},
			&cli.StringFlag{Name: "goal", Aliases: []string{"g"}, Usage: "what every change is for, as `TEXT`"},
			&cli.StringSliceFlag{Name: "file", Usage: "work on `PATH`; if repeated, the others are read too"},
		}, cmdline.ModelFlags(), config.Flags("max-wall"), []cli.Flag{
			cmdline.YesFlag("write what passed without asking"),
			cmdline.AllowFlag(),
			cmdline.NoInstallFlag(),
			cmdline.JSONFlag(cmdline.RunDocument(), cmdline.Document[loop.Result]("loop", 1)),
		}, cmdline.ConsentFlags()),
		Action: func(ctx *cli.Context) error { return c.sandboxLoop(ctx, own) },
	}
}

// sandboxLoop runs the loop and prints each run as it ends.
func (c command) sandboxLoop(ctx *cli.Context, own Rebuilds) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	start, err := loopStart(ctx, set)
	if err != nil {
		return err
	}
	if ctx.Bool("self") {
		if err := own.Check(set); err != nil {
			return err
		}
	}
	req, err := BaseRequest(set)
	if err == nil && ctx.String("replay") == "" {
		// Checked before anything is built: without a model the loop could only fail, minutes later. A replay asks
		// none.
		err = wire.CheckAnyModel(ctx.Context, set)
	}
	if err != nil {
		return err
	}
	return c.With(ctx.Context, set, true, func(s *wire.Session) error {
		a := &Attempt{Line: c.Line, Session: s, Settings: set}
		// No one is there to say whether a feature is wanted.
		req.NoFeature = set.On("yes") && !req.Features
		var around loop.Around
		if ctx.Bool("self") {
			around = own.Around(a, &req, ctx.Duration("trial"))
		}
		l, board, err := a.newLoop(ctx, &req, &start)
		if err != nil {
			return err
		}
		defer board.Close()
		l.Around = around
		l.Rest, l.MaxFailures, l.MaxWall = ctx.Duration("rest"), ctx.Int("max-failures"), set.Wall()
		l.WrapUp, l.Steering = ctx.Int("wrap-up"), s.DB
		if ctx.String("replay") == "" {
			l.Quiet, l.Pending, l.Orders, l.Features = set.Quiet(), l.Runner.Proposals, s.DB, req.Features
			if c.Attended() && !set.On("yes") {
				l.Ask = asksAbout(req.Approver)
			}
		} else {
			l.Rest = 0 // it is for the vendor's sake
		}
		asJSON := set.On("json")
		// The board is removed from the terminal while something is printed, and redrawn below it.
		l.Tell = func(r loop.Round, doc *run.Document) {
			if doc != nil {
				a.fold(board)
			}
			defer board.Pause()()
			tellRound(c.Line, r, doc, asJSON)
		}
		res := l.Run(ctx.Context, req, start)
		board.Close()
		return c.reportLoop(res, asJSON)
	})
}

// loopStart reads the order of the loop.
//
// A resumed loop has its order on record; a replayed one gets the order of the recorded loop later, see recording.
func loopStart(ctx *cli.Context, set config.Settings) (loop.Start, error) {
	start := loop.Start{Resume: ctx.Bool("resume"), Fresh: ctx.Bool("fresh")}
	if start.Resume {
		return start, excludes(ctx, "resume", "the resumed loop has it", "fresh", "iterations", "until-clean", "goal", "file", "candidates", "replay")
	}
	for _, flag := range []string{"iterations", "max-failures", "wrap-up"} {
		if ctx.Int(flag) < 0 {
			return start, fault.Usage("use a number from 0", "--%s is %d", flag, ctx.Int(flag))
		}
	}
	// Usually a shell variable that is not set. Without a goal the loop would do something else, and pay for it.
	if ctx.IsSet("goal") && ctx.String("goal") == "" {
		return start, fault.Usage("say what the changes are for, or omit --goal", "the goal is empty")
	}
	n, err := strconv.Atoi(set["candidates"].Text) // checked with the settings
	start.Order = loop.Order{
		Goal: ctx.String("goal"), Scope: ctx.StringSlice("file"), Iterations: ctx.Int("iterations"),
		UntilClean: ctx.Bool("until-clean"), Candidates: n,
	}
	return start, err
}

// asksAbout asks a person whether to resume a kept proposal.
func asksAbout(approver run.Approver) func(context.Context, run.KeptProposal) (run.Decision, error) {
	return func(ctx context.Context, p run.KeptProposal) (run.Decision, error) {
		answer, err := approver.Approve(ctx, run.Proposal{Workspace: p.Workspace, Feature: &p})
		return answer.Decision, err
	}
}

// reportLoop prints what the loop did and ends with its exit code.
//
// A reader that closed the pipe is not an error of the loop: what was promoted is promoted, and the exit code says how
// the loop ended.
func (c command) reportLoop(res loop.Result, asJSON bool) error {
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

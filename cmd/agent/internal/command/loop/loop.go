// Package loop implements `agent loop`: a task file, carried out loop by loop (execution and review), and delivered as one change.
package loop

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/build"
	"agent/cmd/agent/internal/command/sandbox"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/crew"
	"agent/orchestrator/run"
)

type command struct{ *cmdline.Line }

// Command returns the command that carries out task files.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "loop", Usage: "carry out a task file, loop after loop, until its acceptance is met and a review accepts it", ArgsUsage: "[TASK.md]",
		Description: "TASK.md is a goal in Markdown below a head that says how to tell that it is done, and what it may cost: see\n" +
			"`agent help task-files`. Each loop is a run that changes files, and a review by a model that sees the task,\n" +
			"the change, the calls of tools and what the gates said, but nothing that says who made it. The review's\n" +
			"next steps go to the next loop. The loops end when the acceptance is met and reviewed, when two loops in a\n" +
			"row changed nothing, or at a limit, and the result says which. Only then is the whole judged once as one\n" +
			"change, and written after a question, or with --yes. The file is read once: later changes to it do not\n" +
			"count. If the process is killed anywhere, --resume continues, and no answer of a model is paid for twice.\n\n" + cmdline.Examples(
			"agent loop TASK.md", "carry it out, then ask",
			"agent loop TASK.md --loops 3 --yes --commit", "at most three loops, one commit each",
			"agent loop --resume", "after Ctrl-C, a cap, a reboot",
			"agent loop --resume --loops 8", "after all of its loops are used"),
		Flags: slices.Concat([]cli.Flag{
			cmdline.WorkspaceFlag(),
			&cli.IntFlag{Name: "loops", Usage: fmt.Sprintf("run up to `N` loops, %d at most; by default what the file says, or 5", crew.MaxLoops)},
			&cli.BoolFlag{Name: "resume", Usage: "resume the newest unfinished loop", DisableDefaultText: true},
			&cli.BoolFlag{Name: "step", Usage: "ask before each loop, and before the whole is judged", DisableDefaultText: true},
			&cli.BoolFlag{Name: "partial", Usage: "deliver what is done even if the loops end without an acceptance", DisableDefaultText: true},
			&cli.BoolFlag{Name: "no-review", Usage: "do not ask a model for reviews", DisableDefaultText: true},
			&cli.BoolFlag{Name: "despite-review", Usage: "deliver what meets the acceptance even if the review does not accept it", DisableDefaultText: true},
		}, build.DeliveryFlags("write what passed without asking")),
		Action: c.loop,
	}
}

// loop runs the command.
func (c command) loop(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	const next = "name a task file: agent loop TASK.md; `agent help task-files` shows one"
	n := ctx.Int("loops")
	switch {
	case ctx.Args().Present() == ctx.Bool("resume"):
		return fault.Usage(next, "use either a task file or --resume")
	case n < 0 || n > crew.MaxLoops || ctx.IsSet("loops") && n == 0:
		return fault.Usage(fmt.Sprintf("use a number from 1 to %d", crew.MaxLoops), "--loops is %d", n)
	case ctx.Args().First() == "-":
		return fault.Usage(next, "a task is read from a file, not from standard input")
	case ctx.Bool("step") && !c.Attended():
		return fault.Usage("omit --step", "there is no terminal to ask questions on")
	}
	req, err := sandbox.BaseRequest(set)
	if err != nil {
		return err
	}
	defer req.Place.Close()
	if req.Commit, err = sandbox.CommitOrder(ctx, c.Line, req.Place.Path, req.NoPromote); err != nil {
		return err
	}
	var text []byte
	if !ctx.Bool("resume") {
		if text, err = c.ReadInput(ctx.Context, "task file", ctx.Args().First(), next); err != nil {
			return err
		}
		if _, _, err := crew.ReadTask("", text); err != nil { // before anything is started
			return fault.Usage("see `agent help task-files`", "%s: %w", ctx.Args().First(), err)
		}
	}
	if err := wire.CheckAnyModel(ctx.Context, set); err != nil {
		return err
	}
	return c.With(ctx.Context, set, true, func(s *wire.Session) error {
		p, err := find(ctx.Context, s, set, req, ctx.Args().First(), text, n)
		if err != nil {
			return err
		}
		return build.Carry(ctx, c.Line, s, set, req, p)
	})
}

// find records a new loop of a task file, or finds the one to resume. It has n loops, unless n is 0.
func find(ctx context.Context, s *wire.Session, set config.Settings, req run.Request, name string, text []byte, n int) (crew.Plan, error) {
	root := req.Place.Path
	if text != nil {
		b, err := s.PlanBuilder(set)
		if err != nil {
			return crew.Plan{}, err
		}
		file := cmdline.Resolved(name)
		if inside, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(inside) {
			file = filepath.ToSlash(inside)
		}
		p, problem := b.Loop(ctx, root, file, text, n)
		return p, fault.Of(problem)
	}
	list, err := s.DB.Plans().Plans(ctx, root, 200)
	if err != nil {
		return crew.Plan{}, err
	}
	i := slices.IndexFunc(list, func(p crew.Plan) bool { return p.Loop != nil && !p.State.Over() })
	if i < 0 {
		return crew.Plan{}, fault.Usage("`agent loop TASK.md` begins one", "this workspace has no unfinished loop to resume")
	}
	if n > 0 && !wire.OwnerAlive(list[i].Owner) {
		list[i].Loop.Limits.Loops = n
		err = s.DB.Plans().SavePlan(ctx, list[i], list[i].Owner)
	}
	return list[i], err
}

package sandbox

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/exec"
	"agent/orchestrator/run"
	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workbench"
)

// execFlags returns the flags of a command in a workbench.
func execFlags() []cli.Flag {
	return slices.Concat([]cli.Flag{
		cmdline.WorkspaceFlag(),
		&cli.DurationFlag{Name: "timeout", Value: exec.DefaultTimeout, Usage: "end the command after `TIME`; then nothing is judged"},
		cmdline.YesFlag("write what passed without asking"),
		config.FlagFor("no-promote", ""),
		cmdline.AllowFlag(),
		cmdline.NoInstallFlag(),
		&cli.BoolFlag{Name: "keep", Usage: "keep the container for another command, for 8 hours at most", DisableDefaultText: true},
		&cli.StringFlag{Name: "in", Usage: "run it in the kept container `BOX`, see `agent sandbox ls`; with --keep it stays"},
	}, CommitFlags(), config.Flags("max-cost", "max-tokens", "max-requests", "max-time", "expiry"))
}

// execCommand returns the command that runs a user's command in a box.
func (c command) execCommand() *cli.Command {
	return &cli.Command{
		Name: "exec", Usage: "run any command in a throwaway container, then prove what it changed", ArgsUsage: "-- COMMAND [ARGUMENT…]",
		Description: "Starts a container with a snapshot of the workspace and runs COMMAND there: a codemod, a formatter,\n" +
			"a coding agent. It has no network and sees nothing else of this machine; its output is shown as it\n" +
			"runs. When it ends, its changes become a patch: no links, devices, caches, secrets or version\n" +
			"control, and only text; what is left out is reported. The patch is proved in other containers like\n" +
			"any other, shown, and written after a question, or with --yes. How the command ended is reported,\n" +
			"but does not count. With a terminal at both ends, the command has a terminal of its own.\n\n" + cmdline.Examples(
			"agent sandbox exec -- sed -i s/colour/color/ README.md", "prove it, show the diff, ask",
			"agent sandbox exec --no-promote -- ruff check --fix .", "prove only",
			"agent sandbox exec --stdin --yes -- patch -p1 <fix.diff", "with standard input",
			"agent sandbox exec --keep --no-promote -- claude -p 'add a cache'", "and continue there",
			"agent sandbox exec --in 3f2a9c01b2d4 -- claude -c -p 'now test it'", "with the container's name"),
		Flags: slices.Concat(execFlags(), []cli.Flag{
			&cli.BoolFlag{Name: "stdin", Usage: "pass it standard input, up to 16 MiB", DisableDefaultText: true},
			cmdline.JSONFlag(cmdline.RunDocument()),
		}),
		Action: c.sandboxExec,
	}
}

// shellCommand returns the command that gives a person a session in a box.
func (c command) shellCommand() *cli.Command {
	return &cli.Command{
		Name: "shell", Usage: "open a shell in a throwaway container, then prove what was changed there",
		Description: "Is `agent sandbox exec` with a shell, on your terminal: change the workspace's copy by hand,\n" +
			"run what you like, and leave with `exit` or Ctrl-D. Your changes are then proved, shown and\n" +
			"written after a question.\n\n" + cmdline.Examples("agent sandbox shell", "look around, try something"),
		Flags:  execFlags(),
		Action: c.sandboxShell,
	}
}

// sandboxExec runs the command of the command line.
func (c command) sandboxExec(ctx *cli.Context) error {
	if !ctx.Args().Present() {
		return fault.Usage("name it after --: agent sandbox exec -- COMMAND", "there is no command to run")
	}
	return c.workbench(ctx, exec.Work{Command: ctx.Args().Slice()})
}

// sandboxShell runs a shell.
func (c command) sandboxShell(ctx *cli.Context) error {
	if ctx.Args().Present() {
		return fault.Usage("use `agent sandbox exec -- COMMAND`", "a shell takes no command")
	}
	if !c.Attachable() {
		return fault.Usage("use `agent sandbox exec -- COMMAND` where there is none", "a shell needs a terminal")
	}
	return c.workbench(ctx, exec.Work{Command: []string{"/bin/bash"}})
}

// workbench runs a command in a box, and has its changes judged.
func (c command) workbench(ctx *cli.Context, w exec.Work) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	if w.Timeout = ctx.Duration("timeout"); w.Timeout < time.Second {
		return fault.Usage("use e.g. 90s", "invalid duration %q (minimum 1s)", w.Timeout)
	}
	req, err := BaseRequest(set)
	if err != nil {
		return err
	}
	if ctx.Bool("stdin") {
		if w.Stdin, err = readStdin(ctx.Context, c.Stdin); err != nil {
			return err
		}
	}
	recipe, err := follow(set, &w)
	if err != nil {
		return err
	}
	if req.Commit, err = CommitOrder(ctx, c.Line, req.Place.Path, req.NoPromote); err != nil {
		return err
	}
	w.Keep = ctx.Bool("keep")
	return c.With(ctx.Context, set, true, func(s *wire.Session) error {
		Describe(req.Commit, ctx.String("message"), "Apply what "+path.Base(w.Command[0])+" changed", s.DB)
		kept, err := settleKept(ctx.Context, s, ctx.String("in"), req.Place.Path, &w)
		if err != nil {
			return err
		}
		if recipe != nil {
			recipe.open(s, &w)
		}
		a := &Attempt{Line: c.Line, Session: s, Settings: set}
		return a.exec(ctx, req, w, kept)
	})
}

// readStdin reads all input for the command. No input counts as empty input.
func readStdin(ctx context.Context, from io.Reader) ([]byte, error) {
	data, err := term.Read(ctx, from, guest.MaxStdin)
	if errors.Is(err, term.ErrTooLarge) {
		return nil, fault.Usage("put it into a file of the workspace", "standard input has more than 16 MiB")
	}
	return append([]byte{}, data...), err
}

// exec takes what a command changes in a box through the gate. The box is a fresh one if none is kept.
func (a *Attempt) exec(ctx *cli.Context, req run.Request, w exec.Work, kept *sandbox.Leftover) error {
	board, err := a.Prepare(ctx.Context, a.Session, &req.Config)
	if err != nil {
		return err
	}
	defer board.Close()
	req.Approver = a.approver(req, board, false)
	runner := &exec.Runner{
		Runner: a.Session.Runner(board.Event),
		Start: func(ctx context.Context, spec sandbox.Spec) (exec.Box, error) {
			if kept != nil {
				return a.Session.Engine.Reopen(ctx, *kept)
			}
			return a.Session.Engine.Start(ctx, spec)
		},
		Attend: func(ctx context.Context) (exec.Attendance, error) { return a.attend(ctx, board, w) },
	}
	return a.conclude(ctx, req, board, runner.Run(ctx.Context, req, w))
}

// attend gives the terminal to a command. The command gets a terminal of its own if both ends are terminals and nothing
// else is its input or output. Otherwise its output is only shown.
func (a *Attempt) attend(ctx context.Context, board *term.Board, w exec.Work) (exec.Attendance, error) {
	resume := board.Pause()
	if asJSON := a.Settings.On("json"); asJSON || w.Stdin != nil || !a.Attachable() {
		at := workbench.Console{Stdout: a.Shown(a.Stdout), Stderr: a.Shown(a.Stderr)}
		if asJSON { // standard output is only for the document
			at.Stdout = at.Stderr
		}
		return exec.Attendance{Console: at, End: resume}, nil
	}
	person, err := a.Attach(ctx)
	if err != nil {
		resume()
		return exec.Attendance{}, err
	}
	sizes := make(chan guest.Size)
	go func() { // ends with ctx, or with the terminal's own channel
		for s := range person.Sizes {
			select {
			case sizes <- guest.Size(s):
			case <-ctx.Done():
				return
			}
		}
	}()
	size := guest.Size(person.Size)
	return exec.Attendance{
		Console: workbench.Console{Stdout: a.Stdout, Typed: person.Typed, Sizes: sizes}, Terminal: &size,
		End: func() { person.Detach(); resume() },
	}, nil
}

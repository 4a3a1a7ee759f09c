// Package jobs implements `agent jobs`, which shows and controls long-running work of other processes.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/plan"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/crew"
	"agent/orchestrator/run"
	"agent/orchestrator/store/plans"
)

type command struct{ *cmdline.Line }

// Command returns the group of commands for work of other processes.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	ask := func(name, usage, example, wanted, told string) *cli.Command {
		return &cli.Command{
			Name: name, Usage: usage, ArgsUsage: "N|LOOP", Description: cmdline.Examples("agent jobs "+name+" 3", example),
			Flags:  []cli.Flag{cmdline.JSONFlag(cmdline.Document[Job]("job", 1))},
			Action: func(ctx *cli.Context) error { return c.want(ctx, wanted, told) },
		}
	}
	return &cli.Command{
		Name: "jobs", Usage: "list, pause, resume and cancel running plans and loops, in any process",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the running and unfinished plans, the newest first, and the running loops",
				Description: cmdline.Examples("agent jobs list", "of all workspaces"),
				Flags:       []cli.Flag{cmdline.JSONFlag(cmdline.Document[[]Job]("jobs", 1))},
				Action:      c.list,
			},
			{
				Name: "show", Usage: "show one, with its tasks", ArgsUsage: "N",
				Description: cmdline.Examples("agent jobs show 3", "as `agent plan show 3` does"),
				Flags:       []cli.Flag{cmdline.JSONFlag(cmdline.Document[Job]("job", 1))},
				Action:      c.show,
			},
			ask("pause", "let running work finish, and start nothing new", "then the process ends; `agent build --resume` continues", "pause", "asked to pause"),
			ask("resume", "take back a pause that has not taken effect yet", "`agent build --plan N` resumes an unfinished plan", "", "continues"),
			ask("cancel", "end the process now; what is done is kept", "`agent build --resume` continues at the first unfinished task", "cancel", "asked to end"),
		},
	}
}

// A Job is work in progress, as --json prints it: a plan, or a loop.
type Job struct {
	Plan *crew.Plan `json:"plan"`
	Loop *Loop      `json:"loop,omitempty"`
	// Owner is the process that works on it, "" for none. Alive says that it runs on this machine.
	Owner string `json:"owner"`
	Alive bool   `json:"alive"`
}

// newJob returns the job for a plan.
func newJob(p crew.Plan) Job { return Job{Plan: &p, Owner: p.Owner, Alive: wire.OwnerAlive(p.Owner)} }

// stands says in a word whether a job is at work.
func (j Job) stands() string {
	switch {
	case j.Plan == nil, j.Plan.State == crew.Building && j.Alive:
		return "at work"
	case j.Plan.State == crew.Building:
		return "died"
	}
	return string(j.Plan.State)
}

// list prints the jobs at work.
func (c command) list(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		found, err := s.DB.Plans().Work(ctx.Context)
		if err != nil {
			return err
		}
		list := []Job{}
		for _, p := range found {
			list = append(list, newJob(p))
		}
		loops, err := loops(ctx.Context, s)
		if err != nil {
			return err
		}
		list = append(list, loops...)
		if set.On("json") {
			return term.PrintJSON(c.Stdout, list)
		}
		if len(list) == 0 {
			fmt.Fprintln(c.Stderr, "nothing is running")
			return nil
		}
		return term.Print(c.Stdout, func(w io.Writer) error {
			t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "JOB\tSTATE\tPROCESS\tWORKSPACE\tGOAL")
			for _, j := range list {
				name, dir, goal := j.told()
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", name, j.stands(), term.CleanLine(j.Owner), term.CleanLine(dir), term.Headline(goal))
			}
			return t.Flush()
		})
	})
}

// named passes the job that the argument names to act.
func (c command) named(ctx *cli.Context, act func(context.Context, *wire.Session, config.Settings, Job) error) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	if ctx.Args().First() == "" { // which Find would take for the newest
		return fault.Usage("see `agent jobs list`", "no plan was named")
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		p, err := plan.Find(ctx.Context, s, ctx.Args().First(), "")
		if err != nil {
			return err
		}
		return act(ctx.Context, s, set, newJob(p))
	})
}

// show prints one job.
func (c command) show(ctx *cli.Context) error {
	return c.named(ctx, func(_ context.Context, _ *wire.Session, set config.Settings, j Job) error {
		if set.On("json") {
			return term.PrintJSON(c.Stdout, j)
		}
		fmt.Fprintf(c.Stderr, "%s %s\n", j.stands(), term.CleanLine(j.Owner))
		return plan.Print(c.Stdout, c.Palette(c.Stdout), *j.Plan)
	})
}

// want asks the process that works on a plan to do something; told says what it was asked.
func (c command) want(ctx *cli.Context, wanted, told string) error {
	if ofLoop(ctx.Args().First()) {
		return c.wantLoop(ctx, wanted, told)
	}
	return c.named(ctx, func(ctx context.Context, s *wire.Session, set config.Settings, j Job) error {
		next := fmt.Sprintf("`agent build --plan %d` continues it", j.Plan.ID)
		if j.Plan.State.Over() {
			next = "`agent jobs list` shows what is running"
		}
		if j.Plan.State == crew.Building && !j.Alive {
			return &fault.Error{Exit: run.ExitConflict, Kind: run.ProblemConflict, Next: next, Err: fmt.Errorf("the process of plan %d has died: %s", j.Plan.ID, j.Owner)}
		}
		err := s.DB.Plans().Want(ctx, j.Plan.ID, wanted)
		if errors.Is(err, plans.ErrOver) {
			return &fault.Error{Exit: run.ExitConflict, Kind: run.ProblemConflict, Next: next, Err: fmt.Errorf("plan %d is not running: it is %s", j.Plan.ID, j.Plan.State)}
		}
		if err != nil {
			return err
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, j)
		}
		_, err = fmt.Fprintf(c.Stdout, "plan %d: %s\n", j.Plan.ID, told)
		return err
	})
}

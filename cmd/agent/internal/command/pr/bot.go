package pr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/forge"
	"agent/orchestrator/run"
	"agent/orchestrator/serve/bot"
	"agent/orchestrator/store"
	"agent/orchestrator/store/database"
)

// A Worker does the jobs of a bot with the commands of this group, in this process, and asks no one.
type Worker struct {
	command
	db *store.DB
	// dir is a directory of the agent's own: no workspace's configuration applies to what others ask for.
	dir string
	// more are arguments for the commands that watch a build.
	more []string
}

// NewWorker returns a worker. may decides whose comments it takes up.
func NewWorker(line *cmdline.Line, db *store.DB, dir string, may func(ctx context.Context, api forge.Forge, name string) (bool, error)) *Worker {
	c := newCommand(line)
	c.may = may
	return &Worker{command: c, db: db, dir: dir}
}

// Connect opens a repository by its name, without its objects.
func Connect(ctx context.Context, line *cmdline.Line, set config.Settings, name string) (forge.Forge, forge.Kind, forge.Address, error) {
	t, _, err := newCommand(line).connect(ctx, set, name)
	if err != nil {
		return nil, "", forge.Address{}, err
	}
	return t.api, t.kind, t.address, nil
}

// Do implements bot.Bot.Do. Each command finds what an earlier try did.
func (w *Worker) Do(ctx context.Context, j bot.Job) bot.Outcome {
	number := strconv.Itoa(j.Number)
	switch j.Act {
	case bot.Run:
		return w.whole(ctx, j)
	case bot.Review:
		return judged(w.call(ctx, "review", "--repo", j.Repository, number))
	case bot.Integrate:
		return judged(w.call(ctx, "review", "--integrate", "--repo", j.Repository, number))
	case bot.Fix:
		o, _ := w.call(ctx, "fix-ci", append(slices.Clone(w.more), "--repo", j.Repository, number)...)
		return o
	}
	return bot.Outcome{State: bot.Failed, Why: "unknown kind of job"}
}

// judged counts a verdict against a change as work that is done.
func judged(o bot.Outcome, reported bool) bot.Outcome {
	if reported {
		o.State = bot.Done
	}
	return o
}

// whole goes from an issue to its pull request, or resumes what an earlier job or try began.
func (w *Worker) whole(ctx context.Context, j bot.Job) bot.Outcome {
	here := store.Repository{Host: j.Host, Slug: j.Repository}
	last, err := w.db.IssueIntegration(ctx, here, j.Number, j.Queued)
	if err == nil && last.State.Ended() {
		return ended(last)
	}
	open, oerr := w.db.OpenIntegration(ctx, here)
	switch {
	case err != nil && !errors.Is(err, database.ErrNotFound):
		return outcome(ctx, "", err)
	case oerr != nil && !errors.Is(oerr, database.ErrNotFound):
		return outcome(ctx, "", oerr)
	case oerr == nil && open.Issue == j.Number:
		o, _ := w.call(ctx, "run", append(slices.Clone(w.more), "--resume", j.Repository)...)
		return o
	case oerr == nil && open.Issue != 0:
		return bot.Outcome{State: bot.Failed, Why: fmt.Sprintf("the work on issue %d is in state %s: /agent run there resumes it, /agent stop abandons it", open.Issue, open.State)}
	case oerr == nil:
		return bot.Outcome{State: bot.Failed, Why: fmt.Sprintf("work that a person began is in state %s, and a repository can have only one at a time", open.State)}
	}
	o, _ := w.call(ctx, "run", append(slices.Clone(w.more), "--issue", strconv.Itoa(j.Number), j.Repository)...)
	return o
}

// ended returns the outcome of an integration that ended before its job was recorded.
func ended(n store.Integration) bot.Outcome {
	o := bot.Outcome{State: bot.Done, Why: fmt.Sprintf("%s: %s\n%s", n.Repository.Slug, n.State, n.URL)}
	if n.State != store.Integrated {
		o.State, o.Why = bot.Failed, o.Why+"\n"+n.Why
	}
	return o
}

// call runs a command of the group. reported says that it printed a verdict, and that only its exit code tells more.
func (w *Worker) call(ctx context.Context, name string, args ...string) (o bot.Outcome, reported bool) {
	var out bytes.Buffer
	line := *w.Line
	line.Stdin, line.Stdout = strings.NewReader(""), &out
	c := w.command
	c.Line = &line
	app := &cli.App{Name: "agent", DisableSliceFlagSeparator: true, ExitErrHandler: func(*cli.Context, error) {}, Commands: []*cli.Command{c.group()}, Writer: &out, ErrWriter: line.Stderr}
	err := app.RunContext(ctx, append([]string{"agent", "pr", name, "--workspace", w.dir}, args...))
	o = outcome(ctx, out.String(), err)
	return o, errors.As(err, new(fault.Reported)) && o.State == bot.Failed
}

// outcome returns the outcome of a command, from its output and its error. An infrastructure problem is not an outcome.
func outcome(ctx context.Context, said string, err error) bot.Outcome {
	if err == nil {
		return bot.Outcome{State: bot.Done, Why: said}
	}
	o := bot.Outcome{State: bot.Failed, Why: said, Busy: errors.As(err, new(*store.LeaseError))}
	var printed fault.Reported
	exit := 0
	if errors.As(err, &printed) { // its output says why
		exit = printed.Exit
	} else {
		var problem run.Problem
		problem, exit = fault.Classify(ctx, err)
		o.Why = strings.TrimSpace(said + "\n" + problem.Message)
	}
	if exit == run.ExitInfra || o.Busy {
		o.State = bot.Queued
	}
	return o
}

// GiveUp implements bot.Bot.GiveUp: a stopped integration of an issue cannot be resumed afterwards.
func (w *Worker) GiveUp(ctx context.Context, j bot.Job) error {
	open, err := w.db.OpenIntegration(ctx, store.Repository{Host: j.Host, Slug: j.Repository})
	if errors.Is(err, database.ErrNotFound) {
		return nil
	}
	if err != nil || open.Issue == 0 || j.Pull && open.Number != j.Number || !j.Pull && open.Issue != j.Number {
		return err
	}
	open.State, open.Why = store.GivenUp, "somebody asked for it to stop"
	return w.db.SaveIntegration(ctx, open)
}

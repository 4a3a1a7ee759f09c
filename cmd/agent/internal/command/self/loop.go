package self

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent/cmd/agent/internal/cmdline"
	sandboxcmd "agent/cmd/agent/internal/command/sandbox"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/selfbuild"
)

// Rebuilds makes each iteration of `agent sandbox loop --self` do what `agent self rebuild` does.
func Rebuilds(line *cmdline.Line) sandboxcmd.Rebuilds {
	// The messages of a rebuild are progress of the loop.
	quiet := *line
	quiet.Stdout = line.Stderr
	return rebuilds{command{&quiet}}
}

type rebuilds struct{ command }

// Check implements sandboxcmd.Rebuilds.
func (c rebuilds) Check(set config.Settings) error {
	return errors.Join(checkPromotes(set), checkRepository(set["workspace"].Text))
}

// Around implements sandboxcmd.Rebuilds.
func (c rebuilds) Around(a *sandboxcmd.Attempt, req *run.Request, trial time.Duration) loop.Around {
	raise(req)
	r := &rebuild{command: c.command, attempt: a, set: a.Settings, req: *req}
	r.prepare(trial)
	return func(ctx context.Context, it loop.Iteration, work func() run.Document) (doc run.Document, problem *run.Problem) {
		err := c.journal(ctx, a.Session.Engine, func(j *selfbuild.Journal) error {
			if err := a.Session.Engine.ReapErrands(ctx); err != nil {
				return err
			}
			r.prepare(trial)
			r.journal = j
			return j.Attempt(ctx, "iteration "+it.ID+" of a loop", func() error {
				doc = work()
				var err error
				if doc.Exit != run.ExitDone {
					err = fault.Reported{Exit: doc.Exit}
				}
				return r.take(ctx, err, doc.Promotion != nil)
			}, func(err error) error { return why(&doc, err) })
		})
		// If nothing was written, the document says why, and the next iteration may do better.
		if err == nil || doc.Run != "" && doc.Promotion == nil {
			if r.cause != nil {
				fmt.Fprintln(c.Stderr, "self:", term.CleanLine(r.cause.Error()))
			}
			return doc, nil
		}
		p, _ := fault.Classify(ctx, err)
		return doc, &p
	}
}

package jobs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/loop"
)

// A Loop is a running `agent sandbox loop`.
type Loop struct {
	// ID names the loop in `agent jobs pause`.
	ID        string `json:"loop"`
	Workspace string `json:"workspace"`
	// N is the number of its current iteration, from 1.
	N    int    `json:"n"`
	Goal string `json:"goal,omitempty"`
}

// told returns a job's name, its directory and its goal.
func (j Job) told() (name, dir, goal string) {
	if l := j.Loop; l != nil {
		about := fmt.Sprintf("a loop, at iteration %d", l.N)
		if l.Goal != "" {
			about += ": " + l.Goal
		}
		return l.ID, l.Workspace, about
	}
	return strconv.FormatInt(j.Plan.ID, 10), j.Plan.Workspace, j.Plan.Goal
}

// loops lists the loops whose process is alive. A stopped loop is not a job: `agent sandbox loop --resume` finds it by its workspace.
func loops(ctx context.Context, s *wire.Session) (list []Job, err error) {
	found, err := s.DB.Loops(ctx)
	for _, it := range found {
		if wire.OwnerAlive(it.Owner) {
			list = append(list, newLoop(it))
		}
	}
	return list, err
}

// newLoop returns the job for a loop, from its newest iteration.
func newLoop(it loop.Iteration) Job {
	return Job{Loop: &Loop{ID: it.Order.Loop, Workspace: it.Workspace, N: it.Order.Done + 1, Goal: it.Order.Goal}, Owner: it.Owner, Alive: true}
}

// leastName is the minimum length of a loop's name in an argument: the numbers of plans are shorter.
const leastName = 4

// ofLoop reports whether an argument names a loop rather than a plan.
func ofLoop(name string) bool {
	_, err := strconv.ParseUint(name, 10, 64)
	return len(name) >= leastName && (err != nil || len(name) >= 12)
}

// wantLoop asks the process that works on a loop to do something; told says what it was asked.
func (c command) wantLoop(ctx *cli.Context, wanted, told string) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	name := ctx.Args().First()
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		list, err := loops(ctx.Context, s)
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(j Job) bool { return !strings.HasPrefix(j.Loop.ID, name) })
		if len(list) != 1 {
			return fault.Usage("`agent jobs list` shows running loops; `agent sandbox loop --resume` resumes an unfinished one", "%d running loops are named %s", len(list), term.CleanLine(name))
		}
		if err := s.DB.WantLoop(ctx.Context, list[0].Loop.ID, wanted); err != nil {
			return err
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, list[0])
		}
		_, err = fmt.Fprintf(c.Stdout, "loop %s: %s\n", list[0].Loop.ID, told)
		return err
	})
}

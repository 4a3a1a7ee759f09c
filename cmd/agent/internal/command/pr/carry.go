package pr

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/checkpoint"
	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/plan"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/crew"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/run"
)

// carry has the goal of an order planned and the plan carried out, or resumes the plan begun in that directory. It
// shows the plan to a person at a terminal and asks. If no one is there it goes on, like everything that such a command
// was told to do. Only the planner sees what others wrote, as data.
func carry(ctx *cli.Context, line *cmdline.Line, s *wire.Session, o order) (builder.Result, error) {
	var res builder.Result
	if s.Engine == nil {
		return res, fault.Infra("start the engine, then run again; see `agent doctor`", "proving a change needs a container engine, and none answers")
	}
	set, req, err := settled(ctx, line, o)
	if err != nil {
		return res, err
	}
	defer req.Place.Close()
	told := cmdline.New(line.Getenv, line.Stdin, line.Stderr, line.Stderr)
	p, err := begunPlan(ctx.Context, s, req.Place.Path)
	if err == nil && p.ID == 0 {
		p, err = plan.Make(ctx.Context, told, s, set, req, o.goal, o.given)
	}
	if err == nil && p.State == crew.Drafted {
		err = confirm(ctx.Context, told, p)
	}
	if err != nil {
		return res, err
	}
	b, err := s.PlanBuilder(set)
	if err != nil {
		return res, err
	}
	board, err := told.Prepare(ctx.Context, s, &req.Config)
	if err != nil {
		return res, err
	}
	board.Close()
	b.Tell = func(n builder.Note) {
		if n.Text != "" {
			fmt.Fprintln(told.Stderr, term.CleanLine(n.Text))
		}
	}
	req.Approver = &checkpoint.Approver{Console: &told.Console, Yes: true, Allow: req.Allow, Wait: set.Patience(), Board: told.NewBoard(0)}
	return b.Build(ctx.Context, req, p), nil
}

// begunPlan returns the newest plan of a directory if it has tasks and is not over. Otherwise the plan's number is 0.
func begunPlan(ctx context.Context, s *wire.Session, dir string) (crew.Plan, error) {
	list, err := s.DB.Plans().Plans(ctx, dir, 1)
	if err != nil || len(list) == 0 || list[0].State.Over() || len(list[0].Tasks) == 0 {
		return crew.Plan{}, err
	}
	return list[0], plan.Idle(list[0])
}

// confirm shows a plan to a person and asks whether to carry it out.
func confirm(ctx context.Context, line *cmdline.Line, p crew.Plan) error {
	if err := plan.Print(line.Stderr, line.Palette(line.Stderr), p); err != nil || !line.Attended() {
		return err
	}
	yes, err := line.AskYes(ctx, fmt.Sprintf("Carry out these %s?", run.Count(len(p.Tasks), "task")))
	if err != nil && !errors.Is(err, term.ErrExpired) {
		return err
	}
	if !yes {
		return &fault.Error{
			Exit: run.ExitApproval, Kind: run.ProblemPolicy, Next: fmt.Sprintf("`agent plan edit %d` changes it, --resume continues with it", p.ID), Err: fmt.Errorf("plan %d was not approved; it is kept", p.ID),
		}
	}
	return nil
}

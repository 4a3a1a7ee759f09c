// Package build implements `agent build`, which carries out a plan task by task on an integration tree, and delivers it as one change.
package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/checkpoint"
	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/plan"
	"agent/cmd/agent/internal/command/sandbox"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/crew"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/run"
)

type command struct{ *cmdline.Line }

// DeliveryFlags returns the flags of a command that carries out a plan and delivers it; yes describes --yes there.
func DeliveryFlags(yes string) []cli.Flag {
	return slices.Concat(cmdline.ModelFlags(), []cli.Flag{
		cmdline.YesFlag(yes), config.FlagFor("no-promote", ""), cmdline.AllowFlag(), cmdline.NoInstallFlag(),
		cmdline.JSONFlag(cmdline.Document[Built]("built", 1), cmdline.RunDocument()),
	}, sandbox.CommitFlags())
}

// Command returns the command that carries out plans.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "build", Usage: "carry out a goal larger than one edit: plan it, do its tasks, prove the whole, write it", ArgsUsage: "[GOAL]",
		Description: "Each task of the plan is a run in throwaway containers, on the workspace as the finished tasks leave\n" +
			"it. Up to --parallel tasks run at once if neither depends on the other nor touches its files. A change\n" +
			"that passed is kept, and merged and judged again if the tree has moved. A failed task is tried again\n" +
			"by the next model of its role, then planned anew; tasks that depend on it wait, the others continue.\n" +
			"At the end the whole is reviewed, judged once as one change, and written after a question, or with\n" +
			"--yes. Until then the workspace is not touched. If the build is killed or interrupted anywhere,\n" +
			"--resume continues it, and no answer of a model is paid for twice. Caps apply to the plan as a whole.\n\n" + cmdline.Examples(
			"agent build 'add a currency to every price'", "plan it, ask, carry it out, ask again",
			"agent build --plan 3 --yes", "an existing plan, without a question",
			"agent build --resume", "the newest unfinished plan",
			"agent build --plan 3 --commit", "one commit per task",
			"agent build --plan 3 --step", "ask before each task, which you can change",
			"agent build --replay 3 --no-promote", "again from the record, without a model: is the result the same?"),
		Flags: slices.Concat([]cli.Flag{
			cmdline.WorkspaceFlag(),
			&cli.StringFlag{Name: "plan", Usage: "carry out plan `N` of `agent plan list`"},
			&cli.BoolFlag{Name: "resume", Usage: "resume the newest unfinished plan; failed tasks are tried again", DisableDefaultText: true},
			&cli.StringFlag{Name: "replay", Usage: "carry out plan `N` again from its record, on the files as they were then, and compare; no model is asked"},
			&cli.IntFlag{Name: "parallel", Value: 2, Usage: fmt.Sprintf("run up to `N` tasks at the same time, %d at most", builder.MaxParallel)},
			&cli.BoolFlag{Name: "step", Usage: "ask before each task, and before the whole is judged", DisableDefaultText: true},
			&cli.BoolFlag{Name: "outside", Usage: "let tasks touch files that they do not name", DisableDefaultText: true},
			&cli.BoolFlag{Name: "partial", Usage: "deliver the finished tasks even if others failed", DisableDefaultText: true},
			&cli.BoolFlag{Name: "no-review", Usage: "do not ask a model to review the whole", DisableDefaultText: true},
			&cli.BoolFlag{Name: "despite-review", Usage: "deliver the whole even if the review does not accept it", DisableDefaultText: true},
		}, DeliveryFlags("carry out the plan and write what passed without asking")),
		Action: c.build,
	}
}

// A Built is the outcome of a plan, as --json prints it.
type Built struct {
	Plan crew.Plan `json:"plan"`
	// Run is the document of the run that was to deliver the whole change, null if the plan did not get that far.
	Run   *run.Document `json:"run"`
	Error *run.Problem  `json:"error"`
	// Differs says, for a plan that was carried out again from its record, which results differ.
	Differs []string `json:"differs,omitempty"`
}

// A job is one call of the command.
type job struct {
	command
	ctx *cli.Context
	set config.Settings
	req run.Request
	s   *wire.Session
}

// build runs the command.
func (c command) build(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	if err := which(ctx); err != nil {
		return err
	}
	if n := ctx.Int("parallel"); n < 1 || n > builder.MaxParallel {
		return fault.Usage(fmt.Sprintf("use a number from 1 to %d", builder.MaxParallel), "--parallel is %d", n)
	}
	if ctx.Bool("step") && !c.Attended() {
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
	if !ctx.IsSet("replay") {
		if err := wire.CheckAnyModel(ctx.Context, set); err != nil {
			return err
		}
	}
	return c.With(ctx.Context, set, true, func(s *wire.Session) error {
		return (&job{c, ctx, set, req, s}).run()
	})
}

// run finds or makes the plan, and carries it out.
func (j *job) run() error {
	p, err := j.plan()
	if err != nil {
		return err
	}
	return j.carry(p)
}

// Carry carries out an existing plan, as `agent build` does with the flags of ctx, and reports the outcome.
func Carry(ctx *cli.Context, line *cmdline.Line, s *wire.Session, set config.Settings, req run.Request, p crew.Plan) error {
	return (&job{command{line}, ctx, set, req, s}).carry(p)
}

// which refuses a command line that names no plan or several.
func which(ctx *cli.Context) error {
	named := 0
	for _, given := range []bool{ctx.Args().Present(), ctx.IsSet("plan"), ctx.IsSet("replay"), ctx.Bool("resume")} {
		if given {
			named++
		}
	}
	switch {
	case named == 0:
		return fault.Usage("say what you want: agent build 'add a currency to every price'; or --plan N, or --resume", "no goal and no plan was given")
	case named > 1:
		return fault.Usage("omit the others", "a goal, --plan, --replay and --resume are mutually exclusive")
	}
	return nil
}

// carry asks for confirmation of a plan, carries it out, and reports.
func (j *job) carry(p crew.Plan) error {
	switch {
	case p.State.Over():
		return fault.Usage("`agent plan list` shows the others", "plan %d is %s", p.ID, p.State)
	case p.Workspace != j.req.Place.Path:
		return fault.Usage("run it with --workspace "+p.Workspace, "plan %d is for a workspace other than %s", p.ID, j.req.Place.Path)
	}
	if err := plan.Idle(p); err != nil {
		return err
	}
	if p.State == crew.Drafted && p.Replays == 0 && p.Loop == nil {
		if err := j.confirm(p); err != nil {
			return err
		}
	}
	var err error
	if p.Loop != nil {
		if j.set, err = wire.Tightened(j.set, p.Loop.Limits, j.ctx.Bool("resume")); err != nil {
			return err
		}
	}
	b, err := j.s.PlanBuilder(j.set)
	if err != nil {
		return err
	}
	b.Parallel, b.Outside, b.Partial = j.ctx.Int("parallel"), j.ctx.Bool("outside"), j.ctx.Bool("partial")
	b.NoReview, b.Despite = j.ctx.Bool("no-review"), j.ctx.Bool("despite-review")
	show := newShow(j.Line, p)
	board, err := j.Prepare(j.ctx.Context, j.s, &j.req.Config)
	if err != nil {
		return err
	}
	board.Close()
	b.Tell = show.note
	if j.ctx.Bool("step") {
		b.Step = (&stepper{line: j.Line, show: show}).ask
	}
	j.req.Approver = approver{&checkpoint.Approver{Console: &j.Console, Yes: j.set.On("yes"), Allow: j.req.Allow, Wait: j.set.Patience(), Board: j.NewBoard(0)}, show}
	j.describe(p)
	res := b.Build(j.ctx.Context, j.req, p)
	show.close()
	return j.report(res)
}

// describe sets the message of the final commit: that of the last task, if the user gave none.
func (j *job) describe(p crew.Plan) {
	if j.req.Commit == nil {
		return
	}
	// The trailers are those of any commit of a run; without a text there is nothing else.
	sandbox.Describe(j.req.Commit, "", "", nil)
	trailers, text := j.req.Commit.Message, j.ctx.String("message")
	j.req.Commit.Message = func(ctx context.Context, about run.CommitAbout) string {
		now, err := j.s.DB.Plans().Plan(ctx, p.ID)
		if text == "" && err == nil {
			text = builder.LastMessage(now)
		}
		if text == "" {
			text = term.Headline(p.Goal)
		}
		return strings.TrimSpace(text) + "\n\n" + strings.TrimLeft(trailers(ctx, about), "\n")
	}
}

// plan finds the plan, or has it made.
func (j *job) plan() (crew.Plan, error) {
	ctx := j.ctx
	switch {
	case ctx.IsSet("plan"):
		if ctx.String("plan") == "" {
			return crew.Plan{}, fault.Usage("see `agent plan list`", "--plan names no plan")
		}
		return plan.Find(ctx.Context, j.s, ctx.String("plan"), "")
	case ctx.IsSet("replay"):
		if ctx.String("replay") == "" {
			return crew.Plan{}, fault.Usage("see `agent plan list`", "--replay names no plan")
		}
		p, err := plan.Find(ctx.Context, j.s, ctx.String("replay"), "")
		if err != nil {
			return p, err
		}
		b, err := j.s.PlanBuilder(j.set)
		if err != nil {
			return p, err
		}
		again, problem := b.Again(ctx.Context, j.req.Place.Path, p)
		return again, fault.Of(problem)
	case ctx.Bool("resume"):
		list, err := j.s.DB.Plans().Plans(ctx.Context, j.req.Place.Path, 200)
		if err != nil {
			return crew.Plan{}, err
		}
		i := slices.IndexFunc(list, func(p crew.Plan) bool { return !p.State.Over() && p.State != crew.Drafted })
		if i < 0 {
			return crew.Plan{}, fault.Usage("`agent plan list` shows all plans; --plan N begins one", "this workspace has no unfinished plan to resume")
		}
		return list[i], nil
	}
	goal, err := plan.Goal(ctx, j.Line)
	if err != nil {
		return crew.Plan{}, err
	}
	return plan.Make(ctx.Context, j.Line, j.s, j.set, j.req, goal, "")
}

// confirm shows a plan and asks whether to carry it out.
func (j *job) confirm(p crew.Plan) error {
	if j.set.On("yes") {
		return nil
	}
	next := fmt.Sprintf("look at it with `agent plan show %d`; `agent build --plan %d --yes` carries it out", p.ID, p.ID)
	if !j.Attended() {
		return &fault.Error{Exit: run.ExitApproval, Kind: run.ProblemPolicy, Next: next, Err: fmt.Errorf("plan %d waits for an approval: there is no terminal and no --yes", p.ID)}
	}
	if err := plan.Print(j.Stderr, j.Palette(j.Stderr), p); err != nil {
		return err
	}
	yes, err := j.AskYes(j.ctx.Context, fmt.Sprintf("Carry out these %s?", run.Count(len(p.Tasks), "task")))
	if err != nil && !errors.Is(err, term.ErrExpired) && !errors.Is(err, io.EOF) { // Ctrl-D does not mean yes
		return err
	}
	if !yes {
		return &fault.Error{Exit: run.ExitApproval, Kind: run.ProblemPolicy, Next: fmt.Sprintf("`agent plan edit %d` changes it; %s", p.ID, next), Err: fmt.Errorf("plan %d was not approved; it is kept", p.ID)}
	}
	return nil
}

// report prints the outcome of the plan and ends with its exit code.
func (j *job) report(res builder.Result) error {
	if j.set.On("json") {
		if err := term.PrintJSON(j.Stdout, Built{res.Plan, res.Document, res.Error, res.Differs}); err != nil {
			return err
		}
		if res.Exit == run.ExitDone {
			return nil
		}
		return fault.Reported{Exit: res.Exit}
	}
	if err := plan.Print(j.Stdout, j.Palette(j.Stdout), res.Plan); err != nil {
		return err
	}
	if res.Document != nil {
		fmt.Fprintln(j.Stdout)
		j.Summary().Document(*res.Document)
	}
	if n := res.Plan.Replays; n != 0 && res.Error == nil {
		same := "identical"
		if len(res.Differs) > 0 {
			same = "it differs"
		}
		for _, d := range res.Differs {
			fmt.Fprintln(j.Stdout, term.CleanLine(d))
		}
		fmt.Fprintf(j.Stdout, "plan %d carried out again: %s\n", n, same)
	}
	switch {
	case res.Error == nil && res.Exit != run.ExitDone:
		return fault.Reported{Exit: res.Exit}
	case res.Error == nil:
		return nil
	case res.Document != nil && res.Document.Error != nil: // already reported
		return fault.Reported{Exit: res.Exit}
	}
	return &fault.Error{Exit: res.Exit, Kind: res.Error.Kind, Next: res.Error.Next, Err: errors.New(res.Error.Message)}
}

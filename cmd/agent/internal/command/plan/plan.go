// Package plan implements `agent plan`: goals larger than one edit, planned as tasks, which the user shows, edits and drops.
package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/sandbox"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/crew"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/report"
	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
	"agent/sandbox/workspace"
)

type command struct{ *cmdline.Line }

// fileName is the name of a plan in an editor.
const fileName = "plan.toml"

// Command returns the group of commands for plans. None of them writes to a workspace: `agent build` carries plans out.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "plan", Usage: "make a plan of a goal: tasks, their order, and how to tell that each is done", ArgsUsage: "GOAL",
		Description: "Asks the planner for tasks, checks them in code (no cycles, files that exist, a way to tell\n" +
			"that each is done), and keeps the plan. Nothing is changed: `agent build --plan N` carries\n" +
			"it out. GOAL is a text, or @FILE to read it from a file.\n\n" + cmdline.Examples(
			"agent plan 'add a currency to every price'", "make one",
			"agent plan --from-report", "from what the analyzers of `agent analyze --report` find",
			"agent plan --review", "a review of all files, to be approved and applied as one change",
			"agent plan show", "the newest one, as a tree",
			"agent plan edit 3", "in $EDITOR",
			"agent build --plan 3", "carry it out"),
		Flags: slices.Concat([]cli.Flag{
			cmdline.WorkspaceFlag(),
			&cli.BoolFlag{Name: "review", Usage: fmt.Sprintf("review every file, one task each, %d at most; takes no GOAL and asks no planner", crew.MaxTasks), DisableDefaultText: true},
			&cli.BoolFlag{Name: "from-report", Usage: "show the planner a report on the project; without GOAL the goal is to fix the worst of it", DisableDefaultText: true},
		}, cmdline.ModelFlags(), []cli.Flag{cmdline.JSONFlag(cmdline.Document[crew.Plan]("plan", 1))}),
		Action: func(ctx *cli.Context) error { return c.make(ctx) },
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the plans of a workspace, the newest first",
				Description: cmdline.Examples("agent plan list", "of the workspace here", "agent plan list --all", "of every workspace"),
				Flags:       []cli.Flag{cmdline.WorkspaceFlag(), cmdline.AllFlag("plans"), cmdline.JSONFlag(cmdline.Document[[]crew.Plan]("plans", 1))},
				Action:      c.list,
			},
			{
				Name: "show", Usage: "show a plan as a tree: what is done, what waits for what, and why something failed", ArgsUsage: "[N]",
				Description: cmdline.Examples("agent plan show", "the newest plan of the workspace here", "agent plan show 3 --json", "all of it"),
				Flags:       []cli.Flag{cmdline.WorkspaceFlag(), cmdline.JSONFlag(cmdline.Document[crew.Plan]("plan", 1))},
				Action:      c.show,
			},
			{
				Name: "edit", Usage: "change what is left of a plan, in $EDITOR or from a file", ArgsUsage: "[N]",
				Description: "The plan is checked like a planner's; a plan that fails the check is not kept. Finished\n" +
					"tasks stay as they are.\n\n" + cmdline.Examples(
					"agent plan edit 3", "in $EDITOR",
					"agent plan edit 3 --print > plan.toml", "as a file",
					"agent plan edit 3 --file plan.toml", "and back",
					"agent plan edit --new --file plan.toml", "a plan of your own, without a planner"),
				Flags: []cli.Flag{
					cmdline.WorkspaceFlag(),
					&cli.StringFlag{Name: "file", Usage: "take the plan from `FILE`, - for standard input"},
					&cli.BoolFlag{Name: "print", Usage: "print the plan in the form that --file takes, and change nothing", DisableDefaultText: true},
					&cli.BoolFlag{Name: "new", Usage: "make it a new plan", DisableDefaultText: true},
					cmdline.JSONFlag(cmdline.Document[crew.Plan]("plan", 1)),
				},
				Action: c.edit,
			},
			{
				Name: "drop", Usage: "give up a plan", ArgsUsage: "N",
				Description: "The record keeps it: see v_plans in `agent sql`. It did not touch the workspace.\n\n" +
					cmdline.Examples("agent plan drop 3", "it cannot be built any more"),
				Flags:  []cli.Flag{cmdline.JSONFlag(cmdline.Document[crew.Plan]("plan", 1))},
				Action: c.drop,
			},
		},
	}
}

// Goal returns the goal that the arguments give: a text, or @ and a file with the text.
func Goal(ctx *cli.Context, c *cmdline.Line) (string, error) {
	const next = "say what you want: agent plan 'add a currency to every price'"
	if ctx.NArg() > 1 {
		return "", fault.Usage("put the goal in quotation marks", "the goal is %d arguments, not one", ctx.NArg())
	}
	goal := ctx.Args().First()
	if name, ok := strings.CutPrefix(goal, "@"); ok {
		text, err := c.ReadPatch(ctx.Context, name, next)
		if err != nil {
			return "", err
		}
		goal = string(text)
	}
	goal = strings.TrimSpace(goal)
	if goal == "" {
		return "", fault.Usage(next, "no goal was given")
	}
	if most := 16 << 10; len(goal) > most {
		return "", fault.Usage("shorten it", "the goal has %d bytes, more than %d", len(goal), most)
	}
	return goal, nil
}

// make makes the planner produce a plan.
func (c command) make(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	goal, reported, audit := reportGoal, ctx.Bool("from-report"), ctx.Bool("review")
	switch {
	case audit && (reported || ctx.Args().Present()):
		return fault.Usage("omit it: a review has no goal", "--review takes no goal and no report")
	case audit: // it has none
	case !reported || ctx.Args().Present():
		if goal, err = Goal(ctx, c.Line); err != nil {
			return err
		}
	}
	req, err := sandbox.BaseRequest(set)
	if err != nil {
		return err
	}
	defer req.Place.Close()
	if err := wire.CheckAnyModel(ctx.Context, set); err != nil {
		return err
	}
	return c.With(ctx.Context, set, true, func(s *wire.Session) error {
		extra := ""
		if reported {
			if extra, err = c.report(ctx.Context, s, req); err != nil {
				return err
			}
		}
		make := func() (crew.Plan, error) { return Make(ctx.Context, c.Line, s, set, req, goal, extra) }
		if audit {
			make = func() (crew.Plan, error) { return c.audit(ctx.Context, s, set, req) }
		}
		p, err := make()
		if err != nil {
			return err
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, p)
		}
		if err := Print(c.Stdout, c.Palette(c.Stdout), p); err != nil {
			return err
		}
		fmt.Fprintf(c.Stderr, "next: `agent build --plan %d` carries it out, `agent plan edit %d` changes it\n", p.ID, p.ID)
		return nil
	})
}

// reportGoal is the goal of a plan that is based only on a report.
const reportGoal = "Mend what the report on this project finds failing or missing, the worst first. Leave out what only its owner can decide, as a licence."

// maxReport bounds how much of a report the planner is shown, in bytes.
const maxReport = 24 << 10

// report runs the analyzers on the workspace, also in boxes, and returns their report.
func (c command) report(ctx context.Context, s *wire.Session, req run.Request) (string, error) {
	board, err := c.Prepare(ctx, s, &req.Config)
	if err != nil {
		return "", err
	}
	defer board.Close()
	s.Notify = board.Event
	base, err := workspace.Rescan(ctx, req.Place.Path, req.Exclude, workspace.Limits{})
	if err != nil {
		return "", fmt.Errorf("scan the workspace: %w", err)
	}
	facts, err := s.Gatherer(true, "").Facts(ctx, base, req.Rules(), nil)
	if err != nil {
		return "", err
	}
	return crew.Clip(report.Analyze(facts, nil).Hidden(s.Hide).Text(report.Look{Details: 10, Notes: true}), maxReport), nil
}

// audit makes a plan that reviews every file.
func (c command) audit(ctx context.Context, s *wire.Session, set config.Settings, req run.Request) (crew.Plan, error) {
	b, err := s.PlanBuilder(set)
	if err != nil {
		return crew.Plan{}, err
	}
	b.Tell = told(c.Line)
	p, more, problem := b.Audit(ctx, req)
	if problem != nil {
		return p, fault.Of(problem)
	}
	if more > 0 {
		fmt.Fprintf(c.Stderr, "agent: %s did not fit into one plan; the next plan reviews the files that come first then\n", run.Count(more, "file"))
	}
	return p, nil
}

// told returns a function that reports a builder's progress on stderr.
func told(c *cmdline.Line) func(builder.Note) {
	return func(n builder.Note) {
		if n.Text != "" {
			fmt.Fprintln(c.Stderr, term.CleanLine(n.Text))
		}
	}
}

// Make has a plan made, and reports the progress on stderr. extra is shown to the planner in addition, "" for nothing.
func Make(ctx context.Context, c *cmdline.Line, s *wire.Session, set config.Settings, req run.Request, goal, extra string) (crew.Plan, error) {
	b, err := s.PlanBuilder(set)
	if err != nil {
		return crew.Plan{}, err
	}
	b.Tell = told(c)
	p, problem := b.Plan(ctx, req, goal, extra)
	return p, fault.Of(problem)
}

// listed says where to find the numbers of plans.
const listed = "see `agent plan list`"

// Find returns the plan that an argument names; without one, the newest of a workspace that is not over, or else the newest.
func Find(ctx context.Context, s *wire.Session, name, dir string) (crew.Plan, error) {
	if name == "" {
		list, err := s.DB.Plans().Plans(ctx, cmdline.Resolved(dir), 50)
		if err != nil {
			return crew.Plan{}, err
		}
		if len(list) == 0 {
			return crew.Plan{}, fault.Usage("`agent plan GOAL` makes one", "there is no plan for %s yet", cmdline.Resolved(dir))
		}
		if i := slices.IndexFunc(list, func(p crew.Plan) bool { return !p.State.Over() }); i >= 0 {
			return list[i], nil
		}
		return list[0], nil
	}
	n, err := strconv.ParseInt(name, 10, 64)
	if err != nil || n < 1 {
		return crew.Plan{}, fault.Usage(listed, "invalid plan number %q", name)
	}
	p, err := s.DB.Plans().Plan(ctx, n)
	if errors.Is(err, database.ErrNotFound) {
		err = fault.Usage(listed, "there is no plan %d", n)
	}
	return p, err
}

// with opens the record and passes the plan that the argument names to act.
func (c command) with(ctx *cli.Context, act func(s *wire.Session, set config.Settings, p crew.Plan) error) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		p, err := Find(ctx.Context, s, ctx.Args().First(), set["workspace"].Text)
		if err != nil {
			return err
		}
		return act(s, set, p)
	})
}

// list prints the plans of a workspace.
func (c command) list(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		list, err := s.DB.Plans().Plans(ctx.Context, cmdline.Scope(ctx, set), 200)
		if err != nil {
			return err
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, append([]crew.Plan{}, list...))
		}
		if len(list) == 0 {
			fmt.Fprintln(c.Stderr, "there is no plan here; `agent plan GOAL` makes one")
			return nil
		}
		return term.Print(c.Stdout, func(w io.Writer) error {
			t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "PLAN\tSTATE\tDONE\tMADE\tGOAL")
			for _, p := range list {
				done, all := count(p)
				fmt.Fprintf(t, "%d\t%s\t%d of %d\t%s\t%s\n", p.ID, p.State, done, all, p.Created.Local().Format(time.DateTime), term.Headline(p.Goal))
			}
			return t.Flush()
		})
	})
}

// count returns how many tasks of a plan are done, and how many there are.
func count(p crew.Plan) (done, all int) {
	for _, t := range p.Tasks {
		if t.State != crew.Replaced {
			all++
		}
		if t.State == crew.Done {
			done++
		}
	}
	return done, all
}

// show prints one plan.
func (c command) show(ctx *cli.Context) error {
	return c.with(ctx, func(_ *wire.Session, set config.Settings, p crew.Plan) error {
		if set.On("json") {
			return term.PrintJSON(c.Stdout, p)
		}
		return Print(c.Stdout, c.Palette(c.Stdout), p)
	})
}

// drop abandons a plan.
func (c command) drop(ctx *cli.Context) error {
	if ctx.Args().First() == "" { // which Find would take for the newest
		return fault.Usage(listed, "no plan was named")
	}
	return c.with(ctx, func(s *wire.Session, set config.Settings, p crew.Plan) error {
		if err := Idle(p); err != nil {
			return err
		}
		if p.State == crew.Delivered {
			return fault.Usage("`agent undo "+p.Run+"` takes its change back", "plan %d was delivered by run %s", p.ID, p.Run)
		}
		p.State = crew.Dropped
		if err := s.DB.Plans().SavePlan(ctx.Context, p, p.Owner); err != nil {
			return err
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, p)
		}
		_, err := fmt.Fprintf(c.Stdout, "dropped plan %d\n", p.ID)
		return err
	})
}

// Idle returns an error if a process works on the plan.
func Idle(p crew.Plan) error {
	if alive := wire.OwnerAlive(p.Owner); alive {
		return &fault.Error{
			Exit: run.ExitConflict, Kind: run.ProblemConflict, Next: fmt.Sprintf("wait for it to end, or `agent jobs cancel %d`", p.ID),
			Err: fmt.Errorf("the process %s works on plan %d", p.Owner, p.ID),
		}
	}
	return nil
}

// edit changes the remaining part of a plan.
func (c command) edit(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	fresh := ctx.Bool("new")
	if fresh && ctx.Args().Present() {
		return fault.Usage("omit one of them", "--new and a plan's number are mutually exclusive")
	}
	dir := set["workspace"].Text
	if err := cmdline.CheckDirectory(dir); fresh && err != nil {
		return err
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		p := crew.Plan{Workspace: cmdline.Resolved(dir), Goal: "What the plan is to achieve.", State: crew.Drafted, Tasks: []crew.Task{{
			N: 1, Title: "the first task", Goal: "What to change, and how.", Files: []string{"README.md"}, Role: crew.Worker, Accept: crew.Acceptance{Text: "how to tell that it is done"},
		}}}
		if !fresh {
			if p, err = Find(ctx.Context, s, ctx.Args().First(), dir); err != nil {
				return err
			}
			if p.State.Over() {
				return fault.Usage(listed, "plan %d is %s", p.ID, p.State)
			}
			if err := Idle(p); err != nil {
				return err
			}
		}
		text, err := p.File()
		if err != nil {
			return err
		}
		if ctx.Bool("print") {
			_, err := c.Stdout.Write(text)
			return err
		}
		next, err := c.edited(ctx, s, p, text)
		if err != nil {
			return err
		}
		if next, err = c.keep(ctx.Context, s, p, next); err != nil {
			return err
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, next)
		}
		return Print(c.Stdout, c.Palette(c.Stdout), next)
	})
}

// keep records next in place of was and returns it as it is in the record; was has no number if the plan is new. It
// never overwrites what others did with the plan while the user had it in an editor.
func (c command) keep(ctx context.Context, s *wire.Session, was, next crew.Plan) (crew.Plan, error) {
	book := s.DB.Plans()
	if was.ID == 0 {
		id, err := book.AddPlan(ctx, next)
		if err != nil {
			return next, err
		}
		return book.Plan(ctx, id)
	}
	now, err := book.Plan(ctx, was.ID)
	if err != nil {
		return next, err
	}
	if !reflect.DeepEqual(was, now) {
		return next, &fault.Error{
			Exit: run.ExitConflict, Kind: run.ProblemConflict, Next: fmt.Sprintf("look at it with `agent plan show %d`, and edit it again", was.ID),
			Err: fmt.Errorf("plan %d was changed meanwhile: it is %s", was.ID, now.State),
		}
	}
	return next, book.SavePlan(ctx, next, was.Owner)
}

// edited returns the plan as the user left it, in the editor or a file, after checking it.
func (c command) edited(ctx *cli.Context, s *wire.Session, p crew.Plan, text []byte) (crew.Plan, error) {
	const next = "correct it, and run it again"
	if ctx.IsSet("file") {
		given, err := c.ReadPatch(ctx.Context, ctx.String("file"), "name a file that `agent plan edit --print` wrote")
		if err != nil {
			return p, err
		}
		text = given
	} else {
		if !c.Attended() {
			return p, fault.Usage("give the plan with --file FILE", "there is no terminal for an editor")
		}
		changed, err := c.EditTexts(ctx.Context, map[string][]byte{fileName: text})
		if err != nil {
			return p, err
		}
		if changed[fileName] == nil {
			return p, fault.Usage("change something in the editor", "the plan is unchanged")
		}
		text = changed[fileName]
	}
	edited, err := p.Edited(text)
	if err != nil {
		return p, fault.Usage(next, "the plan cannot be read: %w", err)
	}
	roles, err := wire.LoadRoles(p.Workspace, s.Home())
	if err != nil {
		return p, err
	}
	base, err := workspace.Rescan(ctx.Context, p.Workspace, nil, workspace.Limits{})
	if err != nil {
		return p, err
	}
	made := map[string]bool{}
	for _, t := range edited.Tasks {
		for _, f := range t.Creates {
			made[f] = made[f] || t.State == crew.Done
		}
	}
	exists := func(name string) bool {
		e, ok := base.Lookup(name)
		return ok && e.Kind == workspace.File || made[name]
	}
	if wrong := edited.Check(exists, roles); len(wrong) > 0 {
		return p, fault.Usage(next, "the plan fails its check: %s", strings.Join(wrong, "; "))
	}
	edited.State = cmp.Or(p.State, crew.Drafted)
	if edited.State == crew.Failed || edited.State == crew.Awaiting {
		edited.State = crew.Paused
	}
	return edited, nil
}

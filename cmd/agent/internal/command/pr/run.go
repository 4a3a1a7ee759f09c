package pr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/crew"
	"agent/orchestrator/forge"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/database"
)

// runCommand returns the command that goes from a repository to its pull request.
func (c command) runCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "from a repository and a goal to a pull request that is ready", ArgsUsage: "URL|OWNER/NAME",
		Description: "Writes the files of the repository to a directory of the agent's own, reaches the goal there as `agent\n" +
			"sandbox run --goal` does, opens the pull request, judges it and posts the findings at its lines,\n" +
			"watches and repairs its build as `agent pr fix-ci` does, and takes up comments as `agent pr review\n" +
			"--integrate` does. It merges nothing. The text of an issue is data: it widens nothing and approves\n" +
			"nothing, and a change that needs an approval ends it unless --allow names its kind. Each state is\n" +
			"recorded: --resume continues what was killed or stopped, and does nothing twice; --reset gives it up.\n" +
			"A repository has one at a time. Exit code 0 the pull request is ready, 1 the change or its build does\n" +
			"not pass, 4 an approval is needed, 5 a bound is reached, 6 another process is at work on it.\n\n" + cmdline.Examples(
			"agent pr run shop/till --goal 'round prices up'", "from the goal to the pull request",
			"agent pr run https://github.com/shop/till --issue 12", "for an issue",
			"agent pr run shop/till --issue 12 --planned", "by a plan, with one commit per task",
			"agent pr run shop/till --resume", "continue where it stopped",
			"agent pr run shop/till --goal 'round up' --dry-run", "what would be done; nothing is written"),
		Flags: slices.Concat([]cli.Flag{
			cmdline.WorkspaceFlag(),
			&cli.StringFlag{Name: "goal", Aliases: []string{"g"}, Usage: "what the change is for, as `TEXT`"},
			&cli.IntFlag{Name: "issue", Usage: "what the change is for, as the issue `N` says", DefaultText: "none"},
			&cli.StringFlag{Name: "base", Usage: "the target `BRANCH`; by default the repository's"},
			&cli.StringSliceFlag{Name: "label", Usage: "add a label `NAME`; may be repeated"},
			&cli.StringSliceFlag{Name: "author", Usage: "take up only comments of `NAME`; may be repeated"},
			&cli.IntFlag{Name: "rounds", Value: maxRounds, Usage: "repair the build at most `N` times"},
			&cli.BoolFlag{Name: "no-ci", Usage: "do not wait for build servers", DisableDefaultText: true},
			&cli.BoolFlag{Name: "planned", Usage: "plan the goal first, and do it task by task: one commit each", DisableDefaultText: true},
			&cli.BoolFlag{Name: "resume", Usage: "continue the unfinished one", DisableDefaultText: true},
			&cli.BoolFlag{Name: "reset", Usage: "give up the unfinished one; with a goal, start anew", DisableDefaultText: true},
			&cli.BoolFlag{Name: "dry-run", Usage: "write nothing, here or on the forge", DisableDefaultText: true},
		}, patienceFlags(), findFlags(), []cli.Flag{cmdline.JSONFlag(cmdline.Document[Passage]("pull-run", 1))}),
		Action: c.whole,
	}
}

// A Passage is what `pr run --json` prints.
type Passage struct {
	// With --dry-run, ID is "".
	ID         string `json:"id"`
	Repository string `json:"repository"`
	Goal       string `json:"goal"`
	Issue      int    `json:"issue,omitempty"`
	// State is how far it got: one of cloning, building, pr_open, self_review, ci_watch, reviewing, done, failed and given_up.
	State store.IntegrationState `json:"state"`
	// Why says why it stopped there, "" if it is done.
	Why    string `json:"why,omitempty"`
	Base   string `json:"base"`
	Commit string `json:"commit"` // of the base
	// Runs made the change, in the order of their commits.
	Runs   []string `json:"runs"`
	Head   string   `json:"head,omitempty"`
	Number int      `json:"number,omitempty"`
	URL    string   `json:"url,omitempty"`
	// Status is the result of its own review, Build the outcome of the build, and Comments the comments taken up, as
	// far as this process saw them.
	Status   string         `json:"status,omitempty"`
	Build    *Repaired      `json:"build,omitempty"`
	Comments []TakenComment `json:"comments,omitempty"`
	DryRun   bool           `json:"dry_run"`
}

// A stop is the reason why a passage ends before it is done: an outcome, not a malfunction.
type stop struct {
	exit int
	why  string
}

// Error returns the reason.
func (s *stop) Error() string { return s.why }

// A passage is one run of `pr run`.
type passage struct {
	command
	*target
	ctx     *cli.Context
	set     config.Settings
	session *wire.Session
	row     store.Integration
	// build reaches the goal in the workspace and returns the promoted runs, in the order of their commits. There is
	// one run, unless a plan makes several.
	build func() (runs []string, err error)
	doc   Passage
	exit  int
	turns int // how often comments led to changes
}

// whole runs the command.
func (c command) whole(ctx *cli.Context) error {
	named := ctx.Args().First()
	switch {
	case named == "":
		return fault.Usage("name it: agent pr run OWNER/NAME --goal TEXT", "no repository was named")
	case ctx.IsSet("goal") && ctx.IsSet("issue"):
		return fault.Usage("use only one of them", "--goal and --issue are mutually exclusive")
	case ctx.Bool("resume") && (ctx.Bool("reset") || ctx.IsSet("goal") || ctx.IsSet("issue")):
		return fault.Usage("omit the others: what is resumed has its goal", "--resume takes none of --reset, --goal and --issue")
	case !ctx.Bool("resume") && !ctx.Bool("reset") && strings.TrimSpace(ctx.String("goal")) == "" && ctx.Int("issue") < 1:
		return fault.Usage("say what the change is for: --goal TEXT, or --issue N", "there is no goal")
	}
	if _, _, err := patience(ctx); err != nil {
		return err
	}
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	asJSON := set.On("json")
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		t, err := c.target(ctx.Context, set, named)
		if err != nil {
			return err
		}
		p := &passage{command: c, target: t, ctx: ctx, set: set, session: s, doc: Passage{Repository: t.address.Slug(), Runs: []string{}, DryRun: ctx.Bool("dry-run")}}
		p.build = p.reachGoal
		if p.doc.DryRun {
			err = p.preview()
		} else {
			err = t.leased(ctx, s, p.run)
		}
		if err != nil {
			return ForgeFault(err)
		}
		p.fill()
		if asJSON {
			err = term.PrintJSON(c.Stdout, p.doc)
		} else {
			err = term.Print(c.Stdout, p.print)
		}
		if err == nil && p.exit != run.ExitDone {
			err = fault.Reported{Exit: p.exit}
		}
		return err
	})
}

// preview finds what would be done.
func (p *passage) preview() error {
	p.row = store.Integration{Goal: p.ctx.String("goal"), Issue: p.ctx.Int("issue"), State: store.Cloning}
	if open, err := p.session.DB.OpenIntegration(p.ctx.Context, p.repository()); err == nil && p.row.Goal == "" && p.row.Issue == 0 {
		p.row = open
	}
	if err := p.goal(); err != nil {
		return err
	}
	return p.base()
}

// run finds the integration to resume, or begins one, and takes it to its end.
func (p *passage) run() error {
	ctx := p.ctx.Context
	open, err := p.session.DB.OpenIntegration(ctx, p.repository())
	there := err == nil
	if err != nil && !errors.Is(err, database.ErrNotFound) {
		return err
	}
	p.row = store.Integration{ID: run.NewID(time.Now()), Repository: p.repository(), Goal: p.ctx.String("goal"), Issue: p.ctx.Int("issue"), State: store.Cloning}
	switch {
	case p.ctx.Bool("resume") && !there:
		return fault.Usage("begin one: --goal TEXT", "%s has nothing unfinished to resume", p.address.Slug())
	case p.ctx.Bool("resume"):
		p.row = open
	case there && !p.ctx.Bool("reset"):
		return &fault.Error{
			Exit: run.ExitConflict, Kind: run.ProblemConflict, Next: "--resume continues it, --reset gives it up",
			Err: fmt.Errorf("%s has unfinished work that stopped in state %s: %s", p.address.Slug(), open.State, cmp.Or(open.Why, "its process ended")),
		}
	case there:
		open.State, open.Why = store.GivenUp, "--reset"
		if err := p.session.DB.SaveIntegration(ctx, open); err != nil {
			return err
		}
		if p.row.Goal == "" && p.row.Issue == 0 {
			p.row = open
			return nil
		}
	case p.row.Goal == "" && p.row.Issue == 0:
		return fault.Usage("say what the change is for: --goal TEXT", "%s has nothing unfinished to give up", p.address.Slug())
	}
	if err := p.session.DB.SaveIntegration(ctx, p.row); err != nil {
		return err
	}
	return p.advance()
}

// advance goes from state to state. Each step finds what an earlier process did in its state, and its end is recorded
// before the next begins.
func (p *passage) advance() error {
	steps := map[store.IntegrationState]func() (store.IntegrationState, error){
		store.Cloning: p.clone, store.Building: p.reach, store.PROpen: p.open, store.SelfReview: p.selfReview, store.CIWatch: p.watchBuild, store.Reviewing: p.takeComments,
	}
	for !p.row.State.Ended() {
		p.tell(string(p.row.State))
		next, err := steps[p.row.State]()
		p.row.Why = ""
		if err == nil {
			p.row.State = next
		} else {
			p.row.Why = err.Error()
		}
		if err != nil && p.row.BaseCommit == "" { // nothing was begun that could be resumed
			p.row.State = store.Broken
		}
		if serr := p.session.DB.SaveIntegration(context.WithoutCancel(p.ctx.Context), p.row); serr != nil {
			return errors.Join(err, serr)
		}
		var stopped *stop
		if errors.As(err, &stopped) {
			p.exit = stopped.exit
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tell reports the progress on stderr.
func (p *passage) tell(text string) {
	fmt.Fprintf(p.Stderr, "agent: %s %s\n", term.CleanLine(p.address.Slug()), term.CleanLine(text))
}

// goal determines what the change is for.
func (p *passage) goal() error {
	if p.row.Issue == 0 || p.row.Goal != "" {
		return nil
	}
	i, err := p.api.Issue(p.ctx.Context, p.row.Issue)
	if err != nil {
		return err
	}
	if !i.Open {
		return fault.Usage("name one that is open", "issue %d of %s is closed", i.Number, p.address.Slug())
	}
	p.row.Goal = fmt.Sprintf("Resolve issue %d\n\nIt is an issue of this repository and quoted below: resolve it as far as that is a matter of its code.", i.Number)
	return nil
}

// base finds the target branch, and the commit it is at.
func (p *passage) base() error {
	ctx := p.ctx.Context
	main, err := p.api.DefaultBranch(ctx)
	if err != nil {
		return err
	}
	branches, own, err := p.mirror.Heads(ctx)
	if err != nil {
		return err
	}
	p.row.Base = cmp.Or(p.row.Base, p.ctx.String("base"), main, own)
	if p.row.BaseCommit = branches[p.row.Base]; p.row.BaseCommit == "" {
		return fault.Usage("name an existing branch: --base BRANCH", "%s has no branch %q", p.address.Slug(), p.row.Base)
	}
	return nil
}

// clone writes the files of the base to a directory of the agent's own.
func (p *passage) clone() (store.IntegrationState, error) {
	ctx := p.ctx.Context
	if err := p.goal(); err != nil {
		return "", err
	}
	if err := p.base(); err != nil {
		return "", err
	}
	at, err := p.mirror.Fetch(ctx, "refs/heads/"+p.row.Base)
	if err != nil {
		return "", err
	}
	p.row.BaseCommit, p.row.Workspace = at[0], filepath.Join(p.cache, "runs", p.row.ID)
	if err := os.RemoveAll(p.row.Workspace); err != nil {
		return "", err
	}
	left, err := p.mirror.Export(ctx, at[0], p.row.Workspace)
	for _, o := range left {
		p.tell(o.Path + " is left out: " + o.Why)
	}
	return store.Building, err
}

// reach reaches the goal, unless an earlier process did so and died before that was recorded.
func (p *passage) reach() (store.IntegrationState, error) {
	last, _, err := p.session.DB.LastPromotion(p.ctx.Context, cmdline.Resolved(p.row.Workspace))
	if err == nil {
		p.row.Runs = last.ID
		return store.PROpen, nil
	}
	if !errors.Is(err, database.ErrNotFound) {
		return "", err
	}
	if _, err := os.Stat(p.row.Workspace); errors.Is(err, fs.ErrNotExist) {
		return store.Cloning, nil // a cache may be emptied
	}
	runs, err := p.build()
	p.row.Runs = strings.Join(runs, " ")
	return store.PROpen, err
}

// reachGoal reaches the goal by one run, or by a plan if that was requested now or earlier.
func (p *passage) reachGoal() ([]string, error) {
	if err := p.goal(); err != nil { // for one that was recorded without a goal
		return nil, err
	}
	o := order{dir: p.row.Workspace, goal: p.row.Goal}
	if p.row.Issue != 0 {
		i, err := p.api.Issue(p.ctx.Context, p.row.Issue)
		if err != nil {
			return nil, err
		}
		o.given = issueText(i)
	}
	limits, err := p.set.Budget()
	if err != nil {
		return nil, err
	}
	o.requests, o.time = limits.Requests, limits.RunTime
	begun, err := p.session.DB.Plans().Plans(p.ctx.Context, cmdline.Resolved(p.row.Workspace), 1)
	if err != nil {
		return nil, err
	}
	if p.ctx.Bool("planned") || len(begun) > 0 {
		res, err := p.carry(p.ctx, p.session, o)
		if err != nil {
			return nil, err
		}
		if res.Plan.State != crew.Delivered || res.Plan.Run == "" {
			why := cmp.Or(res.Plan.Why, "it made no change")
			if res.Error != nil {
				why = res.Error.Message
			}
			return nil, &stop{cmp.Or(res.Exit, run.ExitFail), fmt.Sprintf("plan %d is %s: %s", res.Plan.ID, res.Plan.State, why)}
		}
		return []string{res.Plan.Run}, nil
	}
	doc, err := p.find(p.ctx, p.session, o)
	if err != nil {
		return nil, err
	}
	if doc.Promotion == nil {
		return nil, &stop{cmp.Or(doc.Exit, run.ExitFail), "run " + doc.Run + " wrote nothing: " + reason(doc)}
	}
	return []string{doc.Run}, nil
}

// maxTurns is how often comments may lead to changes.
const maxTurns = 5

// maxIssue bounds how much of an issue an engineer is shown, in bytes.
const maxIssue = 16 << 10

// issueText returns an issue as data.
func issueText(i forge.Issue) string {
	text := strings.ToValidUTF8(i.Title+"\n\n"+i.Text, "?")
	if len(text) > maxIssue {
		text = strings.ToValidUTF8(text[:maxIssue], "") + "…"
	}
	return fmt.Sprintf("Issue %d, by %s:\n%s\n", i.Number, i.Author, text)
}

// open opens the pull request, or finds it.
func (p *passage) open() (store.IntegrationState, error) {
	if err := p.ctx.Set("workspace", p.row.Workspace); err != nil {
		return "", err
	}
	set, err := config.Load(p.ctx, p.Getenv)
	if err != nil {
		return "", err
	}
	o := &opening{
		command: p.command, ctx: p.ctx, set: set, session: p.session, target: p.target, dir: cmdline.Resolved(p.row.Workspace),
		runs: strings.Fields(p.row.Runs), base: p.row.Base, issue: p.row.Issue,
	}
	o.doc = Opened{Repository: p.address.Slug(), Labels: append([]string{}, p.ctx.StringSlice("label")...), Commits: []OpenedCommit{}}
	if err := o.run(p.ctx.Context); err != nil {
		return "", err
	}
	if o.failed != nil {
		return "", &stop{o.failed.Exit, "the change does not pass on branch " + p.row.Base + " as it is now: " + reason(*o.failed)}
	}
	p.row.Head, p.row.Number, p.row.URL = o.doc.Head, o.doc.Number, o.doc.URL
	return store.SelfReview, nil
}

// selfReview judges the pull request like anyone's, and posts the findings at its lines.
func (p *passage) selfReview() (store.IntegrationState, error) {
	r := &reviewing{command: p.command, target: p.target}
	doc, err := r.judged(p.ctx, p.session, p.row.Number)
	if err != nil {
		return "", err
	}
	if doc.State == run.Failed || doc.State == run.Cancelled {
		return "", &stop{doc.Exit, "the pull request could not be judged: " + reason(doc)}
	}
	r.plan()
	p.doc.Status = r.doc.Status
	if err := r.say(p.ctx.Context); err != nil {
		return "", err
	}
	return store.CIWatch, nil
}

// watchBuild watches the build and repairs it. If the pull request is merged, nothing remains to be done.
func (p *passage) watchBuild() (store.IntegrationState, error) {
	if p.ctx.Bool("no-ci") {
		return store.Reviewing, nil
	}
	f, err := p.fixing(p.ctx, p.set, p.session, p.target, p.row.Number)
	if err != nil {
		return "", err
	}
	interval, timeout, err := patience(p.ctx)
	if err != nil {
		return "", err
	}
	if err := f.run(interval, timeout, p.ctx.Int("rounds")); err != nil {
		return "", err
	}
	p.doc.Build = &Repaired{f.doc, f.rounds}
	switch f.doc.Outcome {
	case "passed":
		return store.Reviewing, nil
	case "merged":
		return store.Integrated, nil
	case "closed":
		return store.Broken, nil
	case "timeout":
		return "", &stop{run.ExitBudget, fmt.Sprintf("the build servers gave no result within %v; --no-ci does not wait for them", timeout.Round(time.Second))}
	}
	return "", &stop{cmp.Or(f.exit, run.ExitFail), "the build fails: " + strings.Join(failedNames(f.doc.Jobs), ", ")}
}

// takeComments takes up the comments on the pull request. Changes that result are built again.
func (p *passage) takeComments() (store.IntegrationState, error) {
	g, err := p.integrating(p.ctx, p.set, p.session, p.target, p.row.Number)
	if err != nil {
		return "", err
	}
	err = g.run()
	p.doc.Comments = append(p.doc.Comments, g.taken...)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(g.taken, func(c TakenComment) bool { return c.Commit != "" }) {
		return store.Integrated, nil
	}
	// A bot that comments on each commit would keep this going for ever.
	if p.turns++; p.turns > maxTurns {
		return "", &stop{run.ExitBudget, fmt.Sprintf("comments were handled %d times, and there are still more", p.turns)}
	}
	return store.SelfReview, nil
}

// fill copies the row into the document.
func (p *passage) fill() {
	d := &p.doc
	d.ID, d.Goal, d.Issue, d.State, d.Why, d.Base, d.Commit = p.row.ID, p.row.Goal, p.row.Issue, p.row.State, p.row.Why, p.row.Base, p.row.BaseCommit
	d.Runs, d.Head, d.Number, d.URL = append(d.Runs, strings.Fields(p.row.Runs)...), p.row.Head, p.row.Number, p.row.URL
	if d.State == store.Broken {
		p.exit, d.Why = run.ExitFail, cmp.Or(d.Why, "the pull request was closed")
	}
}

// print prints the passage for people.
func (p *passage) print(w io.Writer) error {
	d := p.doc
	if d.DryRun {
		fmt.Fprintf(w, "would reach the goal on branch %s of %s at %.12s, open a pull request and see it through\n  %s\n", d.Base, d.Repository, d.Commit, term.CleanLine(d.Goal))
		return nil
	}
	fmt.Fprintf(w, "%s: %s\n", d.Repository, d.State)
	if d.Number != 0 {
		fmt.Fprintf(w, "  pull request %d: %s\n", d.Number, term.CleanLine(d.URL))
	}
	if d.Status != "" {
		fmt.Fprintf(w, "  review: %s\n", term.CleanLine(d.Status))
	}
	if d.Build != nil {
		fmt.Fprintf(w, "  build: %s, %s\n", d.Build.Outcome, run.Count(len(d.Build.Rounds), "repair"))
	}
	for _, c := range d.Comments {
		fmt.Fprintf(w, "  %s\n", term.CleanLine(c.told()))
	}
	if d.Why != "" && d.State.Ended() {
		fmt.Fprintf(w, "  %s\n", term.CleanLine(d.Why))
	} else if d.Why != "" {
		fmt.Fprintf(w, "  stopped: %s\n  next: `agent pr run %s --resume` continues, --reset gives it up\n", term.CleanLine(d.Why), d.Repository)
	}
	return nil
}

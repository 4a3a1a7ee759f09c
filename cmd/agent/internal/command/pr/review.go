package pr

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/forge"
	"agent/orchestrator/pull"
	"agent/orchestrator/run"
	"agent/verify"
)

// statusContext is the name of the status that a review sets.
const statusContext = "agent/gate"

// reviewCommand returns the command that judges a pull request.
func (c command) reviewCommand() *cli.Command {
	return &cli.Command{
		Name: "review", Usage: "prove a pull request, and post the findings at its lines", ArgsUsage: "NUMBER",
		Description: "Judges what a pull request changes, anybody's, on the files where it left its base, by the\n" +
			"same gates as a patch; its files come from git's objects, and nothing of it runs outside of\n" +
			"containers. New findings are posted as comments at their lines (blocker, major, minor, nit),\n" +
			"findings without a line in one summary, and the verdict as the status agent/gate of the\n" +
			"commit. Run again after a push, it says nothing twice: it answers the comments whose findings\n" +
			"are gone, and rewrites its summary. A fork that changes what runs on the build server is held,\n" +
			"whatever the verdict. With --integrate, unanswered comments of people and bots are taken up\n" +
			"first: each is given to the engineer as data, the engineer's change goes through every gate\n" +
			"and becomes one commit on the branch, and the comment is answered with what was done, or why\n" +
			"nothing was. After a kill nothing is done twice. Exit code 0 passed, 1 did not, 4 held.\n\n" + cmdline.Examples(
			"agent pr review 12", "judge it and comment",
			"agent pr review 12 --dry-run", "judge it and print what would be posted",
			"agent pr review 12 --integrate --author ada", "take up what ada said, then judge it",
			"agent pr review 12 --repo shop/till --json", "of another repository, for scripts"),
		Flags: slices.Concat([]cli.Flag{
			cmdline.WorkspaceFlag(), repositoryFlag(),
			&cli.BoolFlag{Name: "integrate", Usage: "first take up the comments that have no answer", DisableDefaultText: true},
			&cli.StringSliceFlag{Name: "author", Usage: "with --integrate: only comments of `NAME`; may be repeated"},
			&cli.BoolFlag{Name: "dry-run", Usage: "post nothing on the forge", DisableDefaultText: true},
		}, findFlags(), []cli.Flag{cmdline.JSONFlag(cmdline.Document[Reviewed]("pull-review", 1))}),
		Action: c.review,
	}
}

// A Reviewed is a pull request as `pr review --json` prints it.
type Reviewed struct {
	Repository string         `json:"repository"`
	Number     int            `json:"number"`
	URL        string         `json:"url"`
	Commit     string         `json:"commit"`
	Run        string         `json:"run"`
	Verdict    verify.Verdict `json:"verdict"`
	// Status is the text of the commit's status.
	Status   string         `json:"status"`
	Findings []pull.Finding `json:"findings"`
	// Posted, Known and Fixed count the comments at lines that were made, already existed, and were answered; with
	// --dry-run, those that would be.
	Posted int  `json:"posted"`
	Known  int  `json:"known"`
	Fixed  int  `json:"fixed"`
	DryRun bool `json:"dry_run"`
	Fork   bool `json:"fork"`
	// Comments are those that were taken up with --integrate, in their order.
	Comments []TakenComment `json:"comments,omitempty"`
}

// pullNumber returns the number that a command names.
func pullNumber(ctx *cli.Context) (int, error) {
	text := ctx.Args().First()
	n, err := strconv.Atoi(text)
	switch {
	case text == "":
		return 0, fault.Usage("see the forge's pages, or `agent sql v_pulls`", "no pull request was named")
	case err != nil || n < 1:
		return 0, fault.Usage("use its number, e.g. 12", "invalid pull request number %q", text)
	}
	return n, nil
}

// openPull returns a pull request if it is open.
func (t *target) openPull(ctx context.Context, number int) (forge.Pull, error) {
	p, err := t.api.Pull(ctx, number)
	if err == nil && p.State != forge.Open {
		err = fault.Usage("name one that is open", "pull request %d of %s is %s", number, t.address.Slug(), p.State)
	}
	return p, err
}

// review runs the command.
func (c command) review(ctx *cli.Context) error {
	number, err := pullNumber(ctx)
	if err != nil {
		return err
	}
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	asJSON := set.On("json")
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		t, err := c.target(ctx.Context, set, ctx.String("repo"))
		if err != nil {
			return err
		}
		r := &reviewing{command: c, target: t}
		var taken []TakenComment
		if ctx.Bool("integrate") {
			if taken, err = c.integrate(ctx, set, s, t, number); err != nil {
				return ForgeFault(err)
			}
		} else if ctx.IsSet("author") {
			return fault.Usage("add --integrate", "--author needs --integrate")
		}
		doc, err := r.judged(ctx, s, number)
		if err != nil {
			return ForgeFault(err)
		}
		// If an infrastructure problem prevented the judgement, there is no verdict on anyone's change.
		if doc.State == run.Failed || doc.State == run.Cancelled {
			return c.Report(doc, asJSON)
		}
		r.plan()
		r.doc.Comments = taken
		if r.doc.DryRun = ctx.Bool("dry-run"); !r.doc.DryRun {
			if err := r.say(ctx.Context); err != nil {
				return ForgeFault(err)
			}
		}
		if asJSON {
			err = term.PrintJSON(c.Stdout, r.doc)
		} else {
			err = term.Print(c.Stdout, r.print)
		}
		if err == nil && r.exit != run.ExitDone {
			err = fault.Reported{Exit: r.exit}
		}
		return err
	})
}

// integrate takes up the comments on a pull request.
func (c command) integrate(ctx *cli.Context, set config.Settings, s *wire.Session, t *target, number int) ([]TakenComment, error) {
	g, err := c.integrating(ctx, set, s, t, number)
	if err != nil {
		return nil, err
	}
	g.dry = ctx.Bool("dry-run")
	if g.dry {
		err = g.run()
	} else {
		err = t.leased(ctx, s, g.run)
	}
	return g.taken, err
}

// A reviewing is one run of `pr review`.
type reviewing struct {
	command
	*target
	pull    forge.Pull
	judge   run.Document
	lines   map[string][]int
	left    []string
	threads []forge.Thread
	todo    pull.Plan
	state   forge.JobState
	exit    int
	doc     Reviewed
}

// judged proves the pull request.
func (r *reviewing) judged(ctx *cli.Context, s *wire.Session, number int) (doc run.Document, err error) {
	if r.pull, err = r.openPull(ctx.Context, number); err != nil {
		return doc, err
	}
	base, head := "refs/heads/"+r.pull.Base, r.kind.HeadRef(number)
	at, err := r.mirror.Fetch(ctx.Context, base, head)
	if err != nil {
		return doc, err
	}
	meet, err := r.mirror.MergeBase(ctx.Context, base, head)
	if err != nil {
		return doc, err
	}
	diff, err := r.mirror.Diff(ctx.Context, meet, at[1], r.prefix)
	if err != nil {
		return doc, err
	}
	if len(diff) == 0 {
		return doc, fault.Usage("there is nothing to judge", "pull request %d changes no file of the workspace", number)
	}
	if r.threads, err = r.api.Threads(ctx.Context, number); err != nil {
		return doc, err
	}
	dir, left, err := r.tree(ctx.Context, meet)
	if err != nil {
		return doc, err
	}
	after, more, err := r.tree(ctx.Context, at[1])
	if err != nil {
		return doc, err
	}
	for _, text := range more {
		if !slices.Contains(left, text) {
			left = append(left, text)
		}
	}
	r.left, r.lines = left, pull.Lines(diff)
	r.doc = Reviewed{Repository: r.address.Slug(), Number: number, URL: r.pull.URL, Commit: at[1], Fork: r.pull.Fork, Findings: []pull.Finding{}}
	r.judge, err = r.prove(ctx, s, comparison{dir, after}, fmt.Sprintf("pull request %d", number))
	r.exit = r.judge.Exit
	return r.judge, err
}

// plan determines what to post.
func (r *reviewing) plan() {
	c := candidate(r.judge)
	r.state, r.doc.Status = pull.Verdict(c, r.pull.Fork)
	if r.state == forge.Failed && r.exit == run.ExitDone {
		r.exit = run.ExitApproval
	}
	r.doc.Run, r.doc.Verdict = r.judge.Run, r.judge.Verdict
	r.doc.Findings = append(r.doc.Findings, pull.Findings(c)...)
	found := slices.Clone(r.doc.Findings)
	for i := range found { // the forge uses paths of the repository
		if found[i].Path != "" {
			found[i].Path = r.place(found[i].Path)
		}
	}
	lines := map[string][]int{}
	for name, list := range r.lines {
		lines[r.place(name)] = list
	}
	r.todo = pull.Review(found, r.threads, lines, r.doc.Commit)
	r.doc.Posted, r.doc.Known, r.doc.Fixed = len(r.todo.Post), r.todo.Known, len(r.todo.Fixed)
}

// say posts the review to the forge: comments at lines, answers, the summary, and last the status, so that what it
// points to exists.
func (r *reviewing) say(ctx context.Context) error {
	if len(r.todo.Post) > 0 {
		if err := r.api.Review(ctx, r.pull.Number, r.doc.Commit, r.todo.Post); err != nil {
			return err
		}
	}
	for _, f := range r.todo.Fixed {
		if err := r.api.Answer(ctx, r.pull.Number, f.Thread, f.Text, true); err != nil {
			return err
		}
	}
	said, err := r.api.Comments(ctx, r.pull.Number)
	if err != nil {
		return err
	}
	id := ""
	if i := slices.IndexFunc(said, pull.IsSummary); i >= 0 {
		id = said[i].ID
	}
	text := pull.Summary(candidate(r.judge), r.judge.Run, r.doc.Commit, r.doc.Findings, r.todo, r.left)
	if err := r.api.SetComment(ctx, r.pull.Number, id, text); err != nil {
		return err
	}
	return r.api.SetStatus(ctx, r.doc.Commit, forge.Status{State: r.state, Context: statusContext, Text: r.doc.Status})
}

// print prints the review for people.
func (r *reviewing) print(w io.Writer) error {
	d := r.doc
	fmt.Fprintf(w, "pull request %d at %.12s: %s (run %s)\n", d.Number, d.Commit, term.CleanLine(d.Status), d.Run)
	for _, f := range d.Findings {
		place := f.Path
		if f.Line > 0 {
			place += ":" + strconv.Itoa(f.Line)
		}
		fmt.Fprintf(w, "  %-7s %s %s %s\n", f.Severity, f.Gate, term.CleanLine(place), term.CleanLine(f.Message))
	}
	for _, c := range d.Comments {
		fmt.Fprintf(w, "%s\n", term.CleanLine(c.told()))
	}
	would := map[bool]string{true: "would be ", false: ""}[d.DryRun]
	fmt.Fprintf(w, "%s %sposted, %d already there, %d %sanswered as fixed\n", run.Count(d.Posted, "comment"), would, d.Known, d.Fixed, would)
	return nil
}

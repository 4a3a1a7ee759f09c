package pr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/forge"
	"agent/orchestrator/forge/mirror"
	"agent/orchestrator/pull"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/git"
	"agent/verify"
)

// openCommand returns the command that opens a pull request.
func (c command) openCommand() *cli.Command {
	return &cli.Command{
		Name: "open", Usage: "open a pull request from promoted runs, or from a branch",
		Description: "Makes one commit of each run on the branch that the pull request goes to, pushes them as a\n" +
			"new branch and opens the pull request, with what was proved, by which gates, at what cost,\n" +
			"and what was not proved. If something was not, it is a draft. If that branch holds other\n" +
			"files than the run was proved on, the change is merged and judged again before anything is\n" +
			"pushed. A branch on the forge is never rewritten, and if you run the command again, it finds\n" +
			"the existing pull request. The working tree and its repository are not touched: commits are\n" +
			"made in a cache, no hook or filter runs, and the token is in no argument and no file. With\n" +
			"--branch the commits are those of a local branch, pushed as they are, and judged as a whole.\n\n" + cmdline.Examples(
			"agent pr open", "the last promoted run of this workspace",
			"agent pr open --run 1k3 --run 1k7 --label agent", "two commits, with a label",
			"agent pr open --branch fix-tax --base release", "a branch of your own, judged first",
			"agent pr open --dry-run", "what would be pushed and said"),
		Flags: []cli.Flag{
			cmdline.WorkspaceFlag(), repositoryFlag(),
			&cli.StringSliceFlag{Name: "run", Usage: "a promoted `RUN`; may be repeated, in the order of the commits"},
			&cli.StringFlag{Name: "branch", Usage: "use the commits of this local `BRANCH` instead of runs"},
			&cli.StringFlag{Name: "base", Usage: "the target `BRANCH`; by default the repository's"},
			&cli.StringFlag{Name: "head", Usage: "name the new `BRANCH`; by default agent/RUN"},
			&cli.StringFlag{Name: "title", Usage: "use `TEXT` as the title; by default what the runs were for"},
			&cli.StringSliceFlag{Name: "label", Usage: "add a label `NAME`; may be repeated"},
			&cli.BoolFlag{Name: "draft", Usage: "always open it as a draft", DisableDefaultText: true},
			&cli.BoolFlag{Name: "dry-run", Usage: "push, open and record nothing", DisableDefaultText: true},
			cmdline.AllowFlag(), cmdline.NoInstallFlag(), cmdline.JSONFlag(cmdline.Document[Opened]("pull", 1)),
		},
		Action: c.open,
	}
}

// An Opened is a pull request as `pr open --json` prints it.
type Opened struct {
	Repository string `json:"repository"`
	// With --dry-run, Number is 0 and URL is empty.
	Number int    `json:"number"`
	URL    string `json:"url"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	Base   string `json:"base"`
	Head   string `json:"head"`
	Commit string `json:"commit"`
	Draft  bool   `json:"draft"`
	// Existed says that the pull request was there before.
	Existed bool `json:"existed"`
	DryRun  bool `json:"dry_run"`
	// Commits are the commits that are runs, in their order.
	Commits []OpenedCommit `json:"commits"`
	Labels  []string       `json:"labels"`
}

// An OpenedCommit is one commit of an Opened.
type OpenedCommit struct {
	Commit  string         `json:"commit"`
	Run     string         `json:"run"`
	Subject string         `json:"subject"`
	Verdict verify.Verdict `json:"verdict"`
	// Again says why the commit was judged again, "" if it was not.
	Again string `json:"judged_again,omitempty"`
}

// An opening is one run of `pr open`.
type opening struct {
	command
	ctx     *cli.Context
	set     config.Settings
	session *wire.Session
	*target
	dir      string   // the workspace
	runs     []string // the runs whose changes the commits are; empty for the last promoted run
	base     string   // the target branch, "" for the repository's default
	issue    int      // the issue that it resolves, 0 for none
	branches map[string]string
	works    []pull.Work
	left     []string
	failed   *run.Document // of a change that did not pass when it was judged again
	doc      Opened
}

// open runs the command.
func (c command) open(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	if ctx.IsSet("branch") && ctx.IsSet("run") {
		return fault.Usage("use only one of them", "--branch and --run are mutually exclusive")
	}
	dir := cmdline.Resolved(set["workspace"].Text)
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		t, err := c.target(ctx.Context, set, ctx.String("repo"))
		if err != nil {
			return err
		}
		o := &opening{command: c, ctx: ctx, set: set, session: s, target: t, dir: dir, runs: ctx.StringSlice("run"), base: ctx.String("base")}
		o.doc = Opened{Repository: t.address.Slug(), DryRun: ctx.Bool("dry-run"), Labels: append([]string{}, ctx.StringSlice("label")...), Commits: []OpenedCommit{}}
		if err := o.run(ctx.Context); err != nil {
			return ForgeFault(err)
		}
		if o.failed != nil {
			return c.Report(*o.failed, set.On("json"))
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, o.doc)
		}
		return term.Print(c.Stdout, o.print)
	})
}

// run goes from the runs to the pull request. Each step finds what an earlier process did.
func (o *opening) run(ctx context.Context) error {
	if err := o.settleBase(ctx); err != nil {
		return err
	}
	make := o.commits
	if o.ctx.IsSet("branch") {
		make = o.branch
	}
	if err := make(ctx); err != nil || o.failed != nil {
		return err
	}
	o.describe(ctx)
	if o.doc.DryRun {
		return nil
	}
	return o.publish(ctx)
}

// settleBase finds the target branch and fetches it.
func (o *opening) settleBase(ctx context.Context) error {
	main, err := o.api.DefaultBranch(ctx)
	if err != nil {
		return err
	}
	var own string
	if o.branches, own, err = o.mirror.Heads(ctx); err != nil {
		return err
	}
	o.doc.Base = cmp.Or(o.base, main, own)
	if o.doc.Base == "" || o.branches[o.doc.Base] == "" {
		return fault.Usage("name an existing branch: --base BRANCH", "%s has no branch %q", o.address.Slug(), o.doc.Base)
	}
	_, err = o.mirror.Fetch(ctx, "refs/heads/"+o.doc.Base)
	return err
}

// commits makes the commits of the runs, or finds those that an earlier process pushed.
func (o *opening) commits(ctx context.Context) error {
	list, err := promotions(ctx, o.session, o.dir, o.runs)
	if err != nil {
		return err
	}
	o.doc.Head = cmp.Or(o.ctx.String("head"), "agent/"+list[len(list)-1].work.Run)
	if there, err := o.found(ctx, list); there || err != nil {
		return err
	}
	parent := o.branches[o.doc.Base]
	for i := range list {
		if parent, err = o.commit(ctx, parent, &list[i]); err != nil || o.failed != nil {
			return err
		}
	}
	o.doc.Commit = parent
	return nil
}

// found reports whether the branch on the forge already holds these runs. Commits that people added to it stay.
func (o *opening) found(ctx context.Context, list []promoted) (bool, error) {
	if o.branches[o.doc.Head] == "" {
		return false, nil
	}
	base, head := "refs/heads/"+o.doc.Base, "refs/heads/"+o.doc.Head
	at, err := o.mirror.Fetch(ctx, base, head)
	if err != nil {
		return false, err
	}
	meet, err := o.mirror.MergeBase(ctx, base, head)
	if err != nil {
		return false, err
	}
	log, err := o.mirror.Between(ctx, meet, at[1])
	if err != nil {
		return false, err
	}
	for _, p := range list {
		i := slices.IndexFunc(log, func(l mirror.Log) bool {
			return slices.Contains(pull.Runs([]string{l.Body}), p.work.Run) && o.made(ctx, l.Commit, p)
		})
		if i < 0 {
			return false, fault.Policy("name another branch with --head", "branch %s already exists, and holds no commit of run %s: nothing on the forge is rewritten", o.doc.Head, p.work.Run)
		}
		// The commits of the earlier tasks are on the branch too.
		for _, step := range p.steps {
			if j := slices.IndexFunc(log, func(l mirror.Log) bool { return slices.Contains(pull.Runs([]string{l.Body}), step.work.Run) }); j >= 0 {
				o.add(log[j].Commit, step.work)
			}
		}
		o.add(log[i].Commit, p.work)
	}
	o.doc.Commit = at[1]
	return true, nil
}

// made reports whether a commit is the change of a run on its own parent, or with the earlier tasks' changes on the
// parent of the first one. The message alone proves nothing: anyone who may push can write it.
func (o *opening) made(ctx context.Context, commit string, p promoted) bool {
	for back := 1; back <= max(1, len(p.steps)); back++ {
		parent, err := o.mirror.Commit(ctx, fmt.Sprintf("%s~%d", commit, back))
		if err != nil {
			return false
		}
		if o.madeOn(ctx, parent, commit, p) {
			return true
		}
	}
	return false
}

// madeOn reports whether a commit has the files of parent with the change of a run.
func (o *opening) madeOn(ctx context.Context, parent, commit string, p promoted) bool {
	changes, err := o.onto(ctx, parent, p.changes)
	if err != nil || len(changes) == 0 {
		return false
	}
	ours, err := o.mirror.Make(ctx, mirror.NewCommit{Parent: parent, Message: "compared", By: o.author(ctx), At: time.Unix(0, 0), Changes: changes})
	if err != nil {
		return false
	}
	same, err := o.mirror.Same(ctx, ours, commit)
	return same && err == nil
}

// add adds a commit to the pull request.
func (o *opening) add(commit string, w pull.Work) {
	o.works = append(o.works, w)
	o.doc.Commits = append(o.doc.Commits, OpenedCommit{Commit: commit, Run: w.Run, Subject: pull.Subject(w.Intent), Verdict: w.Judged.Verdict, Again: w.Again})
}

// commit makes the commit of one run on parent, and has it judged there unless the run saw exactly those files.
func (o *opening) commit(ctx context.Context, parent string, p *promoted) (string, error) {
	changes, err := o.onto(ctx, parent, p.changes)
	if err != nil {
		return "", err
	}
	if len(changes) == 0 {
		return "", fault.Usage("there is nothing left to open a pull request for", "branch %s already has the change of run %s", o.doc.Base, p.work.Run)
	}
	dir, left, err := o.tree(ctx, parent)
	if err != nil {
		return "", err
	}
	o.left = left
	seen, err := workspace.Scan(ctx, dir, config.ParseList(o.set["exclude"].Text), workspace.Limits{})
	if err != nil {
		return "", err
	}
	by := o.author(ctx)
	if seen.Digest() != p.snapshot {
		p.work.Again = "branch " + o.doc.Base + " has other files than the workspace had when the run was proved"
		// A commit of the same files whose message does not matter: its difference is judged.
		draft, err := o.mirror.Make(ctx, mirror.NewCommit{Parent: parent, Message: "judged", By: by, At: time.Unix(0, 0), Changes: changes})
		if err != nil {
			return "", err
		}
		if err := o.again(ctx, dir, draft, &p.work); err != nil || o.failed != nil {
			return "", err
		}
	}
	commit, err := o.mirror.Make(ctx, mirror.NewCommit{Parent: parent, Message: pull.Message(p.work), By: by, At: p.detail.Ended, Changes: changes})
	if err != nil {
		return "", err
	}
	if commit, err = o.inSteps(ctx, parent, commit, p); err == nil {
		o.add(commit, p.work)
	}
	return commit, err
}

// inSteps turns one commit on parent into one per task, if the run delivered a plan of several tasks. The last commit
// has all files, which were judged together. If the tasks do not fit one by one, it stays one commit.
func (o *opening) inSteps(ctx context.Context, parent, whole string, p *promoted) (string, error) {
	if len(p.steps) < 2 {
		return whole, nil
	}
	by, head := o.author(ctx), parent
	var made []string
	var works []pull.Work
	for _, step := range p.steps[:len(p.steps)-1] {
		changes, err := o.onto(ctx, head, step.changes)
		var clash *fault.Error
		if errors.As(err, &clash) {
			return whole, nil
		}
		if err != nil {
			return "", err
		}
		if len(changes) == 0 {
			continue
		}
		if head, err = o.mirror.Make(ctx, mirror.NewCommit{Parent: head, Message: pull.Message(step.work), By: by, At: step.detail.Ended, Changes: changes}); err != nil {
			return "", err
		}
		made, works = append(made, head), append(works, step.work)
	}
	if same, err := o.mirror.Same(ctx, head, whole); err != nil || same || len(made) == 0 { // the last task's commit would be empty
		return whole, err
	}
	// The last commit carries what is said about the whole.
	last := p.work
	last.Intent = p.steps[len(p.steps)-1].work.Intent
	commit, err := o.mirror.Make(ctx, mirror.NewCommit{Parent: head, Message: pull.Message(last), By: by, At: p.detail.Ended, Like: whole})
	if err != nil {
		return "", err
	}
	for i, w := range works {
		o.add(made[i], w)
	}
	p.work = last
	return commit, nil
}

// again judges the changes between the files in dir and those of a commit.
func (o *opening) again(ctx context.Context, dir, to string, w *pull.Work) error {
	if o.doc.DryRun {
		w.Again += "; it would be judged again"
		return nil
	}
	after, _, err := o.tree(ctx, to)
	if err != nil {
		return err
	}
	doc, err := o.prove(o.ctx, o.session, comparison{dir, after}, "pull request to "+o.doc.Base)
	if err != nil {
		return err
	}
	if doc.Exit != run.ExitDone {
		o.failed = &doc
	}
	w.Judged = candidate(doc)
	w.Run = cmp.Or(w.Run, doc.Run)
	return nil
}

// branch takes a local branch, whose commits are a person's, and judges them as a whole.
func (o *opening) branch(ctx context.Context) error {
	name := o.ctx.String("branch")
	if o.local.Top == "" {
		return fault.Usage("omit --repo", "--branch names a branch of the repository around the workspace")
	}
	short, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := git.Run(short, o.local.Top, 4<<10, "rev-parse", "--verify", "--quiet", "--end-of-options", "refs/heads/"+name+"^{commit}")
	commit := strings.TrimSpace(string(out))
	if err != nil {
		return fault.Usage("see `git branch`", "the repository has no branch %q", name)
	}
	objects, err := o.local.Objects()
	if err != nil {
		return err
	}
	if err := o.mirror.Import(ctx, objects, commit); err != nil {
		return err
	}
	meet, err := o.mirror.Meet(ctx, o.branches[o.doc.Base], commit)
	if err != nil {
		return err
	}
	if meet == commit {
		return fault.Usage("commit something to it first", "branch %s already contains all of %s", o.doc.Base, name)
	}
	log, err := o.mirror.Between(ctx, meet, commit)
	if err != nil {
		return err
	}
	w := pull.Work{Intent: cmp.Or(o.ctx.String("title"), log[len(log)-1].Subject)}
	o.doc.Head, o.doc.Commit = cmp.Or(o.ctx.String("head"), name), commit
	dir, left, err := o.tree(ctx, meet)
	if err != nil {
		return err
	}
	o.left = left
	if err := o.again(ctx, dir, commit, &w); err != nil || o.failed != nil {
		return err
	}
	o.works = []pull.Work{w}
	return nil
}

// templates are the places where projects keep the initial text of pull requests.
var templates = []string{
	".github/pull_request_template.md", ".github/PULL_REQUEST_TEMPLATE.md", "pull_request_template.md", "PULL_REQUEST_TEMPLATE.md", "docs/pull_request_template.md",
	".gitea/pull_request_template.md", ".gitea/PULL_REQUEST_TEMPLATE.md", ".forgejo/pull_request_template.md", ".gitlab/merge_request_templates/Default.md",
}

// describe determines title, body and draft.
func (o *opening) describe(ctx context.Context) {
	body := pull.Body{Works: o.works, Left: o.left, Issue: o.issue}
	for _, name := range templates {
		if text, _, ok := o.mirror.File(ctx, o.branches[o.doc.Base], name); ok {
			body.Template = string(text)
			break
		}
	}
	o.doc.Title = cmp.Or(o.ctx.String("title"), pull.Title(o.works))
	if o.issue != 0 {
		if i, err := o.api.Issue(ctx, o.issue); err == nil { // a missing issue gives no title
			o.doc.Title = pull.IssueTitle(o.issue, i.Title)
		}
	}
	o.doc.Body, o.doc.Draft = body.Markdown(), o.ctx.Bool("draft") || pull.Draft(o.works) || len(o.left) > 0
}

// publish pushes the branch, opens or finds the pull request, and records it.
func (o *opening) publish(ctx context.Context) error {
	if o.branches[o.doc.Head] != o.doc.Commit {
		if err := o.mirror.Push(ctx, o.doc.Commit, o.doc.Head); err != nil {
			return err
		}
	}
	p, err := o.api.FindPull(ctx, o.doc.Head)
	o.doc.Existed = err == nil
	if errors.Is(err, forge.ErrNotFound) {
		p, err = o.api.OpenPull(ctx, forge.NewPull{Title: o.doc.Title, Body: o.doc.Body, Base: o.doc.Base, Head: o.doc.Head, Draft: o.doc.Draft})
		if errors.Is(err, forge.ErrExists) { // another process was faster
			o.doc.Existed = true
			p, err = o.api.FindPull(ctx, o.doc.Head)
		}
	}
	if err != nil {
		return err
	}
	o.doc.Number, o.doc.URL = p.Number, p.URL
	if len(o.doc.Labels) > 0 {
		if err := o.api.Label(ctx, p.Number, o.doc.Labels); err != nil {
			return err
		}
	}
	record := store.Pull{
		Workspace: o.dir, Host: o.address.Host(), Repository: o.address.Slug(), Number: p.Number, URL: p.URL, Title: o.doc.Title,
		Base: o.doc.Base, Head: o.doc.Head, HeadCommit: o.doc.Commit, Draft: p.Draft,
	}
	for _, c := range o.doc.Commits {
		record.Runs = append(record.Runs, store.PullRun{Run: c.Run, Commit: c.Commit})
	}
	return o.session.DB.SavePull(ctx, record)
}

// print prints the pull request for people.
func (o *opening) print(w io.Writer) error {
	d := o.doc
	kind := "pull request"
	if d.Draft {
		kind = "draft"
	}
	switch {
	case d.DryRun:
		fmt.Fprintf(w, "would open a %s from %s to %s of %s\n", kind, d.Head, d.Base, d.Repository)
	case d.Existed:
		fmt.Fprintf(w, "pull request %d already exists: %s\n", d.Number, term.CleanLine(d.URL))
	default:
		fmt.Fprintf(w, "opened %s %d: %s\n", kind, d.Number, term.CleanLine(d.URL))
	}
	for _, c := range d.Commits {
		fmt.Fprintf(w, "  %.12s %s (run %s)\n", c.Commit, term.CleanLine(c.Subject), c.Run)
		if c.Again != "" {
			fmt.Fprintf(w, "    judged again: %s\n", term.CleanLine(c.Again))
		}
	}
	if d.DryRun {
		fmt.Fprintf(w, "\n%s\n\n%s", term.CleanLine(d.Title), term.Clean(d.Body))
	}
	return nil
}

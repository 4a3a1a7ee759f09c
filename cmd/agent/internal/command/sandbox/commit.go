package sandbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/forge/commit"
	"agent/orchestrator/forge/revision"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/store/calls"
)

// CommitFlags returns the flags that commit what is promoted.
func CommitFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "commit", Usage: "commit what is promoted, with run, model and verdict as trailers; run no hook or filter of the repository", DisableDefaultText: true},
		&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "with --commit: use the message `TEXT`"},
		&cli.StringFlag{Name: "branch", Usage: "commit to the new branch `NAME` and leave the work tree alone"},
	}
}

// CommitOrder returns the order of a command that has CommitFlags, or nil if nothing is to be committed. The order has
// no Message yet. Anything that prevents a commit in the repository now is found before anything is proved.
func CommitOrder(ctx *cli.Context, c *cmdline.Line, dir string, noPromote bool) (*run.CommitOrder, error) {
	branch := ctx.String("branch")
	switch wanted := ctx.Bool("commit") || ctx.IsSet("branch"); {
	case !wanted && ctx.IsSet("message"):
		return nil, fault.Usage("add --commit, or --branch NAME", "--message needs a commit")
	case !wanted:
		return nil, nil
	case noPromote:
		return nil, fault.Usage("omit one of them", "--commit and --no-promote are mutually exclusive")
	case ctx.IsSet("branch") && branch == "":
		return nil, fault.Usage("name a branch, or omit --branch", "--branch names no branch")
	case ctx.IsSet("message") && strings.TrimSpace(ctx.String("message")) == "":
		return nil, fault.Usage("write a message, or omit --message", "the message is empty")
	}
	repo, err := revision.Open(dir)
	if errors.Is(err, revision.ErrNone) {
		return nil, fault.Usage("run `git init` there, or omit --commit", "%w", err)
	}
	if err != nil {
		return nil, err
	}
	var refused *commit.RefusedError
	order := &run.CommitOrder{Branch: branch}
	if err = commit.Check(ctx.Context, repo, branch); err == nil {
		order.By, err = commit.WhoCommits(ctx.Context, repo, c.Getenv)
	}
	if errors.As(err, &refused) {
		return nil, &fault.Error{Exit: run.ExitConflict, Kind: run.ProblemConflict, Next: refused.Next, Err: refused}
	}
	return order, err
}

// An asked tells which requests a run made to models. *store.DB is one.
type asked interface {
	Exchanges(ctx context.Context, run string) ([]calls.Exchange, error)
}

// Describe sets the commit message of an order: text, or else what was said of commits in a workbench, or else a
// subject that says what the run was for. Trailers tell where the change comes from.
func Describe(order *run.CommitOrder, text, subject string, models asked) {
	if order == nil {
		return
	}
	order.Message = func(ctx context.Context, c run.CommitAbout) string {
		trailers := [][2]string{{"Agent-Run", c.Run}, {"Agent-Model", modelsOf(ctx, models, cmp.Or(c.Iteration, c.Run))}, {"Agent-Verdict", string(c.Candidate.Verdict)}}
		caveat := gate.Caveat(c.Candidate.Unproven)
		if len(c.Besides) > 0 {
			caveat = strings.TrimPrefix(caveat+"; judged together with edits of "+besides(c.Besides)+" that are not in it", "; ")
		}
		return commit.Message(cmp.Or(text, run.CommitText(c.Said), subject), append(trailers, [2]string{"Agent-Unproven", caveat}))
	}
}

// besides names a few of the files.
func besides(list []string) string {
	const most = 3
	if len(list) > most {
		return strings.Join(list[:most], ", ") + " and others"
	}
	return strings.Join(list, ", ")
}

// modelsOf names the models that answered a run, "" for none.
func modelsOf(ctx context.Context, from asked, run string) string {
	if from == nil {
		return ""
	}
	list, err := from.Exchanges(ctx, run)
	if err != nil {
		return "unknown"
	}
	var names []string
	for _, e := range list {
		if name := e.Vendor + "/" + e.Model; !e.Ended.IsZero() && e.Kind == "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// subject returns the subject of a commit without a given message.
func subject(req run.Request) string {
	text := "Apply " + req.PatchName
	switch {
	case req.Goal != "":
		text, _, _ = strings.Cut(strings.TrimSpace(req.Goal), "\n")
	case req.Patch == nil:
		text = "Apply a change that a model found"
	case req.PatchName == "-" || req.PatchName == "":
		text = "Apply a patch"
	}
	if r := []rune(text); len(r) > 72 {
		text = string(r[:71]) + "…"
	}
	return text
}

package pr

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/forge"
	"agent/orchestrator/pull"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/sandbox/workspace"
	"agent/verify/policy"
)

// maxTasks bounds how many comments one command takes up.
const maxTasks = 20

// A TakenComment is a comment that was taken up, as `pr review --integrate --json` prints it.
type TakenComment struct {
	Thread string `json:"thread"`
	Author string `json:"author"`
	Path   string `json:"path,omitempty"`
	Line   int    `json:"line,omitempty"`
	// Run found a change, or tried to. Commit contains it, "" if nothing was changed.
	Run    string `json:"run,omitempty"`
	Commit string `json:"commit,omitempty"`
	Answer string `json:"answer"`
}

// An integrating takes up the comments on a pull request.
type integrating struct {
	command
	*target
	ctx     *cli.Context
	session *wire.Session
	number  int
	by      []string // whose comments; empty for everyone's
	left    budget
	dry     bool
	taken   []TakenComment
}

// integrating returns a value that takes up the comments on a pull request.
func (c command) integrating(ctx *cli.Context, set config.Settings, s *wire.Session, t *target, number int) (*integrating, error) {
	left, err := newBudget(ctx, set)
	return &integrating{command: c, target: t, ctx: ctx, session: s, number: number, by: ctx.StringSlice("author"), left: left, taken: []TakenComment{}}, err
}

// run takes up each comment that waits for an answer, one after the other: a change of its own, proved, committed,
// pushed and answered. A row for each records the progress before the forge is told. After a kill, the rest is done.
func (g *integrating) run() error {
	ctx := g.ctx.Context
	p, err := g.openPull(ctx, g.number)
	if err != nil {
		return err
	}
	if p.Fork {
		return fault.Policy("ask its author, or push the branch to the repository itself", "pull request %d comes from a fork, whose branch belongs to somebody else", p.Number)
	}
	threads, err := g.api.Threads(ctx, g.number)
	if err != nil {
		return err
	}
	said, err := g.api.Comments(ctx, g.number)
	if err != nil {
		return err
	}
	rows, err := g.session.DB.ReviewComments(ctx, g.repository(), g.number)
	if err != nil {
		return err
	}
	tasks, err := g.wanted(ctx, pull.Tasks(threads, said, g.by))
	if err != nil {
		return err
	}
	for _, task := range tasks[:min(len(tasks), maxTasks)] {
		row := store.ReviewComment{Thread: task.Thread, Comment: task.Comment, Author: task.Author, Path: task.Path, Line: task.Line, State: store.CommentOpen}
		if i := slices.IndexFunc(rows, func(r store.ReviewComment) bool { return r.Thread == task.Thread && r.Comment == task.Comment }); i >= 0 {
			row = rows[i]
		}
		if g.dry {
			g.taken = append(g.taken, TakenComment{Thread: task.Thread, Author: task.Author, Path: task.Path, Line: task.Line})
			continue
		}
		if err := g.take(p, task, row); err != nil {
			return err
		}
	}
	return nil
}

// wanted returns the tasks of those whose comments count.
func (g *integrating) wanted(ctx context.Context, all []pull.Task) (list []pull.Task, err error) {
	if g.may == nil {
		return all, nil
	}
	asked := map[string]bool{}
	for _, task := range all {
		may, known := asked[task.Author]
		if !known {
			if may, err = g.may(ctx, g.api, task.Author); err != nil {
				return nil, err
			}
			asked[task.Author] = may
		}
		if may {
			list = append(list, task)
		}
	}
	return list, nil
}

// take brings one comment from its current state to its answer.
func (g *integrating) take(p forge.Pull, task pull.Task, row store.ReviewComment) error {
	ctx := g.ctx.Context
	save := func() error { return g.session.DB.SaveReviewComment(ctx, g.repository(), g.number, row) }
	if row.State == store.CommentCommitted {
		moved, err := true, error(nil)
		if _, gone := g.mirror.Commit(ctx, row.FixCommit); gone == nil {
			moved, err = g.deliver(ctx, p.Head, row.FixCommit)
		}
		if err != nil {
			return err
		}
		row.State = store.CommentPushed
		if moved {
			row.State, row.FixCommit = store.CommentOpen, ""
		}
	}
	// Someone may push while a change is found. The change is found once more for what they left, and then given up.
	for try := 0; row.State == store.CommentOpen; try++ {
		if err := save(); err != nil {
			return err
		}
		said, why, err := g.change(p, task, &row)
		if err != nil {
			return err
		}
		row.Answer = task.Answer(row.FixCommit, said, why)
		if row.FixCommit == "" {
			row.State = store.CommentPushed
			break
		}
		row.State = store.CommentCommitted
		if err := save(); err != nil {
			return err
		}
		moved, err := g.deliver(ctx, p.Head, row.FixCommit)
		switch {
		case err != nil:
			return err
		case !moved:
			row.State = store.CommentPushed
		case try == 0:
			row.State, row.FixCommit = store.CommentOpen, ""
		default:
			row.State, row.FixCommit = store.CommentPushed, ""
			row.Answer = task.Answer("", "", "others pushed to the branch each time a change was ready")
		}
	}
	if err := save(); err != nil {
		return err
	}
	if err := g.answer(ctx, task, row.Answer); err != nil {
		return err
	}
	row.State = store.CommentAnswered
	g.taken = append(g.taken, TakenComment{Thread: row.Thread, Author: row.Author, Path: row.Path, Line: row.Line, Run: row.Run, Commit: row.FixCommit, Answer: row.Answer})
	return save()
}

// change has a change found for a comment on the current branch, and makes the commit. said is the engineer's own
// statement; why says why there is no commit.
func (g *integrating) change(p forge.Pull, task pull.Task, row *store.ReviewComment) (said, why string, err error) {
	ctx := g.ctx.Context
	if g.left.over() {
		return "", "the command has used up its requests to models", nil
	}
	at, err := g.mirror.Fetch(ctx, "refs/heads/"+p.Head)
	if err != nil {
		return "", "", err
	}
	dir, _, err := g.export(ctx, at[0], "-fix")
	if err != nil {
		return "", "", err
	}
	doc, err := g.find(g.ctx, g.session, order{
		dir: dir, goal: task.Goal(), given: task.Text, scope: g.scope(ctx, dir, task.Path), requests: g.left.requests, time: g.left.time,
		guarded: []string{policy.CI, policy.Suppression, policy.WeakerTest, policy.Runner, policy.Tooling},
	})
	if err != nil {
		return "", "", err
	}
	row.Run = doc.Run
	if err := g.left.spend(ctx, g.session, doc.Run); err != nil {
		return "", "", err
	}
	// An infrastructure problem is not an answer to a comment.
	if doc.Exit == run.ExitInfra || doc.Exit == run.ExitCancelled {
		return "", "", &fault.Error{Exit: doc.Exit, Kind: run.ProblemInfra, Next: "run it again: it finds what was already done", Err: fmt.Errorf("take up a comment: %s", reason(doc))}
	}
	if n := len(doc.Candidates); n > 0 {
		said = doc.Candidates[n-1].Thought
	}
	if doc.Promotion == nil {
		return said, reason(doc), nil
	}
	row.FixCommit, err = g.commitRun(ctx, g.session, doc.Run, at[0], task.Subject())
	return said, "", err
}

// scope returns the file that a comment is about, nil if the workspace has no such file.
func (g *integrating) scope(ctx context.Context, dir, path string) []string {
	if path == "" {
		return nil
	}
	seen, err := workspace.Scan(ctx, dir, nil, workspace.Limits{})
	if err != nil {
		return nil
	}
	for _, e := range seen.Entries {
		if e.Kind == workspace.File && g.place(e.Path) == path {
			return []string{e.Path}
		}
	}
	return nil
}

// answer posts the result for a comment on the forge. It is posted only once, since pull.Tasks leaves out answered comments.
func (g *integrating) answer(ctx context.Context, task pull.Task, text string) error {
	if task.Of != nil {
		return g.api.Answer(ctx, g.number, *task.Of, text, false)
	}
	return g.api.SetComment(ctx, g.number, "", text)
}

// told describes a comment that was taken up, on one line.
func (c TakenComment) told() string {
	place := cmp.Or(c.Path, "the whole")
	if c.Line > 0 {
		place = fmt.Sprintf("%s:%d", place, c.Line)
	}
	if c.Commit != "" {
		return fmt.Sprintf("comment by %s on %s: %.12s (run %s)", c.Author, place, c.Commit, c.Run)
	}
	return fmt.Sprintf("comment by %s on %s: nothing was changed", c.Author, place)
}

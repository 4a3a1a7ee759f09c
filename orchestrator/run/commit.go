package run

import (
	"context"
	"errors"
	"strings"

	"agent/orchestrator/forge/commit"
	"agent/orchestrator/forge/revision"
	"agent/orchestrator/gate"
	"agent/sandbox/workspace"
)

// A CommitOrder asks for the promoted change to be recorded as a commit of the repository around the workspace.
type CommitOrder struct {
	By commit.Identity
	// Branch is a new branch that gets the commit instead of the work tree; no file is written then. "" commits to what is checked out.
	Branch string
	// Message returns the commit message for the change that a run promotes.
	Message func(ctx context.Context, c CommitAbout) string
	// Steps returns the commits that lead up to it on base, each with everything changed up to that point; nil for none.
	Steps func(ctx context.Context, base *workspace.Manifest) ([]commit.Step, error)
}

// CommitAbout is what a commit message is about.
type CommitAbout struct {
	Run, Iteration string
	Candidate      gate.Candidate
	// Besides are files that were judged with the change and are not in the commit.
	Besides []string
	// Said are the messages of commits that were made in a workbench, oldest first.
	Said []string
}

// CommitText joins the messages of several commits, oldest first, into one text; it is "" for none.
func CommitText(said []string) string { return strings.Join(said, "\n\n") }

// A DocumentCommit is a commit in a Document.
type DocumentCommit struct {
	ID string `json:"id"`
	// Branch is the branch that has the commit, "" if none was checked out.
	Branch string `json:"branch"`
	// Besides are files that differ from the commit: they were judged with the change, and the commit does not hold them.
	Besides []string `json:"besides"`
}

// committing is a CommitOrder in progress.
type committing struct {
	order     *CommitOrder
	candidate gate.Candidate
	made      *commit.Commit
}

// prepareCommit makes the commit of an order before any file is written. A nil ending means that the commit is made or that none is
// wanted.
func (x *Execution) prepareCommit(ctx context.Context, c *committing, cs workspace.Changeset, base *workspace.Manifest) *Ending {
	if c == nil {
		return nil
	}
	repo, err := revision.Open(x.rec.Workspace)
	if err == nil {
		o := commit.Order{Run: x.rec.ID, Branch: c.order.Branch, By: c.order.By, Disk: base, Changes: cs}
		o.Message = func(besides []string) string {
			about := CommitAbout{Run: x.rec.ID, Iteration: x.rec.Iteration, Candidate: c.candidate, Besides: besides}
			if x.doc.Command != nil {
				about.Said = x.doc.Command.Commits
			}
			return c.order.Message(ctx, about)
		}
		if c.order.Steps != nil {
			o.Before, err = c.order.Steps(ctx, base)
		}
		if err == nil {
			c.made, err = commit.Prepare(ctx, repo, o)
		}
	}
	if err != nil {
		end := x.uncommitted(ctx, err)
		return &end
	}
	return nil
}

// uncommitted returns the ending of a run whose change cannot be committed. If the repository refused, its state requires the user to
// do something first.
func (x *Execution) uncommitted(ctx context.Context, err error) Ending {
	var refused *commit.RefusedError
	if errors.As(err, &refused) {
		return End(Conflicted, &Problem{Kind: ProblemConflict, Message: "not committed, and nothing was written: " + refused.Reason, Next: refused.Next})
	}
	return End(Failed, x.Trouble(ctx, "commit the change", err))
}

// withdraw forgets a commit whose files were not written or were taken back.
func (x *Execution) withdraw(ctx context.Context, c *committing) {
	if c == nil || c.made == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SettleFor)
	defer cancel()
	if err := c.made.Withdraw(ctx); err != nil {
		x.Notify(Event{Note: "forget the commit: " + err.Error()})
	}
}

// place moves the branch once the files are written.
func (c *committing) place(ctx context.Context) error {
	if c == nil {
		return nil
	}
	return c.made.Place(ctx)
}

// finishCommit puts the commit into the document and brings the index up to date.
func (x *Execution) finishCommit(ctx context.Context, c *committing) {
	if c == nil {
		return
	}
	x.doc.Commit = &DocumentCommit{ID: c.made.ID, Branch: strings.TrimPrefix(c.made.Ref, "refs/heads/"), Besides: append([]string{}, c.made.Besides...)}
	if c.made.Ref == "HEAD" {
		x.doc.Commit.Branch = ""
	}
	if err := c.made.Finish(ctx); err != nil {
		x.Notify(Event{Note: "the commit is made, but the index is not up to date: " + err.Error() + "; update it with `git reset --mixed`"})
	}
}

// commitBeside ends a run whose change is committed to a branch of its own: nothing is promoted.
func (x *Execution) commitBeside(ctx context.Context, c *committing, cs workspace.Changeset, base *workspace.Manifest) Ending {
	if end := x.prepareCommit(ctx, c, cs, base); end != nil {
		return *end
	}
	if err := c.place(ctx); err != nil {
		x.withdraw(ctx, c)
		return x.uncommitted(ctx, err)
	}
	x.finishCommit(ctx, c)
	return Ending{State: Done, Verdict: c.candidate.Verdict, Exit: ExitDone}
}

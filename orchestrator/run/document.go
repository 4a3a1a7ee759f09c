package run

import (
	"fmt"
	"slices"

	"agent/verify"
)

// Document returns the promotion as --json prints it.
func (p Promotion) Document() *DocumentPromotion {
	d := &DocumentPromotion{Diff: p.Changeset.Diff(), Files: []DocumentFile{}, ApprovedBy: p.Approved}
	for _, c := range p.Changeset.Changes {
		d.Files = append(d.Files, DocumentFile{
			Path: c.Path, Op: c.Op, From: c.From, Mode: fmt.Sprintf("%04o", c.Mode.Perm()),
			Before: c.BeforeDigest(), After: c.AfterDigest(),
		})
	}
	return d
}

// Deciding returns the index of the candidate that decided the run, or -1 if there is none. It is the last candidate that passed or, in
// a run that promoted, the one whose diff was promoted. If none passed, it is the last one tried. Candidates made from a reviewer's
// findings may follow the one that decided.
func (d Document) Deciding() int {
	last := len(d.Candidates) - 1
	for i, c := range slices.Backward(d.Candidates) {
		if c.Verdict != verify.Pass {
			continue
		}
		if d.Promotion == nil || c.Diff == d.Promotion.Diff {
			return i
		}
		if d.Candidates[last].Verdict != verify.Pass {
			last = i
		}
	}
	return last
}

// Ran records in the document what a command did in a workbench.
func (x *Execution) Ran(c DocumentCommand) {
	args := make([]string, len(c.Args))
	for i, arg := range c.Args {
		args[i] = x.Hide(arg)
	}
	c.Args = args
	for i := range c.Left {
		c.Left[i].Path = x.Hide(c.Left[i].Path)
	}
	for i := range c.Commits {
		c.Commits[i] = x.Hide(c.Commits[i])
	}
	x.doc.Command = &c
}

// OutcomeUnchanged is the Outcome of a Document whose command left the workspace as it was.
const OutcomeUnchanged = "unchanged"

// LeaveUnchanged ends a run whose command changed nothing that a patch can hold.
func (x *Execution) LeaveUnchanged() Ending {
	x.doc.Outcome = OutcomeUnchanged
	return Ending{State: Rejected, Verdict: verify.Pass, Exit: ExitDone}
}

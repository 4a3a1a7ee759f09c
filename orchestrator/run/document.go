package run

import (
	"fmt"

	"agent/orchestrator/edit"
	"agent/sandbox/workspace"
	"agent/verify"
)

// Document returns the candidate as --json prints it: lists are never null.
func (c Candidate) Document() DocumentCandidate {
	d := DocumentCandidate{
		Verdict: c.Verdict, Digest: c.Digest, Diff: c.Diff, Thought: c.Thought,
		Gates: make([]verify.Gate, 0, len(c.Gates)), Skipped: append([]verify.Skip{}, c.Skipped...),
		Holds: append([]workspace.Hold{}, c.Holds...), Edits: append([]edit.Applied{}, c.Edits...),
	}
	for _, g := range c.Gates {
		g.Findings = append([]verify.Finding{}, g.Findings...)
		g.OldFindings = append([]verify.Finding{}, g.OldFindings...)
		d.Gates = append(d.Gates, g)
	}
	return d
}

// Document returns the promotion as --json prints it.
func (p Promotion) Document() *DocumentPromotion {
	d := &DocumentPromotion{Diff: p.Changeset.Diff(), Files: []DocumentFile{}}
	for _, c := range p.Changeset.Changes {
		d.Files = append(d.Files, DocumentFile{
			Path: c.Path, Op: c.Op, From: c.From, Mode: fmt.Sprintf("%04o", c.Mode.Perm()),
			Before: c.BeforeDigest(), After: c.AfterDigest(),
		})
	}
	return d
}

package run

import (
	"fmt"

	"agent/orchestrator/edit"
	"agent/verify"
	"agent/verify/policy"
)

// Document returns the candidate as --json prints it: lists are never null.
func (c Candidate) Document() DocumentCandidate {
	d := DocumentCandidate{
		Verdict: c.Verdict, Digest: c.Digest, Diff: c.Diff, Thought: c.Thought,
		Gates: make([]verify.Gate, 0, len(c.Gates)), Skipped: append([]verify.Skip{}, c.Skipped...),
		Holds: append([]policy.Hold{}, c.Holds...), Edits: append([]edit.Applied{}, c.Edits...),
		Unproven: append([]verify.Unproven{}, c.Unproven...),
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

// Caveat says in a sentence what no gate judged, the first thing whole and how many
// others there are; "" when all was judged.
func Caveat(list []verify.Unproven) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return list[0].Reason
	}
	return fmt.Sprintf("%s (and %d more)", list[0].Reason, len(list)-1)
}

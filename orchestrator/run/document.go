package run

import (
	"fmt"
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

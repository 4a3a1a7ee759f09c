package promotion

import (
	"context"
	"fmt"
)

// Rollback undoes a committed promotion before Close, for a caller that could not record it elsewhere. Files that the
// user has changed since are kept as they are; the error is then a *ConflictError that names them. If the process dies
// here, Recover continues the rollback.
func (p *Promotion) Rollback(ctx context.Context) error {
	j := p.j
	if p.closed || j.state != committed {
		return fmt.Errorf("roll back promotion %s: it is not committed", j.ID)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := j.back(); err != nil {
		return fmt.Errorf("roll back promotion %s: %w", j.ID, err)
	}
	kept, err := j.kept()
	if err == nil && len(kept) > 0 {
		err = &ConflictError{Paths: kept}
	}
	return err
}

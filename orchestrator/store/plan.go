package store

import (
	"context"
	"encoding/json"

	"agent/orchestrator/store/database"

	"github.com/jackc/pgx/v5"
)

// SavePlan records what a run sets out to do. plan is JSON and is kept word for word; the directive that it names, if any, is recorded
// beside it. A run that has ended takes none.
func (db *DB) SavePlan(ctx context.Context, id string, token int64, plan []byte) error {
	// Read here and not in SQL, where an escaped NUL in a text of the plan would be an error. What is not a plan names no directive.
	var of struct{ Directive string }
	_ = json.Unmarshal(plan, &of)
	return db.fenced(ctx, "record the plan of run "+id, id, token, func(ctx context.Context, tx pgx.Tx, h held) error {
		if h.Ended {
			return ErrFinished
		}
		_, err := tx.Exec(ctx, `update run set plan = @plan, directive = nullif(@directive, '') where id = @id`,
			pgx.NamedArgs{"id": id, "plan": database.OrNull(plan), "directive": database.Clean(of.Directive)})
		return err
	})
}

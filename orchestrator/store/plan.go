package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// SavePlan records what a run sets out to do: plan is JSON and is kept word for
// word. A run that has ended takes none.
func (db *DB) SavePlan(ctx context.Context, id string, token int64, plan []byte) error {
	return db.fenced(ctx, "record the plan of run "+id, id, token, func(ctx context.Context, tx pgx.Tx, h held) error {
		if h.Ended {
			return ErrFinished
		}
		_, err := tx.Exec(ctx, `update run set plan = @plan where id = @id`, pgx.NamedArgs{"id": id, "plan": document(plan)})
		return err
	})
}

// Plan returns the plan of a run as SavePlan was given it, for
// [run.RecordedPlan]: nil for a run that made none, such as one that was given
// its patch. asked is the name that its model calls are recorded under: that of
// its iteration. ErrNotFound means that there is no such run.
func (db *DB) Plan(ctx context.Context, id string) (plan []byte, asked string, err error) {
	err = db.do(ctx, "read the plan of run "+id, func(ctx context.Context) error {
		err := db.pool.QueryRow(ctx, `select plan, coalesce(iteration, id) from run where id = @id`,
			pgx.NamedArgs{"id": clean(id)}).Scan(&plan, &asked)
		return missing(err)
	})
	return plan, asked, err
}

package store

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
)

// SavePlan records what a run sets out to do: plan is JSON and is kept word for
// word; the directive that it names, if any, is recorded beside it. A run that
// has ended takes none.
func (db *DB) SavePlan(ctx context.Context, id string, token int64, plan []byte) error {
	// Read here and not in SQL, where a text with an escaped NUL in the plan
	// would be an error. What is no plan names no directive.
	var of struct{ Directive string }
	_ = json.Unmarshal(plan, &of)
	return db.fenced(ctx, "record the plan of run "+id, id, token, func(ctx context.Context, tx pgx.Tx, h held) error {
		if h.Ended {
			return ErrFinished
		}
		_, err := tx.Exec(ctx, `update run set plan = @plan, directive = nullif(@directive, '') where id = @id`,
			pgx.NamedArgs{"id": id, "plan": document(plan), "directive": clean(of.Directive)})
		return err
	})
}

// Attended implements [loop.Orders]: it lists the directives of a workspace that
// a run attended to.
func (db *DB) Attended(ctx context.Context, workspace string) ([]string, error) {
	var list []string
	err := db.do(ctx, "read which directives were attended to in "+workspace, func(ctx context.Context) error {
		rows, err := db.pool.Query(ctx, `select distinct directive from v_directives where workspace = @workspace and attended`,
			pgx.NamedArgs{"workspace": clean(workspace)})
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return list, err
}

// Plan returns the plan of a run as SavePlan was given it, for
// [tournament.RecordedPlan]: nil for a run that made none, such as one that was given
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

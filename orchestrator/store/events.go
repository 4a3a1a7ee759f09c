package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
)

// AppendEntries implements [run.LogStore]: it adds entries to the logs of their runs, in one statement that commits by itself. The time
// of each entry is the database's time minus the entry's age, and never before the previous entry, so that processes and hosts with
// different clocks agree. It takes no lock that a write of the run would wait for, and asks for no token, since what a process did is
// true whoever has the run by then.
//
// Trouble with one entry must not affect the runs of the others: an entry whose run was removed is left out, and a detail that is not
// JSON is replaced by the reason. Of the rest, all are kept or none.
func (db *DB) AppendEntries(ctx context.Context, entries []run.Entry) error {
	var runs, kinds, actors, subjects, details []string
	for _, e := range entries {
		detail, err := database.CleanJSON(e.Detail)
		if err != nil {
			detail, err = database.CleanJSON(map[string]any{"unreadable": err.Error()})
		}
		if err != nil {
			return fmt.Errorf("record the log of run %s: %w", e.Run, err)
		}
		runs, kinds, details = append(runs, e.Run), append(kinds, string(e.Kind)), append(details, string(detail))
		actors, subjects = append(actors, database.Clean(e.Actor)), append(subjects, database.Clean(e.Subject))
	}
	// Made once, before the first attempt: it lets a later attempt find what an earlier one wrote whose answer was lost.
	op := database.NewOp()
	return db.db.Do(ctx, "record the log", func(ctx context.Context) error {
		ages := make([]int64, len(entries)) // computed now, since this may be a later attempt
		for i, e := range entries {
			ages[i] = time.Since(e.At).Microseconds()
		}
		return db.appendRows(ctx, pgx.NamedArgs{
			"op": op, "runs": runs, "ages": ages, "kinds": kinds, "actors": actors, "subjects": subjects, "details": details,
		})
	})
}

// appendRows adds the rows of entries whose runs exist. A run that is removed while the statement waits for its row is gone at the next
// attempt, which then leaves its entries out. There are no more attempts than there can be runs in one batch.
func (db *DB) appendRows(ctx context.Context, rows pgx.NamedArgs) (err error) {
	for range rows["runs"].([]string) {
		_, err = db.db.Pool.Exec(ctx, `
			with clock as materialized (select clock_timestamp() as now)
			insert into event (op, n, run, at, kind, actor, subject, detail)
			select @op, x.n, x.run,
				greatest(clock.now - x.age * interval '1 microsecond', (select e.at from event e where e.run = x.run order by e.id desc limit 1)),
				x.kind, x.actor, x.subject, x.detail::jsonb
			from clock, unnest(@runs::text[], @ages::bigint[], @kinds::text[], @actors::text[], @subjects::text[], @details::text[])
				with ordinality x (run, age, kind, actor, subject, detail, n)
			where exists (select from run where run.id = x.run)
			order by x.n
			on conflict (op, n) do nothing`, rows)
		if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "23503" {
			return err
		}
	}
	return err
}

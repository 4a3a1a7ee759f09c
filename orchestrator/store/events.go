package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"agent/orchestrator/run"
)

// An EventRow is one thing that a run did, as the log has it.
// The texts are as they were recorded, with what is secret hidden; whoever shows them on a terminal cleans them.
type EventRow struct {
	Number  int64 // grows within a run
	At      time.Time
	Seconds float64 // since the run was recorded
	Kind    run.EntryKind
	Actor   string
	Subject string
	Detail  []byte // a JSON object
}

// AppendEntries implements [run.LogStore]: it adds entries to the logs of their
// runs, in one statement that commits by itself. The time of each is that of the
// database less how long ago it was, and never before the one above it: processes
// and hosts whose clocks differ agree. No lock is taken that a write of the run
// would wait for, and no token is asked for, since what a process did is true
// whoever has the run by then.
//
// What ails one entry is not for the runs of the others to suffer: one whose run was removed is left out, and a
// detail that is no JSON is replaced by why it is none. Of what is left, all are kept or none.
func (db *DB) AppendEntries(ctx context.Context, entries []run.Entry) error {
	var runs, kinds, actors, subjects, details []string
	for _, e := range entries {
		detail, err := cleanJSON(e.Detail)
		if err != nil {
			detail, err = cleanJSON(map[string]any{"unreadable": err.Error()})
		}
		if err != nil {
			return fmt.Errorf("record the log of run %s: %w", e.Run, err)
		}
		runs, kinds, details = append(runs, e.Run), append(kinds, string(e.Kind)), append(details, string(detail))
		actors, subjects = append(actors, clean(e.Actor)), append(subjects, clean(e.Subject))
	}
	// Made once, before the first attempt: by it a later one finds what an earlier one wrote whose answer was lost.
	op := newOp()
	return db.do(ctx, "record the log", func(ctx context.Context) error {
		ages := make([]int64, len(entries)) // by now: this may be a later attempt
		for i, e := range entries {
			ages[i] = time.Since(e.At).Microseconds()
		}
		return db.appendRows(ctx, pgx.NamedArgs{
			"op": op, "runs": runs, "ages": ages, "kinds": kinds, "actors": actors, "subjects": subjects, "details": details,
		})
	})
}

// appendRows adds the rows of entries whose runs are there.
// A run that is removed while the statement waits for its row is gone at the next attempt, which then leaves its entries
// out; no more are made than there may be runs in one batch.
func (db *DB) appendRows(ctx context.Context, rows pgx.NamedArgs) (err error) {
	for range rows["runs"].([]string) {
		_, err = db.pool.Exec(ctx, `
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

// eventsAtOnce is how many events are read at a time.
// A reader asks again after the last one it got, so that a long log costs a bounded memory, and no transaction stays
// open.
const eventsAtOnce = 1000

// Events returns what a run did after the event of that number, in order, a
// thousand at most; of one kind when kind is not "".
// Less than that many are all there are by now; a run that goes on may have more in a moment.
func (db *DB) Events(ctx context.Context, id string, kind run.EntryKind, after int64) (list []EventRow, err error) {
	err = db.read(ctx, "read the log of run "+id, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			select event as number, at, seconds::float8 as seconds, kind, actor, subject, detail
			from v_events where run = @run and event > @after and (@kind = '' or kind = @kind)
			order by event limit @limit`,
			pgx.NamedArgs{"run": clean(id), "after": after, "kind": string(kind), "limit": eventsAtOnce})
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[EventRow])
		return err
	})
	return list, err
}

// Secret returns the password that the connections are made with, "" for none, so
// that it can be kept out of what is recorded and shown.
func (db *DB) Secret() string { return db.pool.Config().ConnConfig.Password }

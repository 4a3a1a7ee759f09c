package history

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
)

// An EventRow is one thing that a run did, as the log has it. The texts are as they were recorded, with secrets hidden; callers that
// show them on a terminal clean them.
type EventRow struct {
	Number  int64 // grows within a run
	At      time.Time
	Seconds float64 // since the run was recorded
	Kind    run.EntryKind
	Actor   string
	Subject string
	Detail  []byte // a JSON object
}

// eventsAtOnce is how many events are read at a time. A reader asks again after the last one it got, so that a long log needs bounded
// memory and no transaction stays open.
const eventsAtOnce = 1000

// Events returns what a run did after the event with number after, in order, at most a thousand; only one kind if kind is not "". A
// shorter list is all there is by now; a run in progress may have more in a moment.
func (h Reader) Events(ctx context.Context, id string, kind run.EntryKind, after int64) (list []EventRow, err error) {
	err = h.db.Read(ctx, "read the log of run "+id, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			select event as number, at, seconds::float8 as seconds, kind, actor, subject, detail
			from v_events where run = @run and event > @after and (@kind = '' or kind = @kind)
			order by event limit @limit`,
			pgx.NamedArgs{"run": database.Clean(id), "after": after, "kind": string(kind), "limit": eventsAtOnce})
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[EventRow])
		return err
	})
	return list, err
}

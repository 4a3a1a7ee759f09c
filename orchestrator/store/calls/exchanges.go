package calls

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/llm"
	"agent/orchestrator/store/database"
)

// An Exchange is one request to a model with its texts: the question word for word as it was sent, and the result.
type Exchange struct {
	Number int64 // in the order in which requests began
	llm.Record
	Question llm.Request
	Ended    time.Time // zero while it is under way, and forever if the process died
}

// Exchanges lists the requests of a run in their order, with those of the iteration whose last run it is. run is the whole ID; a run
// that asked nothing has none.
func (j Journal) Exchanges(ctx context.Context, run string) ([]Exchange, error) {
	var list []Exchange
	err := j.db.Do(ctx, "read the requests of run "+run, func(ctx context.Context) error {
		rows, err := j.db.Pool.Query(ctx, `
			select run, step, attempt, vendor, model, key_id, purpose, template, digest, request, begun,
				answer, beside, version, tokens_in, in_estimated, tokens_out, out_estimated, tokens_cached, tokens_reason,
				cost, priced, duration, coalesce(kind, ''), detail, id, ended
			from model_call where run = @run or run in (select i.id from iteration i where i.run = @run) order by id`, pgx.NamedArgs{"run": database.Clean(run)})
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, scanExchange)
		return err
	})
	return list, err
}

// scanExchange reads the columns that Exchanges selects: those of scanCall and two more.
func scanExchange(row pgx.CollectableRow) (e Exchange, err error) {
	var ended *time.Time
	e.Record, err = scanCallAnd(row, &e.Number, &ended)
	if err != nil {
		return e, err
	}
	e.Ended = orNever(ended)
	if err := json.Unmarshal(e.Request, &e.Question); err != nil {
		return e, fmt.Errorf("read the question of request %d: %w", e.Number, err)
	}
	return e, nil
}

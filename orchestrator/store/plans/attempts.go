package plans

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/crew/builder"
	"agent/orchestrator/store/database"
)

var _ builder.Plans = Book{}

// SaveAttempt implements [builder.Plans]: it records an attempt, or how far it got. An attempt that has ended stays as it is.
func (b Book) SaveAttempt(ctx context.Context, a builder.Attempt) error {
	return b.db.Do(ctx, fmt.Sprintf("record an attempt for plan %d", a.Plan), func(ctx context.Context) error {
		_, err := b.db.Pool.Exec(ctx, `
			insert into plan_attempt as p (id, plan, task, kind, role, try, fence, recorded, landed, run, outcome, why, started, ended)
			values (@id, @plan, @task, @kind, @role, @try, @fence, @recorded, @landed, nullif(@run, ''), @outcome, @why, @started,
				case when @outcome <> '' then clock_timestamp() end)
			on conflict (id) do update set recorded = coalesce(excluded.recorded, p.recorded), run = coalesce(excluded.run, p.run),
				outcome = excluded.outcome, why = excluded.why, ended = excluded.ended
			where p.outcome = ''`,
			pgx.NamedArgs{
				"id": a.ID, "plan": a.Plan, "task": a.Task, "kind": string(a.Kind), "role": database.Clean(a.Role), "try": a.Try, "fence": a.Fence, "recorded": a.Recorded,
				"landed": a.Landed, "run": database.Clean(a.Run), "outcome": string(a.Outcome), "why": database.Clean(a.Why), "started": a.Started,
			})
		return err
	})
}

// Attempts implements [builder.Plans]: it lists the attempts of a plan in the order in which they began.
func (b Book) Attempts(ctx context.Context, id int64) (list []builder.Attempt, err error) {
	err = b.db.Do(ctx, fmt.Sprintf("list the attempts for plan %d", id), func(ctx context.Context) error {
		rows, err := b.db.Pool.Query(ctx, `
			select id, plan, task, kind, role, try, fence, recorded, landed, coalesce(run, '') as run, outcome, why, started
			from plan_attempt where plan = @id order by started, id`, pgx.NamedArgs{"id": id})
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[builder.Attempt])
		return err
	})
	return list, err
}

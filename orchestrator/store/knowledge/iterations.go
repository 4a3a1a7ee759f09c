package knowledge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
)

// iterationColumns are the columns of an iteration, named like the fields of loop.Iteration.
const iterationColumns = `id, workspace, n, owner, "order", fence, plan, coalesce(run, '') as run, phase, outcome, session, started`

// LastIteration implements [loop.Iterations]: it returns the iteration of a workspace that is not settled, otherwise the newest one of
// a loop; false if there is neither.
func (b Base) LastIteration(ctx context.Context, workspace string) (loop.Iteration, bool, error) {
	list, err := b.iterations(ctx, "look for the last iteration of "+workspace,
		`where workspace = @workspace and (phase <> 'settled' or "order" ->> 'single' is null)
			order by phase = 'settled', n desc limit 1`, pgx.NamedArgs{"workspace": database.Clean(workspace)})
	if err != nil || len(list) == 0 {
		return loop.Iteration{}, false, err
	}
	return list[0], true, nil
}

// LoopIterations implements [loop.Iterations]: it returns the iterations of the loop whose name begins with prefix, in their order.
// ErrNotFound means that there is no such loop, an *AmbiguousError that there are several.
func (b Base) LoopIterations(ctx context.Context, prefix string) ([]loop.Iteration, error) {
	list, err := b.iterations(ctx, "read loop "+prefix,
		`where starts_with(loop, @prefix) and @prefix <> '' order by loop, n`, pgx.NamedArgs{"prefix": database.Clean(prefix)})
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, fmt.Errorf("loop %q: %w", prefix, database.ErrNotFound)
	}
	for _, it := range list {
		if first := list[0].Order.Loop; it.Order.Loop != first {
			return nil, &database.AmbiguousError{Prefix: prefix, IDs: []string{first, it.Order.Loop}}
		}
	}
	return list, nil
}

// iterations reads the iterations that rest selects.
func (b Base) iterations(ctx context.Context, act, rest string, args pgx.NamedArgs) (list []loop.Iteration, err error) {
	err = b.db.Do(ctx, act, func(ctx context.Context) error {
		rows, err := b.db.Pool.Query(ctx, `select `+iterationColumns+` from iteration `+rest, args)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[loop.Iteration])
		return err
	})
	return list, err
}

// StartIteration implements [loop.Iterations]: it records an iteration as the next of its workspace and returns it with its number.
// run.ErrFenced means that the workspace has an iteration of another process that is not settled.
func (b Base) StartIteration(ctx context.Context, it loop.Iteration) (loop.Iteration, error) {
	order, err := json.Marshal(it.Order)
	if err != nil {
		return loop.Iteration{}, fmt.Errorf("encode the order of the loop: %w", err)
	}
	args := progress(it)
	for name, value := range map[string]any{
		"workspace": database.Clean(it.Workspace), "fence": database.Clean(it.Fence), "loop": database.Clean(it.Order.Loop), "goal": database.Clean(it.Order.Goal),
		"order": order, "started": it.Started,
	} {
		args[name] = value
	}
	err = b.db.Transact(ctx, "start an iteration of "+it.Workspace, func(ctx context.Context, tx pgx.Tx) error {
		// One at a time, so that no number is given twice: there is no row yet that could be locked.
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended(@workspace, 0))`, args); err != nil {
			return err
		}
		// Only a retry whose answer was lost finds its own ID.
		err := tx.QueryRow(ctx, `select n from iteration where id = @id and owner = @owner and started = @started`, args).Scan(&it.N)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		err = tx.QueryRow(ctx, `
			insert into iteration (id, workspace, n, owner, loop, goal, "order", fence, plan, run, phase, outcome, session, started)
			select @id, @workspace, 1 + (select coalesce(max(n), 0) from iteration where workspace = @workspace),
				@owner, @loop, @goal, @order, @fence, @plan, nullif(@run, ''), @phase, @outcome, @session, @started
			where not exists (select from iteration where workspace = @workspace and phase <> 'settled')
			returning n`, args).Scan(&it.N)
		if errors.Is(err, pgx.ErrNoRows) {
			return run.ErrFenced
		}
		return err
	})
	if err != nil {
		return loop.Iteration{}, err
	}
	return it, nil
}

// TakeIteration implements [loop.Iterations]: it makes owner the owner of the iteration. If its current owner is not it.Owner, the
// error is run.ErrFenced.
func (b Base) TakeIteration(ctx context.Context, it loop.Iteration, owner string) (loop.Iteration, error) {
	err := b.db.Do(ctx, "take over iteration "+it.ID, func(ctx context.Context) error {
		// A retry whose answer was lost finds that it is the owner.
		tag, err := b.db.Pool.Exec(ctx, `update iteration set owner = @to where id = @id and owner in (@owner, @to)`,
			pgx.NamedArgs{"id": database.Clean(it.ID), "owner": database.Clean(it.Owner), "to": database.Clean(owner)})
		if err == nil && tag.RowsAffected() == 0 {
			return run.ErrFenced
		}
		return err
	})
	it.Owner = owner
	return it, err
}

// SaveIteration implements [loop.Iterations]: it records plan, run, phase and outcome. A phase never goes back: run.ErrFenced means
// that another process has taken the iteration over, or further.
func (b Base) SaveIteration(ctx context.Context, it loop.Iteration) error {
	args := progress(it)
	return b.db.Transact(ctx, "record iteration "+it.ID, func(ctx context.Context, tx pgx.Tx) error {
		var reached loop.Phase
		var owner string
		err := tx.QueryRow(ctx, `select phase, owner from iteration where id = @id for update`, args).Scan(&reached, &owner)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return errNoIteration
		case err != nil:
			return err
		case owner != database.Clean(it.Owner):
			return fmt.Errorf("%s is working on it: %w", owner, run.ErrFenced)
		case phaseOrder[it.Phase] != 0 && phaseOrder[it.Phase] < phaseOrder[reached]:
			return fmt.Errorf("it has reached phase %s: %w", reached, run.ErrFenced)
		}
		// Written as a whole each time, so a retry changes nothing.
		_, err = tx.Exec(ctx, `
			update iteration set plan = @plan, run = nullif(@run, ''), phase = @phase, outcome = @outcome, session = @session
			where id = @id`, args)
		return err
	})
}

// RunOf implements [loop.Iterations]: it returns the newest run of an iteration and its state, false if none was begun.
func (b Base) RunOf(ctx context.Context, iteration string) (id string, state run.State, ok bool, err error) {
	err = b.db.Do(ctx, "look for the run of iteration "+iteration, func(ctx context.Context) error {
		err := b.db.Pool.QueryRow(ctx, `select id, state from run where iteration = @iteration order by started desc, id desc limit 1`,
			pgx.NamedArgs{"iteration": database.Clean(iteration)}).Scan(&id, &state)
		ok = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return id, state, ok, err
}

// errNoIteration refuses to continue an iteration that was never started.
var errNoIteration = errors.New("it was never started")

// phaseOrder numbers the phases in the order in which an iteration goes through them. The database refuses a phase that is not listed
// here.
var phaseOrder = map[loop.Phase]int{loop.Work: 1, loop.Learn: 2, loop.Settled: 3}

// progress returns the columns that change while an iteration is in progress.
func progress(it loop.Iteration) pgx.NamedArgs {
	return pgx.NamedArgs{
		"id": database.Clean(it.ID), "owner": database.Clean(it.Owner), "plan": database.OrNull(it.Plan), "run": database.Clean(it.Run),
		"phase": string(it.Phase), "outcome": database.Clean(it.Outcome), "session": database.Clean(it.Session),
	}
}

// LoopWanted implements [loop.Steering]: it returns what somebody asked the process that works on a loop to do.
func (b Base) LoopWanted(ctx context.Context, id string) (wanted string, err error) {
	err = b.db.Do(ctx, "read the request to loop "+id, func(ctx context.Context) error {
		// "cancel" outranks "pause", and sorts first.
		return b.db.Pool.QueryRow(ctx, `select coalesce((select wanted from iteration where loop = @loop and wanted <> '' order by wanted limit 1), '')`,
			pgx.NamedArgs{"loop": database.Clean(id)}).Scan(&wanted)
	})
	return wanted, err
}

// WantLoop implements [loop.Steering]: it asks the process that works on a loop for something, replacing what was asked before.
func (b Base) WantLoop(ctx context.Context, id, wanted string) error {
	return b.db.Do(ctx, "record the request to loop "+id, func(ctx context.Context) error {
		_, err := b.db.Pool.Exec(ctx, `update iteration set wanted = case when n = (select max(n) from iteration where loop = @loop) then @wanted else '' end
			where loop = @loop and (wanted <> '' or n = (select max(n) from iteration where loop = @loop))`,
			pgx.NamedArgs{"loop": database.Clean(id), "wanted": wanted})
		return err
	})
}

// Loops lists the newest iteration of every loop that started one in the last 30 days, newest first, without single runs.
func (b Base) Loops(ctx context.Context) ([]loop.Iteration, error) {
	return b.iterations(ctx, "list the loops", `i where "order" ->> 'single' is null and started > now() - interval '30 days'
		and not exists (select from iteration later where later.loop = i.loop and later.n > i.n) order by started desc`, pgx.NamedArgs{})
}

package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/run"
)

// OpenIteration implements [run.Iterations]: it returns the iteration of a
// workspace that is not settled. There is at most one.
func (db *DB) OpenIteration(ctx context.Context, workspace string) (run.Iteration, bool, error) {
	var it run.Iteration
	var ok bool
	err := db.do(ctx, "look for an open iteration of "+workspace, func(ctx context.Context) error {
		rows, err := db.pool.Query(ctx, `
			select id, workspace, n, fence, goal, plan, coalesce(run, '') as run, phase, outcome, started
			from iteration where workspace = @workspace and phase <> 'settled'`, pgx.NamedArgs{"workspace": clean(workspace)})
		if err != nil {
			return err
		}
		it, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[run.Iteration])
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		ok = err == nil
		return err
	})
	return it, ok, err
}

// StartIteration implements [run.Iterations]: it records it as the next of its
// workspace and returns it with its number. run.ErrFenced means that the
// workspace has an iteration which is not settled, of another process.
func (db *DB) StartIteration(ctx context.Context, it run.Iteration) (run.Iteration, error) {
	args := progress(it)
	for name, value := range map[string]any{
		"workspace": clean(it.Workspace), "fence": clean(it.Fence), "goal": clean(it.Goal), "started": it.Started,
	} {
		args[name] = value
	}
	err := db.transact(ctx, "start an iteration of "+it.Workspace, func(ctx context.Context, tx pgx.Tx) error {
		// One at a time, so that no number is given twice: no row is there yet
		// that could be locked.
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended(@workspace, 0))`, args); err != nil {
			return err
		}
		// The word of the fence is random, so a row that has it is this
		// iteration: a retry whose answer was lost finds it.
		err := tx.QueryRow(ctx, `select n from iteration where id = @id and fence = @fence`, args).Scan(&it.N)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		err = tx.QueryRow(ctx, `
			insert into iteration (id, workspace, n, fence, goal, plan, run, phase, outcome, started)
			select @id, @workspace, 1 + (select coalesce(max(n), 0) from iteration where workspace = @workspace),
				@fence, @goal, @plan, nullif(@run, ''), @phase, @outcome, @started
			where not exists (select from iteration where workspace = @workspace and phase <> 'settled')
			returning n`, args).Scan(&it.N)
		if errors.Is(err, pgx.ErrNoRows) {
			return run.ErrFenced
		}
		return err
	})
	if err != nil {
		return run.Iteration{}, err
	}
	return it, nil
}

// SaveIteration implements [run.Iterations]: it records plan, run, phase and
// outcome, and marks the run as one of this iteration. A phase never goes back:
// run.ErrFenced means that another process has taken the iteration further.
func (db *DB) SaveIteration(ctx context.Context, it run.Iteration) error {
	args := progress(it)
	return db.transact(ctx, "record iteration "+it.ID, func(ctx context.Context, tx pgx.Tx) error {
		var reached run.Phase
		err := tx.QueryRow(ctx, `select phase from iteration where id = @id for update`, args).Scan(&reached)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return errNoIteration
		case err != nil:
			return err
		case phaseOrder[it.Phase] != 0 && phaseOrder[it.Phase] < phaseOrder[reached]:
			return fmt.Errorf("it has reached phase %s: %w", reached, run.ErrFenced)
		}
		// Written whole each time, so a retry changes nothing.
		_, err = tx.Exec(ctx, `
			update iteration set plan = @plan, run = nullif(@run, ''), phase = @phase, outcome = @outcome where id = @id`, args)
		if err != nil || it.Run == "" {
			return err
		}
		// An iteration may have several runs and names the last one; here all
		// of them are marked. The condition spares the row when nothing changes.
		_, err = tx.Exec(ctx, `update run set iteration = @id where id = @run and iteration is distinct from @id`, args)
		return err
	})
}

// errNoIteration refuses to go on with what was never started.
var errNoIteration = errors.New("it was never started")

// phaseOrder numbers the phases, as an iteration goes through them. A phase
// that is not here is refused by the database.
var phaseOrder = map[run.Phase]int{run.Work: 1, run.Learn: 2, run.Settled: 3}

// progress names the columns that change while an iteration goes on.
func progress(it run.Iteration) pgx.NamedArgs {
	return pgx.NamedArgs{
		"id": clean(it.ID), "plan": document(it.Plan), "run": clean(it.Run), "phase": string(it.Phase), "outcome": clean(it.Outcome),
	}
}

// document returns data for a column of json, null when there is none.
func document(data []byte) any {
	if len(data) == 0 {
		return nil
	}
	return data
}

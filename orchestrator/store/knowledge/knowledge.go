package knowledge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/agent"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
)

// A Base holds what the runs of all workspaces left for later ones.
type Base struct{ db *database.DB }

// New returns the knowledge in db, valid while db is open.
func New(db *database.DB) Base { return Base{db} }

// Memory implements [loop.Knowledge]: it returns the last memory of a workspace, or the zero Memory if there is none.
func (b Base) Memory(ctx context.Context, workspace string) (agent.Memory, error) {
	var m agent.Memory
	err := b.db.Do(ctx, "read the memory of "+workspace, func(ctx context.Context) error {
		err := b.db.Pool.QueryRow(ctx, `
			select text, iteration, run from memory where workspace = @workspace order by iteration desc limit 1`,
			pgx.NamedArgs{"workspace": database.Clean(workspace)}).Scan(&m.Text, &m.Iteration, &m.Run)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return m, err
}

// MemoryBefore implements [loop.Memories]: it returns the memory of a workspace as it was before runID was merged.
func (b Base) MemoryBefore(ctx context.Context, workspace, runID string) (m agent.Memory, merged bool, err error) {
	err = b.db.Do(ctx, "read the memory of "+workspace+" before run "+runID, func(ctx context.Context) error {
		err := b.db.Pool.QueryRow(ctx, `
			select coalesce(o.text, ''), coalesce(o.iteration, 0), coalesce(o.run, '')
			from memory m left join lateral (
				select text, iteration, run from memory o where o.workspace = m.workspace and o.iteration < m.iteration order by o.iteration desc limit 1
			) o on true
			where m.workspace = @workspace and m.run = @run order by m.iteration desc limit 1`,
			pgx.NamedArgs{"workspace": database.Clean(workspace), "run": database.Clean(runID)}).Scan(&m.Text, &m.Iteration, &m.Run)
		if merged = err == nil; errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return m, merged, err
}

// SaveMemory implements [loop.Knowledge]: it adds the memory that runID merged to the earlier ones. run.ErrFenced means that its
// iteration is not the next one: another process has merged since.
func (b Base) SaveMemory(ctx context.Context, workspace, runID string, m agent.Memory) error {
	op := database.NewOp()
	return b.db.Do(ctx, fmt.Sprintf("record memory %d of %s", m.Iteration, workspace), func(ctx context.Context) error {
		var saved bool
		// The primary key decides between two processes that are both next; a retry whose answer was lost finds its own row.
		err := b.db.Pool.QueryRow(ctx, `
			with added as (
				insert into memory (workspace, iteration, op, run, text)
				select @workspace, @iteration, @op, @run, @text
				where @iteration = 1 + (select coalesce(max(iteration), 0) from memory where workspace = @workspace)
				on conflict (workspace, iteration) do nothing
				returning op
			)
			select exists (select from added)
				or exists (select from memory where workspace = @workspace and iteration = @iteration and op = @op)`,
			pgx.NamedArgs{
				"workspace": database.Clean(workspace), "iteration": m.Iteration, "op": op, "run": database.Clean(runID), "text": database.Clean(m.Text),
			}).Scan(&saved)
		if err == nil && !saved {
			return run.ErrFenced
		}
		return err
	})
}

// History implements [loop.Knowledge]: it returns the last n promotions of a workspace that were not undone, oldest first. The path of
// an entry names its files, at most three, and is for people.
func (b Base) History(ctx context.Context, workspace string, n int) ([]agent.Entry, error) {
	var list []agent.Entry
	err := b.db.Do(ctx, "read the history of "+workspace, func(ctx context.Context) error {
		// The newest n, which are reversed below.
		rows, err := b.db.Pool.Query(ctx, `
			select at, path, diff from v_history where workspace = @workspace order by at desc, run desc limit @n`,
			pgx.NamedArgs{"workspace": database.Clean(workspace), "n": max(n, 0)})
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[agent.Entry])
		return err
	})
	slices.Reverse(list)
	return list, err
}

// Queue implements [loop.Knowledge]: it lists the waiting files, in the order in which they began to wait.
func (b Base) Queue(ctx context.Context, workspace string) ([]loop.Waiting, error) {
	var list []loop.Waiting
	err := b.db.Do(ctx, "read the cascade queue of "+workspace, func(ctx context.Context) error {
		rows, err := b.db.Pool.Query(ctx, `
			select path, because, diff, runs as "from", queued from cascade
			where workspace = @workspace and served is null order by id`, pgx.NamedArgs{"workspace": database.Clean(workspace)})
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[loop.Waiting])
		return err
	})
	return list, err
}

// Enqueue implements [loop.Knowledge]: it queues files because of what runID promoted, in the order of the list, and ignores their From
// and Queued. What one run caused is entered once for each file, however often it is tried and even if the file was served meanwhile.
func (b Base) Enqueue(ctx context.Context, workspace, runID string, list []loop.Waiting) error {
	act := "add to the cascade queue of " + workspace
	var paths, because, diffs []string
	for _, w := range list {
		if err := database.Exact(w.Path); err != nil {
			return fmt.Errorf("%s: file %q: %w", act, w.Path, err)
		}
		paths, because, diffs = append(paths, w.Path), append(because, database.Clean(w.Because)), append(diffs, database.Clean(w.Diff))
	}
	return b.db.Do(ctx, act, func(ctx context.Context) error {
		// A path may be on the list twice: its causes are joined first, since one statement cannot change a row twice. The first
		// condition finds what this run entered before, served or not; the last one guards against another process that enters it at
		// the same moment.
		_, err := b.db.Pool.Exec(ctx, `
			insert into cascade as c (workspace, path, because, diff, runs)
			select @workspace, w.path, string_agg(w.because, E'\n' order by w.n), string_agg(w.diff, E'\n' order by w.n), array[@run]
			from unnest(@paths::text[], @because::text[], @diffs::text[]) with ordinality w(path, because, diff, n)
			where not exists (
				select from cascade d where d.workspace = @workspace and d.path = w.path and @run = any(d.runs))
			group by w.path order by min(w.n)
			on conflict (workspace, path) where served is null do update set
				because = c.because || E'\n' || excluded.because, diff = c.diff || E'\n' || excluded.diff, runs = c.runs || excluded.runs
			where not c.runs && excluded.runs`,
			pgx.NamedArgs{"workspace": database.Clean(workspace), "run": database.Clean(runID), "paths": paths, "because": because, "diffs": diffs})
		return err
	})
}

// Served implements [loop.Knowledge]: runID attended to a file, which leaves the queue. A run serves a file once: if it says so again,
// a wait that began later stays. A file that does not wait is not an error.
func (b Base) Served(ctx context.Context, workspace, runID, path string) error {
	// Served rows stay as evidence, and show that a run served the file before.
	return b.db.Do(ctx, "take "+path+" out of the cascade queue", func(ctx context.Context) error {
		_, err := b.db.Pool.Exec(ctx, `
			update cascade c set served = clock_timestamp(), served_by = @run
			where c.workspace = @workspace and c.path = @path and c.served is null and not exists (
				select from cascade d where d.workspace = @workspace and d.path = @path and d.served_by = @run)`,
			pgx.NamedArgs{"workspace": database.Clean(workspace), "run": database.Clean(runID), "path": database.Clean(path)})
		return err
	})
}

// Attended implements [loop.Orders]: it lists the directives of a workspace that a run attended to.
func (b Base) Attended(ctx context.Context, workspace string) ([]string, error) {
	var list []string
	err := b.db.Do(ctx, "read which directives were attended to in "+workspace, func(ctx context.Context) error {
		rows, err := b.db.Pool.Query(ctx, `select distinct directive from v_directives where workspace = @workspace and attended`,
			pgx.NamedArgs{"workspace": database.Clean(workspace)})
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return list, err
}

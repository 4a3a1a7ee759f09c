package plans

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/crew"
	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
)

// A Book holds the plans.
type Book struct{ db *database.DB }

// New returns the plans of a database.
func New(db *database.DB) Book { return Book{db} }

// ErrOver means that nothing more can be done with a plan.
var ErrOver = errors.New("it has ended")

// columns are the columns of a plan, in the order of scan.
const columns = `id, workspace, goal, summary, state, owner, why, rounds, replanned, review, coalesce(run, ''), created, loop, ending, coalesce(replays, 0)`

// AddPlan implements [builder.Plans]: it records a plan with its tasks and returns its number.
func (b Book) AddPlan(ctx context.Context, p crew.Plan) (int64, error) {
	op := database.NewOp()
	loop, err := loopJSON(p)
	if err != nil {
		return 0, fmt.Errorf("record a plan: %w", err)
	}
	err = b.db.Do(ctx, "record a plan for "+p.Workspace, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, b.db.Pool, func(tx pgx.Tx) error {
			// The update changes nothing: a retry whose first answer was lost gets the row that is already there.
			err := tx.QueryRow(ctx, `
				insert into plan as p (op, workspace, goal, summary, state, owner, wanted, why, rounds, replanned, loop, replays)
				values (@op, @workspace, @goal, @summary, @state, '', '', @why, 0, 0, @loop, nullif(@replays, 0))
				on conflict (op) do update set op = p.op returning id`,
				pgx.NamedArgs{
					"op": op, "workspace": database.Clean(p.Workspace), "goal": database.Clean(p.Goal), "summary": database.Clean(p.Summary),
					"state": string(p.State), "why": database.Clean(p.Why), "loop": loop, "replays": p.Replays,
				}).Scan(&p.ID)
			if err != nil {
				return err
			}
			return saveTasks(ctx, tx, p)
		})
	})
	return p.ID, err
}

// SavePlan implements [builder.Plans]: it records where a plan and all its tasks stand. owner must be the plan's owner, or "" if nobody
// works on it; otherwise the error is run.ErrFenced, as it is for a finished plan that is to get another state. A plan that stops gives
// up its owner: recording the same state again is a retry whose first answer was lost.
func (b Book) SavePlan(ctx context.Context, p crew.Plan, owner string) error {
	review, err := json.Marshal(p.Review)
	if err != nil {
		return fmt.Errorf("record plan %d: %w", p.ID, err)
	}
	if p.Review == nil {
		review = nil
	}
	loop, err := loopJSON(p)
	if err != nil {
		return fmt.Errorf("record plan %d: %w", p.ID, err)
	}
	return b.db.Do(ctx, fmt.Sprintf("record plan %d", p.ID), func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, b.db.Pool, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `
				update plan set goal = @goal, summary = @summary, state = @state, why = @why, rounds = @rounds, replanned = @replanned,
					review = @review, run = nullif(@run, ''), ending = @ending, loop = @loop,
					owner = case when @state = 'building' then owner else '' end,
					wanted = case when @state = 'building' then wanted else '' end,
					begun = coalesce(begun, case when @state = 'building' then clock_timestamp() end),
					ended = case when (select s.final from plan_state s where s.name = @state) then coalesce(ended, clock_timestamp()) end
				where id = @id and (owner = @owner or owner = '' and state = @state and @state <> 'building')
					and (state = @state or not (select s.final from plan_state s where s.name = plan.state))`,
				pgx.NamedArgs{
					"id": p.ID, "owner": database.Clean(owner), "goal": database.Clean(p.Goal), "summary": database.Clean(p.Summary), "state": string(p.State), "why": database.Clean(p.Why),
					"rounds": p.Rounds, "replanned": p.Replanned, "review": review, "run": database.Clean(p.Run), "ending": database.Clean(p.Ending), "loop": loop,
				})
			if err != nil {
				return err
			}
			if tag.RowsAffected() == 0 {
				return fmt.Errorf("plan %d: %w", p.ID, run.ErrFenced)
			}
			return saveTasks(ctx, tx, p)
		})
	})
}

// loopJSON returns the content of a plan's task file, nil for a plan of tasks.
func loopJSON(p crew.Plan) ([]byte, error) {
	if p.Loop == nil {
		return nil, nil
	}
	return database.CleanJSON(p.Loop)
}

// saveTasks writes all tasks of a plan, and removes those that it no longer has.
func saveTasks(ctx context.Context, tx pgx.Tx, p crew.Plan) error {
	numbers := []int{}
	batch := &pgx.Batch{}
	for _, t := range p.Tasks {
		numbers = append(numbers, t.N)
		args := pgx.NamedArgs{
			"plan": p.ID, "n": t.N, "title": database.Clean(t.Title), "goal": database.Clean(t.Goal), "role": database.Clean(t.Role), "message": database.Clean(t.Message),
			"state": string(t.State), "why": database.Clean(t.Why), "tries": t.Tries, "landed": t.Landed, "run": database.Clean(t.Run),
		}
		// Never null, and without an escaped NUL: the views take the lists of all plans apart at once.
		for name, value := range map[string]any{"files": append([]string{}, t.Files...), "creates": append([]string{}, t.Creates...), "depends": append([]int{}, t.DependsOn...), "accept": t.Accept} {
			text, err := database.CleanJSON(value)
			if err != nil {
				return err
			}
			args[name] = text
		}
		batch.Queue(`
			insert into plan_task (plan, n, title, goal, files, creates, depends_on, role, message, accept, state, why, tries, landed, run)
			values (@plan, @n, @title, @goal, @files, @creates, @depends, @role, @message, @accept, @state, @why, @tries, nullif(@landed, 0), nullif(@run, ''))
			on conflict (plan, n) do update set title = excluded.title, goal = excluded.goal, files = excluded.files, creates = excluded.creates,
				depends_on = excluded.depends_on, role = excluded.role, message = excluded.message, accept = excluded.accept, state = excluded.state,
				why = excluded.why, tries = excluded.tries, landed = excluded.landed, run = excluded.run`, args)
	}
	batch.Queue(`delete from plan_task where plan = @plan and not n = any(@numbers)`, pgx.NamedArgs{"plan": p.ID, "numbers": numbers})
	return tx.SendBatch(ctx, batch).Close()
}

// TakePlan implements [builder.Plans]: it makes owner the owner of a plan in place of was, and returns the plan. run.ErrFenced means
// that another process was faster, ErrOver that nothing is left to do, and database.ErrNotFound that there is no such plan.
func (b Book) TakePlan(ctx context.Context, id int64, was, owner string) (crew.Plan, error) {
	err := b.db.Do(ctx, fmt.Sprintf("take up plan %d", id), func(ctx context.Context) error {
		tag, err := b.db.Pool.Exec(ctx, `
			update plan set owner = @owner, wanted = '', state = 'building', begun = coalesce(begun, clock_timestamp())
			where id = @id and owner in (@was, @owner) and not (select s.final from plan_state s where s.name = state)`,
			pgx.NamedArgs{"id": id, "was": database.Clean(was), "owner": database.Clean(owner)})
		if err == nil && tag.RowsAffected() == 0 {
			err = fmt.Errorf("plan %d: %w", id, run.ErrFenced)
		}
		return err
	})
	if err != nil {
		switch p, look := b.Plan(ctx, id); {
		case errors.Is(look, database.ErrNotFound):
			err = look
		case look == nil && p.State.Over():
			err = fmt.Errorf("plan %d is %s: %w", id, p.State, ErrOver)
		}
		return crew.Plan{}, err
	}
	return b.Plan(ctx, id)
}

// Plan returns the plan with number id. database.ErrNotFound means that there is none.
func (b Book) Plan(ctx context.Context, id int64) (crew.Plan, error) {
	list, err := b.read(ctx, fmt.Sprintf("read plan %d", id), `where id = @id`, pgx.NamedArgs{"id": id})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("plan %d: %w", id, database.ErrNotFound)
	}
	if err != nil {
		return crew.Plan{}, err
	}
	return list[0], nil
}

// Plans lists at most n plans of a workspace, "" for all workspaces, newest first.
func (b Book) Plans(ctx context.Context, workspace string, n int) ([]crew.Plan, error) {
	return b.read(ctx, "list the plans", `where @workspace in ('', workspace) order by id desc limit @n`,
		pgx.NamedArgs{"workspace": database.Clean(workspace), "n": n})
}

// Work lists the plans that a process works on or died working on, and those that have stopped, newest first.
func (b Book) Work(ctx context.Context) ([]crew.Plan, error) {
	return b.read(ctx, "list the plans in progress", `where state in ('building', 'paused', 'awaiting', 'failed') order by id desc limit 200`, pgx.NamedArgs{})
}

// read reads the plans that rest selects, with their tasks.
func (b Book) read(ctx context.Context, act, rest string, args pgx.NamedArgs) (list []crew.Plan, err error) {
	err = b.db.Do(ctx, act, func(ctx context.Context) error {
		rows, err := b.db.Pool.Query(ctx, `select `+columns+` from plan `+rest, args)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p crew.Plan, err error) {
			var review []byte
			err = row.Scan(&p.ID, &p.Workspace, &p.Goal, &p.Summary, &p.State, &p.Owner, &p.Why, &p.Rounds, &p.Replanned, &review, &p.Run, &p.Created, &p.Loop, &p.Ending, &p.Replays)
			if err == nil && review != nil {
				err = json.Unmarshal(review, &p.Review)
			}
			p.Tasks = []crew.Task{}
			return p, err
		})
		if err != nil || len(list) == 0 {
			return err
		}
		at, ids := map[int64]int{}, []int64{}
		for i, p := range list {
			at[p.ID] = i
			ids = append(ids, p.ID)
		}
		rows, err = b.db.Pool.Query(ctx, `
			select plan, n, title, goal, files, creates, depends_on, role, message, accept, state, why, tries, coalesce(landed, 0), coalesce(run, '')
			from plan_task where plan = any(@ids) order by plan, n`, pgx.NamedArgs{"ids": ids})
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var plan int64
			var t crew.Task
			if err := rows.Scan(&plan, &t.N, &t.Title, &t.Goal, &t.Files, &t.Creates, &t.DependsOn, &t.Role, &t.Message, &t.Accept, &t.State, &t.Why, &t.Tries, &t.Landed, &t.Run); err != nil {
				return err
			}
			p := &list[at[plan]]
			p.Tasks = append(p.Tasks, t)
		}
		return rows.Err()
	})
	return list, err
}

// Wanted implements [builder.Plans]: it returns what somebody asked the process that works on a plan to do.
func (b Book) Wanted(ctx context.Context, id int64) (wanted string, err error) {
	err = b.db.Do(ctx, fmt.Sprintf("read the request to plan %d", id), func(ctx context.Context) error {
		return database.Missing(b.db.Pool.QueryRow(ctx, `select wanted from plan where id = @id`, pgx.NamedArgs{"id": id}).Scan(&wanted))
	})
	return wanted, err
}

// Want asks the process that works on a plan to pause or cancel; "" asks for neither. ErrOver means that nobody works on it.
func (b Book) Want(ctx context.Context, id int64, wanted string) error {
	return b.db.Do(ctx, fmt.Sprintf("record the request to plan %d", id), func(ctx context.Context) error {
		tag, err := b.db.Pool.Exec(ctx, `update plan set wanted = @wanted where id = @id and state = 'building'`, pgx.NamedArgs{"id": id, "wanted": wanted})
		if err == nil && tag.RowsAffected() == 0 {
			err = fmt.Errorf("plan %d is not running: %w", id, ErrOver)
		}
		return err
	})
}

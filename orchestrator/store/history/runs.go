package history

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/store/calls"
	"agent/orchestrator/store/database"
	"agent/verify"
)

// A RunFilter says which runs to list. Empty fields do not restrict.
type RunFilter struct {
	Workspace string // absolute
	State     string // one of run.State
	Limit     int    // 0 means 100
}

// defaultLimit is how many runs are listed when nobody says: some screens
// full, and still one quick query.
const defaultLimit = 100

// A RunRow is one run in a list. Patch of its Record is nil: it may be large,
// and a list does not show it.
type RunRow struct {
	run.Record
	Ended    time.Time      // zero while the run goes on
	Seconds  float64        // how long it took, or has taken so far
	Verdict  verify.Verdict // "" while the run goes on
	Exit     int            // the exit code, 0 while the run goes on
	Error    *run.Problem   // nil when there was none
	Promoted bool           // the files of the workspace were written
	UndoneBy string         // the run that took the promotion back, "" for none
	// What no gate judged; nil while the run goes on, and where it is not known.
	Unproven []verify.Unproven
}

// A StateRow is one transition of a run. Two rows of the same state mean that
// another process took the run over in between.
type StateRow struct {
	State run.State
	Note  string
	Token int64
	At    time.Time
}

// A RunDetail is everything that the record holds of a run, but for the
// content of files: the Changeset of its candidates is empty, and PromotionOf
// gives that which was written.
type RunDetail struct {
	RunRow
	States     []StateRow // in order
	Candidates []gate.Candidate
	Promotion  *PromotionRow // nil when nothing was to be written
}

// A Reader reads the record.
type Reader struct {
	db    *database.DB
	calls calls.Journal
}

// New returns a Reader of db, good for as long as db is open.
func New(db *database.DB) Reader { return Reader{db, calls.New(db)} }

// Runs lists runs, the newest first by the clock of the database. A state or
// workspace that nobody knows gives an empty list.
func (h Reader) Runs(ctx context.Context, filter RunFilter) ([]RunRow, error) {
	if filter.Limit <= 0 {
		filter.Limit = defaultLimit
	}
	var list []RunRow
	// Only the conditions that apply: one statement for all of them would be
	// planned for none, and read every run.
	where := "where true"
	if filter.Workspace != "" {
		where += " and r.workspace = @workspace"
	}
	if filter.State != "" {
		where += " and r.state = @state"
	}
	err := h.db.Read(ctx, "list runs", func(ctx context.Context, tx pgx.Tx) (err error) {
		list, err = runRows(ctx, tx, where+` order by r.created desc, r.id desc limit @limit`,
			pgx.NamedArgs{"workspace": database.Clean(filter.Workspace), "state": filter.State, "limit": filter.Limit})
		return err
	})
	return list, err
}

// Run returns the run whose identifier begins with prefix; an identifier given
// whole always means that run. The error is an *AmbiguousError when there are
// several, ErrNotFound when there is none or prefix is empty.
func (h Reader) Run(ctx context.Context, prefix string) (RunDetail, error) {
	var d RunDetail
	err := h.db.Read(ctx, "read run "+prefix, func(ctx context.Context, tx pgx.Tx) (err error) {
		d, err = detail(ctx, tx, prefix)
		return err
	})
	return d, err
}

// Unfinished lists the runs whose end is not recorded, oldest first. A run in
// state promoted is among them when its process died before it wrote the end.
func (h Reader) Unfinished(ctx context.Context) ([]run.Record, error) {
	var list []run.Record
	err := h.db.Read(ctx, "list unfinished runs", func(ctx context.Context, tx pgx.Tx) (err error) {
		list, err = records(ctx, tx, "where r.ended is null order by r.created, r.id", nil)
		return err
	})
	return list, err
}

// records reads runs with their patches; rest is the SQL after "from run r",
// always a constant.
func records(ctx context.Context, tx pgx.Tx, rest string, args pgx.NamedArgs) ([]run.Record, error) {
	rows, err := tx.Query(ctx, `
		select r.id, r.workspace, r.intent, r.patch, r.owner, r.token, r.state, r.started, r.beat, coalesce(r.snapshot, '') as snapshot,
			coalesce(r.iteration, '') as iteration, coalesce(r.runtime, '') as runtime
		from run r `+rest, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[run.Record])
}

// runRows reads runs as a list shows them, without their patches; rest is the
// SQL after the joins, always a constant. What the view v_runs works out is
// taken from there, so that the command line and SQL agree.
func runRows(ctx context.Context, tx pgx.Tx, rest string, args pgx.NamedArgs) ([]RunRow, error) {
	rows, err := tx.Query(ctx, `
		select r.id, r.workspace, r.intent, r.owner, r.token, r.state, r.started, r.beat, coalesce(r.snapshot, ''), coalesce(r.runtime, ''),
			r.ended, v.seconds::float8, coalesce(r.verdict, ''), coalesce(r.exit_code, 0),
			coalesce(r.error_kind, ''), coalesce(r.error_message, ''), coalesce(r.error_next, ''), v.promoted, coalesce(v.undone_by, ''), r.unproven
		from run r join v_runs v on v.run = r.id `+rest, args)
	if err != nil {
		return nil, err
	}
	// Columns that are null while a run goes on become zero values, but for
	// the time of its end.
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r RunRow, err error) {
		var ended *time.Time
		var p run.Problem
		err = row.Scan(&r.ID, &r.Workspace, &r.Intent, &r.Owner, &r.Token, &r.State, &r.Started, &r.Beat, &r.Snapshot, &r.Runtime,
			&ended, &r.Seconds, &r.Verdict, &r.Exit, &p.Kind, &p.Message, &p.Next, &r.Promoted, &r.UndoneBy, &r.Unproven)
		if ended != nil {
			r.Ended = *ended
		}
		if p != (run.Problem{}) {
			r.Error = &p
		}
		return r, err
	})
}

// detail reads one run whole, as of one moment.
func detail(ctx context.Context, tx pgx.Tx, prefix string) (d RunDetail, err error) {
	if prefix == "" {
		return d, database.ErrNotFound
	}
	// No LIKE: a wildcard in the prefix is a character like any other. The
	// range is what has an index; no character comes after its last one.
	list, err := runRows(ctx, tx, `
		where r.id collate "C" >= @prefix and r.id collate "C" < @prefix || @last and starts_with(r.id, @prefix)
		order by r.id = @prefix desc, r.created desc limit 10`, pgx.NamedArgs{"prefix": database.Clean(prefix), "last": "\U0010FFFF"})
	switch {
	case err != nil:
		return d, err
	case len(list) == 0:
		return d, database.ErrNotFound
	case len(list) > 1 && list[0].ID != prefix:
		ambiguous := &database.AmbiguousError{Prefix: prefix}
		for _, r := range list {
			ambiguous.IDs = append(ambiguous.IDs, r.ID)
		}
		return d, ambiguous
	}
	d.RunRow = list[0]
	args := pgx.NamedArgs{"run": d.ID}
	if err := tx.QueryRow(ctx, `select patch from run where id = @run`, args).Scan(&d.Patch); err != nil {
		return d, err
	}
	rows, err := tx.Query(ctx, `select state, note, token, at from run_state where run = @run order by n`, args)
	if err != nil {
		return d, err
	}
	if d.States, err = pgx.CollectRows(rows, pgx.RowToStructByName[StateRow]); err != nil {
		return d, err
	}
	if d.Candidates, err = candidates(ctx, tx, d.ID); err != nil {
		return d, err
	}
	d.Promotion, err = promotionRow(ctx, tx, d.ID)
	return d, err
}

// Plan returns the plan of a run as SavePlan was given it, for
// [tournament.RecordedPlan]: nil for a run that made none, such as one that was given
// its patch. asked is the name that its model calls are recorded under: that of
// its iteration. ErrNotFound means that there is no such run.
func (h Reader) Plan(ctx context.Context, id string) (plan []byte, asked string, err error) {
	err = h.db.Do(ctx, "read the plan of run "+id, func(ctx context.Context) error {
		err := h.db.Pool.QueryRow(ctx, `select plan, coalesce(iteration, id) from run where id = @id`,
			pgx.NamedArgs{"id": database.Clean(id)}).Scan(&plan, &asked)
		return database.Missing(err)
	})
	return plan, asked, err
}

package history

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/agent/critic"
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

// defaultLimit is how many runs are listed by default: a few screens, and still one quick query.
const defaultLimit = 100

// A RunRow is one run in a list. The Patch of its Record is nil: it may be large, and a list does not show it.
type RunRow struct {
	run.Record
	Ended    time.Time      // zero while the run is in progress
	Seconds  float64        // how long it took, or has taken so far
	Verdict  verify.Verdict // "" while the run is in progress
	Exit     int            // the exit code, 0 while the run is in progress
	Error    *run.Problem   // nil if there was none
	Promoted bool           // the files of the workspace were written
	UndoneBy string         // the run that took the promotion back, "" for none
	// The later run that applied what this one proved, "" while none has.
	AppliedBy string
	// "awaiting_approval" if a change passed and nobody has decided on it, otherwise "".
	Outcome string
	// What no gate judged; nil while the run is in progress, or if it is unknown.
	Unproven []verify.Unproven
}

// A StateRow is one transition of a run. Two rows with the same state mean that another process took the run over in between.
type StateRow struct {
	State run.State
	Note  string
	Token int64
	At    time.Time
}

// A RunDetail is everything that the record holds about a run, except the content of files: the Changeset of its candidates is empty,
// and PromotionOf returns the one that was written.
type RunDetail struct {
	RunRow
	States     []StateRow // in order
	Candidates []gate.Candidate
	Critiques  []critic.Critique // what critics said about them, nil if none was asked
	Promotion  *PromotionRow     // nil if nothing was to be written
}

// A Reader reads the record.
type Reader struct {
	db    *database.DB
	calls calls.Journal
}

// New returns a Reader of db, valid while db is open.
func New(db *database.DB) Reader { return Reader{db, calls.New(db)} }

// Runs lists runs, newest first by the clock of the database. An unknown state or workspace gives an empty list.
func (h Reader) Runs(ctx context.Context, filter RunFilter) ([]RunRow, error) {
	if filter.Limit <= 0 {
		filter.Limit = defaultLimit
	}
	var list []RunRow
	// Only the conditions that apply are used: one statement for all of them would have a plan that suits none, and read every run.
	where := "where true"
	if filter.Workspace != "" {
		where += " and r.workspace = @workspace"
	}
	switch filter.State {
	case "":
	case string(run.AwaitingApproval): // including a run that ended and that nobody has decided on
		where += " and (r.state = @state or v.outcome = @state)"
	default:
		where += " and r.state = @state"
	}
	err := h.db.Read(ctx, "list runs", func(ctx context.Context, tx pgx.Tx) (err error) {
		list, err = runRows(ctx, tx, where+` order by r.created desc, r.id desc limit @limit`,
			pgx.NamedArgs{"workspace": database.Clean(filter.Workspace), "state": filter.State, "limit": filter.Limit})
		return err
	})
	return list, err
}

// Run returns the run whose ID begins or ends with prefix; a whole ID always means that run. The error is an *AmbiguousError if there
// are several, and ErrNotFound if there is none or prefix is empty.
func (h Reader) Run(ctx context.Context, prefix string) (RunDetail, error) {
	return h.RunIn(ctx, prefix, "")
}

// RunIn is like Run, for the runs of a workspace, given by its absolute path; "" for all workspaces. A matching run of another
// workspace gives an *ElsewhereError.
func (h Reader) RunIn(ctx context.Context, prefix, workspace string) (RunDetail, error) {
	var d RunDetail
	err := h.db.Read(ctx, "read run "+prefix, func(ctx context.Context, tx pgx.Tx) (err error) {
		d, err = detail(ctx, tx, prefix, database.Clean(workspace))
		return err
	})
	return d, err
}

// An ElsewhereError says that a run belongs to another workspace than the one it was looked for in.
type ElsewhereError struct{ Run, Workspace string }

// Error names the run and where it belongs.
func (e *ElsewhereError) Error() string {
	return "run " + e.Run + " belongs to the workspace " + e.Workspace
}

// Unfinished lists the runs whose end is not recorded, oldest first. They include a run in state promoted whose process died before it
// wrote the end.
func (h Reader) Unfinished(ctx context.Context) ([]run.Record, error) {
	var list []run.Record
	err := h.db.Read(ctx, "list unfinished runs", func(ctx context.Context, tx pgx.Tx) (err error) {
		list, err = records(ctx, tx, "where r.ended is null order by r.created, r.id", nil)
		return err
	})
	return list, err
}

// records reads runs with their patches; rest is the SQL after "from run r", always a constant.
func records(ctx context.Context, tx pgx.Tx, rest string, args pgx.NamedArgs) ([]run.Record, error) {
	rows, err := tx.Query(ctx, `
		select r.id, r.workspace, r.intent, r.patch, r.owner, r.token, r.state, r.started, r.beat, coalesce(r.snapshot, '') as snapshot,
			coalesce(r.iteration, '') as iteration, coalesce(r.runtime, '') as runtime, coalesce(r.applies, '') as applies
		from run r `+rest, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[run.Record])
}

// runRows reads runs in the form of a list, without their patches; rest is the SQL after the joins, always a constant. It uses what the
// view v_runs computes, so that the command line and SQL agree.
func runRows(ctx context.Context, tx pgx.Tx, rest string, args pgx.NamedArgs) ([]RunRow, error) {
	rows, err := tx.Query(ctx, `
		select r.id, r.workspace, r.intent, r.owner, r.token, r.state, r.started, r.beat, coalesce(r.snapshot, ''), coalesce(r.runtime, ''), coalesce(r.applies, ''),
			r.ended, v.seconds::float8, coalesce(r.verdict, ''), coalesce(r.exit_code, 0),
			coalesce(r.error_kind, ''), coalesce(r.error_message, ''), coalesce(r.error_next, ''), v.promoted, coalesce(v.undone_by, ''), coalesce(v.applied_by, ''), coalesce(v.outcome, ''), r.unproven
		from run r join v_runs v on v.run = r.id `+rest, args)
	if err != nil {
		return nil, err
	}
	// Columns that are null while a run is in progress become zero values, except the time of its end.
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r RunRow, err error) {
		var ended *time.Time
		var p run.Problem
		err = row.Scan(&r.ID, &r.Workspace, &r.Intent, &r.Owner, &r.Token, &r.State, &r.Started, &r.Beat, &r.Snapshot, &r.Runtime, &r.Applies,
			&ended, &r.Seconds, &r.Verdict, &r.Exit, &p.Kind, &p.Message, &p.Next, &r.Promoted, &r.UndoneBy, &r.AppliedBy, &r.Outcome, &r.Unproven)
		if ended != nil {
			r.Ended = *ended
		}
		if p != (run.Problem{}) {
			r.Error = &p
		}
		return r, err
	})
}

// named finds the one run that a prefix means; see [Reader.RunIn].
func named(ctx context.Context, tx pgx.Tx, prefix, workspace string) (r RunRow, err error) {
	if prefix == "" {
		return r, database.ErrNotFound
	}
	// LIKE is not used: a wildcard in the prefix is a character like any other. The ranges use the index; no character sorts after the
	// one in last.
	list, err := runRows(ctx, tx, `
		where r.id collate "C" >= @prefix and r.id collate "C" < @prefix || @last and starts_with(r.id, @prefix)
			or reverse(r.id) collate "C" >= reverse(@prefix) and reverse(r.id) collate "C" < reverse(@prefix) || @last
				and starts_with(reverse(r.id), reverse(@prefix))
		order by r.id = @prefix desc, r.workspace = @workspace desc, r.created desc limit 10`,
		pgx.NamedArgs{"prefix": database.Clean(prefix), "workspace": workspace, "last": "\U0010FFFF"})
	here := slices.DeleteFunc(slices.Clone(list), func(r RunRow) bool { return workspace != "" && r.Workspace != workspace })
	switch {
	case err != nil:
		return r, err
	case len(list) == 0:
		return r, database.ErrNotFound
	case len(here) == 0 || list[0].ID == prefix && list[0].ID != here[0].ID:
		return r, &ElsewhereError{list[0].ID, list[0].Workspace}
	case len(here) > 1 && here[0].ID != prefix:
		ambiguous := &database.AmbiguousError{Prefix: prefix}
		for _, r := range here {
			ambiguous.IDs = append(ambiguous.IDs, r.ID)
		}
		return r, ambiguous
	}
	return here[0], nil
}

// detail reads all of one run, as of one moment; see named.
func detail(ctx context.Context, tx pgx.Tx, prefix, workspace string) (d RunDetail, err error) {
	if d.RunRow, err = named(ctx, tx, prefix, workspace); err != nil {
		return d, err
	}
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
	if d.Critiques, err = critiques(ctx, tx, d.ID); err != nil {
		return d, err
	}
	d.Promotion, err = promotionRow(ctx, tx, d.ID)
	return d, err
}

// Plan returns the plan of a run as SavePlan was given it, for [tournament.RecordedPlan]. It is nil for a run that made none, such as
// one that was given its patch. asked is the name under which its model calls are recorded: that of its iteration. ErrNotFound means
// that there is no such run.
func (h Reader) Plan(ctx context.Context, id string) (plan []byte, asked string, err error) {
	err = h.db.Do(ctx, "read the plan of run "+id, func(ctx context.Context) error {
		err := h.db.Pool.QueryRow(ctx, `select plan, coalesce(iteration, id) from run where id = @id`,
			pgx.NamedArgs{"id": database.Clean(id)}).Scan(&plan, &asked)
		return database.Missing(err)
	})
	return plan, asked, err
}

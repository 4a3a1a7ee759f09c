package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
)

// ErrFinished means that the run has ended and takes no more writes. Only the holder of the token gets it; anybody else gets
// run.ErrFenced first.
var ErrFinished = errors.New("the run has ended")

// ErrExists means that a run with that ID was recorded before.
var ErrExists = errors.New("the run is already recorded")

// A held run is one whose row the transaction has locked: until the transaction ends, no other process changes the run's state, its
// token or anything that belongs to it.
type held struct {
	State run.State
	Token int64
	Ended bool
	Op    [16]byte // the last operation that wrote
}

// Create records a new run in state queued with token 1; it ignores the token and state of r. ErrExists means that its ID is taken.
func (db *DB) Create(ctx context.Context, r run.Record) error {
	op := database.NewOp()
	return db.db.Transact(ctx, "record run "+r.ID, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			insert into run (id, last_op, workspace, intent, patch, owner, token, state, snapshot, started, iteration, runtime, applies)
			values (@id, @op, @workspace, @intent, @patch, @owner, 1, @state, nullif(@snapshot, ''), @started, nullif(@iteration, ''), nullif(@runtime, ''), nullif(@applies, ''))
			on conflict (id) do nothing`,
			pgx.NamedArgs{
				"id": r.ID, "op": op, "workspace": database.Clean(r.Workspace), "intent": database.Clean(r.Intent), "patch": r.Patch,
				"owner": database.Clean(r.Owner), "state": run.Queued, "snapshot": r.Snapshot, "started": r.Started, "iteration": database.Clean(r.Iteration), "runtime": database.Clean(r.Runtime), "applies": database.Clean(r.Applies),
			})
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return again(ctx, tx, r.ID, op)
		}
		return addState(ctx, tx, r.ID, 1, run.Queued, r.Intent)
	})
}

// again distinguishes a retry of the operation that created the run, which is then done, from somebody else's run with that ID.
func again(ctx context.Context, tx pgx.Tx, id string, op [16]byte) error {
	h, err := hold(ctx, tx, id)
	if err == nil && h.Op != op {
		return ErrExists
	}
	return err
}

// Advance records that the run has entered state to; note says why, for people. snapshot is the manifest digest; "" keeps the known
// one. The caller's table says which state may follow which; here, only an end is final. Advance also renews the heartbeat.
func (db *DB) Advance(ctx context.Context, id string, token int64, to run.State, note, snapshot string) error {
	return db.fenced(ctx, fmt.Sprintf("record state %s of run %s", to, id), id, token, func(ctx context.Context, tx pgx.Tx, h held) error {
		if h.Ended {
			return ErrFinished
		}
		_, err := tx.Exec(ctx, `
			update run set state = @to, snapshot = coalesce(nullif(@snapshot, ''), snapshot), beat = clock_timestamp()
			where id = @id`,
			pgx.NamedArgs{"id": id, "to": to, "snapshot": snapshot})
		if err != nil {
			return err
		}
		return addState(ctx, tx, id, token, to, note)
	})
}

// Finish records the end of the run. A run ends once: a second ending gives ErrFinished. The end counts as a transition too, unless
// Advance has already recorded that state, as it does for a promotion. If the ending does not say what was not judged, as for a dead
// process, that is taken from the last candidate that passed, or from the last one if none did.
func (db *DB) Finish(ctx context.Context, id string, token int64, end run.Ending) error {
	problem := run.Problem{}
	if end.Error != nil {
		problem = *end.Error
	}
	act := "record the end of run " + id
	unproven, err := unprovenJSON(end.Unproven)
	if err != nil {
		return fmt.Errorf("%s: encode what was not judged: %w", act, err)
	}
	return db.fenced(ctx, act, id, token, func(ctx context.Context, tx pgx.Tx, h held) error {
		if h.Ended {
			return ErrFinished
		}
		_, err := tx.Exec(ctx, `
			update run set state = @state, verdict = nullif(@verdict, ''), exit_code = @exit, error_kind = nullif(@kind, ''),
				error_message = nullif(@message, ''), error_next = nullif(@next, ''),
				beat = clock_timestamp(), ended = clock_timestamp(),
				unproven = coalesce(@unproven::jsonb, (
					select c.unproven from candidate c where c.run = @id order by c.verdict = 'pass' desc, c.n desc limit 1))
			where id = @id`,
			pgx.NamedArgs{
				"id": id, "state": end.State, "verdict": end.Verdict, "exit": end.Exit,
				"kind": database.Clean(string(problem.Kind)), "message": database.Clean(problem.Message), "next": database.Clean(problem.Next), "unproven": unproven,
			})
		if err != nil || h.State == end.State {
			return err // entered and recorded before
		}
		return addState(ctx, tx, id, token, end.State, problem.Message)
	})
}

// Beat renews the heartbeat by the clock of the database, so that processes on hosts with different clocks agree. After the end it
// changes nothing, which is not an error.
func (db *DB) Beat(ctx context.Context, id string, token int64) error {
	return db.db.Do(ctx, "renew the heartbeat of run "+id, func(ctx context.Context) error {
		var mine bool
		// One statement: the answer distinguishes an absent run from one that was taken over.
		err := db.db.Pool.QueryRow(ctx, `
			with renewed as (
				update run set beat = clock_timestamp() where id = @id and token = @token and ended is null
			)
			select token = @token from run where id = @id`,
			pgx.NamedArgs{"id": id, "token": token}).Scan(&mine)
		if err == nil && !mine {
			return run.ErrFenced
		}
		return database.Missing(err)
	})
}

// Claim takes a run over from the process that held token. If several try, one gets the new token; the others, and any that claim a run
// that has ended, get run.ErrFenced. The takeover is noted among the states of the run, repeating the same state: evidence of who did
// what.
func (db *DB) Claim(ctx context.Context, id string, token int64, owner string) (int64, error) {
	op, claimed := database.NewOp(), token+1
	err := db.db.Transact(ctx, "take over run "+id, func(ctx context.Context, tx pgx.Tx) error {
		h, err := hold(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case h.Op == op:
			return nil // done by an attempt whose answer was lost
		case h.Token != token || h.Ended:
			return run.ErrFenced
		}
		var previous string
		err = tx.QueryRow(ctx, `
			with before as (select owner from run where id = @id)
			update run set token = @token, owner = @owner, beat = clock_timestamp(), last_op = @op from before
			where id = @id returning before.owner`,
			pgx.NamedArgs{"id": id, "token": claimed, "owner": database.Clean(owner), "op": op}).Scan(&previous)
		if err != nil {
			return err
		}
		return addState(ctx, tx, id, claimed, h.State, "taken over from "+previous)
	})
	if err != nil {
		return 0, err
	}
	return claimed, nil
}

// fenced performs one write of a run in a transaction that holds its row, for the holder of the token. The write is done once however
// often it is retried: an attempt that was committed has left its identifier in the row. One identifier is enough, since one process
// writes a run, one write after another; a process that comes in between has raised the token.
func (db *DB) fenced(ctx context.Context, act, id string, token int64, fn func(context.Context, pgx.Tx, held) error) error {
	op := database.NewOp()
	return db.db.Transact(ctx, act, func(ctx context.Context, tx pgx.Tx) error {
		h, err := hold(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case h.Token != token:
			return run.ErrFenced
		case h.Op == op:
			return nil // done by an attempt whose answer was lost
		}
		if err := fn(ctx, tx, h); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update run set last_op = @op where id = @id`, pgx.NamedArgs{"id": id, "op": op})
		return err
	})
}

// hold locks the row of a run until the end of the transaction, except against rows that only refer to it: the events of a run need not
// wait for its other writes.
func hold(ctx context.Context, tx pgx.Tx, id string) (held, error) {
	rows, err := tx.Query(ctx, `select state, token, ended is not null as ended, last_op as op from run where id = @id for no key update`,
		pgx.NamedArgs{"id": id})
	if err != nil {
		return held{}, err
	}
	h, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[held])
	return h, database.Missing(err)
}

// addState appends to the states of a run. Its row is locked, so no number is given twice.
func addState(ctx context.Context, tx pgx.Tx, id string, token int64, state run.State, note string) error {
	_, err := tx.Exec(ctx, `
		insert into run_state (run, n, state, note, token)
		select @id, coalesce(max(n), 0) + 1, @state, @note, @token from run_state where run = @id`,
		pgx.NamedArgs{"id": id, "state": state, "note": database.Clean(note), "token": token})
	return err
}

// rows holds what is inserted into one table.
type rows struct {
	table   string
	columns []string
	values  [][]any
}

// fewRows is the number of rows up to which they are inserted one by one and sent together: a copy needs three round trips, which a
// quick gate need not wait for.
const fewRows = 64

// add inserts the rows of all tables, in the order given. Many rows, such as thousands of findings of a linter, are copied.
func add(ctx context.Context, tx pgx.Tx, all ...rows) error {
	var batch pgx.Batch
	send := func() error {
		defer func() { batch = pgx.Batch{} }()
		return tx.SendBatch(ctx, &batch).Close()
	}
	for _, r := range all {
		if len(r.values) > fewRows {
			err := send() // what is copied may refer to them
			if err == nil {
				_, err = tx.CopyFrom(ctx, pgx.Identifier{r.table}, r.columns, pgx.CopyFromRows(r.values))
			}
			if err != nil {
				return err
			}
			continue
		}
		places := make([]string, len(r.columns))
		for i := range places {
			places[i] = "$" + strconv.Itoa(i+1)
		}
		insert := fmt.Sprintf("insert into %s (%s) values (%s)", r.table, strings.Join(r.columns, ", "), strings.Join(places, ", "))
		for _, values := range r.values {
			batch.Queue(insert, values...)
		}
	}
	return send()
}

package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/llm"
	"agent/orchestrator/store/database"
)

// A Journal holds every request that a process of this record made to a model.
type Journal struct{ db *database.DB }

// New returns the journal in db, valid while db is open.
func New(db *database.DB) Journal { return Journal{db} }

// Find implements [llm.Journal]: in a step of the run, it returns the last answer to the question with a digest, or to any question for
// "", or otherwise the last error. Times have microsecond precision.
func (j Journal) Find(ctx context.Context, run, step, digest string) (llm.Record, bool, error) {
	var r llm.Record
	var ok bool
	err := j.db.Do(ctx, "look for an answer in run "+run, func(ctx context.Context) error {
		// Numbers tell which came last; the clocks of two processes may differ.
		rows, err := j.db.Pool.Query(ctx, `
			select run, step, attempt, vendor, model, key_id, purpose, template, digest, request, begun,
				answer, beside, version, tokens_in, in_estimated, tokens_out, out_estimated, tokens_cached, tokens_reason,
				cost, priced, duration, coalesce(kind, ''), detail
			from model_call where run = @run and step = @step and @digest in ('', digest) and ended is not null
			order by kind is null desc, id desc limit 1`,
			pgx.NamedArgs{"run": database.Clean(run), "step": database.Clean(step), "digest": database.Clean(digest)})
		if err != nil {
			return err
		}
		r, err = pgx.CollectExactlyOneRow(rows, scanCall)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		ok = err == nil
		return err
	})
	return r, ok, err
}

// scanCall reads the columns that Find selects. The answer is bytes in the database and a string here; both may hold anything.
func scanCall(row pgx.CollectableRow) (llm.Record, error) { return scanCallAnd(row) }

// scanCallAnd reads the columns of scanCall, and those after them into more.
func scanCallAnd(row pgx.CollectableRow, more ...any) (r llm.Record, err error) {
	var answer, besides []byte
	var microseconds int64
	err = row.Scan(append([]any{
		&r.Run, &r.Step, &r.Attempt, &r.Vendor, &r.Model, &r.Key, &r.Purpose, &r.Template, &r.Digest, &r.Request, &r.Begun,
		&answer, &besides, &r.Version, &r.Usage.In.N, &r.Usage.In.Estimated, &r.Usage.Out.N, &r.Usage.Out.Estimated, &r.Usage.Cached, &r.Usage.Reason,
		&r.Cost, &r.Priced, &microseconds, &r.Kind, &r.Detail,
	}, more...)...)
	r.Text, r.Duration = string(answer), time.Duration(microseconds)*time.Microsecond
	if err == nil && len(besides) > 0 {
		var b beside
		err = json.Unmarshal(besides, &b)
		r.Calls, r.State = b.Calls, b.State
	}
	return r, err
}

// beside is what an answer has besides its text, in the form of the record.
type beside struct {
	Calls []llm.ToolCall `json:"calls"`
	State *llm.State     `json:"state,omitempty"`
}

// newBeside returns the beside of o, empty if o has only text.
func newBeside(o llm.Outcome) ([]byte, error) {
	if len(o.Calls) == 0 && o.State == nil {
		return []byte{}, nil
	}
	return json.Marshal(beside{o.Calls, o.State})
}

// Begin implements [llm.Journal]: it enters a request that is about to be made, with its possible cost, and returns its number. A retry
// whose first answer was lost gets the number of the row that is already there.
func (j Journal) Begin(ctx context.Context, r llm.Record) (int64, error) {
	args := outcomeArgs(r.Outcome)
	for name, value := range map[string]any{
		"op": database.NewOp(), "run": database.Clean(r.Run), "step": database.Clean(r.Step), "attempt": r.Attempt,
		"vendor": database.Clean(r.Vendor), "model": database.Clean(r.Model), "key": database.Clean(r.Key),
		"purpose": database.Clean(r.Purpose), "template": database.Clean(r.Template), "digest": database.Clean(r.Digest),
		"request": append([]byte{}, r.Request...), "begun": r.Begun, // nil would be null
	} {
		args[name] = value
	}
	var number int64
	err := j.db.Do(ctx, "record a request of run "+r.Run, func(ctx context.Context) error {
		// The update changes nothing; without it, a row that is already there would not be returned.
		return j.db.Pool.QueryRow(ctx, `
			insert into model_call as c (op, run, step, attempt, vendor, model, key_id, purpose, template, digest, request,
				tokens_in, in_estimated, tokens_out, out_estimated, tokens_cached, tokens_reason, cost, priced, duration, begun)
			values (@op, @run, @step, @attempt, @vendor, @model, @key, @purpose, @template, @digest, @request,
				@in, @in_estimated, @out, @out_estimated, @cached, @reason, @cost, @priced, @duration, @begun)
			on conflict (op) do update set op = c.op
			returning id`, args).Scan(&number)
	})
	return number, err
}

// End implements [llm.Journal]: it replaces the estimate of a request by its result, once. A record that has ended stays as it is, and
// a second end is an error.
func (j Journal) End(ctx context.Context, number int64, o llm.Outcome) error {
	args := outcomeArgs(o)
	besides, err := newBeside(o)
	if err != nil {
		return err
	}
	for name, value := range map[string]any{
		"id": number, "op": database.NewOp(), "answer": []byte(o.Text), "beside": besides, "version": database.Clean(o.Version),
		"kind": string(o.Kind), "detail": database.Clean(o.Detail),
	} {
		args[name] = value
	}
	return j.db.Do(ctx, fmt.Sprintf("record the end of request %d", number), func(ctx context.Context) error {
		// The first end counts; only a retry of the same one is let through.
		tag, err := j.db.Pool.Exec(ctx, `
			update model_call set end_op = @op, answer = @answer, beside = @beside, version = @version,
				tokens_in = @in, in_estimated = @in_estimated, tokens_out = @out, out_estimated = @out_estimated,
				tokens_cached = @cached, tokens_reason = @reason, cost = @cost, priced = @priced, duration = @duration,
				kind = nullif(@kind, ''), detail = @detail, ended = clock_timestamp()
			where id = @id and (ended is null or end_op = @op)`, args)
		if err == nil && tag.RowsAffected() == 0 {
			return errNotUnderWay
		}
		return err
	})
}

// errNotUnderWay refuses an end of what never began, or has ended.
var errNotUnderWay = errors.New("it has not begun, or has already ended")

// outcomeArgs names what Begin and End both write: what a request may cost, or did cost.
func outcomeArgs(o llm.Outcome) pgx.NamedArgs {
	return pgx.NamedArgs{
		"in": o.Usage.In.N, "in_estimated": o.Usage.In.Estimated, "out": o.Usage.Out.N, "out_estimated": o.Usage.Out.Estimated,
		"cached": o.Usage.Cached, "reason": o.Usage.Reason,
		"cost": int64(o.Cost), "priced": o.Priced, "duration": o.Duration.Microseconds(),
	}
}

// Spent implements [llm.Journal]: it returns what run spent, and what all runs spent since a moment. An iteration of a loop counts with
// all others of its loop, whatever process did them: resuming a loop does not reset what it spent. A try at a task likewise counts with
// everything done for its plan. A request that is under way counts with its estimate.
func (j Journal) Spent(ctx context.Context, run string, since time.Time) (ofRun, ofAll llm.Spent, err error) {
	err = j.db.Do(ctx, "sum what run "+run+" spent", func(ctx context.Context) error {
		// One statement, so that both sums see one moment, and two subqueries, so that each has its index: a loop has a few hundred
		// rows, a day not many more, and the table grows for years.
		var ofRunTime, ofAllTime int64
		err := j.db.Pool.QueryRow(ctx, `
			select r.*, a.* from
				(select count(*), coalesce(sum(tokens_in + tokens_out), 0)::bigint, coalesce(sum(cost), 0)::bigint,
					count(*) filter (where not priced), coalesce(sum(duration), 0)::bigint from model_call where run = any(array(
						select @run union select o.id from iteration i join iteration o on o.loop = i.loop where i.id = @run
						union select o.id from plan_attempt a join plan_attempt o on o.plan = a.plan where a.id = @run))) r,
				(select count(*), coalesce(sum(tokens_in + tokens_out), 0)::bigint, coalesce(sum(cost), 0)::bigint,
					count(*) filter (where not priced), coalesce(sum(duration), 0)::bigint from model_call where begun >= @since) a`,
			pgx.NamedArgs{"run": database.Clean(run), "since": since},
		).Scan(&ofRun.Requests, &ofRun.Tokens, &ofRun.Cost, &ofRun.Unpriced, &ofRunTime,
			&ofAll.Requests, &ofAll.Tokens, &ofAll.Cost, &ofAll.Unpriced, &ofAllTime)
		ofRun.Duration, ofAll.Duration = time.Duration(ofRunTime)*time.Microsecond, time.Duration(ofAllTime)*time.Microsecond
		return err
	})
	return ofRun, ofAll, err
}

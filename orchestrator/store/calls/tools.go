package calls

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/llm"
	"agent/orchestrator/store/database"
	"agent/sandbox/workspace/secret/disguise"
)

// A Workbench is the record of the calls that are made for one run. It implements [conversation.Record].
type Workbench struct {
	db          *database.DB
	run, replay string
}

// Workbench returns the record of the calls of a run. If replay is not "", it is the name under which the calls of an earlier run are
// recorded: calls are then answered only from there, and nothing is kept.
func (j Journal) Workbench(run, replay string) Workbench { return Workbench{j.db, run, replay} }

// FindCall implements [conversation.Record]. In a replay, a call that was not made in the recorded run is an error,
// [llm.ErrNotRecorded].
func (w Workbench) FindCall(ctx context.Context, c conversation.Call) (found conversation.Call, ok bool, err error) {
	run := w.run
	if w.replay != "" {
		run = w.replay
	}
	err = w.db.Do(ctx, "look for a call of run "+run, func(ctx context.Context) error {
		rows, err := w.db.Pool.Query(ctx, `
			select step, round, number, tool, arguments, digest, head, answer, file, failed, shown, begun, duration
			from tool_call where run = @run and step = @step and number = @number and digest = @digest`,
			pgx.NamedArgs{"run": database.Clean(run), "step": database.Clean(c.Step), "number": c.Number, "digest": c.Digest})
		if err != nil {
			return err
		}
		found, err = pgx.CollectExactlyOneRow(rows, scanTool)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		ok = err == nil
		return err
	})
	if err == nil && !ok && w.replay != "" {
		err = fmt.Errorf("call %d of step %q of run %q: %w", c.Number, c.Step, run, llm.ErrNotRecorded)
	}
	return found, ok, err
}

// scanTool reads the columns that FindCall selects.
func scanTool(row pgx.CollectableRow) (c conversation.Call, err error) {
	var answer []byte
	var microseconds int64
	err = row.Scan(&c.Step, &c.Round, &c.Number, &c.Tool, &c.Arguments, &c.Digest, &c.Head, &answer, &c.File, &c.Failed, &c.Shown, &c.Begun, &microseconds)
	c.Text, c.Took = string(answer), time.Duration(microseconds)*time.Microsecond
	return c, err
}

// SaveCall implements [conversation.Record]. A call that is already there stays as it is.
func (w Workbench) SaveCall(ctx context.Context, c conversation.Call) error {
	if w.replay != "" {
		return nil
	}
	// The arguments are for people to read; the digest identifies them.
	arguments, _ := disguise.Hide(c.Arguments)
	return w.db.Do(ctx, "record a call of run "+w.run, func(ctx context.Context) error {
		_, err := w.db.Pool.Exec(ctx, `
			insert into tool_call (run, step, round, number, tool, arguments, digest, head, file, answer, failed, shown, duration, begun)
			values (@run, @step, @round, @number, @tool, @arguments, @digest, @head, @file, @answer, @failed, @shown, @duration, @begun)
			on conflict (run, step, number, digest) do nothing`,
			pgx.NamedArgs{
				"run": database.Clean(w.run), "step": database.Clean(c.Step), "round": c.Round, "number": c.Number, "tool": database.Clean(c.Tool),
				"arguments": database.Clean(arguments), "digest": c.Digest, "head": database.Clean(c.Head), "file": database.Clean(c.File),
				"answer": []byte(c.Text), "failed": c.Failed, "shown": c.Shown, "duration": c.Took.Microseconds(), "begun": c.Begun,
			})
		return err
	})
}

// SaveEnd implements [conversation.Record].
func (w Workbench) SaveEnd(ctx context.Context, e conversation.Ended) error {
	if w.replay != "" {
		return nil
	}
	return w.db.Do(ctx, "record the end of a conversation of run "+w.run, func(ctx context.Context) error {
		_, err := w.db.Pool.Exec(ctx, `
			insert into conversation (run, step, cause, detail, rounds, calls, shown) values (@run, @step, @cause, @detail, @rounds, @calls, @shown)
			on conflict (run, step) do update set (cause, detail, rounds, calls, shown, ended) =
				(excluded.cause, excluded.detail, excluded.rounds, excluded.calls, excluded.shown, excluded.ended)`,
			pgx.NamedArgs{
				"run": database.Clean(w.run), "step": database.Clean(e.Step), "cause": string(e.End), "detail": database.Clean(e.Detail),
				"rounds": e.Rounds, "calls": e.Calls, "shown": e.Shown,
			})
		return err
	})
}

// ToolCalls lists the calls of a run in their order, with those of the iteration whose last run it is.
func (j Journal) ToolCalls(ctx context.Context, run string) (list []conversation.Call, err error) {
	err = j.db.Do(ctx, "read the calls of run "+run, func(ctx context.Context) error {
		rows, err := j.db.Pool.Query(ctx, `
			select step, round, number, tool, arguments, digest, head, answer, file, failed, shown, begun, duration
			from tool_call where run = @run or run in (select i.id from iteration i where i.run = @run) order by id`, pgx.NamedArgs{"run": database.Clean(run)})
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, scanTool)
		return err
	})
	return list, err
}

// ConversationEnds lists how the conversations of a run, or of an attempt at a task, ended, in their order.
func (j Journal) ConversationEnds(ctx context.Context, run string) (list []conversation.Ended, err error) {
	err = j.db.Do(ctx, "read the conversations of run "+run, func(ctx context.Context) error {
		rows, err := j.db.Pool.Query(ctx, `select step, cause as "end", detail, rounds, calls, shown from conversation where run = @run order by ended`,
			pgx.NamedArgs{"run": database.Clean(run)})
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[conversation.Ended])
		return err
	})
	return list, err
}

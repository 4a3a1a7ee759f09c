package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/agent/critic"
	"agent/orchestrator/store/database"
)

// SaveCritique records what critics said about a candidate, as the next critique of its run. It is fenced like a candidate, and a run
// that has ended takes none.
func (db *DB) SaveCritique(ctx context.Context, id string, token int64, c critic.Critique) error {
	act := "record a review of run " + id
	return db.fenced(ctx, act, id, token, func(ctx context.Context, tx pgx.Tx, h held) error {
		if h.Ended {
			return ErrFinished
		}
		// The fence holds the row of the run meanwhile, so no two critiques get the same number.
		var n int32
		if err := tx.QueryRow(ctx, `select coalesce(max(n), 0) + 1 from critique where run = @run`, pgx.NamedArgs{"run": id}).Scan(&n); err != nil {
			return err
		}
		return addCritique(ctx, tx, id, n, c)
	})
}

// AddCritique records what critics said about something other than a candidate of a run, such as a plan, under a name of its own and a
// number from 1. A critique that is already there under both stays as it is.
func (db *DB) AddCritique(ctx context.Context, of string, n int32, c critic.Critique) error {
	return db.db.Transact(ctx, "record a review of "+of, func(ctx context.Context, tx pgx.Tx) error {
		return addCritique(ctx, tx, database.Clean(of), n, c)
	})
}

// addCritique inserts a critique with its rows, unless one with that number is there.
func addCritique(ctx context.Context, tx pgx.Tx, of string, n int32, c critic.Critique) error {
	tag, err := tx.Exec(ctx, `
		insert into critique (run, n, subject, agree, outcome) values (@run, @n, @subject, @agree, @outcome) on conflict do nothing`,
		pgx.NamedArgs{"run": of, "n": n, "subject": database.Clean(c.Subject), "agree": c.Agree, "outcome": string(c.Outcome)})
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	opinions := rows{table: "critique_opinion", columns: []string{"run", "n", "k", "critic", "model", "unreviewed", "partial", "findings"}}
	for i, o := range c.Opinions {
		own, err := database.CleanJSON(o.Findings)
		if err != nil {
			return fmt.Errorf("encode the findings of %s: %w", o.Critic, err)
		}
		opinions.values = append(opinions.values, []any{
			of, n, i + 1, database.Clean(o.Critic), database.Clean(o.Model), database.Clean(o.Unreviewed), database.Clean(o.Partial), own,
		})
	}
	found := rows{table: "critique_finding", columns: []string{"run", "n", "k", "severity", "file", "line", "message", "critics", "agreed"}}
	for i, f := range c.Findings {
		by := make([]string, len(f.By))
		for j, name := range f.By {
			by[j] = database.Clean(name)
		}
		found.values = append(found.values, []any{
			of, n, i + 1, string(f.Severity), database.Clean(f.File), f.Line, database.Clean(f.Text), by, f.Agreed,
		})
	}
	return add(ctx, tx, opinions, found)
}

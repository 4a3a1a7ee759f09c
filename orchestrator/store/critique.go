package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/agent/critic"
	"agent/orchestrator/store/database"
)

// SaveCritique records what critics said of a candidate, as the next one of its run. It is fenced as a candidate is,
// and a run that has ended takes none.
func (db *DB) SaveCritique(ctx context.Context, id string, token int64, c critic.Critique) error {
	act := "record a review of run " + id
	return db.fenced(ctx, act, id, token, func(ctx context.Context, tx pgx.Tx, h held) error {
		if h.Ended {
			return ErrFinished
		}
		return addCritique(ctx, tx, id, c)
	})
}

// addCritique inserts a critique with its rows. The number is counted in the statement; the fence holds the run meanwhile.
func addCritique(ctx context.Context, tx pgx.Tx, of string, c critic.Critique) error {
	var n int32
	err := tx.QueryRow(ctx, `
		insert into critique (run, n, subject, agree, outcome)
		select @run, coalesce(max(n), 0) + 1, @subject, @agree, @outcome from critique where run = @run
		returning n`,
		pgx.NamedArgs{"run": of, "subject": database.Clean(c.Subject), "agree": c.Agree, "outcome": string(c.Outcome)}).Scan(&n)
	if err != nil {
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

package history

import (
	"context"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/agent/critic"
	"agent/orchestrator/store/database"
)

// Critiques lists what critics said under a name: that of a run, or of something else that was reviewed. It is nil if there is nothing.
func (h Reader) Critiques(ctx context.Context, of string) (list []critic.Critique, err error) {
	err = h.db.Read(ctx, "read the reviews of "+of, func(ctx context.Context, tx pgx.Tx) (err error) {
		list, err = critiques(ctx, tx, database.Clean(of))
		return err
	})
	return list, err
}

// critiques reads what critics said about the candidates of a run, in the order of asking.
func critiques(ctx context.Context, tx pgx.Tx, id string) ([]critic.Critique, error) {
	args := pgx.NamedArgs{"run": id}
	rows, err := tx.Query(ctx, `select n, subject, agree, outcome from critique where run = @run order by n`, args)
	if err != nil {
		return nil, err
	}
	at := map[int]int{} // the index of each number in the list
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (critic.Critique, error) {
		c := critic.Critique{Opinions: []critic.Opinion{}, Findings: []critic.Finding{}}
		var n int
		err := row.Scan(&n, &c.Subject, &c.Agree, &c.Outcome)
		at[n] = len(at)
		return c, err
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	rows, err = tx.Query(ctx, `select n, critic, model, unreviewed, partial, findings from critique_opinion where run = @run order by n, k`, args)
	if err != nil {
		return nil, err
	}
	var n int
	var o critic.Opinion
	_, err = pgx.ForEachRow(rows, []any{&n, &o.Critic, &o.Model, &o.Unreviewed, &o.Partial, &o.Findings}, func() error {
		list[at[n]].Opinions = append(list[at[n]].Opinions, o)
		o.Findings = nil
		return nil
	})
	if err != nil {
		return nil, err
	}
	rows, err = tx.Query(ctx, `select n, severity, file, line, message, critics, agreed from critique_finding where run = @run order by n, k`, args)
	if err != nil {
		return nil, err
	}
	var f critic.Finding
	_, err = pgx.ForEachRow(rows, []any{&n, &f.Severity, &f.File, &f.Line, &f.Text, &f.By, &f.Agreed}, func() error {
		list[at[n]].Findings = append(list[at[n]].Findings, f)
		f.By = nil
		return nil
	})
	return list, err
}

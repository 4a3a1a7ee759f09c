package history

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/gate"
	"agent/orchestrator/store/database"
	"agent/sandbox/workspace"
	"agent/verify"
)

// candidates reads every candidate of a run, without the content of its files, in three queries however many gates there are.
func candidates(ctx context.Context, tx pgx.Tx, id string) ([]gate.Candidate, error) {
	rows, err := tx.Query(ctx, `
		select verdict, digest, diff, thought, edits, skipped, holds, unproven, executed from candidate where run = @run order by n`,
		pgx.NamedArgs{"run": id})
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c gate.Candidate, err error) {
		err = row.Scan(&c.Verdict, &c.Digest, &c.Diff, &c.Thought, &c.Edits, &c.Skipped, &c.Holds, &c.Unproven, &c.Executed)
		return c, err
	})
	if err != nil {
		return nil, err
	}
	rows, err = tx.Query(ctx, `
		select candidate, name, verdict, seconds, old, fixed, detail, output, tool, peak_bytes
		from gate where run = @run order by candidate, n`, pgx.NamedArgs{"run": id})
	if err != nil {
		return nil, err
	}
	// Numbers count from 1 without gaps, in the order of the rows: they are positions in the lists.
	var n int
	var g verify.Gate
	_, err = pgx.ForEachRow(rows, []any{&n, &g.Name, &g.Verdict, &g.Seconds, &g.Old, &g.Fixed, &g.Detail, &g.Output, &g.Tool, &g.Peak},
		func() error {
			list[n-1].Gates = append(list[n-1].Gates, g)
			return nil
		})
	if err != nil {
		return nil, err
	}
	return list, findings(ctx, tx, id, list)
}

// findings adds the findings of a run to the gates of its candidates.
//
// They are in the order in which they were recorded, so that a list read back is the list that was judged.
func findings(ctx context.Context, tx pgx.Tx, id string, list []gate.Candidate) error {
	rows, err := tx.Query(ctx, `
		select candidate, gate, file, line, col, rule, message, source, fixable, help, old, tool
		from finding where run = @run order by candidate, gate, n`, pgx.NamedArgs{"run": id})
	if err != nil {
		return err
	}
	var candidate, gate int
	var f verify.Finding
	into := []any{
		&candidate, &gate, &f.File, &f.Line, &f.Column, &f.Rule, &f.Message, &f.Source, &f.Fixable, &f.Help, &f.Old, &f.Tool,
	}
	_, err = pgx.ForEachRow(rows, into, func() error {
		g := &list[candidate-1].Gates[gate-1]
		if f.Old {
			g.OldFindings = append(g.OldFindings, f)
		} else {
			g.Findings = append(g.Findings, f)
		}
		return nil
	})
	return err
}

// LastChange returns what the last candidate of a run changed, whatever the gates said about it, with the bytes of its files.
// ErrNotFound means that the run had none.
func (h Reader) LastChange(ctx context.Context, id string) (cs workspace.Changeset, err error) {
	err = h.db.Read(ctx, "read the change of run "+id, func(ctx context.Context, tx pgx.Tx) error {
		var n *int
		err := tx.QueryRow(ctx, `select max(n) from candidate where run = @run`, pgx.NamedArgs{"run": id}).Scan(&n)
		if err == nil && n == nil {
			return database.ErrNotFound
		}
		if err == nil {
			cs.Changes, err = changes(ctx, tx, `candidate_file f`, `f.run = @run and f.candidate = @n`, pgx.NamedArgs{"run": id, "n": *n})
		}
		return err
	})
	return cs, err
}

// errUnclear means that several candidates passed, and that the record does not say which one was to be promoted.
var errUnclear = errors.New("several of its candidates passed, and the record does not say which one was to be applied")

// Proven returns the candidate that passed and was to be promoted, of a run given by its whole ID, with the bytes of its files.
// ErrNotFound means that none passed.
//
// The bytes are those of the database: a caller that promotes them must compare their digest.
func (h Reader) Proven(ctx context.Context, id string) (cand gate.Candidate, err error) {
	err = h.db.Read(ctx, "read the proven candidate of run "+id, func(ctx context.Context, tx pgx.Tx) error {
		list, err := candidates(ctx, tx, id)
		if err != nil {
			return err
		}
		// The candidate that the checkpoint was about. A killed process may not have entered it, and older programs did not.
		var asked string
		err = tx.QueryRow(ctx, `
			select detail ->> 'candidate' from event where run = @run and kind = 'state' and subject = 'awaiting_approval' and detail ? 'candidate'
			order by id desc limit 1`, pgx.NamedArgs{"run": id}).Scan(&asked)
		if err = database.Missing(err); err != nil && !errors.Is(err, database.ErrNotFound) {
			return err
		}
		at := -1
		for i, c := range list {
			switch {
			case c.Verdict != verify.Pass || asked != "" && c.Digest != asked:
			case at >= 0 && list[at].Digest != c.Digest:
				return errUnclear
			default:
				at = i
			}
		}
		if at < 0 {
			return database.ErrNotFound
		}
		cand = list[at]
		cand.Changeset.Changes, err = changes(ctx, tx, `candidate_file f`, `f.run = @run and f.candidate = @n`, pgx.NamedArgs{"run": id, "n": at + 1})
		if err != nil {
			return err
		}
		var response *string
		err = tx.QueryRow(ctx, `select response, coalesce(target, ''), coalesce(onto, ''), coalesce(asked, '') from candidate where run = @run and n = @n`,
			pgx.NamedArgs{"run": id, "n": at + 1}).Scan(&response, &cand.Origin.Target, &cand.Origin.Onto, &cand.Origin.Asked)
		if err != nil || response == nil {
			return err
		}
		return tx.QueryRow(ctx, `select content from blob where sha256 = @digest`, pgx.NamedArgs{"digest": *response}).Scan(&cand.Origin.Response)
	})
	return cand, err
}

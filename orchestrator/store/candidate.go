package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/gate"
	"agent/sandbox/workspace"
	"agent/verify"
)

// SaveCandidate records a candidate with its files, gates and findings, as the
// next one of its run. The content of a candidate that was rejected is kept as
// well: what was judged must be there to look at.
//
// Its rows are all or nothing, and fenced: a process whose run was taken over
// records no more candidates. A run that has ended takes none either, see
// ErrFinished.
func (db *DB) SaveCandidate(ctx context.Context, id string, token int64, c gate.Candidate) error {
	act := "record a candidate of run " + id
	// Lists that nobody joins on stay documents; gates and findings, which
	// people ask about, are rows.
	lists := pgx.NamedArgs{}
	var err error
	for name, list := range map[string]any{"edits": c.Edits, "skipped": c.Skipped, "holds": c.Holds} {
		if lists[name], err = cleanJSON(list); err != nil {
			return fmt.Errorf("%s: encode its %s: %w", act, name, err)
		}
	}
	if lists["unproven"], err = unprovenJSON(c.Unproven); err != nil {
		return fmt.Errorf("%s: encode what was not judged: %w", act, err)
	}
	return db.withFiles(ctx, act, c.Changeset, [][]byte{c.Origin.Response}, func(files []file) error {
		return db.fenced(ctx, act, id, token, func(ctx context.Context, tx pgx.Tx, h held) error {
			if h.Ended {
				return ErrFinished
			}
			n, err := addCandidate(ctx, tx, id, c, lists)
			if err != nil {
				return err
			}
			return add(ctx, tx, append(gateRows(id, n, c.Gates), fileRows("candidate_file", []string{"run", "candidate"}, []any{id, n}, files))...)
		})
	})
}

// addCandidate inserts the candidate itself and returns its number in the run.
//
// The number is counted in the statement itself. The fence holds the row of the
// run meanwhile, so no two get the same.
func addCandidate(ctx context.Context, tx pgx.Tx, id string, c gate.Candidate, lists pgx.NamedArgs) (n int32, err error) {
	args := pgx.NamedArgs{
		"run": id, "verdict": c.Verdict, "digest": c.Digest, "diff": clean(c.Diff), "thought": clean(c.Thought),
		"target": clean(c.Origin.Target), "onto": c.Origin.Onto, "asked": c.Origin.Asked,
	}
	for name, list := range lists {
		args[name] = list
	}
	if args["response"] = nil; c.Origin.Response != nil {
		args["response"] = workspace.Digest(c.Origin.Response)
	}
	err = tx.QueryRow(ctx, `
		insert into candidate (run, n, verdict, digest, diff, thought, edits, skipped, holds, unproven, response, target, onto, asked)
		select @run, coalesce(max(n), 0) + 1, @verdict, @digest, @diff, @thought, @edits, @skipped, @holds, @unproven, @response, @target, @onto, @asked
		from candidate where run = @run
		returning n`, args).Scan(&n)
	return n, err
}

// unprovenJSON is a list of what was not judged as a column has it: null where nothing is
// known, which an empty list is not.
func unprovenJSON(list []verify.Unproven) (any, error) {
	if list == nil {
		return nil, nil
	}
	return cleanJSON(list)
}

// gateRows are the gates of a candidate and their findings, numbered in the order
// given.
func gateRows(id string, candidate int32, gates []verify.Gate) []rows {
	steps := rows{table: "gate", columns: []string{
		"run", "candidate", "n", "name", "verdict", "seconds", "old", "fixed", "detail", "output", "tool", "peak_bytes",
	}}
	found := rows{table: "finding", columns: []string{
		"run", "candidate", "gate", "n", "file", "line", "col", "rule", "message", "source", "fixable", "help", "old", "tool",
	}}
	for i, g := range gates {
		steps.values = append(steps.values, []any{
			id, candidate, i + 1, clean(g.Name), string(g.Verdict), g.Seconds, g.Old, g.Fixed,
			clean(g.Detail), clean(g.Output), clean(g.Tool), g.Peak,
		})
		// New ones first, then the old ones that the gate lists.
		for j, f := range slices.Concat(g.Findings, g.OldFindings) {
			found.values = append(found.values, []any{
				id, candidate, i + 1, j + 1, clean(f.File), f.Line, f.Column,
				clean(f.Rule), clean(f.Message), clean(f.Source), f.Fixable, clean(f.Help), j >= len(g.Findings), clean(f.Tool),
			})
		}
	}
	return []rows{steps, found}
}

// candidates reads every candidate of a run, without the content of its files,
// in three queries however many gates there are.
func candidates(ctx context.Context, tx pgx.Tx, id string) ([]gate.Candidate, error) {
	rows, err := tx.Query(ctx, `
		select verdict, digest, diff, thought, edits, skipped, holds, unproven from candidate where run = @run order by n`,
		pgx.NamedArgs{"run": id})
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c gate.Candidate, err error) {
		err = row.Scan(&c.Verdict, &c.Digest, &c.Diff, &c.Thought, &c.Edits, &c.Skipped, &c.Holds, &c.Unproven)
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
	// Numbers count from 1 without a gap, in the order of the rows: they are
	// positions in the lists.
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
// The order is that in which they were recorded, so that a list read back is the
// list that was judged.
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

// names checks that every path of cs can be given back exactly. Text of other
// kinds is mended instead; a mended path would be another file.
func names(cs workspace.Changeset) error {
	for _, c := range cs.Changes {
		for _, path := range []string{c.Path, c.From} {
			if err := exact(path); err != nil {
				return fmt.Errorf("file %q: %w; rename it", path, err)
			}
		}
	}
	return nil
}

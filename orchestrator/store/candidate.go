package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/gate"
	"agent/orchestrator/store/database"
	"agent/sandbox/workspace"
	"agent/verify"
)

// SaveCandidate records a candidate with its files, gates and findings, as the next one of its run. The content of a rejected candidate
// is kept as well, so that what was judged can be looked at.
//
// Its rows are all or nothing, and fenced: a process whose run was taken over records no more candidates. A run that has ended takes
// none either; see ErrFinished.
func (db *DB) SaveCandidate(ctx context.Context, id string, token int64, c gate.Candidate) error {
	act := "record a candidate of run " + id
	// Lists that nobody joins on remain documents. Gates and findings, which people ask about, are rows.
	lists := pgx.NamedArgs{}
	var err error
	for name, list := range map[string]any{"edits": c.Edits, "skipped": c.Skipped, "holds": c.Holds} {
		if lists[name], err = database.CleanJSON(list); err != nil {
			return fmt.Errorf("%s: encode its %s: %w", act, name, err)
		}
	}
	if lists["unproven"], err = unprovenJSON(c.Unproven); err != nil {
		return fmt.Errorf("%s: encode what was not judged: %w", act, err)
	}
	if lists["executed"] = nil; c.Executed != nil {
		if lists["executed"], err = database.CleanJSON(c.Executed); err != nil {
			return fmt.Errorf("%s: encode what was executed: %w", act, err)
		}
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
// The statement itself counts the number. The fence holds the row of the run meanwhile, so no two candidates get the same.
func addCandidate(ctx context.Context, tx pgx.Tx, id string, c gate.Candidate, lists pgx.NamedArgs) (n int32, err error) {
	args := pgx.NamedArgs{
		"run": id, "verdict": c.Verdict, "digest": c.Digest, "diff": database.Clean(c.Diff), "thought": database.Clean(c.Thought),
		"target": database.Clean(c.Origin.Target), "onto": c.Origin.Onto, "asked": c.Origin.Asked,
	}
	for name, list := range lists {
		args[name] = list
	}
	if args["response"] = nil; c.Origin.Response != nil {
		args["response"] = workspace.Digest(c.Origin.Response)
	}
	err = tx.QueryRow(ctx, `
		insert into candidate (run, n, verdict, digest, diff, thought, edits, skipped, holds, unproven, executed, response, target, onto, asked)
		select @run, coalesce(max(n), 0) + 1, @verdict, @digest, @diff, @thought, @edits, @skipped, @holds, @unproven, @executed, @response, @target, @onto, @asked
		from candidate where run = @run
		returning n`, args).Scan(&n)
	return n, err
}

// unprovenJSON encodes a list of what was not judged for a column: null if nothing is known, which differs from an empty list.
func unprovenJSON(list []verify.Unproven) (any, error) {
	if list == nil {
		return nil, nil
	}
	return database.CleanJSON(list)
}

// gateRows returns the rows for the gates of a candidate and their findings, numbered in the order given.
func gateRows(id string, candidate int32, gates []verify.Gate) []rows {
	steps := rows{table: "gate", columns: []string{
		"run", "candidate", "n", "name", "verdict", "seconds", "old", "fixed", "detail", "output", "tool", "peak_bytes",
	}}
	found := rows{table: "finding", columns: []string{
		"run", "candidate", "gate", "n", "file", "line", "col", "rule", "message", "source", "fixable", "help", "old", "tool",
	}}
	for i, g := range gates {
		steps.values = append(steps.values, []any{
			id, candidate, i + 1, database.Clean(g.Name), string(g.Verdict), g.Seconds, g.Old, g.Fixed,
			database.Clean(g.Detail), database.Clean(g.Output), database.Clean(g.Tool), g.Peak,
		})
		// New findings first, then the old ones that the gate lists.
		for j, f := range slices.Concat(g.Findings, g.OldFindings) {
			found.values = append(found.values, []any{
				id, candidate, i + 1, j + 1, database.Clean(f.File), f.Line, f.Column,
				database.Clean(f.Rule), database.Clean(f.Message), database.Clean(f.Source), f.Fixable, database.Clean(f.Help), j >= len(g.Findings), database.Clean(f.Tool),
			})
		}
	}
	return []rows{steps, found}
}

// names checks that every path of cs can be given back exactly. Other kinds of text are repaired instead; a repaired path would be
// another file.
func names(cs workspace.Changeset) error {
	for _, c := range cs.Changes {
		for _, path := range []string{c.Path, c.From} {
			if err := database.Exact(path); err != nil {
				return fmt.Errorf("file %q: %w; rename it", path, err)
			}
		}
	}
	return nil
}

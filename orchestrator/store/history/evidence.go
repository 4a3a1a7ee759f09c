package history

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/gate"
	"agent/orchestrator/llm"
	"agent/orchestrator/replay"
	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
)

// A LackingError says why a run cannot be replayed. It is nobody's fault: the workspace was too large to be kept, the run was killed,
// or an older program made the record.
type LackingError struct{ Run, Reason string }

// Error names the run and the reason.
func (e *LackingError) Error() string {
	return fmt.Sprintf("run %s cannot be judged again: %s", e.Run, e.Reason)
}

// Content returns the content with a digest; ErrNotFound means that there is none. It does not compare the two: callers that must not
// be deceived by the database do.
func (h Reader) Content(ctx context.Context, digest string) (content []byte, err error) {
	err = h.db.Do(ctx, "read the content "+digest, func(ctx context.Context) error {
		return database.Missing(h.db.Pool.QueryRow(ctx, `select content from blob where sha256 = @digest`, pgx.NamedArgs{"digest": digest}).Scan(&content))
	})
	return content, err
}

// Evidence returns what replay.Replay needs of a run, given by its whole ID. The error is a *LackingError if the record does not hold
// all of it. The exchanges are read separately: a replay judges nothing by them, and questions to models after the verdict may be
// missing.
func (h Reader) Evidence(ctx context.Context, id string) (replay.Evidence, error) {
	exchanges, err := h.calls.Exchanges(ctx, id)
	if err != nil {
		return replay.Evidence{}, err
	}
	var e replay.Evidence
	err = h.db.Read(ctx, "read the evidence of run "+id, func(ctx context.Context, tx pgx.Tx) error {
		d, err := detail(ctx, tx, id, "")
		if err != nil {
			return err
		}
		// Times are in UTC, so that one record gives one text wherever it is exported.
		e = replay.Evidence{
			Run: d.ID, Workspace: d.Workspace, Intent: d.Intent, State: d.State, Verdict: d.Verdict,
			Started: d.Started.UTC(), Ended: d.Ended.UTC(), Snapshot: d.Snapshot,
		}
		// If nothing was written, there is nothing that was approved.
		if d.Promotion != nil && d.Promotion.Status == run.Committed {
			e.Approved = d.Promotion.Approved
		}
		if e.Inventory, err = settingsOf(ctx, tx, id, &e.Settings); err != nil {
			return err
		}
		e.Candidates, err = exhibits(ctx, tx, id, d.Candidates)
		return err
	})
	for _, x := range exchanges {
		ex := replay.Exchange{Step: x.Step, Model: x.Vendor + "/" + x.Model, Question: json.RawMessage(x.Request)}
		// A question that was cut off or refused has no answer, and an empty text would look like one.
		if !x.Ended.IsZero() && x.Kind == llm.Kind("") {
			ex.Answer = []byte(x.Text)
		}
		e.Exchanges = append(e.Exchanges, ex)
	}
	return e, err
}

// settingsOf reads the recording of a run: the name of its inventory, and its settings. A run without a row never came to judge, or was
// killed before that. A row may itself say why nothing was kept. Both are a *LackingError.
func settingsOf(ctx context.Context, tx pgx.Tx, id string, into *run.Settings) (inventory string, err error) {
	var lacking string
	err = tx.QueryRow(ctx, `select coalesce(inventory, ''), lacking, settings from recording where run = @run`,
		pgx.NamedArgs{"run": id}).Scan(&inventory, &lacking, into)
	switch {
	case database.Missing(err) == database.ErrNotFound:
		return "", &LackingError{id, "nothing was judged, or its process ended before its files were kept, or it is from a version that kept none"}
	case err == nil && inventory == "":
		err = &LackingError{id, lacking}
	}
	return inventory, err
}

// exhibits adds to candidates what they were made from and what they changed. candidates must be those of the same run, read in the
// same transaction in the order of their numbers: rows are matched by position, so another order would give a verdict to another patch.
// The error is a *LackingError for records from before origins were kept.
func exhibits(ctx context.Context, tx pgx.Tx, id string, candidates []gate.Candidate) ([]replay.Exhibit, error) {
	rows, err := tx.Query(ctx, `select coalesce(response, ''), coalesce(target, ''), coalesce(onto, ''), coalesce(asked, '')
		from candidate where run = @run order by n`, pgx.NamedArgs{"run": id})
	if err != nil {
		return nil, err
	}
	list := make([]replay.Exhibit, 0, len(candidates))
	var x replay.Exhibit
	_, err = pgx.ForEachRow(rows, []any{&x.Response, &x.Target, &x.Onto, &x.Asked}, func() error {
		if x.Response == "" {
			return &LackingError{id, "what its candidates were made of was not recorded at the time"}
		}
		c := candidates[len(list)]
		x.Verdict, x.Gates, x.Holds, x.Unproven, x.Digest = c.Verdict, c.Gates, c.Holds, c.Unproven, c.Digest
		list = append(list, x)
		return nil
	})
	if err != nil {
		return nil, err
	}
	rows, err = tx.Query(ctx, `
		select candidate, path, op, coalesce(from_path, ''), mode, old_mode, coalesce(before_sha256, ''), coalesce(after_sha256, '')
		from candidate_file where run = @run order by candidate, path collate "C"`, pgx.NamedArgs{"run": id})
	if err != nil {
		return nil, err
	}
	var n, mode, oldMode int
	var f replay.ExhibitFile
	_, err = pgx.ForEachRow(rows, []any{&n, &f.Path, &f.Op, &f.From, &mode, &oldMode, &f.Before, &f.After}, func() error {
		f.Mode, f.OldMode = fs.FileMode(mode), fs.FileMode(oldMode)
		// Candidates are numbered from 1 without gaps, and a file is kept after its candidate.
		list[n-1].Files = append(list[n-1].Files, f)
		return nil
	})
	return list, err
}

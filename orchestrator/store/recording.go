package store

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/gate"
	"agent/orchestrator/llm"
	"agent/orchestrator/replay"
	"agent/orchestrator/run"
)

// A LackingError says why a run cannot be replayed.
// It is nobody's fault: the workspace was too large to be kept, the run was killed, or an older program made the record.
type LackingError struct{ Run, Reason string }

// Error names the run and the reason.
func (e *LackingError) Error() string {
	return fmt.Sprintf("run %s cannot be judged again: %s", e.Run, e.Reason)
}

// Absent implements [run.Recorder].
// It asks before contents are sent, which are many and mostly there. The answer may be out of date at once, either way:
// SaveContents minds no duplicates, and SaveRecording looks for what a Prune took.
func (db *DB) Absent(ctx context.Context, digests []string) (absent []string, err error) {
	err = db.do(ctx, "look for contents", func(ctx context.Context) error {
		rows, err := db.pool.Query(ctx, `
			select d from unnest(@digests::text[]) d where not exists (select from blob where sha256 = d) order by d`,
			pgx.NamedArgs{"digests": digests})
		if err != nil {
			return err
		}
		absent, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return absent, err
}

// SaveContents implements [run.Recorder]: contents go in one statement, in the order of
// their digests, for which see saveBlobs.
// Each is to be that of its digest: the caller computes it, and Evidence's readers compare. What is kept of a run that
// then records nothing is the next Prune's.
func (db *DB) SaveContents(ctx context.Context, contents map[string][]byte) error {
	return db.insertBlobs(ctx, "keep contents", contents)
}

// digestsAtOnce is how many digests are asked for in one go.
const digestsAtOnce = 10_000

// SaveRecording implements [run.Recorder]. The last one of a run counts. Where a Prune
// has removed content meanwhile, which nothing referred to until now, the run cannot be
// replayed, and the record says so.
//
// token is that of the process which has the run: one that lost it writes nothing.
func (db *DB) SaveRecording(ctx context.Context, id string, token int64, r run.Recording) error {
	// Patterns in them come from users, and may hold what PostgreSQL's text cannot.
	settings, err := cleanJSON(r.Settings)
	if err != nil {
		return err
	}
	return db.fenced(ctx, "record what run "+id+" saw", id, token, func(ctx context.Context, tx pgx.Tx, _ held) error {
		// What a Prune locks: either it knows of this one, or this one of it.
		if _, err := tx.Exec(ctx, `lock table recording in row exclusive mode`); err != nil {
			return err
		}
		// Only now, under the lock: what is whole here is referred to by the insert, before a Prune can look.
		inventory, lacking := r.Inventory, r.Lacking
		if inventory != "" {
			for some := range slices.Chunk(append([]string{inventory}, r.Contents...), digestsAtOnce) {
				var whole bool
				err := tx.QueryRow(ctx, `select not exists (
					select from unnest(@digests::text[]) d where not exists (select from blob where sha256 = d))`,
					pgx.NamedArgs{"digests": some}).Scan(&whole)
				if err != nil {
					return err
				}
				if !whole {
					inventory, lacking = "", "its files were removed by `agent db prune` while it ended"
				}
			}
		}
		_, err := tx.Exec(ctx, `
			insert into recording (run, inventory, lacking, files, bytes, settings)
			values (@run, nullif(@inventory, ''), @lacking, @files, @bytes, @settings)
			on conflict (run) do update set (inventory, lacking, files, bytes, settings) =
				(excluded.inventory, excluded.lacking, excluded.files, excluded.bytes, excluded.settings)`,
			pgx.NamedArgs{"run": id, "inventory": inventory, "lacking": clean(lacking), "files": r.Files, "bytes": r.Bytes, "settings": settings})
		return err
	})
}

// Content returns the content of that digest; ErrNotFound means that there is none.
// It is not compared with its digest: whoever must not be deceived by the database does so.
func (db *DB) Content(ctx context.Context, digest string) (content []byte, err error) {
	err = db.do(ctx, "read the content "+digest, func(ctx context.Context) error {
		return missing(db.pool.QueryRow(ctx, `select content from blob where sha256 = @digest`, pgx.NamedArgs{"digest": digest}).Scan(&content))
	})
	return content, err
}

// Evidence returns what replay.Replay needs of a run, named whole. The error is a
// *LackingError when the record does not hold all of it.
// The exchanges are read by themselves: a replay judges nothing by them, and what models are asked after the verdict
// may be missing.
func (db *DB) Evidence(ctx context.Context, id string) (replay.Evidence, error) {
	exchanges, err := db.Exchanges(ctx, id)
	if err != nil {
		return replay.Evidence{}, err
	}
	var e replay.Evidence
	err = db.read(ctx, "read the evidence of run "+id, func(ctx context.Context, tx pgx.Tx) error {
		d, err := detail(ctx, tx, id)
		if err != nil {
			return err
		}
		// The times in UTC, so that one record is one text wherever it is exported.
		e = replay.Evidence{
			Run: d.ID, Workspace: d.Workspace, Intent: d.Intent, State: d.State, Verdict: d.Verdict,
			Started: d.Started.UTC(), Ended: d.Ended.UTC(), Snapshot: d.Snapshot,
		}
		// Where nothing was written there is nothing that an approval was of.
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

// settingsOf reads the recording of a run: the name of its inventory, and its settings.
// A run without a row never came to judge, or was killed before; one with a row may say itself why nothing was kept.
// Both are a *LackingError.
func settingsOf(ctx context.Context, tx pgx.Tx, id string, into *run.Settings) (inventory string, err error) {
	var lacking string
	err = tx.QueryRow(ctx, `select coalesce(inventory, ''), lacking, settings from recording where run = @run`,
		pgx.NamedArgs{"run": id}).Scan(&inventory, &lacking, into)
	switch {
	case missing(err) == ErrNotFound:
		return "", &LackingError{id, "nothing was judged, or its process ended before what it saw was kept, or it was made before that was done"}
	case err == nil && inventory == "":
		err = &LackingError{id, lacking}
	}
	return inventory, err
}

// exhibits makes candidates whole by what they were made of and what they changed.
// candidates are those of the same run, read in the same transaction in the order of their numbers: rows are matched
// by their place, so that another order would give a verdict to another patch. The error is a *LackingError for
// records from before origins were kept.
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
			return &LackingError{id, "what its candidates were made of was not recorded then"}
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
		// Candidates are numbered from 1 without holes, and a file is kept after its candidate.
		list[n-1].Files = append(list[n-1].Files, f)
		return nil
	})
	return list, err
}

package store

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
)

// Absent implements [run.Recorder]. It is asked before contents are sent, which are many and mostly there. The answer may be outdated
// at once, either way: SaveContents tolerates duplicates, and SaveRecording looks for what a Prune removed.
func (db *DB) Absent(ctx context.Context, digests []string) (absent []string, err error) {
	err = db.db.Do(ctx, "look for contents", func(ctx context.Context) error {
		rows, err := db.db.Pool.Query(ctx, `
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

// SaveContents implements [run.Recorder]: it writes contents in one statement, in the order of their digests; see saveBlobs. Each
// content must match its digest: the caller computes it, and Evidence's readers compare. If the run then records nothing, the next
// Prune removes what was kept.
func (db *DB) SaveContents(ctx context.Context, contents map[string][]byte) error {
	return db.insertBlobs(ctx, "keep contents", contents)
}

// digestsAtOnce is how many digests are looked up at once.
const digestsAtOnce = 10_000

// SaveRecording implements [run.Recorder]. The last recording of a run counts. If a Prune has meanwhile removed content that nothing
// referred to until now, the run cannot be replayed, and the record says so.
//
// token is that of the process that has the run: a process that lost the run writes nothing.
func (db *DB) SaveRecording(ctx context.Context, id string, token int64, r run.Recording) error {
	// Patterns in the settings come from users, and may contain what PostgreSQL's text cannot.
	settings, err := database.CleanJSON(r.Settings)
	if err != nil {
		return err
	}
	return db.fenced(ctx, "record what run "+id+" saw", id, token, func(ctx context.Context, tx pgx.Tx, _ held) error {
		// A Prune locks this table too: either it knows of this recording, or this recording knows of it.
		if _, err := tx.Exec(ctx, `lock table recording in row exclusive mode`); err != nil {
			return err
		}
		// Checked only now, under the lock: if everything is there, the insert refers to it before a Prune can look.
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
			pgx.NamedArgs{"run": id, "inventory": inventory, "lacking": database.Clean(lacking), "files": r.Files, "bytes": r.Bytes, "settings": settings})
		return err
	})
}

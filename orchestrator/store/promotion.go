package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
	"agent/sandbox/workspace"
)

// A file is one row of candidate_file or promotion_file: a change whose content is replaced by its digest.
type file struct {
	Path string
	Op   workspace.Op
	From *string // nil unless it is a rename
	Mode int32   // permission bits
	// OldMode holds the bits before, 0 if the change leaves them alone.
	OldMode int32
	// The digests are lower-case hex SHA-256, nil if there is no content: before a creation, after a deletion.
	Before *string
	After  *string
}

// blobsAtOnce is how many bytes of content go into one statement; larger content goes alone.
const blobsAtOnce = 256 << 10

// SavePromotion records or updates the promotion of the run, with the content of its files: what undo needs is in the record before the
// first file of the workspace is touched. A promotion without a changeset, from a process that settles another's work, changes only the
// status.
func (db *DB) SavePromotion(ctx context.Context, id string, token int64, p run.Promotion) error {
	act := "record the promotion of run " + id
	return db.withFiles(ctx, act, p.Changeset, nil, func(files []file) error {
		return db.savePromotion(ctx, act, id, token, p, files)
	})
}

// savePromotion is SavePromotion after the content of the files is stored.
func (db *DB) savePromotion(ctx context.Context, act, id string, token int64, p run.Promotion, files []file) error {
	return db.fenced(ctx, act, id, token, func(ctx context.Context, tx pgx.Tx, h held) error {
		if h.Ended {
			return ErrFinished
		}
		_, err := tx.Exec(ctx, `
			insert into promotion as p (run, status, undo_of, approved_by)
			values (@run, @status, nullif(@undo_of, ''), @approved)
			on conflict (run) do update set status = excluded.status, at = clock_timestamp(),
				undo_of = coalesce(excluded.undo_of, p.undo_of),
				approved_by = coalesce(nullif(excluded.approved_by, ''), p.approved_by)`,
			pgx.NamedArgs{"run": id, "status": p.Status, "undo_of": p.UndoOf, "approved": database.Clean(p.Approved)})
		if err != nil || p.Changeset.Empty() {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from promotion_file where run = @run`, pgx.NamedArgs{"run": id}); err != nil {
			return err
		}
		return add(ctx, tx, fileRows("promotion_file", []string{"run"}, []any{id}, files))
	})
}

// withFiles stores the content of a changeset, and others, and has record refer to it. Between the two, a Prune may remove content that
// was there already and that nobody referred to. The database then refuses record, and the content is stored again.
func (db *DB) withFiles(ctx context.Context, act string, cs workspace.Changeset, others [][]byte, record func([]file) error) error {
	for {
		files, err := db.saveFiles(ctx, act, cs, others)
		if err != nil {
			return err
		}
		if err := record(files); !dangling(err) {
			return err
		}
	}
}

// dangling reports whether err comes from a reference to content that is gone, or from the removal of content that is still referred
// to.
func dangling(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23503" && strings.Contains(pg.ConstraintName, "sha256")
}

// saveFiles stores the content of a changeset, and others, and returns its files as rows. Content is kept by its digest: what is there
// already is not sent again. Storing it needs no fence, since nothing refers to it yet.
func (db *DB) saveFiles(ctx context.Context, act string, cs workspace.Changeset, others [][]byte) ([]file, error) {
	if err := names(cs); err != nil {
		return nil, err
	}
	contents := map[string][]byte{} // by digest: a file that is renamed, or equal to another, is there once
	keep := func(data []byte) *string {
		sum := sha256.Sum256(data)
		digest := hex.EncodeToString(sum[:])
		contents[digest] = data
		return &digest
	}
	files := make([]file, len(cs.Changes))
	for i, c := range cs.Changes {
		f := file{Path: c.Path, Op: c.Op, Mode: int32(c.Mode.Perm()), OldMode: int32(c.OldMode.Perm())}
		if c.From != "" {
			f.From = &c.From
		}
		// The operation decides, not nil: an empty file has content too.
		if c.Op != workspace.Create {
			f.Before = keep(c.Before)
		}
		if c.Op != workspace.Delete {
			f.After = keep(c.After)
		}
		files[i] = f
	}
	for _, data := range others {
		if data != nil {
			keep(data)
		}
	}
	return files, db.saveBlobs(ctx, act, contents)
}

// saveBlobs stores contents that are not there yet, with few bytes in one statement, so that a slow line does not miss a deadline meant
// for all of them together. They go in the order of their digests: two writers of the same files wait for each other instead of
// deadlocking.
func (db *DB) saveBlobs(ctx context.Context, act string, contents map[string][]byte) error {
	if len(contents) == 0 {
		return nil
	}
	absent, err := db.Absent(ctx, slices.Collect(maps.Keys(contents)))
	if err != nil {
		return fmt.Errorf("%s: %w", act, err)
	}
	some, size := map[string][]byte{}, 0
	for i, digest := range absent {
		some[digest], size = contents[digest], size+len(contents[digest])
		if i == len(absent)-1 || size+len(contents[absent[i+1]]) > blobsAtOnce {
			if err := db.insertBlobs(ctx, act, some); err != nil {
				return err
			}
			some, size = map[string][]byte{}, 0
		}
	}
	return nil
}

// insertBlobs stores contents in one statement, in the order of their digests.
func (db *DB) insertBlobs(ctx context.Context, act string, contents map[string][]byte) error {
	digests, data := slices.Sorted(maps.Keys(contents)), [][]byte{}
	for _, d := range digests {
		content := contents[d]
		if content == nil {
			content = []byte{} // nil would be null
		}
		data = append(data, content)
	}
	return db.db.Do(ctx, act, func(ctx context.Context) error {
		_, err := db.db.Pool.Exec(ctx, `
			insert into blob (sha256, content) select * from unnest(@digests::text[], @data::bytea[]) on conflict do nothing`,
			pgx.NamedArgs{"digests": digests, "data": data})
		return err
	})
}

// fileRows returns the rows of candidate_file or promotion_file. The two tables differ only in the columns that name the owner, given
// by key.
func fileRows(table string, key []string, owner []any, files []file) rows {
	r := rows{table: table, columns: append(slices.Clone(key), "path", "op", "from_path", "mode", "old_mode", "before_sha256", "after_sha256")}
	for _, f := range files {
		r.values = append(r.values, append(slices.Clone(owner), f.Path, string(f.Op), f.From, f.Mode, f.OldMode, f.Before, f.After))
	}
	return r
}

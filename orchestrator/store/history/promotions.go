package history

import (
	"context"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
	"agent/sandbox/workspace"
)

// A PromotionRow is a promotion without the content of its files. Its digests tell what was there before and after.
type PromotionRow struct {
	Status   run.PromotionStatus
	UndoOf   string // the run whose promotion it reversed, "" for none
	Approved string // who approved it
	At       time.Time
	Files    []run.DocumentFile
}

// PromotionOf returns the promotion of a run with the bytes of its files, as undo needs them. ErrNotFound means that the run promoted
// nothing.
func (h Reader) PromotionOf(ctx context.Context, id string) (run.Promotion, error) {
	var p run.Promotion
	err := h.db.Read(ctx, "read the promotion of run "+id, func(ctx context.Context, tx pgx.Tx) (err error) {
		p, err = promotionOf(ctx, tx, id)
		return err
	})
	return p, err
}

// LastPromotion returns the newest promotion of a workspace that can be undone: files were written, it is not an undo itself, and none
// has taken it back. ErrNotFound means that there is none.
//
// The end of the promotion's run counts too: a promotion that was taken back because its run's end was not recorded may still say
// committed.
func (h Reader) LastPromotion(ctx context.Context, dir string) (run.Record, run.Promotion, error) {
	var r run.Record
	var p run.Promotion
	err := h.db.Read(ctx, "find the last promotion of "+dir, func(ctx context.Context, tx pgx.Tx) error {
		list, err := records(ctx, tx, `
			join promotion p on p.run = r.id join state s on s.name = r.state
			where r.workspace = @workspace and p.status = 'committed' and p.undo_of is null
				and not s.failed
				and not exists (select from promotion u where u.undo_of = r.id and u.status = 'committed')
			order by p.at desc, r.id desc limit 1`, pgx.NamedArgs{"workspace": database.Clean(dir)})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return database.ErrNotFound
		}
		r = list[0]
		p, err = promotionOf(ctx, tx, r.ID)
		return err
	})
	return r, p, err
}

// promotionOf reads one whole promotion. Its changes are in the byte order of their paths, as a changeset requires and no locale would
// give.
func promotionOf(ctx context.Context, tx pgx.Tx, id string) (p run.Promotion, err error) {
	err = tx.QueryRow(ctx, `select status, coalesce(undo_of, ''), approved_by from promotion where run = @run`,
		pgx.NamedArgs{"run": id}).Scan(&p.Status, &p.UndoOf, &p.Approved)
	if err != nil {
		return p, database.Missing(err)
	}
	p.Changeset.Changes, err = changes(ctx, tx, `promotion_file f`, `f.run = @run`, pgx.NamedArgs{"run": id})
	return p, err
}

// changes reads the rows of a table of files with their contents; from and where are constants.
func changes(ctx context.Context, tx pgx.Tx, from, where string, args pgx.NamedArgs) ([]workspace.Change, error) {
	rows, err := tx.Query(ctx, `
		select f.path, f.op, coalesce(f.from_path, ''), f.mode, f.old_mode, b.content, a.content
		from `+from+` left join blob b on b.sha256 = f.before_sha256 left join blob a on a.sha256 = f.after_sha256
		where `+where+` order by f.path collate "C"`, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c workspace.Change, err error) {
		var mode, oldMode int32
		err = row.Scan(&c.Path, &c.Op, &c.From, &mode, &oldMode, &c.Before, &c.After)
		c.Mode, c.OldMode = fs.FileMode(mode), fs.FileMode(oldMode)
		return c, err
	})
}

// promotionRow reads a promotion in the form that people see, nil if there is none.
func promotionRow(ctx context.Context, tx pgx.Tx, id string) (*PromotionRow, error) {
	args := pgx.NamedArgs{"run": id}
	rows, err := tx.Query(ctx, `select status, coalesce(undo_of, ''), approved_by, at from promotion where run = @run`, args)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p PromotionRow, err error) {
		err = row.Scan(&p.Status, &p.UndoOf, &p.Approved, &p.At)
		return p, err
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	p := found[0]
	rows, err = tx.Query(ctx, `
		select path, op, coalesce(from_path, '') as "from", mode, coalesce(before_sha256, '') as before, coalesce(after_sha256, '') as after
		from v_promotion_files where run = @run order by path collate "C"`, args)
	if err != nil {
		return nil, err
	}
	p.Files, err = pgx.CollectRows(rows, pgx.RowToStructByName[run.DocumentFile])
	return &p, err
}

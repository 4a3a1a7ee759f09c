package history

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/store/database"
	"agent/sandbox/workspace"
)

// A FileChange is what one promotion did to one file. A run that was promoted and later undone gives two changes: the undo is a
// promotion as well.
type FileChange struct {
	Run     string
	UndoOf  string // the run whose promotion this one reversed, "" for none
	At      time.Time
	Model   string        // as Promoted has it
	Verdict ReviewVerdict // of the last review, "" for none
	Pull    string        // as Promoted has it
	Op      workspace.Op
	Path    string // the name of the file afterwards
	From    string // the old name of a rename, else ""
	Before  []byte // nil if there was no file
	After   []byte // nil if there is none
}

// FileHistory lists what promotions did to the file that now has a name, oldest first. It follows a rename back to the name that the
// file had before.
//
// dir is the workspace, absolute; name is relative to it and slash-separated. Both may no longer exist; without any promotion the list
// is empty, and that is not an error. A change by hand is not listed: it shows where Before is not the After of the previous change.
func (h Reader) FileHistory(ctx context.Context, dir, name string) ([]FileChange, error) {
	var list []FileChange
	err := h.db.Read(ctx, "read the history of "+name, func(ctx context.Context, tx pgx.Tx) error {
		// The transaction may be retried; what an earlier attempt read is discarded.
		list = nil
		// Each turn reads what was done under one name, newest first. Each turn goes strictly back in time, so that even two files that
		// swapped their names end it.
		name, until := name, (*FileChange)(nil)
		for again := true; again; {
			found, err := changesOf(ctx, tx, dir, name, until)
			if err != nil {
				return err
			}
			again = false
			for _, c := range found {
				// For the name that was asked about, the file is gone, even if its content lives on.
				if c.Path != name { // it went away under another name
					c.Op, c.After = workspace.Delete, nil
				}
				list = append(list, c)
				if c.Op == workspace.Rename {
					name, until, again = c.From, &c, true
					break
				}
			}
		}
		slices.Reverse(list)
		return nil
	})
	return list, err
}

// changesOf reads what promotions did to a name before the change until, nil for all, newest first. A promotion that moved the file
// away and put another one in its place is represented by what is there now.
//
// Time alone does not order them: two promotions may have the same instant, and the run then decides, here and in until.
func changesOf(ctx context.Context, tx pgx.Tx, dir, name string, until *FileChange) ([]FileChange, error) {
	args := pgx.NamedArgs{"workspace": database.Clean(dir), "name": database.Clean(name), "at": nil, "run": ""}
	if until != nil {
		args["at"], args["run"] = until.At, until.Run
	}
	rows, err := tx.Query(ctx, `
		select distinct on (p.at, p.run) p.run, coalesce(p.undo_of, '') as undo_of, p.at, coalesce(v.model, '') as model, coalesce(v.verdict, '') as verdict, `+pullsOf("p.run")+` as pull,
			f.op, f.path, coalesce(f.from_path, '') as "from", b.content as before, a.content as after
		from promotion_file f join promotion p on p.run = f.run
		join lateral (
			select model, verdict from v_reviews v where v.run = p.run and v.workspace = @workspace order by review desc limit 1
		) v on true
		left join blob b on b.sha256 = f.before_sha256 left join blob a on a.sha256 = f.after_sha256
		where (f.path = @name or f.from_path = @name) and (@at::timestamptz is null or (p.at, p.run) < (@at, @run))
		order by p.at desc, p.run desc, f.path = @name desc`, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[FileChange])
}

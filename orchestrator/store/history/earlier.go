package history

import (
	"context"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/store/database"
	"agent/sandbox/workspace"
)

// mostEarlier is how many promotions back TextBefore looks.
const mostEarlier = 5

// TextBefore returns what a file of a workspace held before the last promotions that wrote it, at most five; nil if nothing is known.
// now is what it holds. The search ends at a change by hand, at a promotion that moved or created the file, and at one that somebody
// approved although it weakened the tests in the file: what was there before these is no longer a standard.
//
// dir is absolute and name relative to it, as for FileHistory.
func (h Reader) TextBefore(ctx context.Context, dir, name string, now []byte) (before []byte, err error) {
	err = h.db.Read(ctx, "read what "+name+" held before", func(ctx context.Context, tx pgx.Tx) error {
		before = nil
		rows, err := tx.Query(ctx, `
			select f.op, coalesce(f.before_sha256, ''), coalesce(f.after_sha256, ''), b.content, exists (
				select from candidate_file cf join candidate c on c.run = cf.run and c.n = cf.candidate, 
					jsonb_array_elements(case jsonb_typeof(c.holds) when 'array' then c.holds else '[]' end) x
				where cf.run = f.run and cf.path = f.path and cf.after_sha256 = f.after_sha256
					and x->>'path' = f.path and x->>'kind' in ('weaker-test', 'changed-test') and (x->>'block')::boolean
			)
			from promotion_file f join promotion p on p.run = f.run join run r on r.id = p.run left join blob b on b.sha256 = f.before_sha256
			where f.path = @name and r.workspace = @workspace and p.status = 'committed'
			order by p.at desc, p.run desc limit @most`,
			pgx.NamedArgs{"workspace": database.Clean(dir), "name": database.Clean(name), "most": mostEarlier})
		if err != nil {
			return err
		}
		var op workspace.Op
		var from, to string
		var content []byte
		var approved bool
		holds, ended := workspace.Digest(now), false
		_, err = pgx.ForEachRow(rows, []any{&op, &from, &to, &content, &approved}, func() error {
			if ended = ended || op != workspace.Modify || to != holds || approved; !ended {
				before, holds = append([]byte{}, content...), from
			}
			return nil
		})
		return err
	})
	return before, err
}

package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/store/database"
)

// A Pull is a pull request that the agent opened.
type Pull struct {
	Workspace        string // absolute
	Host, Repository string
	Number           int
	URL, Title       string
	Base, Head       string
	HeadCommit       string
	Draft            bool
	Runs             []PullRun // in the order of the commits
}

// A PullRun is a commit of a pull request that comes from a run.
type PullRun struct{ Run, Commit string }

// SavePull records a pull request once: a later call for the same one updates it. Runs of another record are left out.
func (db *DB) SavePull(ctx context.Context, p Pull) error {
	return db.db.Do(ctx, "record the pull request "+p.URL, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, db.db.Pool, func(tx pgx.Tx) error {
			var id int64
			err := tx.QueryRow(ctx, `
				insert into pull (workspace, host, repository, number, url, title, base, head, head_commit, draft)
				values (@workspace, @host, @repository, @number, @url, @title, @base, @head, @commit, @draft)
				on conflict (host, repository, number) do update set title = excluded.title, base = excluded.base, head_commit = excluded.head_commit, draft = excluded.draft
				returning id`,
				pgx.NamedArgs{
					"workspace": database.Clean(p.Workspace), "host": p.Host, "repository": p.Repository, "number": p.Number, "url": database.Clean(p.URL),
					"title": database.Clean(p.Title), "base": database.Clean(p.Base), "head": database.Clean(p.Head), "commit": p.HeadCommit, "draft": p.Draft,
				}).Scan(&id)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `delete from pull_run where pull = @id`, pgx.NamedArgs{"id": id}); err != nil {
				return err
			}
			for i, r := range p.Runs {
				if _, err := tx.Exec(ctx, `insert into pull_run (pull, n, run, commit) select @id, @n, id, @commit from run where id = @run`,
					pgx.NamedArgs{"id": id, "n": i + 1, "run": r.Run, "commit": r.Commit}); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

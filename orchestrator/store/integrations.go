package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"agent/orchestrator/store/database"
)

// An Integration is the progress of one change from a repository to its pull request.
type Integration struct {
	ID         string
	Repository Repository
	Goal       string
	Issue      int // 0 for none
	State      IntegrationState
	Workspace  string // the agent's own
	Base       string
	BaseCommit string
	Runs       string // the runs that made the change, in the order of their commits, separated by spaces
	Head       string
	Number     int // 0 before the pull request is open
	URL        string
	Why        string // why it stopped
}

// An IntegrationState is what an integration is doing, or how it ended.
type IntegrationState string

// The states, in order; the last three are final.
const (
	Cloning    IntegrationState = "cloning"
	Building   IntegrationState = "building"
	PROpen     IntegrationState = "pr_open"
	SelfReview IntegrationState = "self_review"
	CIWatch    IntegrationState = "ci_watch"
	Reviewing  IntegrationState = "reviewing"
	Integrated IntegrationState = "done"
	Broken     IntegrationState = "failed"
	GivenUp    IntegrationState = "given_up"
)

// Ended reports whether s is final.
func (s IntegrationState) Ended() bool { return s == Integrated || s == Broken || s == GivenUp }

// ErrIntegrating means that another integration of the repository has not ended.
var ErrIntegrating = errors.New("the repository has another integration that has not ended")

// SaveIntegration records a new integration, or updates the one with its ID. The error is ErrIntegrating if the repository has another
// one.
func (db *DB) SaveIntegration(ctx context.Context, n Integration) error {
	return db.db.Do(ctx, "record the integration "+n.ID, func(ctx context.Context) error {
		_, err := db.db.Pool.Exec(ctx, `
			insert into integration (id, host, repository, goal, issue, state, workspace, base, base_commit, runs, head, number, url, why, ended)
			values (@id, @host, @repository, @goal, nullif(@issue, 0), @state, @workspace, @base, @base_commit, @runs, @head, nullif(@number, 0), @url, @why, case when @ended then clock_timestamp() end)
			on conflict (id) do update set goal = excluded.goal, state = excluded.state, workspace = excluded.workspace, base = excluded.base, base_commit = excluded.base_commit, runs = excluded.runs,
				head = excluded.head, number = excluded.number, url = excluded.url, why = excluded.why, changed = clock_timestamp(), ended = excluded.ended`,
			n.Repository.args(pgx.NamedArgs{
				"id": n.ID, "goal": database.Clean(n.Goal), "issue": n.Issue, "state": string(n.State), "workspace": database.Clean(n.Workspace), "base": database.Clean(n.Base),
				"base_commit": n.BaseCommit, "runs": n.Runs, "head": database.Clean(n.Head), "number": n.Number, "url": database.Clean(n.URL), "why": database.Clean(n.Why), "ended": n.State.Ended(),
			}))
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.ConstraintName == "integration_open" {
			return ErrIntegrating
		}
		return err
	})
}

// OpenIntegration returns the integration of a repository that has not ended; the error is database.ErrNotFound if there is none.
func (db *DB) OpenIntegration(ctx context.Context, r Repository) (Integration, error) {
	return db.integration(ctx, r, `ended is null`, nil)
}

// integration reads the integration that satisfies a condition.
func (db *DB) integration(ctx context.Context, r Repository, which string, args pgx.NamedArgs) (n Integration, err error) {
	err = db.db.Do(ctx, "look for an integration of "+r.Slug, func(ctx context.Context) error {
		n = Integration{Repository: r}
		return database.Missing(db.db.Pool.QueryRow(ctx, `
			select id, goal, coalesce(issue, 0), state, workspace, base, base_commit, runs, head, coalesce(number, 0), url, why
			from integration where (host, repository) = (@host, @repository) and `+which, r.args(args)).
			Scan(&n.ID, &n.Goal, &n.Issue, &n.State, &n.Workspace, &n.Base, &n.BaseCommit, &n.Runs, &n.Head, &n.Number, &n.URL, &n.Why))
	})
	return n, err
}

// IssueIntegration returns the last integration for an issue that began at or after since; the error is database.ErrNotFound if there
// is none.
func (db *DB) IssueIntegration(ctx context.Context, r Repository, issue int, since time.Time) (Integration, error) {
	return db.integration(ctx, r, `issue = @issue and begun >= @since order by begun desc limit 1`, pgx.NamedArgs{"issue": issue, "since": since})
}

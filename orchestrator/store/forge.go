package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
)

// A Repository is a repository on a forge.
type Repository struct{ Host, Slug string }

// args returns the arguments that name the repository, and more.
func (r Repository) args(more pgx.NamedArgs) pgx.NamedArgs {
	args := pgx.NamedArgs{"host": r.Host, "repository": database.Clean(r.Slug)}
	for name, v := range more {
		args[name] = v
	}
	return args
}

// A LeaseError says that another process works on a repository.
type LeaseError struct {
	Owner string
	Beat  time.Time // when it last said so
}

// Error names the process.
func (e *LeaseError) Error() string {
	return fmt.Sprintf("process %s is working on the repository, as of %s", e.Owner, e.Beat.UTC().Format(time.DateTime))
}

// TakeLease gives owner the lease of a repository, and returns the token for renewing it. A lease that another owner holds gives a
// *LeaseError, unless dead says, from that owner and its last beat, that it is gone.
func (db *DB) TakeLease(ctx context.Context, r Repository, owner string, dead func(owner string, beat time.Time) bool) (token int64, err error) {
	err = db.db.Transact(ctx, "take the lease of "+r.Slug, func(ctx context.Context, tx pgx.Tx) error {
		// From here on the row exists and is locked, whoever made it.
		if _, err := tx.Exec(ctx, `insert into forge_lease (host, repository, owner) values (@host, @repository, '') on conflict do nothing`, r.args(nil)); err != nil {
			return err
		}
		held := &LeaseError{}
		row := tx.QueryRow(ctx, `select owner, beat from forge_lease where (host, repository) = (@host, @repository) for update`, r.args(nil))
		if err := row.Scan(&held.Owner, &held.Beat); err != nil {
			return err
		}
		if held.Owner != "" && held.Owner != owner && !dead(held.Owner, held.Beat) {
			return held
		}
		return tx.QueryRow(ctx, `update forge_lease set owner = @owner, token = token + 1, beat = clock_timestamp() where (host, repository) = (@host, @repository) returning token`,
			r.args(pgx.NamedArgs{"owner": owner})).Scan(&token)
	})
	return token, err
}

// BeatLease renews the lease of the holder of a token. The error is run.ErrFenced if another process took the lease over.
func (db *DB) BeatLease(ctx context.Context, r Repository, token int64) error {
	return db.lease(ctx, r, token, "renew", `beat = clock_timestamp()`)
}

// EndLease gives a lease back. It leaves alone a lease that belongs to another process by now.
func (db *DB) EndLease(ctx context.Context, r Repository, token int64) error {
	err := db.lease(ctx, r, token, "end", `owner = ''`)
	if errors.Is(err, run.ErrFenced) {
		return nil
	}
	return err
}

// lease changes the row of a lease.
func (db *DB) lease(ctx context.Context, r Repository, token int64, act, set string) error {
	return db.db.Do(ctx, act+" the lease of "+r.Slug, func(ctx context.Context) error {
		tag, err := db.db.Pool.Exec(ctx, `update forge_lease set `+set+` where (host, repository, token) = (@host, @repository, @token)`, r.args(pgx.NamedArgs{"token": token}))
		if err == nil && tag.RowsAffected() == 0 {
			err = run.ErrFenced
		}
		return err
	})
}

// A CIRound is one attempt to repair the build of a pull request.
type CIRound struct {
	ID            int64 // 0 for a new one
	HeadCommit    string
	Failed, Flaky []string
	// Reproduced is what the gates say about the failure, "" if they do not show it.
	Reproduced string
	Run        string
	// FixCommit has been made; it is on the branch once Pushed is set.
	FixCommit string
	Pushed    bool
	Why       string
}

// SaveCIRound records a new round, or updates the one with its ID, and returns the ID.
func (db *DB) SaveCIRound(ctx context.Context, r Repository, number int, c CIRound) (int64, error) {
	op := database.NewOp()
	err := db.db.Do(ctx, fmt.Sprintf("record a build of pull request %d", number), func(ctx context.Context) error {
		args := r.args(pgx.NamedArgs{
			"number": number, "id": c.ID, "op": op, "commit": c.HeadCommit, "failed": database.CleanAll(append([]string{}, c.Failed...)), "flaky": database.CleanAll(append([]string{}, c.Flaky...)),
			"reproduced": database.Clean(c.Reproduced), "run": c.Run, "fix": c.FixCommit, "pushed": c.Pushed, "why": database.Clean(c.Why),
		})
		if c.ID != 0 {
			_, err := db.db.Pool.Exec(ctx, `update ci_round set reproduced = @reproduced, run = nullif(@run, ''), fix_commit = @fix, pushed = @pushed, why = @why where id = @id`, args)
			return err
		}
		return db.db.Pool.QueryRow(ctx, `
			insert into ci_round (host, repository, number, head_commit, failed, flaky, reproduced, run, fix_commit, pushed, why, op)
			values (@host, @repository, @number, @commit, @failed, @flaky, @reproduced, nullif(@run, ''), @fix, @pushed, @why, @op)
			on conflict (op) do update set op = excluded.op returning id`, args).Scan(&c.ID)
	})
	return c.ID, err
}

// CIRounds lists the rounds of a pull request, oldest first.
func (db *DB) CIRounds(ctx context.Context, r Repository, number int) (list []CIRound, err error) {
	err = db.db.Do(ctx, fmt.Sprintf("read the builds of pull request %d", number), func(ctx context.Context) error {
		rows, err := db.db.Pool.Query(ctx, `
			select id, head_commit, failed, flaky, reproduced, coalesce(run, ''), fix_commit, pushed, why from ci_round
			where (host, repository, number) = (@host, @repository, @number) order by id`, r.args(pgx.NamedArgs{"number": number}))
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[CIRound])
		return err
	})
	return list, err
}

// A ReviewComment is a comment of a review that was taken up.
type ReviewComment struct {
	Thread, Comment string // as the forge names them
	Author          string
	Path            string
	Line            int
	State           CommentState
	Run             string
	FixCommit       string
	Answer          string
}

// A CommentState says how far the work on a comment has got.
type CommentState string

// The states of a comment, in their order.
const (
	CommentOpen      CommentState = "open"
	CommentCommitted CommentState = "committed" // FixCommit has been made
	CommentPushed    CommentState = "pushed"    // and on the branch
	CommentAnswered  CommentState = "answered"
)

// SaveReviewComment records how far the work on a comment has got.
func (db *DB) SaveReviewComment(ctx context.Context, r Repository, number int, c ReviewComment) error {
	return db.db.Do(ctx, fmt.Sprintf("record a comment on pull request %d", number), func(ctx context.Context) error {
		_, err := db.db.Pool.Exec(ctx, `
			insert into review_comment (host, repository, number, thread, comment, author, path, line, state, run, fix_commit, answer)
			values (@host, @repository, @number, @thread, @comment, @author, @path, @line, @state, nullif(@run, ''), @fix, @answer)
			on conflict (host, repository, number, thread, comment) do update set state = excluded.state, run = excluded.run, fix_commit = excluded.fix_commit, answer = excluded.answer, at = clock_timestamp()`,
			r.args(pgx.NamedArgs{
				"number": number, "thread": database.Clean(c.Thread), "comment": database.Clean(c.Comment), "author": database.Clean(c.Author), "path": database.Clean(c.Path),
				"line": c.Line, "state": string(c.State), "run": c.Run, "fix": c.FixCommit, "answer": database.Clean(c.Answer),
			}))
		return err
	})
}

// ReviewComments lists the comments of a pull request that were taken up, oldest first.
func (db *DB) ReviewComments(ctx context.Context, r Repository, number int) (list []ReviewComment, err error) {
	err = db.db.Do(ctx, fmt.Sprintf("read the comments on pull request %d", number), func(ctx context.Context) error {
		rows, err := db.db.Pool.Query(ctx, `
			select thread, comment, author, path, line, state, coalesce(run, ''), fix_commit, answer from review_comment
			where (host, repository, number) = (@host, @repository, @number) order by at`, r.args(pgx.NamedArgs{"number": number}))
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[ReviewComment])
		return err
	})
	return list, err
}

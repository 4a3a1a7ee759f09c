package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/store/database"
	"agent/orchestrator/store/history"
)

// A Review is what one person said about a promotion, once. Reviewer is who the person claims to be: nothing here proves it.
type Review struct {
	Run      string
	Reviewer string
	Verdict  history.ReviewVerdict
	Comment  string
}

// errNotPromoted means that there is nothing to review. The run may be unknown, or its promotion prepared and never committed.
var errNotPromoted = errors.New("it promoted nothing")

// AddReview records a review. A run may have several: the last one counts. For a run without a promotion, the error says so and names
// the run.
func (db *DB) AddReview(ctx context.Context, r Review) error {
	op := database.NewOp()
	return db.db.Do(ctx, "record the review of run "+r.Run, func(ctx context.Context) error {
		// The update changes nothing; it tells a retry that all is done.
		tag, err := db.db.Pool.Exec(ctx, `
			insert into review as v (op, run, reviewer, verdict, comment)
			select @op, p.run, @reviewer, @verdict, @comment from promotion p where p.run = @run and p.status = 'committed'
			on conflict (op) do update set op = v.op`,
			pgx.NamedArgs{"op": op, "run": database.Clean(r.Run), "reviewer": database.Clean(r.Reviewer), "verdict": string(r.Verdict), "comment": database.Clean(r.Comment)})
		if err == nil && tag.RowsAffected() == 0 {
			return errNotPromoted
		}
		return err
	})
}

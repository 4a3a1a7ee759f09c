package history

import (
	"context"
	"time"

	"agent/orchestrator/store/database"

	"github.com/jackc/pgx/v5"
)

// A ReviewVerdict is what a person did with a promotion. The table has a check for the same words.
type ReviewVerdict string

// The verdicts of a review.
const (
	Accepted  ReviewVerdict = "accepted"
	Commented ReviewVerdict = "commented"
	Undone    ReviewVerdict = "undone"
)

// A ReviewFilter says which promotions to list. Empty fields do not restrict. Its fields are joined by "and".
type ReviewFilter struct {
	Workspace string // absolute
	Run       string // the whole ID
	All       bool   // include those that were reviewed or undone
}

// A Promoted is one promotion with its last review. Verdict and Comment come from the same review as Reviewer; only the record has what
// earlier ones said.
type Promoted struct {
	Run       string
	Workspace string
	At        time.Time
	Intent    string
	Approved  string
	UndoneBy  string   // the run that took it back, "" for none
	Model     string   // as the view v_reviews has it, "" if unknown
	Cost      *float64 // nil if unknown
	Reviewer  string   // of the last review, "" for none
	Verdict   ReviewVerdict
	Comment   string
	Pull      string // the pull requests that hold the change, as "shop/till#7, comment by ada", "" for none
}

// pullsOf returns an SQL expression for the pull requests that hold the change of a run.
func pullsOf(run string) string {
	return `coalesce((select string_agg(distinct n.repository || '#' || n.number || case n.part when 'build' then ', repair of its build' when 'comment' then ', comment by ' || n.author else '' end, '; ')
		from v_pull_runs n where n.run = ` + run + `), '')`
}

// Promotions lists promotions for review, oldest first: those that stand and that nobody has reviewed, unless the filter asks for all.
// An undo is not one of them. It returns all at once, since a person walks through them. No match is an empty list, not an error.
func (h Reader) Promotions(ctx context.Context, filter ReviewFilter) ([]Promoted, error) {
	var list []Promoted
	err := h.db.Do(ctx, "list promotions for review", func(ctx context.Context) error {
		rows, err := h.db.Pool.Query(ctx, `
			select run, workspace, promoted as at, intent, approved_by as approved, coalesce(undone_by, '') as undone_by,
				coalesce(model, '') as model, cost::float8, coalesce(reviewer, '') as reviewer, coalesce(verdict, '') as verdict, coalesce(comment, '') as comment, `+pullsOf("v.run")+` as pull
			from v_reviews v
			where undo_of is null and (@all or verdict is null and undone_by is null)
				and (@workspace = '' or workspace = @workspace) and (@run = '' or run = @run)
				and review is not distinct from (select max(id) from review r where r.run = v.run)
			order by promoted, run`,
			pgx.NamedArgs{"workspace": database.Clean(filter.Workspace), "run": database.Clean(filter.Run), "all": filter.All})
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Promoted])
		return err
	})
	return list, err
}

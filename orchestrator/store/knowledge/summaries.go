package knowledge

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/store/database"
	"agent/orchestrator/survey"
)

// Summaries implements [survey.SummaryStore]: it returns what models said about the files of a workspace, by path, and about the
// project under the empty path.
func (b Base) Summaries(ctx context.Context, workspace string) (map[string]survey.Summary, error) {
	var known map[string]survey.Summary
	err := b.db.Do(ctx, "read the summaries of "+workspace, func(ctx context.Context) error {
		rows, err := b.db.Pool.Query(ctx, `select path, sha256, text, model from summary where workspace = @workspace`,
			pgx.NamedArgs{"workspace": database.Clean(workspace)})
		if err != nil {
			return err
		}
		// Outdated summaries are included: the caller compares the digests.
		known = map[string]survey.Summary{} // an earlier attempt may have filled it in part
		var path string
		var s survey.Summary
		_, err = pgx.ForEachRow(rows, []any{&path, &s.SHA256, &s.Text, &s.Model}, func() error {
			known[path] = s
			return nil
		})
		return err
	})
	return known, err
}

// SaveSummaries implements [survey.SummaryStore]: it records what a model said, replacing what was known for the same paths, and
// removes the summaries of gone. Doing it twice is the same as doing it once.
func (b Base) SaveSummaries(ctx context.Context, workspace string, said map[string]survey.Summary, gone []string) error {
	// Column by column, so that one statement takes any number of rows.
	var paths, sums, texts, models []string
	// In the order of their paths, two writers wait for each other instead of deadlocking.
	for _, path := range slices.Sorted(maps.Keys(said)) {
		s := said[path]
		paths, sums = append(paths, database.Clean(path)), append(sums, database.Clean(s.SHA256))
		texts, models = append(texts, database.Clean(s.Text)), append(models, database.Clean(s.Model))
	}
	return b.db.Do(ctx, "record the summaries of "+workspace, func(ctx context.Context) error {
		// Both parts of the statement see the table as it was, so no path may be in both. A path that is both gone and described counts
		// as described.
		_, err := b.db.Pool.Exec(ctx, `
			with gone as (delete from summary where workspace = @workspace and path = any(@gone::text[]) and path <> all(@paths::text[]))
			insert into summary (workspace, path, sha256, text, model)
			select @workspace, path, sha256, text, model
			from unnest(@paths::text[], @sums::text[], @texts::text[], @models::text[]) f(path, sha256, text, model)
			on conflict (workspace, path) do update set
				sha256 = excluded.sha256, text = excluded.text, model = excluded.model, at = clock_timestamp()`,
			pgx.NamedArgs{
				"workspace": database.Clean(workspace), "gone": database.CleanAll(gone), "paths": append([]string{}, paths...), "sums": sums,
				"texts": texts, "models": models,
			})
		return err
	})
}

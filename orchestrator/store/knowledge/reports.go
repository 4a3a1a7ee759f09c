package knowledge

import (
	"context"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/report"
	"agent/orchestrator/store/database"
)

// SaveReport records how a workspace stood, once: a second call with the same identifier changes nothing.
func (b Base) SaveReport(ctx context.Context, k report.Kept) error {
	return b.db.Do(ctx, "record the report of "+k.Workspace, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, b.db.Pool, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `
				insert into report (id, workspace, snapshot, score, fast) values (@id, @workspace, @snapshot, @score, @fast) on conflict (id) do nothing`,
				pgx.NamedArgs{"id": k.ID, "workspace": database.Clean(k.Workspace), "snapshot": database.Clean(k.Snapshot), "score": k.Report.Score, "fast": k.Fast})
			if err != nil || tag.RowsAffected() == 0 {
				return err
			}
			for i, row := range k.Report.Rows {
				fails, warns, notes := row.Count()
				if _, err := tx.Exec(ctx, `
					insert into report_row (report, n, analyzer, status, score, fails, warns, notes, summary)
					values (@report, @n, @analyzer, @status, @score, @fails, @warns, @notes, @summary)`,
					pgx.NamedArgs{
						"report": k.ID, "n": i + 1, "analyzer": row.Analyzer, "status": string(row.Status), "score": row.Score,
						"fails": fails, "warns": warns, "notes": notes, "summary": database.Clean(row.Summary),
					}); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Scores returns the last score of each analyzer in a workspace, by its name. It leaves out those that were never measured completely.
func (b Base) Scores(ctx context.Context, workspace string) (map[string]float64, error) {
	var last map[string]float64
	err := b.db.Do(ctx, "read the reports of "+workspace, func(ctx context.Context) error {
		rows, err := b.db.Pool.Query(ctx, `
			select distinct on (w.analyzer) w.analyzer, round(w.score::numeric, 2)::float8 from report r join report_row w on w.report = r.id
			where r.workspace = @workspace and w.score is not null order by w.analyzer, r.at desc, r.id desc`,
			pgx.NamedArgs{"workspace": database.Clean(workspace)})
		if err != nil {
			return err
		}
		last = map[string]float64{} // an earlier attempt may have filled it in part
		var name string
		var score float64
		_, err = pgx.ForEachRow(rows, []any{&name, &score}, func() error {
			last[name] = score
			return nil
		})
		return err
	})
	return last, err
}

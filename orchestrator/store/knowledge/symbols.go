package knowledge

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/store/database"
	"agent/orchestrator/survey"
)

// symbolBatch is how many bytes of documents go to the database at once: few enough for the deadline of one attempt over a slow line,
// and enough that a first scan does not wait for thousands of answers.
const symbolBatch = 1 << 20

// SymbolSums implements [survey.SymbolStore]: it returns the digests of the files of a workspace that scanner has read, by path.
func (b Base) SymbolSums(ctx context.Context, workspace, scanner string) (map[string]string, error) {
	var sums map[string]string
	err := b.db.Do(ctx, "read the digests of "+workspace, func(ctx context.Context) error {
		rows, err := b.db.Pool.Query(ctx, `select path, sha256 from symbol_file where workspace = @workspace and scanner = @scanner`,
			pgx.NamedArgs{"workspace": database.Clean(workspace), "scanner": database.Clean(scanner)})
		if err != nil {
			return err
		}
		sums = map[string]string{} // an earlier attempt may have filled it in part
		var path, sum string
		_, err = pgx.ForEachRow(rows, []any{&path, &sum}, func() error {
			sums[path] = sum
			return nil
		})
		return err
	})
	return sums, err
}

// Symbols implements [survey.SymbolStore]: it returns what scanner found in the files at paths, as far as they are known.
func (b Base) Symbols(ctx context.Context, workspace, scanner string, paths []string) (map[string]survey.SymbolFile, error) {
	var files map[string]survey.SymbolFile
	err := b.db.Do(ctx, "read the symbols of "+workspace, func(ctx context.Context) error {
		rows, err := b.db.Pool.Query(ctx, `
			select path, sha256, doc::text from symbol_file
			where workspace = @workspace and scanner = @scanner and path = any(@paths::text[])`,
			pgx.NamedArgs{"workspace": database.Clean(workspace), "scanner": database.Clean(scanner), "paths": database.CleanAll(paths)})
		if err != nil {
			return err
		}
		files = make(map[string]survey.SymbolFile, len(paths))
		var path, sum string
		var doc []byte
		_, err = pgx.ForEachRow(rows, []any{&path, &sum, &doc}, func() error {
			files[path] = survey.SymbolFile{SHA256: sum, Doc: bytes.Clone(doc)}
			return nil
		})
		return err
	})
	return files, err
}

// SaveSymbols implements [survey.SymbolStore]: it records what a scan found in the files that changed, and removes those that are gone.
// Every row is independent: if the work is cut short, the files that were not reached keep their old digest and are scanned again.
func (b Base) SaveSymbols(ctx context.Context, workspace, scanner string, changed map[string]survey.SymbolFile, gone []string) error {
	act := "record the symbols of " + workspace
	if len(gone) > 0 {
		err := b.db.Do(ctx, act, func(ctx context.Context) error {
			_, err := b.db.Pool.Exec(ctx, `delete from symbol_file where workspace = @workspace and path = any(@gone::text[])`,
				pgx.NamedArgs{"workspace": database.Clean(workspace), "gone": database.CleanAll(gone)})
			return err
		})
		if err != nil {
			return err
		}
	}
	var paths, sums, docs []string
	size := 0
	flush := func() error {
		if len(paths) == 0 {
			return nil
		}
		err := b.addSymbols(ctx, act, database.Clean(workspace), database.Clean(scanner), paths, sums, docs)
		paths, sums, docs, size = nil, nil, nil, 0
		return err
	}
	// In the order of their paths, two writers of one workspace wait for each other instead of deadlocking.
	for _, path := range slices.Sorted(maps.Keys(changed)) {
		if err := database.Exact(path); err != nil {
			return fmt.Errorf("%s: file %q: %w", act, path, err)
		}
		doc, err := database.CleanDocument(changed[path].Doc)
		if err != nil {
			return fmt.Errorf("%s: read the document of %s: %w", act, path, err)
		}
		paths, sums, docs = append(paths, path), append(sums, database.Clean(changed[path].SHA256)), append(docs, string(doc))
		if size += len(doc); size >= symbolBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// addSymbols records one batch of files, each replacing what was known.
func (b Base) addSymbols(ctx context.Context, act, workspace, scanner string, paths, sums, docs []string) error {
	return b.db.Do(ctx, act, func(ctx context.Context) error {
		_, err := b.db.Pool.Exec(ctx, `
			insert into symbol_file (workspace, path, scanner, sha256, doc)
			select @workspace, path, @scanner, sha256, doc::jsonb
			from unnest(@paths::text[], @sums::text[], @docs::text[]) f(path, sha256, doc)
			on conflict (workspace, path) do update set scanner = excluded.scanner, sha256 = excluded.sha256, doc = excluded.doc`,
			pgx.NamedArgs{"workspace": workspace, "scanner": scanner, "paths": paths, "sums": sums, "docs": docs})
		return err
	})
}

package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"agent/orchestrator/survey"

	"github.com/jackc/pgx/v5"
)

// symbolBatch is how many bytes of documents go to the database at once: few
// enough for the deadline of one attempt over a slow line, and enough that a
// first scan does not wait for thousands of answers.
const symbolBatch = 1 << 20

// SymbolSums implements [survey.SymbolStore]: it returns the digests of the files
// of a workspace that scanner has read, by path.
func (db *DB) SymbolSums(ctx context.Context, workspace, scanner string) (map[string]string, error) {
	var sums map[string]string
	err := db.do(ctx, "read the digests of "+workspace, func(ctx context.Context) error {
		rows, err := db.pool.Query(ctx, `select path, sha256 from symbol_file where workspace = @workspace and scanner = @scanner`,
			pgx.NamedArgs{"workspace": clean(workspace), "scanner": clean(scanner)})
		if err != nil {
			return err
		}
		sums = map[string]string{} // an attempt before may have filled it in part
		var path, sum string
		_, err = pgx.ForEachRow(rows, []any{&path, &sum}, func() error {
			sums[path] = sum
			return nil
		})
		return err
	})
	return sums, err
}

// Symbols implements [survey.SymbolStore]: it returns what scanner found in the
// files at paths, as far as they are known.
func (db *DB) Symbols(ctx context.Context, workspace, scanner string, paths []string) (map[string]survey.SymbolFile, error) {
	var files map[string]survey.SymbolFile
	err := db.do(ctx, "read the symbols of "+workspace, func(ctx context.Context) error {
		rows, err := db.pool.Query(ctx, `
			select path, sha256, doc::text from symbol_file
			where workspace = @workspace and scanner = @scanner and path = any(@paths::text[])`,
			pgx.NamedArgs{"workspace": clean(workspace), "scanner": clean(scanner), "paths": cleanAll(paths)})
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

// SaveSymbols implements [survey.SymbolStore]: it records what a scan found in the
// files that changed, and forgets those that are gone. Every row stands for
// itself: when the work is cut short, the files that were not reached keep
// their old digest and are scanned again.
func (db *DB) SaveSymbols(ctx context.Context, workspace, scanner string, changed map[string]survey.SymbolFile, gone []string) error {
	act := "record the symbols of " + workspace
	if len(gone) > 0 {
		err := db.do(ctx, act, func(ctx context.Context) error {
			_, err := db.pool.Exec(ctx, `delete from symbol_file where workspace = @workspace and path = any(@gone::text[])`,
				pgx.NamedArgs{"workspace": clean(workspace), "gone": cleanAll(gone)})
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
		err := db.addSymbols(ctx, act, clean(workspace), clean(scanner), paths, sums, docs)
		paths, sums, docs, size = nil, nil, nil, 0
		return err
	}
	// In the order of their paths two writers of one workspace wait for each
	// other instead of blocking one another.
	for _, path := range slices.Sorted(maps.Keys(changed)) {
		if err := exact(path); err != nil {
			return fmt.Errorf("%s: file %q: %w", act, path, err)
		}
		doc, err := cleanDocument(changed[path].Doc)
		if err != nil {
			return fmt.Errorf("%s: read the document of %s: %w", act, path, err)
		}
		paths, sums, docs = append(paths, path), append(sums, clean(changed[path].SHA256)), append(docs, string(doc))
		if size += len(doc); size >= symbolBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// addSymbols records one batch of files, each in place of what was known.
func (db *DB) addSymbols(ctx context.Context, act, workspace, scanner string, paths, sums, docs []string) error {
	return db.do(ctx, act, func(ctx context.Context) error {
		_, err := db.pool.Exec(ctx, `
			insert into symbol_file (workspace, path, scanner, sha256, doc)
			select @workspace, path, @scanner, sha256, doc::jsonb
			from unnest(@paths::text[], @sums::text[], @docs::text[]) f(path, sha256, doc)
			on conflict (workspace, path) do update set scanner = excluded.scanner, sha256 = excluded.sha256, doc = excluded.doc`,
			pgx.NamedArgs{"workspace": workspace, "scanner": scanner, "paths": paths, "sums": sums, "docs": docs})
		return err
	})
}

// cleanDocument returns a JSON document that jsonb takes: without NUL, broken
// UTF-8 or halves of surrogate pairs, which Go's decoder mends but for the
// first. Numbers stay as they are written. One that has none of these, as
// nearly all do, is left to the database to read.
func cleanDocument(doc []byte) ([]byte, error) {
	if utf8.Valid(doc) && !unkept.Match(doc) {
		return doc, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	return json.Marshal(cleanTree(tree))
}

// unkept finds the escapes of NUL and of surrogates, whole pairs included.
var unkept = regexp.MustCompile(`\\u(0000|[dD])`)

// cleanAll cleans every text of a list.
func cleanAll(list []string) []string {
	cleaned := make([]string, len(list))
	for i, s := range list {
		cleaned[i] = clean(s)
	}
	return cleaned
}

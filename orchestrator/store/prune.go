package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/sandbox/workspace"
)

const (
	// pruneRuns and pruneBlobs are how many go into one transaction: few enough that nobody waits for it, and that little is repeated
	// after a kill.
	pruneRuns, pruneBlobs = 100, 1000
	// weighTimeout bounds the look at the whole record.
	weighTimeout = 2 * time.Minute
)

// A Pruned counts what Prune removed, or would remove.
type Pruned struct {
	Runs     int64 `json:"runs"`
	Requests int64 `json:"requests"` // to models, with their texts
	Contents int64 `json:"contents"` // of files, which nothing refers to any more
	Cached   int64 `json:"cached"`   // results that nobody has asked for since
	// Bytes of all of it: the lengths of patches, diffs, outputs, questions, answers and contents, not their size on the disk.
	Bytes int64 `json:"bytes"`
}

// removable is the condition for a run r that Prune removes: it ended before that time, and nothing depends on it. Undo and blame read
// a promotion that was not rolled back. A run that attended to an order of DIRECTIVES.md keeps it from being taken up again.
const removable = `r.ended < @before and r.state <> 'promoted' and r.directive is null
	and not exists (select from promotion p where p.run = r.id and p.status <> 'rolled_back')
	and not exists (select from promotion p where p.undo_of = r.id)
	and not exists (select from run a where a.applies = r.id)
	and not exists (select from iteration i where i.run = r.id)
	and not exists (select from iteration i where i.id = r.iteration and i.phase <> 'settled')
	and not exists (select from proposal p where p.run = r.id)`

// unreferenced is the condition for a blob b that only the runs of doomed refer to, and that no inventory names: see kept.
const unreferenced = `not exists (select from unnest(@kept::text[]) k where k = b.sha256)
	and not exists (select from recording i where i.inventory = b.sha256 and i.run not in (select id from doomed))
	and not exists (select from candidate c where c.response = b.sha256 and c.run not in (select id from doomed))
	and not exists (select from candidate_file f where f.before_sha256 = b.sha256 and f.run not in (select id from doomed))
	and not exists (select from candidate_file f where f.after_sha256 = b.sha256 and f.run not in (select id from doomed))
	and not exists (select from promotion_file f where f.before_sha256 = b.sha256 and f.run not in (select id from doomed))
	and not exists (select from promotion_file f where f.after_sha256 = b.sha256 and f.run not in (select id from doomed))`

// weight counts the runs of doomed, their requests, and the bytes of both. Postgres reads the length of a large value without the
// value.
const weight = `(select count(*) from doomed),
	(select count(*) from model_call c where c.run in (select id from doomed)),
	((select coalesce(sum(octet_length(r.patch)), 0) from run r where r.id in (select id from doomed))
	+ (select coalesce(sum(octet_length(c.diff)), 0) from candidate c where c.run in (select id from doomed))
	+ (select coalesce(sum(octet_length(g.output)), 0) from gate g where g.run in (select id from doomed))
	+ (select coalesce(sum(octet_length(c.request) + octet_length(c.answer) + octet_length(c.beside)), 0) from model_call c where c.run in (select id from doomed))
	+ (select coalesce(sum(octet_length(t.arguments) + octet_length(t.answer)), 0) from tool_call t where t.run in (select id from doomed)))::bigint`

// Prunable counts what Prune would remove now.
func (db *DB) Prunable(ctx context.Context, before time.Time) (Pruned, error) {
	var p Pruned
	err := db.db.ReadWithin(ctx, "count what may be removed", weighTimeout, func(ctx context.Context, tx pgx.Tx) error {
		files := kept{}
		if err := files.learn(ctx, tx, `and not exists (select from run r where r.id = i.run and `+removable+`)`, before); err != nil {
			return err
		}
		var contents, cached int64
		err := tx.QueryRow(ctx, `
			with doomed as materialized (select r.id from run r where `+removable+`)
			select `+weight+`, b.*, c.* from
				(select count(*), coalesce(sum(octet_length(b.content)), 0)::bigint from blob b where `+unreferenced+`) b,
				(select count(*), coalesce(sum(octet_length(data)), 0)::bigint from cache where used < @before) c`,
			pgx.NamedArgs{"before": before, "kept": files.digests()}).Scan(&p.Runs, &p.Requests, &p.Bytes, &p.Contents, &contents, &p.Cached, &cached)
		p.Bytes += contents + cached
		return err
	})
	return p, err
}

// kept maps the inventories that recordings refer to, to the digests of the files that each names. No rows hold these digests, since a
// large workspace would have thousands of them for each of its states.
type kept map[string][]string

// learn reads the inventories that it does not know yet, of the recordings i for which where holds.
func (k kept) learn(ctx context.Context, tx pgx.Tx, where string, before time.Time) error {
	rows, err := tx.Query(ctx, `select distinct i.inventory from recording i where i.inventory is not null `+where, pgx.NamedArgs{"before": before})
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range names {
		if _, known := k[name]; known || err != nil {
			continue
		}
		var text []byte
		if err = tx.QueryRow(ctx, `select content from blob where sha256 = @name`, pgx.NamedArgs{"name": name}).Scan(&text); err == nil {
			k[name], err = workspace.Contents(text)
		}
	}
	return err
}

// digests lists all files, each once; the list is never nil.
func (k kept) digests() []string {
	all := map[string]bool{}
	for _, files := range k {
		for _, digest := range files {
			all[digest] = true
		}
	}
	return slices.AppendSeq(make([]string, 0, len(all)), maps.Keys(all))
}

// Prune removes runs that ended before a time, with their candidates, gates, findings and requests to models. It then removes the
// content of files that nothing refers to any more, and cached results that nobody has asked for since. It keeps what was promoted,
// with all that undo needs, runs in progress, and runs that an undo, an iteration, a proposal or an order names.
//
// Each batch is a transaction of its own, so a kill leaves whole runs behind, and the next Prune continues. The result says what was
// removed, even with an error; a batch whose answer was lost is removed and not counted.
func (db *DB) Prune(ctx context.Context, before time.Time) (Pruned, error) {
	var all Pruned
	for after, more := "", true; more; {
		var batch Pruned
		from := after // for every attempt: one that was rolled back removed nothing
		err := db.db.Transact(ctx, "remove runs", func(ctx context.Context, tx pgx.Tx) (err error) {
			batch, after, more, err = pruneBatch(ctx, tx, before, from)
			return err
		})
		if err != nil {
			return all, err
		}
		all.Runs, all.Requests, all.Bytes = all.Runs+batch.Runs, all.Requests+batch.Requests, all.Bytes+batch.Bytes
	}
	if err := db.pruneContents(ctx, &all); err != nil {
		return all, err
	}
	var bytes int64
	err := db.db.Do(ctx, "remove cached results", func(ctx context.Context) error {
		return db.db.Pool.QueryRow(ctx, `
			with gone as (delete from cache where used < @before returning octet_length(data) as size)
			select count(*), coalesce(sum(size), 0)::bigint from gone`, pgx.NamedArgs{"before": before}).Scan(&all.Cached, &bytes)
	})
	all.Bytes += bytes
	return all, err
}

// pruneBatch removes the runs that follow the one named after, and returns the last of them; more is false if there was none.
func pruneBatch(ctx context.Context, tx pgx.Tx, before time.Time, after string) (p Pruned, last string, more bool, err error) {
	// Runs that another process has locked are left to it.
	rows, err := tx.Query(ctx, `
		select r.id from run r where r.id > @after and `+removable+` order by r.id limit @n for update of r skip locked`,
		pgx.NamedArgs{"after": after, "before": before, "n": pruneRuns})
	if err != nil {
		return p, after, true, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(ids) == 0 {
		return p, after, false, err
	}
	args := pgx.NamedArgs{"ids": ids}
	err = tx.QueryRow(ctx, `with doomed as materialized (select unnest(@ids::text[]) as id) select `+weight, args).Scan(&p.Runs, &p.Requests, &p.Bytes)
	// Rows that refer to a run go with it; a request does not.
	for _, sql := range []string{
		`delete from model_call where run = any(@ids)`, `delete from tool_call where run = any(@ids)`, `delete from conversation where run = any(@ids)`,
		`delete from critique where run = any(@ids)`,
		`delete from run where id = any(@ids)`,
	} {
		if err == nil {
			_, err = tx.Exec(ctx, sql, args)
		}
	}
	return p, ids[len(ids)-1], true, err
}

// pruneContents removes the blobs that nothing refers to, page by page.
func (db *DB) pruneContents(ctx context.Context, all *Pruned) error {
	files := kept{}
	for after := ""; ; {
		var last *string
		var n, bytes int64
		err := db.db.Transact(ctx, "remove contents of files", func(ctx context.Context, tx pgx.Tx) error {
			// Nobody starts to rely on a content meanwhile: see SaveRecording.
			if _, err := tx.Exec(ctx, `lock table recording in share row exclusive mode`); err != nil {
				return err
			}
			if err := files.learn(ctx, tx, "", time.Time{}); err != nil {
				return err
			}
			// A blob that a writer refers to at this moment is locked and stays.
			return tx.QueryRow(ctx, `
				with doomed as (select '' as id where false),
				page as (select sha256 from blob where sha256 > @after order by sha256 limit @n),
				gone as (
					delete from blob where sha256 in (
						select b.sha256 from blob b where b.sha256 in (select sha256 from page) and `+unreferenced+` for update of b skip locked)
					returning octet_length(content) as size
				)
				select (select max(sha256) from page), count(*), coalesce(sum(size), 0)::bigint from gone`,
				pgx.NamedArgs{"after": after, "n": pruneBlobs, "kept": files.digests()}).Scan(&last, &n, &bytes)
		})
		switch {
		case dangling(err):
			continue // somebody has just referred to one: the page is tried again
		case err != nil:
			return fmt.Errorf("%w; run it again to continue", err)
		case last == nil:
			return nil
		}
		after, all.Contents, all.Bytes = *last, all.Contents+n, all.Bytes+bytes
	}
}

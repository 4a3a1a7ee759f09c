package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
	"agent/sandbox/workspace"
	"agent/verify"
)

// rejected records a run with a question, a candidate with this content, and its end.
func (p past) rejected(id, content string, also ...func()) {
	p.Helper()
	must(p.T, p.db.Create(p.Context(), record(id)))
	p.asked(id, "gemini", true)
	must(p.T, p.db.SaveCandidate(p.Context(), id, 1, gate.Candidate{
		Verdict: verify.Fail, Diff: "four", Changeset: aFile(content), Gates: []verify.Gate{{Name: "lint", Verdict: verify.Fail, Output: "three"}},
	}))
	for _, act := range also {
		act()
	}
	p.ended(id, run.Rejected, verify.Fail, "gate")
}

func TestPruneRemovesWhatNothingNeeds(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	ctx := t.Context()
	p.rejected("01old", "one")
	p.rejected("02old", "shared", func() { // its promotion was rolled back
		must(t, p.db.SavePromotion(ctx, "02old", 1, run.Promotion{Status: run.RolledBack, Changeset: aFile("tried")}))
	})
	// These stay: promoted, undone and the undo; named by a proposal, an order or an iteration; in progress; too recent.
	p.begin("03promoted", "2026-03-01 10:00")
	p.wrote("03promoted", "", "--yes", "2026-03-01 10:00")
	p.begin("04undo", "2026-03-01 11:00")
	p.wrote("04undo", "03promoted", "undo", "2026-03-01 11:00")
	p.rejected("05proposed", "shared")
	_, err := p.db.AddProposal(ctx, run.KeptProposal{Workspace: shop, Kind: run.FailedFeature, Run: "05proposed"})
	must(t, err)
	p.rejected("06ordered", "ordered", func() { must(t, p.db.SavePlan(ctx, "06ordered", 1, []byte(`{"directive": "mend it"}`))) })
	it, err := p.db.StartIteration(ctx, iteration("07iter"))
	must(t, err)
	p.asked(it.ID, "gemini", true)
	for _, id := range []string{"07first", "07second"} { // the iteration names its last run, and goes on
		p.rejected(id, id, func() { p.set(`update run set iteration = '07iter' where id = $1`, id) })
		it.Run = id
		must(t, p.db.SaveIteration(ctx, it))
	}
	must(t, p.db.Create(ctx, record("08works")))
	must(t, p.db.Save(ctx, "fresh", []byte("1")))
	before := time.Now()
	p.set(`update run set ended = ended - interval '2 days', created = created - interval '2 days' where ended is not null`)
	p.rejected("09young", "young")
	p.set(`update run set ended = clock_timestamp() + interval '1 minute' where id = '09young'`)
	must(t, p.db.Save(ctx, "old", []byte("12345")))
	p.set(`update cache set used = clock_timestamp() - interval '2 days' where key = 'old'`)

	// Each run has 8 bytes of patch, 4 of diff, 5 of output, 23 of question and 1 of answer. The contents one and tried and the cached
	// result are added. Contents that two runs share are removed with the last of them.
	want := store.Pruned{Runs: 2, Requests: 2, Contents: 2, Cached: 1, Bytes: 2*(8+4+5+23+1) + 3 + 5 + 5}
	before = before.Add(-time.Hour)
	if got, err := p.db.Prunable(ctx, before); err != nil || got != want {
		t.Errorf("it would remove %+v, %v, want %+v", got, err, want)
	}
	if got, err := p.db.Prune(ctx, before); err != nil || got != want {
		t.Errorf("it removed %+v, %v, want %+v", got, err, want)
	}
	if got, err := p.db.Prune(ctx, before); err != nil || got != (store.Pruned{}) {
		t.Errorf("a second time it removed %+v, %v", got, err)
	}
	left := []string{"03promoted", "04undo", "05proposed", "06ordered", "07first", "07second", "08works", "09young"}
	if d := cmp.Diff(left, rows(t, p.db, `select run from v_runs order by run`)); d != "" {
		t.Errorf("what is left (-want +got):\n%s", d)
	}
	if got := rows(t, p.db, `select count(*), count(run) from v_model_calls`); got[0] != "6|6" {
		t.Errorf("requests that are left: %s", got)
	}
	promotion, err := p.db.PromotionOf(ctx, "03promoted")
	must(t, err)
	if d := cmp.Diff(aFile("new"), promotion.Changeset); d != "" {
		t.Errorf("what undo needs (-want +got):\n%s", d)
	}
	if orders, err := p.db.Attended(ctx, shop); err != nil || !slices.Equal(orders, []string{"mend it"}) {
		t.Errorf("orders that are not taken up again: %q, %v", orders, err)
	}
}

// blocked waits until a connection called name waits for a lock.
func blocked(t *testing.T, conn *pgx.Conn, name string) {
	t.Helper()
	for waits := false; !waits; time.Sleep(5 * time.Millisecond) {
		must(t, conn.QueryRow(t.Context(), `select exists (select from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock')`, name).Scan(&waits))
	}
}

// locked opens a connection, runs a statement in a transaction, and leaves the transaction open.
func locked(t *testing.T, dsn, sql string, args ...any) (*pgx.Conn, pgx.Tx) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	must(t, err)
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	tx, err := conn.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), sql, args...)
	must(t, err)
	return conn, tx
}

func TestAPruneThatWasStoppedGoesOn(t *testing.T) {
	t.Parallel()
	dsn := storetest.Past(t, 2000) // 400 runs, of which 299 may be removed: three batches
	db, err := store.Open(t.Context(), named(t, dsn, t.Name()))
	must(t, err)
	defer db.Close()
	// The second batch must wait for this lock, and is then stopped.
	conn, tx := locked(t, dsn, `select from model_call where run = $1 for update`, storetest.RunName(201))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped := make(chan error)
	var first store.Pruned
	go func() {
		var err error
		first, err = db.Prune(ctx, time.Now())
		stopped <- err
	}()
	blocked(t, conn, t.Name())
	stop()
	if err := <-stopped; !errors.Is(err, context.Canceled) || first.Runs != 100 || first.Requests != 100 {
		t.Fatalf("stopped after %+v, %v", first, err)
	}
	must(t, tx.Rollback(t.Context()))
	for gone := false; !gone; time.Sleep(5 * time.Millisecond) { // the server ends a moment after the client
		must(t, conn.QueryRow(t.Context(), `select not exists (select from pg_stat_activity where application_name = $1 and state <> 'idle')`, t.Name()).Scan(&gone))
	}
	// Each run is there completely or not at all.
	if got := value(t, dsn, `select count(*) || ' ' || count(*) filter (where (select count(*) from gate g where g.run = r.id) = 5
			and (select count(*) from run_state s where s.run = r.id) = 3 and (select count(*) from model_call c where c.run = r.id) = 1)
			|| ' ' || (select count(*) from model_call) from run r`); got != "300 300 300" {
		t.Errorf("runs, whole ones and requests: %s", got)
	}
	// Of 2000 contents, the hundred promoted runs name one each, and the run in progress names one.
	if got, err := db.Prune(t.Context(), time.Now()); err != nil || got.Runs != 199 || got.Contents != 1899 {
		t.Errorf("it went on with %+v, %v", got, err)
	}
	if got := value(t, dsn, `select string_agg(id, ' ') from run where state <> 'promoted'`); got != storetest.RunName(9) {
		t.Errorf("runs %s are left, want the one in work", got)
	}
}

// A writer finds its content in the database, and a prune removes it before the writer refers to it.
func TestContentThatAPruneTookIsStoredAgain(t *testing.T) {
	t.Parallel()
	for what, save := range map[string]func(*store.DB, workspace.Changeset) error{
		"candidate": func(db *store.DB, cs workspace.Changeset) error {
			return db.SaveCandidate(t.Context(), "01run", 1, gate.Candidate{Verdict: verify.Pass, Changeset: cs})
		},
		"promotion": func(db *store.DB, cs workspace.Changeset) error {
			return db.SavePromotion(t.Context(), "01run", 1, run.Promotion{Status: run.Prepared, Changeset: cs})
		},
	} {
		_, dsn := storetest.New(t)
		db, err := store.Open(t.Context(), named(t, dsn, t.Name()+what))
		must(t, err)
		defer db.Close()
		must(t, db.Create(t.Context(), record("01run")))
		if err := db.SaveCandidate(t.Context(), "01run", 9, gate.Candidate{Changeset: aFile("taken")}); !errors.Is(err, run.ErrFenced) {
			t.Fatalf("a wrong token: %v", err)
		}
		conn, tx := locked(t, dsn, `delete from blob`)
		saved := make(chan error)
		go func() { saved <- save(db, aFile("taken")) }()
		blocked(t, conn, t.Name()+what)
		must(t, tx.Commit(t.Context()))
		if err := <-saved; err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := value(t, dsn, `select convert_from(content, 'UTF8') from blob`); got != "taken" {
			t.Errorf("%s: the content is %q", what, got)
		}
	}
}

// saw stores a workspace of one file and records that a run saw it.
func (p past) saw(id, content string) (inventory string) {
	p.Helper()
	m := (&workspace.Manifest{}).With(workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: "a", After: []byte(content), Mode: 0o644}}})
	text, err := m.Inventory()
	must(p.T, err)
	inventory = workspace.Digest(text)
	must(p.T, p.db.SaveContents(p.Context(), map[string][]byte{inventory: text, workspace.Digest([]byte(content)): []byte(content)}))
	must(p.T, p.db.SaveRecording(p.Context(), id, 1, run.Recording{Inventory: inventory, Contents: []string{workspace.Digest([]byte(content))}, Files: 1}))
	return inventory
}

// TestWhatARunSawStaysAsLongAsTheRun checks files that only an inventory names.
func TestWhatARunSawStaysAsLongAsTheRun(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	const both = "of both"
	p.rejected("01old", "one", func() { p.saw("01old", "of the old one") })
	p.rejected("02old", "two", func() { p.saw("02old", both) })
	p.set(`update run set ended = ended - interval '2 days'`)
	var stays string
	p.rejected("03young", "three", func() {
		stays = p.saw("03young", both)
		must(t, p.db.SaveCandidate(t.Context(), "03young", 1, gate.Candidate{Verdict: verify.Fail, Origin: gate.Origin{Response: []byte("an answer")}}))
	})
	before := time.Now().Add(-time.Hour)
	dry, err := p.db.Prunable(t.Context(), before)
	must(t, err)
	got, err := p.db.Prune(t.Context(), before)
	// Removed are the contents one and two, what the first run saw, and its inventory; the other inventory is shared.
	if err != nil || got != dry || got.Runs != 2 || got.Contents != 4 {
		t.Errorf("removed %+v, %v, and would have removed %+v", got, err, dry)
	}
	for _, digest := range []string{stays, workspace.Digest([]byte(both)), workspace.Digest([]byte("an answer"))} {
		if _, err := p.db.Content(t.Context(), digest); err != nil {
			t.Error(err)
		}
	}
}

// TestARecordingOfWhatAPruneTookSaysSo checks that the run ends as it did, but cannot be replayed.
func TestARecordingOfWhatAPruneTookSaysSo(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	must(t, p.db.Create(t.Context(), record("01run")))
	inventory := p.saw("01run", "taken")
	p.set(`delete from blob where sha256 = $1`, workspace.Digest([]byte("taken")))
	for name, contents := range map[string][]string{inventory: {workspace.Digest([]byte("taken"))}, workspace.Digest([]byte("no inventory")): nil} {
		must(t, p.db.SaveRecording(t.Context(), "01run", 1, run.Recording{Inventory: name, Contents: contents}))
		if got := rows(t, p.db, `select replayable, lacking from v_recordings`); len(got) != 1 || !strings.HasPrefix(got[0], "false|its files were removed") {
			t.Errorf("recorded %q", got)
		}
	}
}

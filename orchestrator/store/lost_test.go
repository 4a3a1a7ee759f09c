package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/llm"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
	"agent/orchestrator/survey"
)

// An entry is one write of the knowledge, with the tag that the server sends once it is done.
type entry struct {
	name, tag string
	act       func(ctx context.Context) error
}

// writes lists every write of the knowledge, in an order in which each takes effect once and would show if it were done twice.
func writes(db *store.DB) []entry {
	var number, proposal int64
	it := iteration("01iter")
	it.Run = "01run"
	began := func(ctx context.Context) (err error) {
		number, err = db.Begin(ctx, call("01run", "s", "d"))
		return err
	}
	proposed := func(ctx context.Context) (err error) {
		proposal, err = db.AddProposal(ctx, run.KeptProposal{Workspace: shop, Kind: run.Feature})
		return err
	}
	started := func(ctx context.Context) (err error) {
		it, err = db.StartIteration(ctx, it)
		return err
	}
	files := map[string]survey.SymbolFile{"a": {SHA256: "s", Doc: []byte("{}")}, "b": {SHA256: "s", Doc: []byte("{}")}}
	return []entry{
		{"plan", "COMMIT", func(ctx context.Context) error { return db.SavePlan(ctx, "01run", 1, []byte("{}")) }},
		{"begin", "INSERT 0 1", began},
		{"end", "UPDATE 1", func(ctx context.Context) error { return db.End(ctx, number, answer()) }},
		{"key", "INSERT 0 1", func(ctx context.Context) error {
			return db.Keys().Save(ctx, llm.KeyState{Vendor: "gemini", Key: "aa", Retired: llm.Auth})
		}},
		{"forget", "DELETE 1", func(ctx context.Context) error { return db.ForgetKey(ctx, "gemini", "aa") }},
		{"memory", "SELECT 1", func(ctx context.Context) error {
			return db.SaveMemory(ctx, shop, "01run", agent.Memory{Text: "one", Iteration: 1})
		}},
		{"enqueue", "INSERT 0 2", func(ctx context.Context) error {
			return db.Enqueue(ctx, shop, "01run", []loop.Waiting{waiting("a", "one"), waiting("b", "two")})
		}},
		{"gain a cause", "INSERT 0 1", func(ctx context.Context) error {
			return db.Enqueue(ctx, shop, "02run", []loop.Waiting{waiting("a", "three")})
		}},
		{"serve", "UPDATE 1", func(ctx context.Context) error { return db.Served(ctx, shop, "02run", "b") }},
		{"start an iteration", "COMMIT", started},
		{"take an iteration", "UPDATE 1", func(ctx context.Context) (err error) {
			it, err = db.TakeIteration(ctx, it, "heir")
			return err
		}},
		{"save an iteration", "COMMIT", func(ctx context.Context) error { return db.SaveIteration(ctx, it) }},
		{"propose", "SELECT 1", proposed},
		{"settle", "UPDATE 1", func(ctx context.Context) error { return db.SettleProposal(ctx, proposal, run.ProposalDone) }},
		{"log", "INSERT 0 2", func(ctx context.Context) error { return db.AppendEntries(ctx, entries("01run", "one", "two")) }},
		{"symbols", "INSERT 0 2", func(ctx context.Context) error { return db.SaveSymbols(ctx, shop, reader, files, nil) }},
		{"symbols gone", "DELETE 1", func(ctx context.Context) error { return db.SaveSymbols(ctx, shop, reader, nil, []string{"b"}) }},
	}
}

func TestKnowledgeIsNotWrittenTwiceWhenAnAnswerIsLost(t *testing.T) {
	t.Parallel()
	_, dsn := storetest.New(t)
	cut := newCutter(t, dsn)
	db, err := store.Open(t.Context(), cut.url)
	must(t, err)
	defer db.Close()
	must(t, db.Create(t.Context(), record("01run")))
	for i, w := range writes(db) {
		cut.nextTag(w.tag)
		if err := w.act(t.Context()); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
		if cut.cuts() != i+1 {
			t.Fatalf("%s: no answer was lost: its tag is not %s", w.name, w.tag)
		}
	}
	for sql, want := range map[string]string{
		`select count(*), sum(cost) from v_model_calls where ended is not null`:                                "1|0.001234",
		`select count(*) from v_model_calls`:                                                                   "1",
		`select count(*) from v_model_keys`:                                                                    "0",
		`select count(*), max(iteration) from v_memory`:                                                        "1|1",
		`select string_agg(concat_ws(' ', path, because, runs, served_by), ', ' order by path) from v_cascade`: "a one\nthree {01run,02run}, b two {01run} 02run",
		`select count(*), max(n), max(run), max(runs) from v_iterations`:                                       "1|1|01run|0",
		`select string_agg(subject, ' ' order by event) from v_events`:                                         "one two",
		`select count(*), max(state) from v_proposals`:                                                         "1|done",
	} {
		if got, err := table(t.Context(), db.Runner, sql); err != nil || got[1] != want {
			t.Errorf("%s: %q, %v, want %s", sql, got, err, want)
		}
	}
	if got := symbols(t, db, shop); fmt.Sprint(got) != "map[a:s {}]" {
		t.Errorf("symbols %v", got)
	}
}

func TestKnowledgeWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	_, dsn := storetest.New(t)
	cut := newCutter(t, dsn)
	db, err := store.Open(t.Context(), cut.url)
	must(t, err)
	defer db.Close()
	must(t, db.Create(t.Context(), record("01run")))
	for _, w := range writes(db) {
		cut.outage(2)
		if err := w.act(t.Context()); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
		if cut.refuse != 0 {
			t.Fatalf("%s: %d connections were still to be refused", w.name, cut.refuse)
		}
	}
}

func TestKnowledgeIsGivenUpWithTheCaller(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	why := errors.New("the user has gone")
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for _, w := range writes(db) {
		wantError(t, w.name, w.act(gone), why)
	}
	for what, err := range map[string]error{
		"find":       second(db.Find(gone, "01run", "s", "d")),
		"spent":      second(db.Spent(gone, "01run", record("").Started)),
		"last":       second(db.LastIteration(gone, shop)),
		"memory":     first(db.Memory(gone, shop)),
		"history":    first(db.History(gone, shop, 1)),
		"queue":      first(db.Queue(gone, shop)),
		"proposals":  first(db.Proposals(gone, shop)),
		"symbols":    first(db.Symbols(gone, shop, reader, nil)),
		"plan":       second(db.Plan(gone, "01run")),
		"key states": first(db.Keys().Load(gone, "gemini")),
	} {
		wantError(t, what, err, why)
	}
}

// first returns the error of a call that gives one value.
func first[A any](_ A, err error) error { return err }

// second returns the error of a call that gives two values.
func second[A, B any](_ A, _ B, err error) error { return err }

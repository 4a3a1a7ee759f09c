package store_test

import (
	"strings"
	"testing"
	"time"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/journaltest"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/storetest"
)

// two returns two handles on one empty database, as for two processes, and its URL.
func two(t *testing.T) (first, second *store.DB, dsn string) {
	t.Helper()
	first, dsn = storetest.New(t)
	second, err := store.Open(t.Context(), dsn)
	must(t, err)
	t.Cleanup(second.Close)
	return first, second, dsn
}

func TestTheDatabaseIsAJournal(t *testing.T) {
	t.Parallel()
	journaltest.Journal(t, func(t *testing.T) (llm.Journal, llm.Journal) {
		a, b, _ := two(t)
		return a, b
	})
}

func TestTheDatabaseKeepsKeyStates(t *testing.T) {
	t.Parallel()
	journaltest.KeyStates(t, func(t *testing.T) (llm.KeyStates, llm.KeyStates) {
		a, b, _ := two(t)
		return a.Keys(), b.Keys()
	})
}

// call returns a request with a value in every field.
func call(scope, step, digest string) llm.Record {
	return llm.Record{
		Run: scope, Step: step, Attempt: 1, Vendor: "gemini", Model: "flash", Key: "0a1b2c3d", Purpose: "propose", Template: "t1",
		Digest: digest, Request: []byte(`{"text":"the question"}`), Begun: time.Now().UTC().Truncate(time.Microsecond),
		Outcome: llm.Outcome{
			Usage: llm.Usage{In: llm.Tokens{N: 10, Estimated: true}, Out: llm.Tokens{N: 20, Estimated: true}},
			Cost:  1_500_000, Priced: true,
		},
	}
}

// answer returns its outcome.
func answer() llm.Outcome {
	return llm.Outcome{
		Text: "the answer", Version: "flash-001", Cost: 1234, Priced: true, Duration: 2500 * time.Millisecond,
		Usage: llm.Usage{In: llm.Tokens{N: 7}, Out: llm.Tokens{N: 5}, Cached: 3, Reason: 2},
	}
}

func TestARequestEndsOnce(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	number, err := a.Begin(t.Context(), call("01run", "s", "d"))
	must(t, err)
	must(t, a.End(t.Context(), number, answer()))
	late := answer()
	late.Text = "another"
	for name, err := range map[string]error{
		"a second end": b.End(t.Context(), number, late), "what was never begun": a.End(t.Context(), number+1, late),
	} {
		if err == nil || !strings.Contains(err.Error(), "it has not begun") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if r, ok, err := a.Find(t.Context(), "01run", "s", "d"); err != nil || !ok || r.Text != "the answer" {
		t.Errorf("found %q, %v, %v", r.Text, ok, err)
	}
}

func TestWhatAVendorSaysIsMended(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	r := call("01run", "s\x00", "d\xff")
	r.Request, r.Model = []byte("\x00\xff"), "m\x00"
	number, err := db.Begin(t.Context(), r)
	must(t, err)
	must(t, db.End(t.Context(), number, llm.Outcome{Kind: llm.Unknown, Detail: "a\x00\xff", Version: "\x00"}))
	got, ok, err := db.Find(t.Context(), "01run", "s\x00", "d\xff")
	if err != nil || !ok || string(got.Request) != "\x00\xff" || got.Model != "m\uFFFD" || got.Detail != "a\uFFFD\uFFFD" || got.Version != "\uFFFD" {
		t.Errorf("found %+v, %v, %v", got, ok, err)
	}
}

func TestCallsAreReadByRunAndIteration(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	it, err := db.StartIteration(t.Context(), iteration("01iter"))
	must(t, err)
	for _, id := range []string{"02run", "01run"} { // the second one is the last
		r := record(id)
		r.Iteration = it.ID
		must(t, db.Create(t.Context(), r))
		it.Run = id
		must(t, db.SaveIteration(t.Context(), it))
	}
	if _, asked, err := db.Plan(t.Context(), "02run"); asked != it.ID || err != nil {
		t.Errorf("the calls of 02run are recorded under %q, %v", asked, err)
	}
	for _, scope := range []string{"01iter", "02run", "elsewhere"} {
		number, err := db.Begin(t.Context(), call(scope, "s", "d"))
		must(t, err)
		if scope != "elsewhere" {
			must(t, db.End(t.Context(), number, answer()))
		}
	}
	free := call("01run", "s", "d")
	free.Priced, free.Cost, free.Key = false, 0, ""
	number, err := db.Begin(t.Context(), free)
	must(t, err)
	must(t, db.End(t.Context(), number, llm.Outcome{Kind: llm.Quota, Detail: "no more"}))
	want(t, db, `select run, iteration, step, purpose, template, vendor, model, key_id, tokens_in, tokens_out, tokens_cached,
			tokens_reasoned, estimated, cost, seconds, error_kind, ended is null from v_model_calls order by call`,
		"01run|01iter|s|propose|t1|gemini|flash|0a1b2c3d|7|5|3|2|false|0.001234|2.500000|∅|false",
		"02run|01iter|s|propose|t1|gemini|flash|0a1b2c3d|7|5|3|2|false|0.001234|2.500000|∅|false",
		"∅|∅|s|propose|t1|gemini|flash|0a1b2c3d|10|20|0|0|true|1.500000|0.000000|∅|true",
		"01run|01iter|s|propose|t1|gemini|flash|∅|0|0|0|0|false|∅|0.000000|quota|false")
	want(t, db, `select iteration, n, phase, run, outcome, runs, calls, cost from v_iterations`, "01iter|1|work|01run|∅|2|3|0.002468")
	// The texts of questions and answers are not visible to readers.
	_, err = table(t.Context(), db.Runner, `select request from v_model_calls`)
	if err == nil {
		t.Error("a reader sees questions")
	}
}

// want runs a query as the reader and compares its rows.
func want(t *testing.T, db *store.DB, sql string, rows ...string) {
	t.Helper()
	got, err := table(t.Context(), db.Runner, sql)
	must(t, err)
	if have := strings.Join(got[1:], "\n"); have != strings.Join(rows, "\n") {
		t.Errorf("%s:\n got %s\nwant %s", sql, have, strings.Join(rows, "\n"))
	}
}

func TestAPersonBringsAKeyBack(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	now := time.Now()
	for _, s := range []llm.KeyState{
		{Vendor: "gemini", Key: "aa", Used: now, Retired: llm.Auth},
		{Vendor: "gemini", Key: "bb", Until: now.Add(time.Hour), Reason: llm.Quota},
		{Vendor: "gemini", Key: "cc", Until: now.Add(-time.Hour), Reason: llm.RateLimit},
		{Vendor: "ollama"},
	} {
		must(t, a.Keys().Save(t.Context(), s))
	}
	want(t, a, `select vendor, key_id, state, reason, retired, used is null from v_model_keys order by vendor, key_id`,
		"gemini|aa|retired|∅|auth|false", "gemini|bb|resting|quota|∅|true", "gemini|cc|ready|rate_limit|∅|true", "ollama|∅|ready|∅|∅|true")
	must(t, a.ForgetKey(t.Context(), "gemini", "aa"))
	must(t, a.ForgetKey(t.Context(), "gemini", "nobody's"))
	must(t, a.ForgetKey(t.Context(), "ollama", "bb"))
	list, err := b.Keys().Load(t.Context(), "gemini")
	if err != nil || len(list) != 2 || list[0].Key != "bb" || list[1].Key != "cc" {
		t.Errorf("left are %+v, %v", list, err)
	}
}

func TestAPlanIsKeptWordForWord(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	if plan, _, err := db.Plan(t.Context(), "01run"); plan != nil || err != nil {
		t.Errorf("a run without a plan: %q, %v", plan, err)
	}
	const plan = `{"b": 1.0,  "a": "\u0000 \ud800 \u003c", "a": "twice"}`
	must(t, db.SavePlan(t.Context(), "01run", 1, []byte(plan)))
	if got, asked, err := db.Plan(t.Context(), "01run"); string(got) != plan || asked != "01run" || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, plan)
	}
	if err := db.SavePlan(t.Context(), "01run", 1, []byte("no JSON")); err == nil {
		t.Error("a plan that is no JSON was taken")
	}
	token, err := db.Claim(t.Context(), "01run", 1, "second")
	must(t, err)
	wantError(t, "a late plan", db.SavePlan(t.Context(), "01run", 1, []byte("{}")), run.ErrFenced)
	must(t, db.Finish(t.Context(), "01run", token, run.Ending{State: run.Failed, Verdict: "infra"}))
	wantError(t, "a plan after the end", db.SavePlan(t.Context(), "01run", token, []byte("{}")), store.ErrFinished)
	_, _, err = db.Plan(t.Context(), "02run")
	wantError(t, "no such run", err, database.ErrNotFound)
}

func TestTheRequestsOfARunAreReadInTheirOrder(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	// The question contains text that JSON must escape, and the answer contains arbitrary bytes.
	question := `{"model":"flash","system":"be <brief>","messages":[{"role":"user","text":"a\u0000b"}]}`
	for i, step := range []string{"propose/1", "heal/1.1", "heal/1.2"} {
		r := call("01run", step, "d")
		r.Request = []byte(question)
		n, err := db.Begin(t.Context(), r)
		must(t, err)
		o := answer()
		if o.Text = "x\x00\xff"; i == 1 {
			o = llm.Outcome{Kind: llm.Overloaded, Detail: "busy"}
		}
		if i < 2 { // the last one is in progress
			must(t, db.End(t.Context(), n, o))
		}
	}
	_, err := db.Begin(t.Context(), call("02run", "propose/1", "d"))
	must(t, err)
	got, err := db.Exchanges(t.Context(), "01run")
	must(t, err)
	if len(got) != 3 || got[0].Step != "propose/1" || got[0].Text != "x\x00\xff" || got[0].Version != "flash-001" || got[0].Ended.IsZero() ||
		got[1].Kind != llm.Overloaded || got[1].Detail != "busy" || !got[2].Ended.IsZero() || got[0].Number >= got[1].Number {
		t.Errorf("got %+v", got)
	}
	if q := got[0].Question; q.System != "be <brief>" || len(q.Messages) != 1 || q.Messages[0].Text != "a\x00b" {
		t.Errorf("the question is %+v", q)
	}
	if got, err := db.Exchanges(t.Context(), "03run"); len(got) != 0 || err != nil {
		t.Errorf("a run that asked nothing: %+v, %v", got, err)
	}
}

// The requests of a loop are counted together, whichever iteration makes them. A single run and another loop are counted separately.
func TestALoopsRequestsAreSummedTogether(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	for i, id := range []string{"01first", "02second", "03other", "04alone"} {
		it := iteration(id)
		if id == "02second" {
			it.Order.Loop = "01first"
		}
		if id == "03other" {
			it.Workspace += "-two"
		}
		it.Order.Single = id == "04alone"
		it, err := db.StartIteration(t.Context(), it)
		must(t, err)
		it.Phase = loop.Settled
		must(t, db.SaveIteration(t.Context(), it))
		for range i + 1 {
			number, err := db.Begin(t.Context(), call(id, "s", "d"))
			must(t, err)
			must(t, db.End(t.Context(), number, answer()))
		}
	}
	number, err := db.Begin(t.Context(), call("analyze", "s", "d"))
	must(t, err)
	must(t, db.End(t.Context(), number, answer()))
	for id, want := range map[string]int{"01first": 3, "02second": 3, "03other": 3, "04alone": 4, "analyze": 1, "none": 0} {
		got, all, err := db.Spent(t.Context(), id, time.Time{})
		if err != nil || got.Requests != want || int64(got.Cost) != int64(want)*1234 || got.Tokens != int64(want)*12 ||
			got.Duration != time.Duration(want)*2500*time.Millisecond || all.Requests != 11 {
			t.Errorf("%s spent %+v of %+v, %v; want %d requests", id, got, all, err, want)
		}
	}
}

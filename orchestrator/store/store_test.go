package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/match"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/history"
	"agent/orchestrator/store/storetest"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// record returns a run as a process begins it.
func record(id string) run.Record {
	return run.Record{
		ID: id, Workspace: "/home/ada/shop", Intent: "patch good.xml", Patch: []byte("<EDIT>\x00\xff"),
		Owner: "host/1/2/3", Token: 1, State: run.Queued, Runtime: "runsc", Started: time.Now().Truncate(time.Microsecond),
	}
}

// begin opens a database for the test that contains one run.
func begin(t *testing.T, id string) *store.DB {
	t.Helper()
	db, _ := storetest.New(t)
	must(t, db.Create(t.Context(), record(id)))
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// advance takes a run through the states in order.
func advance(t *testing.T, db *store.DB, id string, token int64, states ...run.State) {
	t.Helper()
	for _, s := range states {
		must(t, db.Advance(t.Context(), id, token, s, "to "+string(s), ""))
	}
}

// states returns the recorded states of a run.
func states(t *testing.T, db *store.DB, id string) []run.State {
	t.Helper()
	d, err := db.Run(t.Context(), id)
	must(t, err)
	var list []run.State
	for _, s := range d.States {
		list = append(list, s.State)
	}
	return list
}

func TestARunIsRecordedInOrder(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	must(t, db.Advance(t.Context(), "01run", 1, run.Analyzing, "scan", "digest-1"))
	must(t, db.Advance(t.Context(), "01run", 1, run.Verifying, "gates", ""))
	problem := &run.Problem{Kind: "patch", Message: "lint: F821", Next: "mend it"}
	must(t, db.Finish(t.Context(), "01run", 1, run.Ending{State: run.Rejected, Verdict: verify.Fail, Exit: 1, Error: problem}))

	d, err := db.Run(t.Context(), "01run")
	must(t, err)
	want := record("01run")
	want.State, want.Snapshot, want.Started, want.Beat = run.Rejected, "digest-1", d.Started, d.Beat
	if diff := cmp.Diff(want, d.Record); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if d.Verdict != verify.Fail || d.Exit != 1 || *d.Error != *problem || d.Ended.IsZero() || d.Promoted {
		t.Errorf("ending: %+v %+v", d.RunRow, d.Error)
	}
	if got, want := states(t, db, "01run"), []run.State{run.Queued, run.Analyzing, run.Verifying, run.Rejected}; !slices.Equal(got, want) {
		t.Errorf("states %v, want %v", got, want)
	}
	if d.States[1].Note != "scan" || d.States[1].Token != 1 || d.States[1].At.Before(d.States[0].At) {
		t.Errorf("transition: %+v", d.States[1])
	}
}

func TestAStateEnteredBeforeTheEndIsRecordedOnce(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	advance(t, db, "01run", 1, run.Promoting, run.Promoted)
	open, err := db.Unfinished(t.Context())
	must(t, err)
	if len(open) != 1 || open[0].State != run.Promoted {
		t.Errorf("a promoted run without its end should be unfinished, got %+v", open)
	}
	must(t, db.Finish(t.Context(), "01run", 1, run.Ending{State: run.Promoted, Verdict: verify.Pass}))
	if got, want := states(t, db, "01run"), []run.State{run.Queued, run.Promoting, run.Promoted}; !slices.Equal(got, want) {
		t.Errorf("states %v, want %v", got, want)
	}
}

func TestARunEndsOnce(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	must(t, db.Finish(t.Context(), "01run", 1, run.Ending{State: run.Failed, Verdict: verify.Infra, Exit: 3}))
	for name, err := range map[string]error{
		"a second end":   db.Finish(t.Context(), "01run", 1, run.Ending{State: run.Promoted, Verdict: verify.Pass}),
		"the same end":   db.Finish(t.Context(), "01run", 1, run.Ending{State: run.Failed, Verdict: verify.Infra, Exit: 3}),
		"another state":  db.Advance(t.Context(), "01run", 1, run.Verifying, "", ""),
		"a candidate":    db.SaveCandidate(t.Context(), "01run", 1, gate.Candidate{Verdict: verify.Pass}),
		"a promotion":    db.SavePromotion(t.Context(), "01run", 1, run.Promotion{Status: run.Prepared}),
		"going on later": db.Advance(t.Context(), "01run", 1, run.Done, "", ""),
	} {
		if !errors.Is(err, store.ErrFinished) {
			t.Errorf("%s: got %v, want ErrFinished", name, err)
		}
	}
	must(t, db.Beat(t.Context(), "01run", 1)) // a late heartbeat is not an error
	if _, err := db.Claim(t.Context(), "01run", 1, "other"); !errors.Is(err, run.ErrFenced) {
		t.Errorf("claim: got %v, want ErrFenced", err)
	}
	if got := states(t, db, "01run"); !slices.Equal(got, []run.State{run.Queued, run.Failed}) {
		t.Errorf("states %v", got)
	}
}

func TestAPromotedRunTakesNoMore(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	must(t, db.Finish(t.Context(), "01run", 1, run.Ending{State: run.Promoted, Verdict: verify.Pass}))
	for _, to := range []run.State{run.Verifying, run.Done} {
		if err := db.Advance(t.Context(), "01run", 1, to, "", ""); !errors.Is(err, store.ErrFinished) {
			t.Errorf("on to %s: got %v, want ErrFinished", to, err)
		}
	}
	if open, err := db.Unfinished(t.Context()); err != nil || len(open) != 0 {
		t.Errorf("the run is open again: %v, %v", open, err)
	}
}

func TestALateWriterIsFenced(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	token, err := db.Claim(t.Context(), "01run", 1, "second")
	must(t, err)
	if token != 2 {
		t.Errorf("token %d, want 2", token)
	}
	for name, err := range map[string]error{
		"advance":   db.Advance(t.Context(), "01run", 1, run.Analyzing, "", ""),
		"candidate": db.SaveCandidate(t.Context(), "01run", 1, gate.Candidate{Verdict: verify.Pass}),
		"promotion": db.SavePromotion(t.Context(), "01run", 1, run.Promotion{Status: run.Committed}),
		"finish":    db.Finish(t.Context(), "01run", 1, run.Ending{State: run.Promoted, Verdict: verify.Pass}),
		"beat":      db.Beat(t.Context(), "01run", 1),
	} {
		if !errors.Is(err, run.ErrFenced) {
			t.Errorf("%s with the old token: got %v, want ErrFenced", name, err)
		}
	}
	must(t, db.Beat(t.Context(), "01run", token))
	advance(t, db, "01run", token, run.Analyzing)
	d, err := db.Run(t.Context(), "01run")
	must(t, err)
	if d.Owner != "second" || d.Token != 2 || len(d.Candidates) != 0 || d.Promotion != nil {
		t.Errorf("the late writer left something: %+v", d)
	}
	if note := d.States[1].Note; note != "taken over from host/1/2/3" {
		t.Errorf("the takeover is noted as %q", note)
	}
}

func TestOneOfTenClaimsWins(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	for round := range int64(10) {
		held := round + 1
		var mu sync.Mutex
		var winners []string
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				owner := fmt.Sprintf("owner-%d", i)
				token, err := db.Claim(t.Context(), "01run", held, owner)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && token == held+1:
					winners = append(winners, owner)
				case !errors.Is(err, run.ErrFenced):
					t.Errorf("%s: token %d, %v", owner, token, err)
				}
			})
		}
		all.Wait()
		d, err := db.Run(t.Context(), "01run")
		must(t, err)
		if len(winners) != 1 || d.Owner != winners[0] || d.Token != held+1 {
			t.Fatalf("round %d: winners %v, recorded owner %s with token %d", round, winners, d.Owner, d.Token)
		}
	}
}

func TestAHeartbeatIsRenewed(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	before, err := db.Unfinished(t.Context())
	must(t, err)
	must(t, db.Beat(t.Context(), "01run", 1))
	after, err := db.Unfinished(t.Context())
	must(t, err)
	if !after[0].Beat.After(before[0].Beat) {
		t.Errorf("heartbeat %v is not after %v", after[0].Beat, before[0].Beat)
	}
}

func TestWhatIsNotThereIsSaidSo(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	_, claim := db.Claim(t.Context(), "02run", 1, "x")
	_, detail := db.Run(t.Context(), "02")
	_, nothing := db.Run(t.Context(), "")
	_, promotion := db.PromotionOf(t.Context(), "01run")
	_, _, last := db.LastPromotion(t.Context(), "/home/ada/shop")
	for name, err := range map[string]error{
		"advance": db.Advance(t.Context(), "02run", 1, run.Analyzing, "", ""), "beat": db.Beat(t.Context(), "02run", 1),
		"claim": claim, "run": detail, "no name": nothing, "promotion": promotion, "last promotion": last,
	} {
		if !errors.Is(err, database.ErrNotFound) {
			t.Errorf("%s: got %v, want ErrNotFound", name, err)
		}
	}
	if err := db.Create(t.Context(), record("01run")); !errors.Is(err, store.ErrExists) {
		t.Errorf("a second run of one name: got %v, want ErrExists", err)
	}
}

func TestRunsAreListedAndFoundByPrefix(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	for _, id := range []string{"01aa", "01ab", "01ab7", "02%_"} {
		r := record(id)
		if id == "02%_" {
			r.Workspace = "/other"
		}
		must(t, db.Create(t.Context(), r))
	}
	must(t, db.Finish(t.Context(), "01aa", 1, run.Ending{State: run.Done, Verdict: verify.Pass}))

	for _, c := range []struct {
		filter history.RunFilter
		want   string
	}{
		{history.RunFilter{}, "02%_ 01ab7 01ab 01aa"},
		{history.RunFilter{Limit: 2}, "02%_ 01ab7"},
		{history.RunFilter{Workspace: "/home/ada/shop", Limit: 2}, "01ab7 01ab"},
		{history.RunFilter{State: "done"}, "01aa"},
		{history.RunFilter{State: "no such state"}, ""},
	} {
		list, err := db.Runs(t.Context(), c.filter)
		must(t, err)
		var ids []string
		for _, r := range list {
			ids = append(ids, r.ID)
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.filter, got, c.want)
		}
	}
	for prefix, want := range map[string]string{"01aa": "01aa", "01ab": "01ab", "01ab7": "01ab7", "02": "02%_"} {
		if d, err := db.Run(t.Context(), prefix); err != nil || d.ID != want {
			t.Errorf("prefix %s: got %q, %v, want %s", prefix, d.ID, err, want)
		}
	}
	_, err := db.Run(t.Context(), "01")
	if a, ok := errors.AsType[*database.AmbiguousError](err); !ok || !slices.Equal(a.IDs, []string{"01ab7", "01ab", "01aa"}) {
		t.Errorf("prefix 01: got %v", err)
	}
	if _, err := db.Run(t.Context(), "%"); !errors.Is(err, database.ErrNotFound) {
		t.Errorf("a wildcard is no prefix: got %v", err)
	}
}

// candidate returns a candidate with a value in every field.
func candidate() gate.Candidate {
	return gate.Candidate{
		Verdict: verify.Fail, Digest: "d1", Diff: "--- a\n+++ b\n", Thought: "this is right",
		Edits:    []edit.Applied{{Block: 1, Path: "shop/stock.py", Strategy: match.Exact, Line: 12}},
		Skipped:  []verify.Skip{{Name: "tests", Reason: "there are none"}},
		Holds:    []policy.Hold{{Path: "Makefile", Kind: "tooling", Reason: "it runs on the host"}},
		Executed: []verify.Execution{{Path: "shop/stock.py", Lines: 3, Executed: 2}},
		Gates: []verify.Gate{
			{Name: "format", Verdict: verify.Pass, Seconds: 0.25, Tool: "ruff 0.16.1"},
			{
				Name: "lint", Verdict: verify.Fail, Seconds: 1.5, Old: 3, Fixed: 1, Detail: "ran ruff", Output: "F821", Tool: "ruff 0.16.1", Peak: 1 << 33,
				Findings: []verify.Finding{
					{File: "shop/stock.py", Line: 12, Column: 4, Tool: "ruff", Rule: "F821", Message: "undefined name", Source: "retrun x", Fixable: true, Help: "https://docs.example/F821"},
					{Message: "of no file"},
				},
				OldFindings: []verify.Finding{{File: "shop/tax.py", Line: 3, Rule: "F401", Message: "unused", Old: true}},
			},
		},
	}
}

func TestCandidatesComeBackWhole(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	first, second := candidate(), gate.Candidate{Verdict: verify.Infra}
	first.Changeset = workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Modify, Path: "shop/stock.py", Before: []byte("a"), After: []byte("b"), Mode: 0o644},
	}}
	must(t, db.SaveCandidate(t.Context(), "01run", 1, first))
	must(t, db.SaveCandidate(t.Context(), "01run", 1, second))
	d, err := db.Run(t.Context(), "01run")
	must(t, err)
	first.Changeset = workspace.Changeset{} // documented: not read back here
	if diff := cmp.Diff([]gate.Candidate{first, second}, d.Candidates); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
}

// The executed share of changed lines can be queried by file; a file that was not measured has no row.
func TestExecutedLinesAreRows(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	must(t, db.Create(t.Context(), record("01run")))
	for _, list := range [][]verify.Execution{{{Path: "a.py", Lines: 3, Executed: 2}, {Path: "b.go", Lines: 1}}, {}, nil} {
		must(t, db.SaveCandidate(t.Context(), "01run", 1, gate.Candidate{Verdict: verify.Pass, Executed: list}))
	}
	const row = `select string_agg(concat_ws(' ', candidate, path, executed, lines, verdict), '; ' order by candidate, path) from v_executed`
	if got := value(t, url, row); got != "1 a.py 2 3 pass; 1 b.go 0 1 pass" {
		t.Errorf("the rows are %s", got)
	}
}

// Every field of a finding that --json prints can be queried in SQL.
func TestFindingsAreRowsOfTheSameShape(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
	must(t, db.Create(t.Context(), record("01run")))
	must(t, db.SaveCandidate(t.Context(), "01run", 1, candidate()))
	const row = `select string_agg(concat_ws(' ', gate, file, line, col, rule, message, source, fixable, old, help), '; ' order by old, line desc) from v_findings`
	want := "lint shop/stock.py 12 4 F821 undefined name retrun x t f https://docs.example/F821; " +
		"lint  0 0  of no file  f f; lint shop/tax.py 3 0 F401 unused  f t"
	if got := value(t, url, row); got != want {
		t.Errorf("the rows are\n%s, want\n%s", got, want)
	}
	if got := value(t, url, `select concat(findings, ' ', old) from v_gates where gate = 'lint'`); got != "2 3" {
		t.Errorf("new and old: %s", got)
	}
}

func TestAnyBytesCanBeRecorded(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	const dirty = "a\x00b\xff\x1b[31m\\u0000 é"
	const mended = "a\uFFFDb\uFFFD\x1b[31m\\u0000 é"
	r := record("01run")
	r.Workspace, r.Intent, r.Owner = dirty, dirty, dirty
	must(t, db.Create(t.Context(), r))
	must(t, db.Advance(t.Context(), "01run", 1, run.Verifying, dirty, ""))
	must(t, db.SaveCandidate(t.Context(), "01run", 1, gate.Candidate{
		Verdict: verify.Fail, Diff: dirty, Thought: dirty, Edits: []edit.Applied{{Path: dirty}},
		Skipped: []verify.Skip{{Name: dirty, Reason: dirty}}, Holds: []policy.Hold{{Path: dirty, Reason: dirty}},
		Gates: []verify.Gate{{
			Name: dirty, Verdict: verify.Fail, Detail: dirty, Output: dirty, Tool: dirty,
			Findings: []verify.Finding{{File: dirty, Rule: dirty, Message: dirty, Source: dirty, Help: dirty}},
		}},
	}))
	must(t, db.SavePromotion(t.Context(), "01run", 1, run.Promotion{Status: run.RolledBack, Approved: dirty}))
	must(t, db.Finish(t.Context(), "01run", 1, run.Ending{
		State: run.Failed, Verdict: verify.Infra,
		Error: &run.Problem{Kind: dirty, Message: dirty, Next: dirty},
	}))

	d, err := db.Run(t.Context(), "01run")
	must(t, err)
	c, g := d.Candidates[0], d.Candidates[0].Gates[0]
	for i, got := range []string{
		d.Workspace, d.Intent, d.Owner, d.States[1].Note, c.Diff, c.Thought, c.Skipped[0].Reason, c.Holds[0].Path,
		g.Name, g.Output, g.Findings[0].File, g.Findings[0].Source, g.Findings[0].Help, d.Promotion.Approved, d.Error.Message, string(d.Error.Kind),
	} {
		if got != mended {
			t.Errorf("text %d: got %q, want %q", i, got, mended)
		}
	}
	if string(d.Patch) != string(r.Patch) {
		t.Errorf("the patch is kept as it is, got %q", d.Patch)
	}
}

func TestTheCacheKeepsTheLastValue(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	if data, ok, err := db.Load(t.Context(), "k"); ok || err != nil || data != nil {
		t.Errorf("unknown key: %q %v %v", data, ok, err)
	}
	for _, value := range []string{"one", "\x00\xff", ""} {
		must(t, db.Save(t.Context(), "k", []byte(value)))
		if data, ok, err := db.Load(t.Context(), "k"); !ok || err != nil || string(data) != value {
			t.Errorf("got %q %v %v, want %q", data, ok, err, value)
		}
	}
	must(t, db.Save(t.Context(), "nil", nil))
	if _, ok, err := db.Load(t.Context(), "nil"); !ok || err != nil {
		t.Errorf("nothing is a value too: %v %v", ok, err)
	}
}

func TestACancelledCallerGetsItsOwnReason(t *testing.T) {
	t.Parallel()
	db := begin(t, "01run")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user has gone")
	cancel(why)
	if err := db.Beat(ctx, "01run", 1); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
}

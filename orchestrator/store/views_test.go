package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"agent/orchestrator/gate"
	"agent/orchestrator/llm"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/query"
	"agent/orchestrator/store/storetest"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// A past is a history that tests create with the store's own calls. Only the times are set by hand, because the store takes them from its
// clock.
type past struct {
	*testing.T
	db   *store.DB
	conn *pgx.Conn
}

// newPast uses a session time zone whose days never coincide with the days of UTC.
func newPast(t *testing.T) past {
	t.Helper()
	_, dsn := storetest.New(t)
	dsn += "&timezone=Asia/Tokyo"
	db, err := store.Open(t.Context(), dsn)
	must(t, err)
	t.Cleanup(db.Close)
	conn, err := pgx.Connect(t.Context(), dsn)
	must(t, err)
	t.Cleanup(func() { conn.Close(t.Context()) })
	return past{t, db, conn}
}

// set changes rows by hand.
func (p past) set(sql string, args ...any) {
	p.Helper()
	_, err := p.conn.Exec(p.Context(), sql, args...)
	must(p.T, err)
}

// asked makes a run ask a model first.
func (p past) asked(scope, vendor string, end bool) {
	p.Helper()
	r := call(scope, "propose/1", "d")
	r.Vendor = vendor
	number, err := p.db.Begin(p.Context(), r)
	must(p.T, err)
	if end {
		must(p.T, p.db.End(p.Context(), number, llm.Outcome{Text: "x", Usage: llm.Usage{In: llm.Tokens{N: 70}, Out: llm.Tokens{N: 30}}, Cost: 500_000, Priced: true}))
	}
}

// begin records a run on a day.
func (p past) begin(id, day string) {
	p.Helper()
	must(p.T, p.db.Create(p.Context(), record(id)))
	p.set(`update run set created = $2 where id = $1`, id, at(p.T, day))
}

// tried records a candidate.
func (p past) tried(id string, v verify.Verdict, gates ...verify.Gate) {
	p.Helper()
	must(p.T, p.db.SaveCandidate(p.Context(), id, 1, gate.Candidate{Verdict: v, Digest: "d", Gates: gates, Changeset: aFile("new")}))
}

// wrote records a promotion and its end.
func (p past) wrote(id, undoOf, by, when string) {
	p.Helper()
	advance(p.T, p.db, id, 1, run.AwaitingApproval, run.Promoting)
	must(p.T, p.db.SavePromotion(p.Context(), id, 1, run.Promotion{Status: run.Committed, UndoOf: undoOf, Approved: by, Changeset: aFile("new")}))
	must(p.T, p.db.Finish(p.Context(), id, 1, run.Ending{State: run.Promoted, Verdict: verify.Pass}))
	p.set(`update promotion set at = $2 where run = $1`, id, at(p.T, when))
}

// ended records a run without a result.
func (p past) ended(id string, state run.State, v verify.Verdict, kind run.ProblemKind) {
	p.Helper()
	must(p.T, p.db.Finish(p.Context(), id, 1, run.Ending{State: state, Verdict: v, Error: &run.Problem{Kind: kind}}))
}

// at parses a time in UTC.
func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.ParseInLocation("2006-01-02 15:04", text, time.UTC)
	must(t, err)
	return moment
}

// aFile returns a change of one file.
func aFile(text string) workspace.Changeset {
	return workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: "a.py", After: []byte(text), Mode: 0o644}}}
}

// judgedGate returns a gate that took some seconds and some bytes of memory.
func judgedGate(name string, v verify.Verdict, seconds float64, peak int64) verify.Gate {
	return verify.Gate{Name: name, Verdict: v, Seconds: seconds, Peak: peak}
}

// flaky returns a gate with a test that a repetition excused.
func flaky(failed int) verify.Gate {
	g := judgedGate("tests", verify.Pass, 4, 10)
	g.OldFindings = []verify.Finding{
		{File: "t.py", Rule: "test-failed", Message: fmt.Sprintf("t.py::test_a: flaky: failed %d of 3 times before the patch: assert: flaky: failed 9 of 9 times before the patch", failed)},
		{File: "t.py", Rule: "test-failed", Message: "t.py::test_b: was broken"},
	}
	return g
}

// operated returns a history with something for each view.
func operated(t *testing.T) past {
	t.Helper()
	p := newPast(t)
	// A run that was repaired, promoted by a person and undone; its first day is a different one in Tokyo.
	p.begin("01healed", "2026-03-01 23:30")
	p.asked("01healed", "gemini", true)
	p.tried("01healed", verify.Fail, judgedGate("lint", verify.Pass, 1, 100), judgedGate("tests", verify.Fail, 2, 300), judgedGate("smoke", verify.Fail, 1, 1))
	p.asked("01healed", "ollama", true)
	p.tried("01healed", verify.Pass, judgedGate("lint", verify.Pass, 3, 200), flaky(1))
	p.set(`update candidate set at = case n when 1 then at else (select at + '5 seconds' from candidate where n = 1) end`)
	p.wrote("01healed", "", "terminal", "2026-03-02 10:00")
	p.set(`update run_state set at = case state when 'awaiting_approval' then $1::timestamptz else $1 + '90 seconds'::interval end
		where state in ('awaiting_approval', 'promoting')`, at(t, "2026-03-01 12:00"))
	p.begin("02undo", "2026-03-02 11:00")
	p.wrote("02undo", "01healed", "undo", "2026-03-02 11:00")
	// A run of a loop, whose questions belong to its iteration; its promotion stands.
	it, err := p.db.StartIteration(t.Context(), iteration("03iter"))
	must(t, err)
	loop := record("03loop")
	loop.Iteration = it.ID
	must(t, p.db.Create(t.Context(), loop))
	p.set(`update run set created = $1 where id = '03loop'`, at(t, "2026-03-01 10:00"))
	it.Run = loop.ID
	must(t, p.db.SaveIteration(t.Context(), it))
	p.asked(it.ID, "gemini", true)
	p.tried("03loop", verify.Pass, flaky(2))
	p.set(`update candidate set at = at + '1 minute' where run = '03loop'`)
	p.wrote("03loop", "", "--yes", "2026-03-03 10:00")
	// A supplied patch, held by two rules.
	p.begin("04held", "2026-03-03 10:00")
	held := judgedGate("tests", verify.Policy, 2, 50)
	held.Findings = []verify.Finding{{File: "t.py", Rule: "test-removed", Message: "it is gone"}}
	held.OldFindings = []verify.Finding{{File: "t.py", Rule: "test-failed", Message: "no rule of the patch's"}}
	must(t, p.db.SaveCandidate(t.Context(), "04held", 1, gate.Candidate{
		Verdict: verify.Policy, Gates: []verify.Gate{held}, Holds: []policy.Hold{{Path: "ci.yml", Kind: "ci", Reason: "it runs elsewhere", Block: true}},
	}))
	p.ended("04held", run.Rejected, verify.Policy, "policy")
	// Failures: two times out of memory, and once without a box.
	for _, id := range []string{"05oom", "06oom"} {
		p.begin(id, "2026-03-03 11:00")
		p.tried(id, verify.OOM, judgedGate("tests", verify.OOM, 5, 1000))
		p.ended(id, run.Rejected, verify.OOM, "gate")
	}
	p.begin("07infra", "2026-03-03 12:00")
	p.ended("07infra", run.Failed, verify.Infra, "infra")
	return p
}

// rows runs a query as the reader and returns its rows without the header; ∅ stands for null.
func rows(t *testing.T, db *store.DB, sql string) []string {
	t.Helper()
	lines, err := table(t.Context(), db.Runner, sql)
	must(t, err)
	return lines[1:]
}

// Each answer was worked out by hand from the history of operated.
func TestViewsForOperatorsAnswer(t *testing.T) {
	t.Parallel()
	p := operated(t)
	for sql, want := range map[string][]string{
		`select run, n, verdict, files, gates, stopped_by, holds from v_candidates order by 1, 2 limit 4`: {
			"01healed|1|fail|1|3|tests|0", "01healed|2|pass|1|2|∅|0", "03loop|1|pass|1|1|∅|0", "04held|1|policy|0|1|tests|1",
		},
		`select * from v_funnel_daily order by day`: {
			"2026-03-01|2|2|2|2|1|0|0|1.0000", "2026-03-03|4|3|0|0|0|4|0|0.0000",
		},
		`select * from v_first_pass_rate order by day, model`: {
			"2026-03-01|gemini/flash|2|1|0.5000", "2026-03-03|∅|3|0|0.0000",
		},
		`select state, verdict, error_kind, gate, runs, share, last_run from v_failure_taxonomy order by runs desc, state`: {
			"rejected|oom|gate|tests|2|0.5000|06oom", "failed|infra|infra|∅|1|0.2500|07infra", "rejected|policy|policy|tests|1|0.2500|04held",
		},
		// Of 2, 2, 4, 4, 5 and 5 seconds: the median lies between 4 and 4, p95 is 5.
		`select * from v_gate_latency order by gate`: {
			"lint|2|2.000|2.900|2.980|3.000", "smoke|1|1.000|1.000|1.000|1.000", "tests|6|4.000|5.000|5.000|5.000",
		},
		`select run, candidates, passed_at, first_verdict, last_verdict, seconds from v_heal_attempts order by run limit 3`: {
			"01healed|2|2|fail|pass|5.000", "03loop|1|1|pass|pass|0.000", "04held|1|∅|policy|policy|0.000",
		},
		`select test, file, seen, failed, times, rate, last_run from v_flaky`: {"t.py::test_a|t.py|2|3|6|0.5000|03loop"},
		// Every request has 100 tokens and costs half a unit; the iteration's requests count for its run.
		`select * from v_cost_per_promoted order by model`: {
			"gemini/flash|2|2|2|200|1.000000|0|100.0|0.500000", "ollama/flash|1|1|1|100|0.500000|0|100.0|0.500000",
		},
		`select run, seconds, "then", approved_by from v_human_latency where run < '02'`: {"01healed|90.000|promoting|terminal"},
		`select run, undone_by, approved_by, stood_seconds, files, redone_by from v_reverted`: {
			"01healed|02undo|undo|3600.000|1|∅",
		},
		`select run, candidate, source, kind, path, reason, blocks, state, approved_by from v_policy_hits order by source`: {
			"04held|1|gate|test-removed|t.py|it is gone|true|rejected|∅", "04held|1|hold|ci|ci.yml|it runs elsewhere|true|rejected|∅",
		},
		`select gate, times, peak_bytes, p95_bytes, longest, ooms, timeouts, peak_run from v_resource_peaks order by gate`: {
			"lint|2|200|195|3.000|0|0|01healed", "smoke|1|1|1|1.000|0|0|01healed", "tests|6|1000|1000|5.000|2|0|06oom",
		},
		`select * from v_stuck`: {},
		`select * from v_leaks`: {},
	} {
		if d := cmp.Diff(want, rows(t, p.db, sql)); d != "" {
			t.Errorf("%s (-want +got):\n%s", sql, d)
		}
	}
}

func TestViewsTellWhatDoesNotGoOn(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	for _, id := range []string{"01waits", "02silent", "03half", "04works"} {
		must(t, p.db.Create(t.Context(), record(id)))
	}
	advance(t, p.db, "01waits", 1, run.AwaitingApproval, run.AwaitingApproval) // a request is recorded meanwhile
	p.set(`update run_state set at = at - interval '10 minutes' where run = '01waits' and n <= 2`)
	p.tried("02silent", verify.Pass, verify.Gate{Name: "lint", Verdict: verify.Pass, Detail: "ran ruff (close the box of lint: it is gone)"})
	p.set(`update run set beat = beat - interval '91 seconds' where id = '02silent'`)
	must(t, p.db.SavePromotion(t.Context(), "03half", 1, run.Promotion{Status: run.Prepared, Changeset: aFile("half")}))
	p.ended("03half", run.Failed, verify.Infra, "infra")
	p.asked("03half", "gemini", false)
	p.asked("04works", "gemini", false)
	// This is the content of a candidate that the fence refused.
	if err := p.db.SaveCandidate(t.Context(), "04works", 9, gate.Candidate{Verdict: verify.Pass, Changeset: aFile("nobody's")}); err == nil {
		t.Fatal("a wrong token was taken")
	}
	for sql, want := range map[string][]string{
		`select run, state, why, seconds between 600 and 1200 from v_stuck where why = 'approval'`:      {"01waits|awaiting_approval|approval|true"},
		`select run, why, seconds > 90 from v_stuck where why <> 'approval'`:                            {"02silent|silent|true"},
		`select kind, run from v_leaks order by kind, run`:                                              {"box|02silent", "lease|02silent", "promotion|03half", "request|03half"},
		`select run, answered, seconds >= 600, "then", approved_by from v_human_latency`:                {"01waits|∅|true|∅|∅"},
		`select runs, tried, under_way from v_funnel_daily`:                                             {"4|1|3"},
		`select model, runs, promoted, tokens_per_promoted, cost_per_promoted from v_cost_per_promoted`: {"gemini/flash|2|0|∅|∅"},
	} {
		if d := cmp.Diff(want, rows(t, p.db, sql)); d != "" {
			t.Errorf("%s (-want +got):\n%s", sql, d)
		}
	}
	p.set(`update run set beat = beat - interval '91 seconds' where id = '01waits'`)
	if got := rows(t, p.db, `select run, why from v_stuck order by run`); !slices.Equal(got, []string{"01waits|silent", "02silent|silent"}) {
		t.Errorf("with a dead process behind the question: %q", got)
	}
}

// plain lists the columns whose names explain themselves.
var plain = strings.Fields(`run workspace state verdict intent at n note kind path op gate seconds candidate file message rule source
	detail purpose vendor model begun iteration text reason language name signature started ended day runs because queued served
	undo_of tool attempt goal`)

// unexplained lists the views and columns without an explanation.
func unexplained(views []query.View) (bare []string) {
	for _, v := range views {
		if !strings.Contains(v.Comment, "?") {
			bare = append(bare, v.Name)
		}
		for _, c := range v.Columns {
			if c.Comment == "" && !slices.Contains(plain, c.Name) {
				bare = append(bare, v.Name+"."+c.Name)
			}
		}
	}
	return bare
}

func TestEveryViewSaysWhatItAnswers(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	views, err := p.db.Views(t.Context())
	must(t, err)
	if bare := unexplained(views); len(bare) > 0 {
		t.Errorf("no comment: %v", bare)
	}
	var names []string
	for _, v := range views {
		names = append(names, v.Name)
		rows(t, p.db, "select * from "+v.Name) // the reader may query it, and it answers
	}
	want := strings.Fields(`v_analysis v_bot_jobs v_candidates v_cascade v_chats v_ci v_cost_per_promoted v_critiques v_directives v_events v_executed v_failure_taxonomy
		v_findings v_first_pass_rate v_flaky v_funnel_daily v_gate_latency v_gates v_heal_attempts v_history v_human_latency
		v_integrations v_iterations v_leaks v_memory v_model_calls v_model_keys v_plan_progress v_plans v_policy_hits v_promotion_files
		v_promotions v_proposals v_pull_runs v_pulls v_recordings v_reports v_resource_peaks v_reverted v_review_comments v_reviews v_roles v_runs
		v_states v_stuck v_symbols v_tasks v_tool_calls v_unproven`)
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("views (-want +got):\n%s", d)
	}
	// A missing comment is noticed.
	p.set(`comment on view v_flaky is null; comment on column v_flaky.rate is null`)
	views, err = p.db.Views(t.Context())
	must(t, err)
	if bare := unexplained(views); !slices.Equal(bare, []string{"v_flaky", "v_flaky.rate"}) {
		t.Errorf("without two comments: %v", bare)
	}
}

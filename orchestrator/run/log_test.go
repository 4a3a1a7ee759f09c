package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/store/history"
	"agent/sandbox"
	"agent/sandbox/egress"
	"agent/sandbox/guest"
	"agent/verify"
	"agent/verify/policy"
)

// entriesOf returns the events of a run, each as kind, actor and subject.
func entriesOf(b *runtest.Bench, t *testing.T, id string) (list []string, rows []history.EventRow) {
	t.Helper()
	rows, err := b.DB.Events(t.Context(), id, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		if i > 0 && r.At.Before(rows[i-1].At) {
			t.Errorf("%s %s is before what came before it", r.Kind, r.Subject)
		}
		list = append(list, fmt.Sprintf("%s %s: %s", r.Kind, r.Actor, r.Subject))
	}
	return list, rows
}

// busy is a verifier that reports commands in boxes and calls to the engine through its context, like the real one.
type busy struct{}

func (busy) Verify(ctx context.Context, req verify.Request, emit func(verify.Event)) (verify.Report, error) {
	w := sandbox.WatcherOf(ctx) // as the engine reports it
	w.Called(sandbox.Call{Method: "POST", Path: "/containers/create", Status: 201, Took: 7 * time.Millisecond})
	w.Ran(sandbox.Ran{Box: "0123456789abcdef", Args: []string{"ruff", "check"}, Result: guest.Result{Exit: 1, OOM: true}})
	w.Ran(sandbox.Ran{Box: "01", Args: []string{"sh"}, Err: errors.New("gone")})
	w.Ran(sandbox.Ran{Box: "01", Args: []string{"sh"}, Result: guest.Result{Signal: "SIGSEGV"}})
	emit(verify.Event{Gate: "lint", Done: true, Verdict: verify.Pass, Seconds: 0.25, Detail: "fine"})
	emit(verify.Event{Gate: "lint", Done: true, Baseline: true})
	emit(verify.Event{Gate: "tests", Done: true})
	emit(verify.Event{Gate: "smoke"})
	emit(verify.Event{Gate: "tests", Request: &egress.Request{Method: "GET", Host: "a.example", Port: 80, End: "not on the list"}})
	report, err := runtest.Says(verify.Pass)(ctx, req)
	report.Holds = []policy.Hold{{Path: "ci.yml", Kind: "ci", Reason: "It runs with keys.", Block: true}}
	return report, err
}

// When a run has ended, its log contains everything that it did, in order; later entries are appended.
func TestTheLogOfARunIsWholeWhenItHasEnded(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, nil)
	b.Runner.Verifier = busy{}
	req := b.Request()
	doc := b.Run(t.Context(), req)
	b.Ended(t, doc, run.Rejected, verify.Policy, run.ExitApproval)
	got, rows := entriesOf(b, t, doc.Run)
	want := []string{
		"state agent: queued", "state agent: analyzing", "state agent: verifying",
		"engine agent: POST /containers/create", "tool box 0123456789ab: ruff check", "tool box 01: sh", "tool box 01: sh",
		"gate agent: lint", "gate agent: lint", "gate agent: tests", "egress box of tests: GET a.example",
		"policy agent: ci.yml", "state agent: awaiting_approval", "approval nobody: unattended", "policy agent: run", "state agent: rejected",
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the log is\n%s", strings.Join(got, "\n"))
	}
	for i, detail := range map[int]string{
		0: `"note": "patch p.xml"`, 3: `{"ms": 7, "status": 201}`, 4: `{"ms": 0, "oom": true, "exit": 1}`, 5: `{"ms": 0, "error": "gone"}`,
		6: `{"ms": 0, "signal": "SIGSEGV"}`, 7: `{"ms": 250, "detail": "fine", "verdict": "pass"}`, 8: `{"ms": 0, "baseline": true}`, 9: `{"ms": 0, "verdict": "skipped"}`,
		10: `"allowed": false`, 11: `"blocks": true`, 13: "which the test does not approve", 14: "awaiting approval", 15: `"exit": 4`,
	} {
		if !strings.Contains(string(rows[i].Detail), detail) {
			t.Errorf("%s has the detail %s, want %s", got[i], rows[i].Detail, detail)
		}
	}

	b.Runner.Verifier = runtest.Says(verify.Pass)
	doc = b.Run(t.Context(), req)
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	got, rows = entriesOf(b, t, doc.Run)
	if n := len(got); !slices.Contains(got, "approval the test: apply") || got[n-1] != "state agent: promoted" || !strings.Contains(string(rows[n-1].Detail), `"verdict": "pass"`) {
		t.Errorf("the log is\n%s", strings.Join(got, "\n"))
	}
}

// A blank store keeps runs, but not log entries with this subject.
type blank struct {
	run.LogStore
	to string
}

func (d blank) AppendEntries(ctx context.Context, entries []run.Entry) error {
	if slices.ContainsFunc(entries, func(e run.Entry) bool { return e.Subject == d.to }) {
		return errGone
	}
	return d.LogStore.AppendEntries(ctx, entries)
}

// Without a log nothing is promoted, and no run succeeds.
func TestARunWhoseLogIsLostFails(t *testing.T) {
	t.Parallel()
	for _, lost := range []run.State{run.Queued, run.Verifying, run.Done} {
		b := runtest.Setup(t, runtest.Says(verify.Pass))
		log := run.NewLog(t.Context(), blank{b.DB, string(lost)}, strings.TrimSpace)
		b.Runner.Log = log
		req := b.Request()
		req.NoPromote = lost == run.Done
		doc := b.Run(t.Context(), req)
		b.Ended(t, doc, run.Failed, verify.Infra, run.ExitInfra)
		b.Untouched(t)
		if doc.Error == nil || !strings.Contains(doc.Error.Message, errGone.Error()) {
			t.Errorf("%s lost: %+v", lost, doc.Error)
		}
		if err := log.Close(); err == nil || !strings.Contains(err.Error(), "the log of run "+doc.Run+" is incomplete") {
			t.Errorf("%s lost: at the end %v", lost, err)
		}
		// An entry after the end belongs to no run and delays nothing.
		if doc := b.Run(t.Context(), req); doc.Verdict != verify.Infra {
			t.Errorf("with a log that was closed: %+v", doc)
		}
		b.Untouched(t)
	}
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	b.Runner.Log = nil
	b.Ended(t, b.Run(t.Context(), b.Request()), run.Promoted, verify.Pass, run.ExitDone)
	if err := b.Runner.Log.Close(); err != nil {
		t.Error(err)
	}
}

// A slow store keeps one batch at a time, each when allowed to.
type slow struct {
	let   chan bool
	mu    sync.Mutex
	kept  []run.Entry
	calls int
}

func (s *slow) AppendEntries(ctx context.Context, entries []run.Entry) error {
	select {
	case <-s.let:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept, s.calls = append(s.kept, entries...), s.calls+1
	return nil
}

// A writer waits if the log is full, and no entry is lost or overtaken.
func TestAFullLogWaits(t *testing.T) {
	t.Parallel()
	s := &slow{let: make(chan bool)}
	log := run.NewLog(t.Context(), s, strings.ToUpper)
	ctx := log.Of(t.Context(), "01run")
	const most = 2000 // more than the queue and a batch can contain
	var entered sync.WaitGroup
	entered.Go(func() {
		for i := range most {
			run.Enter(ctx, run.Entry{Kind: run.ToolEntry, Subject: fmt.Sprint("s", i), Detail: map[string]any{"n": i, "text": "t"}})
		}
	})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := log.Flush(gone, "01run"); !errors.Is(err, context.Canceled) {
		t.Errorf("given up with its caller: %v", err)
	}
	close(s.let)
	entered.Wait()
	if err := log.Flush(t.Context(), "01run"); err != nil || len(s.kept) != most {
		t.Fatalf("%d of %d are kept, %v", len(s.kept), most, err)
	}
	for i, e := range s.kept {
		if e.Subject != fmt.Sprint("S", i) || e.Detail["text"] != "T" || e.Detail["n"] != i || e.Run != "01run" || i > 0 && e.At.Before(s.kept[i-1].At) {
			t.Fatalf("entry %d is %+v", i, e)
		}
	}
	if s.calls > most/100 {
		t.Errorf("%d entries took %d writes", most, s.calls)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// The log of a run is written while it goes on, so that a kill does not lose it.
func TestALogIsWrittenWhileTheRunGoesOn(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, nil)
	b.Runner.Verifier = runtest.Judge(func(ctx context.Context, req verify.Request) (verify.Report, error) {
		for ctx.Err() == nil {
			rows, err := b.DB.Runs(ctx, history.RunFilter{})
			if err != nil {
				return verify.Report{}, err
			}
			if list, _ := entriesOf(b, t, rows[0].ID); slices.Contains(list, "state agent: verifying") {
				break
			}
		}
		return runtest.Says(verify.Pass)(ctx, req)
	})
	b.Ended(t, b.Run(t.Context(), b.Request()), run.Promoted, verify.Pass, run.ExitDone)
}

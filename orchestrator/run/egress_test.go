package run_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/sandbox/egress"
	"agent/verify"
)

// Requests from a box are recorded in the order in which they ended, without apparent secrets. If requests cannot be recorded, nothing is
// judged.
func TestWhatLeavesABoxIsRecorded(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, nil)
	token := "ghp_" + strings.Repeat("a1B2c3D4e5", 4)[:36]
	b.Runner.Verifier = loud(func(emit func(verify.Event)) {
		emit(verify.Event{Gate: "tests", Request: &egress.Request{Method: "GET", Host: "a.example", Port: 80, Allowed: true, Sent: 1, Received: 2, Took: time.Second, End: "ended by the server"}})
		emit(verify.Event{Gate: "baseline-smoke", Request: &egress.Request{Method: "CONNECT", Host: token + ".example", Port: 443, End: "not on the list"}})
	})
	var notes []string
	emit := b.Runner.Emit
	b.Runner.Emit = func(e run.Event) {
		if emit(e); e.State == "" && e.Gate == nil {
			notes = append(notes, e.Note)
		}
		if e.Gate != nil {
			t.Errorf("a request was told of as a gate: %+v", e)
		}
	}
	doc := b.Run(t.Context(), b.Request())
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	d, err := b.DB.Run(t.Context(), doc.Run)
	if err != nil {
		t.Fatal(err)
	}
	var recorded []string
	for _, s := range d.States {
		if s.State == run.Verifying {
			recorded = append(recorded, s.Note)
		}
	}
	const refused = "baseline-smoke: CONNECT [secret 1].example:443 refused: not on the list"
	want := []string{"2 files changed", "tests: GET a.example:80 allowed, 1 bytes sent, 2 received in 1.0 s, ended by the server", refused}
	if !slices.Equal(recorded, want) {
		t.Errorf("recorded %q, want %q", recorded, want)
	}
	if !slices.Contains(notes, refused) {
		t.Errorf("the watcher was not told of what was refused: %q", notes)
	}

	other := runtest.Setup(t, nil)
	other.Runner.Verifier = b.Runner.Verifier
	other.Runner.Store = forgetful{other.DB}
	if doc := other.Run(t.Context(), other.Request()); doc.Verdict != verify.Infra || doc.Error == nil || !strings.Contains(doc.Error.Message, errGone.Error()) {
		t.Errorf("without a record: %+v", doc)
	}
	other.Untouched(t)
}

// A forgetful store records everything except allowed requests from a box.
type forgetful struct{ run.Store }

func (f forgetful) Advance(ctx context.Context, id string, token int64, to run.State, note, snapshot string) error {
	if strings.Contains(note, " allowed, ") {
		return errGone
	}
	return f.Store.Advance(ctx, id, token, to, note, snapshot)
}

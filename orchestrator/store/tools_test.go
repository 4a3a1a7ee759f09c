package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/llm"
	"agent/orchestrator/store/storetest"
)

// toolCall returns a call with a value in every field.
func toolCall(number int, digest string) conversation.Call {
	return conversation.Call{
		Step: "propose/1", Round: 2, Number: number, Tool: "read", Arguments: `{"path":"a.py"}`, Digest: digest, Head: "a.py, 1 lines",
		Text: "x\x00\xff\n", File: "a.py", Failed: true, Shown: 40, Begun: time.Now().UTC().Truncate(time.Microsecond), Took: 1500 * time.Microsecond,
	}
}

func TestCallsOfToolsAreFoundAgain(t *testing.T) {
	t.Parallel()
	a, b, dsn := two(t)
	must(t, a.Create(t.Context(), record("01run")))
	first := toolCall(1, "d1")
	w := a.Workbench("01run", "")
	must(t, w.SaveCall(t.Context(), first))
	later := first
	later.Text = "another"
	must(t, w.SaveCall(t.Context(), later)) // a retry whose answer was lost finds the first one
	got, ok, err := b.Workbench("01run", "").FindCall(t.Context(), conversation.Call{Step: "propose/1", Number: 1, Digest: "d1"})
	must(t, err)
	got.Begun = got.Begun.UTC()
	if d := cmp.Diff(first, got); d != "" || !ok {
		t.Errorf("found %v (-want +got):\n%s", ok, d)
	}
	for _, c := range []conversation.Call{
		{Step: "propose/1", Number: 1, Digest: "d2"}, {Step: "propose/1", Number: 2, Digest: "d1"}, {Step: "heal/1.1", Number: 1, Digest: "d1"},
	} {
		if _, ok, err := w.FindCall(t.Context(), c); ok || err != nil {
			t.Errorf("%+v is found: %v, %v", c, ok, err)
		}
	}
	// A credential in the arguments is not visible to readers of the record.
	secret := toolCall(2, "d3")
	secret.Arguments = `{"content":"token = ghp` + `_abcdefghijklmnopqrstuvwxyz0123456789"}`
	must(t, w.SaveCall(t.Context(), secret))
	if got := value(t, dsn, `select arguments from v_tool_calls where call = 2`); got != `{"content":"token = [secret 1]"}` {
		t.Errorf("the view shows %s", got)
	}
	list, err := a.ToolCalls(t.Context(), "01run")
	if err != nil || len(list) != 2 || list[1].Number != 2 {
		t.Errorf("%v, %+v", err, list)
	}
}

func TestAReplayIsAnsweredFromTheRecordAlone(t *testing.T) {
	t.Parallel()
	db, dsn := storetest.New(t)
	must(t, db.Create(t.Context(), record("01run")))
	must(t, db.Create(t.Context(), record("02run")))
	must(t, db.Workbench("01run", "").SaveCall(t.Context(), toolCall(1, "d1")))
	w := db.Workbench("02run", "01run")
	if _, ok, err := w.FindCall(t.Context(), toolCall(1, "d1")); !ok || err != nil {
		t.Errorf("a recorded call: %v, %v", ok, err)
	}
	if _, _, err := w.FindCall(t.Context(), toolCall(2, "d1")); !errors.Is(err, llm.ErrNotRecorded) {
		t.Errorf("one that was not made: %v", err)
	}
	must(t, w.SaveCall(t.Context(), toolCall(3, "d1")))
	must(t, w.SaveEnd(t.Context(), conversation.Ended{Step: "propose/1", End: conversation.Finished}))
	if got := value(t, dsn, `select (select count(*) from tool_call) || ' ' || (select count(*) from conversation)`); got != "1 0" {
		t.Errorf("the replay has left %s", got)
	}
}

func TestTheLastEndOfAConversationCounts(t *testing.T) {
	t.Parallel()
	db, dsn := storetest.New(t)
	must(t, db.Create(t.Context(), record("01run")))
	w := db.Workbench("01run", "")
	must(t, w.SaveCall(t.Context(), toolCall(1, "d1")))
	// The view shows only the digest of the answer.
	if got := value(t, dsn, `select coalesce(conversation_end, 'under way') || ' ' || bytes || ' ' || failed || ' ' || (answer = encode(sha256('\x7800ff0a'), 'hex')) from v_tool_calls`); got != "under way 40 true true" {
		t.Errorf("the view shows %s", got)
	}
	for _, end := range []conversation.End{conversation.Rounds, conversation.Finished} {
		must(t, w.SaveEnd(t.Context(), conversation.Ended{Step: "propose/1", End: end, Rounds: 3, Calls: 5, Shown: 700}))
	}
	if got := value(t, dsn, `select conversation_end || ' ' || seconds from v_tool_calls`); got != "finished 0.001500" {
		t.Errorf("the view shows %s", got)
	}
	if err := w.SaveEnd(t.Context(), conversation.Ended{Step: "propose/1", End: "bored"}); err == nil {
		t.Error("an end that nobody knows was taken")
	}
}

package gemini_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/gemini"
	"agent/orchestrator/llm/llmtest"
)

// A dialogue is a conversation with tool calls, on a server that keeps caches on request.
type dialogue struct {
	t      *testing.T
	server *llmtest.Server
	asked  *gemini.Provider
	now    time.Time
	req    llm.Request
}

// newDialogue starts a dialogue of size bytes.
func newDialogue(t *testing.T, size int) *dialogue {
	t.Helper()
	d := &dialogue{t: t, now: time.Unix(1000, 0), req: withTools()}
	d.server = llmtest.Gemini().Choose(func(llmtest.Request) llmtest.Step {
		return llmtest.Step{Calls: []llmtest.Call{{ID: "1", Name: "read", Arguments: "{}"}}, Usage: &llmtest.Usage{In: 30000, Out: 10, Cached: 20000}}
	})
	t.Cleanup(d.server.Close)
	var err error
	if d.asked, err = gemini.New(gemini.Options{BaseURL: d.server.URL(), Now: func() time.Time { return d.now }}); err != nil {
		t.Fatal(err)
	}
	d.req.System = "be brief"
	d.req.Messages = []llm.Message{{Role: llm.User, Text: strings.Repeat("words ", size/6)}}
	return d
}

// round asks the next question, appends the answer and a result of the given size, and checks that the server was shown everything.
func (d *dialogue) round(result int) llm.Usage {
	d.t.Helper()
	a, err := d.asked.Generate(d.t.Context(), key, d.req, func(string) error { return nil })
	if err != nil {
		d.t.Fatal(err)
	}
	list := d.server.Requests()
	got := list[len(list)-1]
	if got.System != "be brief" || len(got.Tools) != 1 || len(got.Messages) != len(d.req.Messages) || got.Messages[0].Text != d.req.Messages[0].Text {
		d.t.Fatalf("it was shown %q, %d tools, %d messages of %d", got.System, len(got.Tools), len(got.Messages), len(d.req.Messages))
	}
	d.req.Messages = append(
		d.req.Messages, llm.Message{Role: llm.Assistant, Calls: a.Calls},
		llm.Message{Role: llm.User, Results: []llm.ToolResult{{ID: a.Calls[0].ID, Text: strings.Repeat("x", result)}}},
	)
	return a.Usage
}

// state describes how the last question was asked, and what the server keeps.
func (d *dialogue) state() string {
	list := d.server.Requests()
	body := list[len(list)-1].Body
	kept, made := d.server.Kept()
	contents, _ := body["contents"].([]any)
	return fmt.Sprintf("%v of %d, %d made, kept %v", body["cachedContent"], len(contents), made, kept)
}

// The vendor keeps a long conversation once it continues: more of it as it grows, renewed before the hour is over, and removed when it is
// released.
func TestALongConversationIsKeptByTheVendor(t *testing.T) {
	t.Parallel()
	d := newDialogue(t, 100_000)
	for i, c := range []struct {
		wait   time.Duration
		result int
		state  string
		usage  llm.Usage
	}{
		{0, 10, "<nil> of 1, 0 made, kept []", llm.Usage{Cached: 20000}}, // it may be the only question
		{0, 10, "cachedContents/kept-1 of 1, 1 made, kept [cachedContents/kept-1]", llm.Usage{Written: 20000}},
		{53 * time.Minute, 10, "cachedContents/kept-1 of 3, 1 made, kept [cachedContents/kept-1]", llm.Usage{Cached: 20000}},
		{time.Minute, 200_000, "cachedContents/kept-2 of 1, 2 made, kept [cachedContents/kept-2]", llm.Usage{Written: 20000}},
		{0, 10, "cachedContents/kept-2 of 3, 2 made, kept [cachedContents/kept-2]", llm.Usage{Cached: 20000}},
		{0, 10, "cachedContents/kept-3 of 1, 3 made, kept [cachedContents/kept-3]", llm.Usage{Written: 20000}},
	} {
		d.now = d.now.Add(c.wait)
		u := d.round(c.result)
		if got := d.state(); got != c.state || u.Cached != c.usage.Cached || u.Written != c.usage.Written || u.In.N != 30000 {
			t.Errorf("round %d: %s, %+v; want %s", i+1, got, u, c.state)
		}
	}
	for range 2 {
		if err := d.asked.Release(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}
	if kept, _ := d.server.Kept(); len(kept) > 0 {
		t.Errorf("kept is %v", kept)
	}
}

// A question that the vendor does not keep, or has lost, is asked in full: that costs no extra question and no answer.
func TestAQuestionNeedsNoCache(t *testing.T) {
	t.Parallel()
	small := newDialogue(t, 1000)
	for range 3 {
		small.round(10)
	}
	if got := small.state(); got != "<nil> of 5, 0 made, kept []" {
		t.Errorf("a short one: %s", got)
	}
	forced := newDialogue(t, 100_000)
	forced.round(10)
	forced.req.Choice = llm.NoCall
	if forced.round(10); !strings.HasPrefix(forced.state(), "<nil> of 3, 0 made") {
		t.Errorf("beside a choice: %s", forced.state())
	}
	lost := newDialogue(t, 100_000)
	for range 2 {
		lost.round(10)
	}
	lost.server.Lose()
	if lost.round(10); lost.state() != "<nil> of 5, 1 made, kept []" {
		t.Errorf("lost: %s", lost.state())
	}
	if lost.round(10); lost.state() != "cachedContents/kept-2 of 1, 2 made, kept [cachedContents/kept-2]" {
		t.Errorf("after it was lost: %s", lost.state())
	}
	lost.server.Lose()
	if err := lost.asked.Release(t.Context()); err != nil {
		t.Errorf("released what is lost: %v", err)
	}
	// A question that is refused for another reason leaves no cache behind either.
	refused := newDialogue(t, 100_000)
	for range 2 {
		refused.round(10)
	}
	refused.server.Choose(func(llmtest.Request) llmtest.Step { return llmtest.Step{Status: 400, Message: "no"} })
	if _, err := refused.asked.Generate(t.Context(), key, refused.req, func(string) error { return nil }); err == nil {
		t.Error("a refusal is an answer")
	}
	if err := refused.asked.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if kept, made := refused.server.Kept(); len(kept) > 0 || made != 1 {
		t.Errorf("%d made, kept %v", made, kept)
	}
	// Another key means another account.
	other := newDialogue(t, 100_000)
	for range 2 {
		other.round(10)
	}
	if _, err := other.asked.Generate(t.Context(), llm.NewKey("another-secret-of-the-test"), other.req, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if kept, made := other.server.Kept(); made != 2 || cmp.Diff([]string{"cachedContents/kept-1", "cachedContents/kept-2"}, kept) != "" {
		t.Errorf("%d made, kept %v", made, kept)
	}
}

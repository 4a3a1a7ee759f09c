package llm_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"agent/orchestrator/llm"
)

// called returns a question of a conversation in which the tool read was called.
func called() llm.Request {
	r := question("mend main.go")
	r.Tools = []llm.Tool{{Name: "read", About: "reads", Schema: json.RawMessage(`{"type":"object"}`)}}
	r.Messages = append(
		r.Messages,
		llm.Message{Role: llm.Assistant, Text: "a", Calls: []llm.ToolCall{{ID: "1", Name: "read", Arguments: "{}"}}, State: &llm.State{Vendor: "v", Model: "m", Data: []byte("s")}},
		llm.Message{Role: llm.User, Results: []llm.ToolResult{{ID: "1", Text: "b", Error: true}}},
	)
	return r
}

// withTools allows tools for all links of a bench.
func withTools(c *llm.Config) {
	for i := range c.Links {
		c.Links[i].Tools = true
	}
}

// answering returns a step that answers with calls.
func answering(text string, calls ...llm.ToolCall) step {
	return step{chunks: []string{text}, calls: calls, state: &llm.State{Vendor: "gemini", Model: "flash", Data: []byte("signed")}}
}

func TestEveryPartOfAConversationIsInItsDigest(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{llm.Digest(called()): true}
	for name, change := range map[string]func(*llm.Request){
		"a form":         func(r *llm.Request) { r.Schema = json.RawMessage("{}") },
		"no tools":       func(r *llm.Request) { r.Tools = nil },
		"a name":         func(r *llm.Request) { r.Tools[0].Name = "write" },
		"about":          func(r *llm.Request) { r.Tools[0].About = "writes" },
		"a schema":       func(r *llm.Request) { r.Tools[0].Schema = json.RawMessage(`{"type": "object"}`) },
		"a choice":       func(r *llm.Request) { r.Choice = llm.NoCall },
		"an ID":          func(r *llm.Request) { r.Messages[1].Calls[0].ID = "2" },
		"a call":         func(r *llm.Request) { r.Messages[1].Calls[0].Name = "write" },
		"arguments":      func(r *llm.Request) { r.Messages[1].Calls[0].Arguments = "{ }" },
		"two calls":      func(r *llm.Request) { r.Messages[1].Calls = append(r.Messages[1].Calls, llm.ToolCall{}) },
		"no state":       func(r *llm.Request) { r.Messages[1].State = nil },
		"a vendor":       func(r *llm.Request) { r.Messages[1].State.Vendor = "w" },
		"a model":        func(r *llm.Request) { r.Messages[1].State.Model = "w" },
		"its data":       func(r *llm.Request) { r.Messages[1].State.Data = nil },
		"a result":       func(r *llm.Request) { r.Messages[2].Results[0].Text = "c" },
		"whose it is":    func(r *llm.Request) { r.Messages[2].Results[0].ID = "2" },
		"of what it is":  func(r *llm.Request) { r.Messages[2].Results[0].Error = false },
		"another result": func(r *llm.Request) { r.Messages[2].Results = append(r.Messages[2].Results, llm.ToolResult{}) },
	} {
		r := called()
		change(&r)
		if d := llm.Digest(r); seen[d] {
			t.Errorf("%s is not in the digest", name)
		} else {
			seen[d] = true
		}
	}
}

// Users' records contain these digests: see TestDigestsStayAsTheyAre.
func TestADigestWithToolsStaysAsItIs(t *testing.T) {
	t.Parallel()
	if got := llm.Digest(called()); got != "0b8e58293c879604b9286f3bc19e6d98e5b1e5875602351a38a2fb065a210fa8" {
		t.Errorf("got %s", got)
	}
	text, err := json.Marshal(question("a"))
	if want := `{"model":"","system":"be brief","messages":[{"role":"user","text":"a"}],"temperature":0.1,"max_tokens":100,"context":0}`; err != nil || string(text) != want {
		t.Errorf("a question without tools is recorded as %s, %v", text, err)
	}
}

func TestAConversationIsAskedResumedAndReplayed(t *testing.T) {
	t.Parallel()
	calls := []llm.ToolCall{{ID: "2", Name: "read", Arguments: `{"path":`}}
	b := newBench(t, 1, []step{no(llm.Network), answering("", calls...)}, nil, withTools)
	call := b.call("propose/1")
	call.Request = called()
	first, err := b.Ask(t.Context(), call)
	if err != nil || first.Text != "" || !reflect.DeepEqual(first.Calls, calls) || first.State == nil {
		t.Fatalf("got %+v, %v", first, err)
	}
	for _, replay := range []string{"", "r1"} {
		b.conf.Replay = replay
		b.renew(t)
		again, err := b.Ask(t.Context(), call)
		if err != nil || !reflect.DeepEqual(again, first) || len(b.memory.Records()) != 2 {
			t.Errorf("again: %+v, %v, %d records", again, err, len(b.memory.Records()))
		}
		call.Run = map[string]string{"": "r1", "r1": "r2"}[replay]
	}
	if next := first.Message(); next.Role != llm.Assistant || !reflect.DeepEqual(next.Calls, calls) || next.State != first.State {
		t.Errorf("it goes on from %+v", next)
	}
}

func TestAModelWithoutToolsIsNotAskedForThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second bool
		keys          [2]string
	}{
		"the second can": {false, true, [2]string{"", "-"}},
		"the first can":  {true, false, [2]string{"a", ""}},
		"none can":       {false, false, [2]string{"", ""}},
	} {
		b := newBench(t, 1, []step{answering("x")}, []step{answering("y")}, func(conf *llm.Config) {
			conf.Links[0].Tools, conf.Links[1].Tools = c.first, c.second
		})
		call := b.call("s")
		call.Request = called()
		_, err := b.Ask(t.Context(), call)
		if got := [2]string{b.provider(0).keys(b), b.provider(1).keys(b)}; got != c.keys {
			t.Errorf("%s: asked %q", name, got)
		}
		var gone *llm.ExhaustedError
		if none := !c.first && !c.second; none != errors.As(err, &gone) || none && (gone.Last.Kind != llm.Invalid || len(b.memory.Records()) != 0) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := b.ask(t, "without tools"); err != nil {
			t.Errorf("%s: a question without tools: %v", name, err)
		}
	}
}

func TestWhatIsBesideTheTextIsJudged(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2000)
	for name, st := range map[string]step{
		"a key in arguments": answering("", llm.ToolCall{ID: "1", Arguments: secret(0)}),
		"a key as a name":    answering("", llm.ToolCall{ID: "1", Name: secret(0)}),
		"a key in the state": {chunks: []string{"a"}, state: &llm.State{Data: []byte(secret(0))}},
		"too much":           answering("", llm.ToolCall{ID: "1", Arguments: long}),
		"nothing":            answering(""),
	} {
		b := newBench(t, 1, []step{st}, nil, func(c *llm.Config) {
			withTools(c)
			c.Limits.AnswerBytes = 1000
		})
		call := b.call("s")
		call.Request = called()
		a, err := b.Ask(t.Context(), call)
		wantKind(t, err, llm.Malformed)
		for _, r := range b.memory.Records() {
			if len(a.Calls) != 0 || len(r.Calls) != 0 || r.State != nil || leaks(r.Detail, secret(0)) != "" {
				t.Errorf("%s: got %+v, recorded %+v", name, a, r)
			}
		}
	}
	b := newBench(t, 1, []step{answering("a", llm.ToolCall{ID: "1"})}, nil, nil)
	_, err := b.ask(t, "calls without tools")
	wantKind(t, err, llm.Malformed)
}

// If the vendor does not count a call, it costs as much as text.
func TestCallsAreCountedByEstimate(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, []step{answering("", llm.ToolCall{ID: "1234", Name: "read", Arguments: strings.Repeat("x", 400)})}, nil, withTools)
	call := b.call("s")
	call.Request = called()
	a, err := b.Ask(t.Context(), call)
	if want := (llm.Tokens{N: (4 + 4 + 400 + len("signed") + 3) / 4, Estimated: true}); err != nil || a.Usage.Out != want || a.Usage.In != llm.Estimate(call.Request.Texts()...) {
		t.Errorf("got %+v, %v, want %+v", a.Usage, err, want)
	}
	if r := b.memory.Records(); len(r) != 1 || !strings.Contains(string(r[0].Request), `"tools":[{"name":"read"`) {
		t.Errorf("recorded %+v", r)
	}
}

package llmtest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/llm"
)

// tools are the tools that the models of the contract may call.
func tools() []llm.Tool {
	return []llm.Tool{
		{Name: "read", About: "reads a file", Schema: json.RawMessage(`{"properties":{"line":{"type":"integer"},"path":{"description":"where","type":"string"}},"required":["path"],"type":"object"}`)},
		{Name: "list_all", About: "lists files", Schema: json.RawMessage(`{"properties":{},"type":"object"}`)},
	}
}

// opening is the first question of a conversation with tools.
func opening() llm.Request {
	q := question()
	q.Tools, q.Messages = tools(), q.Messages[2:]
	return q
}

// conversation is a question late in a conversation, with everything that messages can hold.
func conversation() llm.Request {
	q := opening()
	q.Messages = append(
		q.Messages,
		llm.Message{Role: llm.Assistant, Text: "let me look", Calls: []llm.ToolCall{
			{ID: "call_a", Name: "read", Arguments: `{"path":"a \u2028 \"b\"","line":3}`}, {ID: "call_b", Name: "list_all", Arguments: "{}"},
		}},
		llm.Message{Role: llm.User, Results: []llm.ToolResult{{ID: "call_a", Text: "line 3: ünï \x01"}, {ID: "call_b", Text: "not now", Error: true}}, Text: "go on"},
		llm.Message{Role: llm.Assistant, Calls: []llm.ToolCall{{ID: "call_c", Name: "read", Arguments: `{"path":"c"}`}}},
		llm.Message{Role: llm.User, Results: []llm.ToolResult{{ID: "call_c", Text: "empty"}}},
	)
	return q
}

// converse asks req and returns the answer, with the same checks as generate.
func (b bench) converse(req llm.Request) (said string, a llm.Answer, err error) {
	b.Helper()
	a, err = b.provider.Generate(b.ctx, b.key, req, func(text string) error { said += text; return nil })
	if err := b.server.Alone(b.ctx); err != nil {
		b.Errorf("the call goes on after its end: %v", err)
	}
	return said, a, err
}

// tools checks conversations with tools.
func (s Setup) tools(t *testing.T) {
	t.Run("calls come whole", s.calls)
	t.Run("what a model makes of a call", s.wrongCalls)
	t.Run("an answer that is cut has no calls", s.cutCalls)
	t.Run("a conversation arrives whole", s.arrivesTurns)
	t.Run("what was said before is taken whatever it was", s.arrivesWrong)
	t.Run("a choice arrives", s.choices)
	t.Run("a form of the answer arrives", s.forms)
	t.Run("what a vendor wants back comes back to it alone", s.keeps)
	t.Run("a conversation that is none is not asked", s.invalidTurns)
	t.Run("calls without tools are malformed", func(t *testing.T) {
		if s.Emulated {
			return // and are text
		}
		b := s.bench(t, Step{Text: "a", Calls: []Call{{ID: "x", Name: "read", Arguments: "{}"}}})
		b.fails(llm.Malformed)
	})
	t.Run("an answer without a call is an answer", func(t *testing.T) {
		b := s.bench(t, Step{Text: "done"})
		if said, a, err := b.converse(conversation()); err != nil || said != "done" || a.Text != "done" || a.Calls != nil {
			t.Errorf("got %q, %+v, %v", said, a, err)
		}
	})
	t.Run("nothing is malformed", func(t *testing.T) {
		b := s.bench(t, Step{})
		_, a, err := b.converse(conversation())
		b.wellMade(a, err, llm.Malformed)
	})
	t.Run("tools count", func(t *testing.T) {
		b := s.bench(t, Step{Calls: []Call{{ID: "x", Name: "read", Arguments: `{"path":"a long one"}`}}})
		_, a, err := b.converse(conversation())
		if s.Emulated && a.Usage.In.N > llm.Estimate(conversation().Texts()...).N {
			return // the written form is longer
		}
		a.State = nil // is not paid for as such
		if err != nil || !a.Usage.In.Estimated || a.Usage.In != llm.Estimate(conversation().Texts()...) || a.Usage.Out != llm.Estimate(a.Texts()...) {
			t.Errorf("got %+v, %v", a.Usage, err)
		}
	})
}

func (s Setup) calls(t *testing.T) {
	read := Call{ID: "call_1", Name: "read", Arguments: `{"line":3,"path":"日本 \\ \" \u2028"}`}
	list := Call{ID: "call_2", Name: "list_all", Arguments: `{}`}
	for name, c := range map[string]struct {
		step Step
		text string
	}{
		"one":                      {Step{Calls: []Call{read}}, ""},
		"behind text":              {Step{Text: "let me look", Calls: []Call{read}}, "let me look"},
		"behind thoughts":          {Step{Thought: "hm", Calls: []Call{read}}, ""},
		"two":                      {Step{Calls: []Call{read, list}}, ""},
		"two with text in between": {Step{Text: "a", Calls: []Call{read, {Before: "b", ID: list.ID, Name: list.Name, Arguments: list.Arguments}}}, "ab"},
		"in bytes":                 {Step{Text: "a", Calls: []Call{read, list}, Split: 3}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			b := s.bench(t, c.step)
			said, a, err := b.converse(opening())
			if s.Emulated {
				a.Text = strings.ReplaceAll(a.Text, "\n", "") // the separator between two texts is ignored
				said = strings.ReplaceAll(said, "\n", "")
			}
			if err != nil || said != c.text || a.Text != c.text || len(a.Calls) != len(c.step.Calls) {
				t.Fatalf("got %q, %+v, %v", said, a, err)
			}
			for i, want := range c.step.Calls {
				if got := a.Calls[i]; got.Name != want.Name || !sameJSON(got.Arguments, want.Arguments) {
					t.Errorf("call %d is %+v, want %+v", i, got, want)
				}
			}
			s.own(t, a, opening())
		})
	}
}

// own checks that every call has an ID that no other call of the conversation has, and that the conversation can continue.
func (s Setup) own(t *testing.T, a llm.Answer, req llm.Request) {
	t.Helper()
	results := llm.Message{Role: llm.User}
	for _, c := range a.Calls {
		results.Results = append(results.Results, llm.ToolResult{ID: c.ID, Text: "ok"})
	}
	req.Messages = append(req.Messages, a.Message(), results)
	if err := req.CheckTurns(); err != nil {
		t.Errorf("the conversation cannot go on from %+v: %v", a, err)
	}
}

// wrongCalls checks that no call is refused: the conversation answers it.
func (s Setup) wrongCalls(t *testing.T) {
	for name, calls := range map[string][]Call{
		"a tool that there is not":   {{ID: "x", Name: "launch", Arguments: `{"a":1}`}},
		"a tool without a name":      {{ID: "x", Arguments: `{"a":1}`}},
		"a name of the model's own":  {{ID: "x", Name: "functions.read <|call|>", Arguments: `{}`}},
		"no ID":                      {{Name: "read", Arguments: `{}`}, {Name: "read", Arguments: `{}`}},
		"an ID that is in use":       {{ID: "call_c", Name: "read", Arguments: `{}`}},
		"one ID for two":             {{ID: "y", Name: "read", Arguments: `{}`}, {ID: "y", Name: "list_all", Arguments: `{}`}},
		"an object within arguments": {{ID: "x", Name: "read", Arguments: `{"path":{"a":[1,null,true,"b"]},"line":12345678901}`}},
		"more than anyone needs":     repeat(Call{Name: "read", Arguments: "{}"}, 300),
	} {
		t.Run(name, func(t *testing.T) {
			b := s.bench(t, Step{Calls: calls})
			_, a, err := b.converse(conversation())
			if err != nil || len(a.Calls) != len(calls) {
				t.Fatalf("got %+v, %v", a, err)
			}
			for i, want := range calls {
				if a.Calls[i].Name != want.Name || !sameJSON(a.Calls[i].Arguments, want.Arguments) {
					t.Errorf("got %+v", a.Calls)
				}
			}
			s.own(t, a, conversation())
		})
	}
	for _, arguments := range []string{`{"path":`, `[1]`, `"a"`, "null", "path=a", `{"path":"a"} and more`, " ", ""} {
		t.Run("arguments "+arguments, func(t *testing.T) {
			b := s.bench(t, Step{Calls: []Call{{ID: "x", Name: "read", Arguments: arguments}}})
			_, a, err := b.converse(opening())
			if !s.Free && !json.Valid([]byte(arguments)) {
				return // cannot be on the wire
			}
			want := arguments
			if strings.TrimSpace(want) == "" {
				want = "{}"
			}
			if !s.Free && err != nil {
				b.wellMade(a, err, llm.Malformed)
				return
			}
			if err != nil || len(a.Calls) != 1 || a.Calls[0].Arguments != want {
				t.Errorf("got %+v, %v", a, err)
			}
		})
	}
	t.Run("too many", func(t *testing.T) {
		b := s.bench(t, Step{Calls: repeat(Call{Name: "read", Arguments: "{}"}, 2001)})
		_, a, err := b.converse(opening())
		b.wellMade(a, err, llm.Malformed)
	})
}

func repeat(c Call, n int) (all []Call) {
	for range n {
		all = append(all, c)
	}
	return all
}

// sameJSON reports whether two texts are the same JSON value, or the same text if one is not JSON.
func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return cmp.Equal(x, y)
}

// cutCalls checks that half of an answer is not an answer, however complete some of its calls are.
func (s Setup) cutCalls(t *testing.T) {
	whole, half := Call{ID: "x", Name: "list_all", Arguments: "{}"}, Call{ID: "y", Name: "read", Arguments: `{"path":"a"}`, Half: true}
	for name, c := range map[string]struct {
		step Step
		kind llm.Kind
	}{
		"the connection breaks in a call":          {Step{Text: "a", Calls: []Call{half}, Break: true}, llm.Network},
		"the stream ends in a call":                {Step{Text: "a", Calls: []Call{half}, Open: true}, llm.Network},
		"the stream ends behind a call":            {Step{Text: "a", Calls: []Call{whole}, Open: true}, llm.Network},
		"the bound of tokens is reached in a call": {Step{Calls: []Call{whole, half}, Finish: s.Truncated}, llm.Truncated},
		"the bound is reached behind a call":       {Step{Calls: []Call{whole}, Finish: s.Truncated}, llm.Truncated},
		"for a reason nobody knows":                {Step{Calls: []Call{whole}, Finish: "SOMETHING_NEW"}, llm.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			b := s.bench(t, c.step)
			_, a, err := b.converse(opening())
			b.wellMade(a, err, c.kind)
			if a.Calls != nil || a.State != nil {
				t.Errorf("an error came with %+v", a)
			}
		})
	}
}

// arrivesTurns checks that a vendor receives all of a conversation.
func (s Setup) arrivesTurns(t *testing.T) {
	b := s.bench(t, Step{Text: "yes"})
	want := conversation()
	if _, _, err := b.converse(want); err != nil {
		t.Fatal(err)
	}
	q := b.server.Requests()[0]
	if q.System != want.System || q.Choice != llm.MayCall || len(q.Tools) != len(want.Tools) || len(q.Messages) != len(want.Messages) {
		t.Fatalf("got %+v", q)
	}
	for i, tool := range want.Tools {
		if got := q.Tools[i]; got.Name != tool.Name || got.About != tool.About || !sameJSON(string(got.Schema), string(tool.Schema)) {
			t.Errorf("got the tool %+v", got)
		}
	}
	for i, m := range want.Messages {
		got := q.Messages[i]
		if got.Text != m.Text || (got.Role == "user") != (m.Role == llm.User) || !cmp.Equal(got.Results, m.Results) || len(got.Calls) != len(m.Calls) {
			t.Fatalf("message %d is %+v, want %+v", i, got, m)
		}
		for j, c := range m.Calls {
			if g := got.Calls[j]; g.ID != c.ID || g.Name != c.Name || !sameJSON(g.Arguments, c.Arguments) {
				t.Errorf("call %d of message %d is %+v, want %+v", j, i, g, c)
			}
		}
	}
}

// arrivesWrong checks that a model's mistakes are sent back in a form that vendors accept.
func (s Setup) arrivesWrong(t *testing.T) {
	b := s.bench(t, Step{Text: "yes"})
	req := opening()
	said, results := llm.Message{Role: llm.Assistant}, llm.Message{Role: llm.User}
	for i, c := range []llm.ToolCall{{Name: "", Arguments: "{}"}, {Name: strings.Repeat("functions.x ", 9), Arguments: `{"a":`}, {Name: "9", Arguments: `[1]`}, {Name: "read", Arguments: "null"}} {
		c.ID = "call " + string(rune('a'+i))
		said.Calls, results.Results = append(said.Calls, c), append(results.Results, llm.ToolResult{ID: c.ID, Error: true})
	}
	req.Messages = append(req.Messages, said, results)
	if _, _, err := b.converse(req); err != nil {
		t.Fatal(err)
	}
	got := b.server.Requests()[0]
	for i, c := range got.Messages[1].Calls {
		tool := []llm.Tool{{Name: c.Name, Schema: tools()[1].Schema}}
		if err := (llm.Request{Tools: tool, Messages: req.Messages[:1]}).CheckTurns(); err != nil || !strings.HasPrefix(c.Arguments, "{") || !json.Valid([]byte(c.Arguments)) {
			t.Errorf("call %d is sent as %+v: %v", i, c, err)
		}
		if i == 1 && !strings.Contains(c.Arguments, `{\"a\":`) {
			t.Errorf("what the model wrote is lost: %s", c.Arguments)
		}
	}
	if len(got.Messages[1].Calls) != 4 || len(got.Messages[2].Results) != 4 || !got.Messages[2].Results[3].Error {
		t.Errorf("got %+v", got.Messages)
	}
}

func (s Setup) choices(t *testing.T) {
	for _, choice := range []llm.ToolChoice{llm.MustCall, llm.NoCall} {
		b := s.bench(t, Step{Text: "yes"})
		req := conversation()
		req.Choice = choice
		if _, _, err := b.converse(req); err != nil {
			t.Fatal(err)
		}
		if got := b.server.Requests()[0].Choice; s.Chooses && got != choice {
			t.Errorf("got %q, want %q", got, choice)
		}
	}
}

// forms checks that the schema of an answer arrives, and that the answer is returned as it was given: no vendor holds every model
// to the schema.
func (s Setup) forms(t *testing.T) {
	b := s.bench(t, Step{Text: `{"a":1}`}, Step{Text: "I will not"})
	req := question()
	req.Schema = tools()[0].Schema
	for _, want := range []string{`{"a":1}`, "I will not"} {
		if _, a, err := b.converse(req); err != nil || a.Text != want || a.State != nil {
			t.Errorf("got %+v, %v", a, err)
		}
	}
	if got := b.server.Requests()[0]; !sameJSON(got.Schema, string(req.Schema)) || got.System != req.System || len(got.Messages) != len(req.Messages) || got.Temperature != req.Temperature || got.MaxTokens != req.MaxTokens {
		t.Errorf("got %+v", got)
	}
}

// keeps checks what happens to a state in the next question.
func (s Setup) keeps(t *testing.T) {
	step := Step{Thought: "hm", Text: "a", Calls: []Call{{ID: "x", Name: "read", Arguments: `{"path":"a"}`}}}
	b := s.bench(t, step, Step{Text: "b"}, Step{Text: "b"}, Step{Text: "b"}, Step{Text: "b"})
	req := opening()
	_, a, err := b.converse(req)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Keeps {
		if a.State != nil {
			t.Errorf("got the state %s", a.State.Data)
		}
		return
	}
	if a.State == nil || a.State.Vendor != b.provider.Vendor() || a.State.Model != req.Model {
		t.Fatalf("got the state %+v", a.State)
	}
	req.Messages = append(req.Messages, a.Message(), llm.Message{Role: llm.User, Results: []llm.ToolResult{{ID: a.Calls[0].ID, Text: "ok"}}})
	own := *a.State
	for i, c := range []struct {
		model string
		state *llm.State
		sent  bool
	}{
		{req.Model, &own, true},
		{"model-2", &own, false},
		{req.Model, &llm.State{Vendor: "another", Model: own.Model, Data: own.Data}, false},
		{req.Model, &llm.State{Vendor: own.Vendor, Model: own.Model, Data: []byte("[7")}, false},
	} {
		req.Model, req.Messages[1].State = c.model, c.state
		if _, _, err := b.converse(req); err != nil {
			t.Fatalf("question %d: %v", i, err)
		}
		turn := b.server.Requests()[1+i].Messages[1]
		if (turn.Kept != "") != c.sent || turn.Text != "a" || len(turn.Calls) != 1 || turn.Calls[0].Name != "read" || !sameJSON(turn.Calls[0].Arguments, `{"path":"a"}`) {
			t.Errorf("question %d has the turn %+v", i, turn)
		}
	}
}

// invalidTurns checks that nothing is sent that no vendor accepts.
func (s Setup) invalidTurns(t *testing.T) {
	s.bench(t).refuses(conversation, map[string]func(*llm.Request){
		"a call without a result": func(q *llm.Request) { q.Messages[2].Results = q.Messages[2].Results[:1] },
		"a result without a call": func(q *llm.Request) { q.Messages[2].Results[0].ID = "other" },
		"two results of a call":   func(q *llm.Request) { q.Messages[2].Results[1] = q.Messages[2].Results[0] },
		"a late result":           func(q *llm.Request) { q.Messages[4].Results[0].ID = "call_a" },
		"calls of the user":       func(q *llm.Request) { q.Messages[2].Calls = q.Messages[1].Calls },
		"results of the model":    func(q *llm.Request) { q.Messages[3].Results = q.Messages[2].Results },
		"an ID twice":             func(q *llm.Request) { q.Messages[3].Calls[0].ID = "call_a" },
		"no tools":                func(q *llm.Request) { q.Tools = nil },
		"a tool twice":            func(q *llm.Request) { q.Tools = append(q.Tools, q.Tools[0]) },
		"a tool of no name":       func(q *llm.Request) { q.Tools[0].Name = "" },
		"a name with a dot":       func(q *llm.Request) { q.Tools[0].Name = "a.b" },
		"a schema that is none":   func(q *llm.Request) { q.Tools[0].Schema = json.RawMessage(`{"type":`) },
		"a schema of a text":      func(q *llm.Request) { q.Tools[0].Schema = json.RawMessage(`{"type":"string"}`) },
		"a form beside tools":     func(q *llm.Request) { q.Schema = q.Tools[0].Schema },
		"a form of a text": func(q *llm.Request) {
			q.Tools, q.Messages, q.Schema = nil, q.Messages[:1], json.RawMessage(`{"type":"string"}`)
		},
		"a choice of its own":        func(q *llm.Request) { q.Choice = "perhaps" },
		"a result that is bytes":     func(q *llm.Request) { q.Messages[2].Results[0].Text = "\xff" },
		"arguments that are bytes":   func(q *llm.Request) { q.Messages[1].Calls[0].Arguments = "\xff" },
		"a description that is, too": func(q *llm.Request) { q.Tools[0].About = "\xff" },
	})
}

package llmtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agent/orchestrator/llm"
)

// A Setup is one vendor for the contract.
type Setup struct {
	Server    func(steps ...Step) *Server                                    // starts the vendor's fake
	Provider  func(url string, send http.RoundTripper) (llm.Provider, error) // makes a provider that asks it; send may be nil
	Truncated string                                                         // the value of Step.Finish when the token bound is reached
	Counts    bool                                                           // whether the vendor has a call that counts tokens
	Free      bool                                                           // its models write arguments as text, which may not be JSON
	Chooses   bool                                                           // whether it can be told whether to call
	Samples   string                                                         // what it accepts with a temperature: "top_p", "top_k" or both with a space between
	Emulated  bool                                                           // calls are a form of the text, see package emulated
	Keeps     bool                                                           // whether it has a State to send back after thoughts
}

// secret holds characters that URLs, base64 and JSON write differently.
const secret = "test+key/0123456789=abcdef"

// patience bounds a test whose provider does not return. No test asserts it.
const patience = 5 * time.Minute

// question is a question of every kind of turn.
func question() llm.Request {
	return llm.Request{
		Model: "model-1", System: "be brief", Temperature: 0.1, MaxTokens: 500, Context: 32000,
		Messages: []llm.Message{{Role: llm.User, Text: "one"}, {Role: llm.Assistant, Text: "two"}, {Role: llm.User, Text: "three <&> \u2028 ünï"}},
	}
}

// Contract checks what [llm.Provider] promises. A provider passes it against the fake of its vendor, which can do things that no
// real server can be asked to do.
func Contract(t *testing.T, s Setup) {
	t.Run("answer", s.answers)
	t.Run("usage", s.usages)
	t.Run("end", s.ends)
	t.Run("status", s.statuses)
	t.Run("wait", s.waits)
	t.Run("body", s.bodies)
	t.Run("connection", s.connections)
	t.Run("models", s.lists)
	t.Run("secrecy", s.secrecy)
	t.Run("tools", s.tools)
}

// A bench is a provider with its own fake server.
type bench struct {
	*testing.T
	ctx      context.Context
	server   *Server
	provider llm.Provider
	key      llm.Key
}

// bench starts a fake with steps and a provider that asks it. At the end of the test none of their goroutines may be left.
func (s Setup) bench(t *testing.T, steps ...Step) bench {
	t.Helper()
	present := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := goleak.Find(present); err != nil {
			t.Error(err)
		}
	})
	// Not the test's own context: it ends before the test's clean-up and would tidy up after a provider that does not.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	server := s.Server(steps...)
	t.Cleanup(server.Close)
	p, err := s.Provider(server.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return bench{t, ctx, server, p, llm.NewKey(secret)}
}

// ask asks the standard question and returns the pieces of text that came.
func (b bench) ask() (pieces []string, a llm.Answer, err error) {
	b.Helper()
	a, err = b.generate(b.ctx, func(text string) error {
		if text != "" { // otherwise the model is only at work
			pieces = append(pieces, text)
		}
		return nil
	})
	return pieces, a, err
}

// generate asks the standard question. When the provider returns, nothing of the call may be left, including connections.
func (b bench) generate(ctx context.Context, yield func(string) error) (llm.Answer, error) {
	b.Helper()
	a, err := b.provider.Generate(ctx, b.key, question(), yield)
	if err := b.server.Alone(b.ctx); err != nil {
		b.Errorf("the call goes on after its end: %v", err)
	}
	return a, err
}

// fails asks, and wants a well-formed error of a kind, without text in the answer.
func (b bench) fails(kind llm.Kind) *llm.Error {
	b.Helper()
	_, a, err := b.ask()
	return b.wellMade(a, err, kind)
}

func (b bench) wellMade(a llm.Answer, err error, kind llm.Kind) *llm.Error {
	b.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		b.Fatalf("got %q and the error %v, want one of kind %s", a.Text, err, kind)
	}
	if e.Kind != kind {
		b.Errorf("got the kind %s, want %s: %v", e.Kind, kind, err)
	}
	if a.Text != "" {
		b.Errorf("an error came with the text %.40q", a.Text)
	}
	if e.Vendor != b.provider.Vendor() || e.Model != "model-1" || e.Detail == "" || len(e.Detail) > 300 || strings.ContainsAny(e.Detail, "\n\r\x00\x1b") {
		b.Errorf("an error is badly made: %#v", e)
	}
	sealed(b.T, err)
	return e
}

// answers checks what a complete answer becomes.
func (s Setup) answers(t *testing.T) {
	t.Run("its pieces come in order and make it up", func(t *testing.T) {
		b := s.bench(t, Step{Chunks: []string{"a", "b\n", " ", "c"}})
		pieces, a, err := b.ask()
		if err != nil || strings.Join(pieces, "|") != "a|b\n| |c" || a.Text != "ab\n c" || a.Model != "model-1" {
			t.Errorf("got %q, %+v, %v", pieces, a, err)
		}
	})
	t.Run("characters split between two writes stay whole", func(t *testing.T) {
		const text = "naïve 日本語 👩‍👩‍👧 \u2028 \"\\ </script> \ufffd \t"
		for split := 1; split <= 4; split++ {
			b := s.bench(t, Step{Text: text, Split: split})
			if _, a, err := b.ask(); err != nil || a.Text != text {
				t.Errorf("in pieces of %d bytes: got %q, %v", split, a.Text, err)
			}
		}
	})
	t.Run("thoughts are no part of it", func(t *testing.T) {
		b := s.bench(t, Step{Thought: "hm", Text: "yes"})
		if pieces, a, err := b.ask(); err != nil || a.Text != "yes" || len(pieces) != 1 {
			t.Errorf("got %q, %+v, %v", pieces, a, err)
		}
	})
	t.Run("thoughts are a sign of life", func(t *testing.T) {
		b := s.bench(t, Step{Thought: "hm", Text: "yes"})
		var signs []string
		_, err := b.generate(b.ctx, func(text string) error { signs = append(signs, text); return nil })
		if err != nil || len(signs) < 2 || signs[0] != "" || strings.Join(signs, "") != "yes" {
			t.Errorf("got %q, %v", signs, err)
		}
		// A caller that gives up meanwhile does not have to wait for the answer.
		stop := errors.New("enough")
		b = s.bench(t, Step{Thought: "hm", Hang: true})
		if _, err := b.generate(b.ctx, func(string) error { return stop }); err != stop {
			t.Errorf("got %v", err)
		}
	})
	t.Run("G13 a second choice is left out and another model's name kept", func(t *testing.T) {
		b := s.bench(t, Step{Text: "first", Second: "second", Model: "model-1-preview\x1b[2J"})
		if _, a, err := b.ask(); err != nil || a.Text != "first" || a.Model != "model-1-preview [2J" {
			t.Errorf("got %+v, %v", a, err)
		}
	})
	t.Run("the question arrives whole", s.arrives)
	t.Run("a sampling arrives", s.samplings)
	t.Run("several at once do not mix", s.concurrent)
	t.Run("many events are one answer", func(t *testing.T) {
		b := s.bench(t, Step{Chunks: []string{"x"}, Repeat: 20_000})
		if pieces, a, err := b.ask(); err != nil || len(a.Text) != 20_000 || len(pieces) != 20_000 {
			t.Errorf("got %d pieces, %d bytes, %v", len(pieces), len(a.Text), err)
		}
	})
}

func (s Setup) arrives(t *testing.T) {
	b := s.bench(t, Step{Text: "yes"})
	if _, _, err := b.ask(); err != nil {
		t.Fatal(err)
	}
	got, want := b.server.Requests(), question()
	if len(got) != 1 {
		t.Fatalf("%d requests were sent for one question", len(got))
	}
	q := got[0]
	if q.Model != want.Model || q.System != want.System || q.Temperature != want.Temperature || q.MaxTokens != want.MaxTokens {
		t.Errorf("got %+v", q)
	}
	for i, m := range want.Messages {
		if len(q.Messages) != len(want.Messages) || q.Messages[i].Text != m.Text || (q.Messages[i].Role == "user") != (m.Role == llm.User) {
			t.Fatalf("got the messages %+v, want %+v", q.Messages, want.Messages)
		}
	}
	if q.KeyID != b.key.ID || q.KeyInURL {
		t.Errorf("the key is %q in its header, want %q; in the URL: %v", q.KeyID, b.key.ID, q.KeyInURL)
	}
}

func (s Setup) samplings(t *testing.T) {
	for _, tools := range [][]llm.Tool{nil, tools()} {
		b := s.bench(t, Step{Text: "yes"}, Step{Text: "yes"})
		req := question()
		req.Tools = tools
		for range 2 {
			if _, err := b.provider.Generate(b.ctx, b.key, req, func(string) error { return nil }); err != nil {
				t.Fatal(err)
			}
			req.TopP, req.TopK = 0.75, 20
		}
		plain, q := b.server.Requests()[0], b.server.Requests()[1]
		if plain.TopP != 0 || plain.TopK != 0 || (q.TopP == 0.75) != strings.Contains(s.Samples, "top_p") || (q.TopK == 20) != strings.Contains(s.Samples, "top_k") || q.Temperature != req.Temperature {
			t.Errorf("got %v and %d, and without: %v and %d", q.TopP, q.TopK, plain.TopP, plain.TopK)
		}
	}
}

func (s Setup) concurrent(t *testing.T) {
	b := s.bench(t)
	b.server.Choose(func(q Request) Step {
		last := q.Messages[len(q.Messages)-1].Text
		return Step{Chunks: []string{last, last}, Repeat: 50}
	})
	const n = 8
	errs := make(chan error, n)
	for i := range n {
		go func() {
			req := question()
			req.Messages[2].Text = strings.Repeat(string(rune('a'+i)), 3)
			a, err := b.provider.Generate(b.ctx, b.key, req, func(string) error { return nil })
			if err == nil && a.Text != strings.Repeat(req.Messages[2].Text, 100) {
				err = errors.New("got the answer of another question: " + a.Text)
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// lists checks how a vendor reports its models.
func (s Setup) lists(t *testing.T) {
	models := func(b bench) ([]llm.Model, error) {
		t.Helper()
		lister, ok := b.provider.(llm.Lister)
		if !ok {
			t.Fatal("it does not tell which models it has")
		}
		list, err := lister.Models(b.ctx, b.key)
		if err := b.server.Alone(b.ctx); err != nil {
			t.Errorf("the call goes on after its end: %v", err)
		}
		return list, err
	}
	b := s.bench(t, Step{})
	list, err := models(b)
	if err != nil || len(list) != 2 || list[0].Name != "model-1" || !strings.HasPrefix(list[1].Name, "model-2") || list[0].Context < 0 {
		t.Errorf("got %+v, %v", list, err)
	}
	if q := b.server.Requests(); len(q) != 1 || q[0].KeyID != b.key.ID || q[0].KeyInURL {
		t.Errorf("it was asked by %+v", q)
	}
	for name, c := range map[string]struct {
		step Step
		kind llm.Kind
	}{
		"a key that is not accepted":      {Step{Status: 401, Message: "not " + secret}, llm.Auth},
		"too many requests":               {Step{Status: 429, Message: "slow down"}, llm.RateLimit},
		"a page":                          {Step{Status: 200, Body: "<html>", Headers: map[string]string{"Content-Type": "text/html"}}, llm.Malformed},
		"a text":                          {Step{Status: 200, Body: "hello"}, llm.Malformed},
		"a list that is none":             {Step{Status: 200, Body: `{"data": 7, "models": 7}`}, llm.Malformed},
		"a list without end":              {Step{Status: 200, Body: "[", Keep: strings.Repeat(" ", 1<<20)}, llm.Malformed},
		"a connection that is cut":        {Step{Drop: true}, llm.Network},
		"a redirect, which takes the key": {Step{Status: 302, Headers: map[string]string{"Location": "http://localhost/"}}, llm.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := models(s.bench(t, c.step))
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != c.kind {
				t.Errorf("got %v, want %s", err, c.kind)
			}
			sealed(t, err)
		})
	}
}

// usages checks the token counts.
func (s Setup) usages(t *testing.T) {
	const text = "12345678" // 2 tokens as an estimate
	for _, c := range []struct {
		name     string
		reported *Usage
		measured bool
	}{
		{"what is measured is taken", &Usage{In: 1000, Out: 70}, true},
		{"G11 what is missing is estimated", nil, false},
		{"G11 what is negative is estimated", &Usage{In: -5, Out: -1}, false},
		{"G11 what no model holds is estimated", &Usage{In: 1 << 62, Out: 1 << 60}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, a, err := s.bench(t, Step{Text: text, Usage: c.reported}).ask()
			in, out := llm.Tokens{N: 1000}, llm.Tokens{N: 70}
			if !c.measured {
				q := question()
				in, out = llm.Estimate(q.System, q.Messages[0].Text, q.Messages[1].Text, q.Messages[2].Text), llm.Estimate(text)
			}
			if err != nil || a.Usage.In != in || a.Usage.Out != out {
				t.Errorf("got %+v, %v, want %v in and %v out", a.Usage, err, in, out)
			}
		})
	}
	t.Run("a question is counted, or estimated where the vendor has no such call", func(t *testing.T) {
		b := s.bench(t, Step{})
		got, err := b.provider.CountTokens(b.ctx, b.key, question())
		if err != nil || got.N <= 0 || got.Estimated == s.Counts {
			t.Errorf("got %+v, %v", got, err)
		}
		for _, asked := range b.server.Requests() {
			for _, m := range question().Messages {
				if asked.System != question().System || !strings.Contains(fmt.Sprint(asked.Messages), m.Text) {
					t.Errorf("a part of the question is not counted: %+v", asked)
				}
			}
		}
	})
}

// ends checks the ends that are not the model's own.
func (s Setup) ends(t *testing.T) {
	for name, c := range map[string]struct {
		step Step
		kind llm.Kind
	}{
		"at the bound of tokens is truncated":     {Step{Text: "a", Finish: s.Truncated}, llm.Truncated},
		"for a reason nobody knows is no answer":  {Step{Text: "a", Finish: "SOMETHING_NEW"}, llm.Unknown},
		"without any text is malformed":           {Step{}, llm.Malformed},
		"with nothing but thoughts is malformed":  {Step{Thought: "hm"}, llm.Malformed},
		"in mid-answer, cut, is the network":      {Step{Text: "a", Break: true}, llm.Network},
		"before the first event is the network":   {Step{Break: true}, llm.Network},
		"in mid-answer, in order, is the network": {Step{Text: "a", Open: true}, llm.Network},
	} {
		t.Run(name, func(t *testing.T) { s.bench(t, c.step).fails(c.kind) })
	}
	t.Run("by yield is yield's error as it is", func(t *testing.T) {
		b := s.bench(t, Step{Endless: true})
		stop := errors.New("enough")
		a, err := b.generate(b.ctx, func(string) error { return stop })
		if err != stop || a.Text != "" {
			t.Errorf("got %+v, %v", a, err)
		}
	})
	t.Run("G05 by cancelling a silent stream is the context's", func(t *testing.T) {
		s.cancelled(t, Step{Text: "a", Hang: true}, context.Canceled)
	})
	t.Run("by cancelling a busy stream is the context's", func(t *testing.T) {
		s.cancelled(t, Step{Endless: true}, context.Canceled)
	})
	t.Run("G05 by the deadline of a silent stream is the context's", func(t *testing.T) {
		b := s.bench(t, Step{Text: "a", Hang: true})
		ctx, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
		defer cancel()
		_, err := b.generate(ctx, func(string) error { return nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("before the beginning is the context's", func(t *testing.T) {
		b := s.bench(t)
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()
		_, err := b.generate(ctx, func(string) error { return nil })
		if err != context.Canceled || len(b.server.Requests()) != 0 {
			t.Errorf("got %v after %d requests", err, len(b.server.Requests()))
		}
	})
	t.Run("of a count by the deadline is the context's", func(t *testing.T) {
		if !s.Counts {
			return // and does nothing that takes time
		}
		b := s.bench(t, Step{Hang: true})
		ctx, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
		defer cancel()
		if _, err := b.provider.CountTokens(ctx, b.key, question()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := b.server.Alone(b.ctx); err != nil {
			t.Errorf("the call goes on after its end: %v", err)
		}
	})
	t.Run("a question that is none is not asked", s.invalid)
}

// cancelled cancels at the first piece and wants that error unchanged.
func (s Setup) cancelled(t *testing.T, step Step, want error) {
	b := s.bench(t, step)
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	_, err := b.generate(ctx, func(string) error {
		cancel()
		return nil
	})
	if err != want {
		t.Errorf("got %v, want %v", err, want)
	}
}

func (s Setup) invalid(t *testing.T) {
	s.bench(t).refuses(question, map[string]func(*llm.Request){
		"no message":            func(q *llm.Request) { q.Messages = nil },
		"the model speaks last": func(q *llm.Request) { q.Messages = q.Messages[:2] },
		"a role of its own":     func(q *llm.Request) { q.Messages[0].Role = "root" },
		"a text that is bytes":  func(q *llm.Request) { q.Messages[2].Text = "\xff" },
		"instructions, too":     func(q *llm.Request) { q.System = "\xff" },
	})
}

// refuses wants the result of fresh, spoiled in each of these ways, to be refused before anything is sent.
func (b bench) refuses(fresh func() llm.Request, spoils map[string]func(*llm.Request)) {
	b.Helper()
	for name, spoil := range spoils {
		req := fresh()
		spoil(&req)
		a, err := b.provider.Generate(b.ctx, b.key, req, func(string) error { return nil })
		b.wellMade(a, err, llm.Invalid)
		if _, err := b.provider.CountTokens(b.ctx, b.key, req); err == nil {
			b.Errorf("%s: was counted", name)
		}
	}
	if n := len(b.server.Requests()); n != 0 {
		b.Errorf("%d requests were sent", n)
	}
}

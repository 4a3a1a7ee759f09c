package llm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/journaltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is the time at which tests begin, long after midnight.
var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// A step is what a scripted provider does for one request.
type step struct {
	chunks []string      // returned one by one
	kind   llm.Kind      // then the error, "" for an answer
	after  time.Duration // of the error
	detail string        // of the error
	raw    error         // returned instead of an *llm.Error
	usage  llm.Usage     // of the answer or with the error
	text   *string       // the whole answer, if it is not the chunks
	calls  []llm.ToolCall
	state  *llm.State
	model  string // of the answer
	hang   bool   // until ctx ends, after the chunks
	flood  bool   // the chunks again and again
	deaf   bool   // continues although yield returned an error
}

// say returns the step of an answer.
func say(text string) step { return step{chunks: []string{text}} }

// no returns the step of an error.
func no(kind llm.Kind) step { return step{kind: kind, detail: "no " + string(kind)} }

// A script is a provider in memory that follows its steps and then repeats the last one.
type script struct {
	vendor string
	now    func() time.Time

	mu    sync.Mutex
	steps []step
	asked []asked
	count func(llm.Request) (llm.Tokens, error) // nil for the estimate
}

// asked is one request to a script.
type asked struct {
	key  string // ID
	at   time.Time
	req  llm.Request
	step step // its answer
}

func (s *script) Vendor() string { return s.vendor }

func (s *script) CountTokens(_ context.Context, _ llm.Key, req llm.Request) (llm.Tokens, error) {
	if s.count != nil {
		return s.count(req)
	}
	return llm.Estimate(req.System, req.Messages[0].Text), nil
}

func (s *script) Generate(ctx context.Context, key llm.Key, req llm.Request, yield func(string) error) (llm.Answer, error) {
	st := s.next(key, req)
	var text strings.Builder
	for again := true; again; again = st.flood && ctx.Err() == nil {
		for _, c := range st.chunks {
			text.WriteString(c)
			if err := yield(c); err != nil && !st.deaf {
				return llm.Answer{Usage: st.usage}, err
			}
		}
	}
	if st.hang {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return llm.Answer{Usage: st.usage}, ctx.Err()
	}
	answer := llm.Answer{Text: text.String(), Model: st.model, Usage: st.usage, Calls: st.calls, State: st.state}
	if st.text != nil {
		answer.Text = *st.text
	}
	switch {
	case st.raw != nil:
		return answer, st.raw
	case st.kind != "":
		return answer, &llm.Error{Kind: st.kind, Vendor: s.vendor, Model: req.Model, Detail: st.detail, After: st.after}
	}
	return answer, nil
}

// next records the request and takes the next step of the script.
func (s *script) next(key llm.Key, req llm.Request) step {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.steps[0]
	s.asked = append(s.asked, asked{key.ID, s.now(), req, st})
	if len(s.steps) > 1 {
		s.steps = s.steps[1:]
	}
	return st
}

// keys returns the keys of all requests, by the names that a bench gave them.
func (s *script) keys(b *bench) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, a := range s.asked {
		names = append(names, b.names[a.key])
	}
	return strings.Join(names, " ")
}

// A bench is a chain on scripted providers, with a clock that moves only if the chain sleeps or the test says so.
type bench struct {
	*llm.Chain
	memory *journaltest.Memory
	conf   llm.Config
	names  map[string]string // of keys, by ID
	said   []llm.Event
	slept  []time.Duration

	mu  sync.Mutex
	now time.Time
}

// newBench returns a chain of gemini, with the given number of keys, named a, b, c…, and of ollama, with the given steps. set changes the
// configuration unless it is nil.
func newBench(t *testing.T, keys int, gemini, ollama []step, set func(*llm.Config)) *bench {
	t.Helper()
	b := &bench{memory: new(journaltest.Memory), names: map[string]string{"": "-"}, now: start}
	links := []llm.Link{{Provider: &script{vendor: "gemini", steps: gemini, now: b.time}, Model: "flash", Price: &llm.Price{In: 0.3, Out: 2.5}}}
	for i := range keys {
		key := llm.NewKey(secret(i))
		b.names[key.ID] = string(rune('a' + i))
		links[0].Keys = append(links[0].Keys, key)
	}
	if ollama != nil {
		links = append(links, llm.Link{Provider: &script{vendor: "ollama", steps: ollama, now: b.time}, Model: "coder", Price: &llm.Price{}})
	}
	b.conf = llm.Config{
		Links: links, Journal: b.memory, States: b.memory, Now: b.time, Sleep: b.sleep,
		Rand: func() float64 { return 1 },
	}
	if set != nil {
		set(&b.conf)
	}
	b.renew(t)
	return b
}

// secret returns the secret of the i-th key, with characters that URLs encode.
func secret(i int) string { return fmt.Sprintf("AQ.%d/canary+Zx9%dq&7Rk=%dPw", i, i, i) }

// renew creates the chain again, as another process would.
func (b *bench) renew(t *testing.T) {
	t.Helper()
	var err error
	if b.Chain, err = llm.New(b.conf); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) time() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// pass moves the clock.
func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func (b *bench) sleep(ctx context.Context, d time.Duration) error {
	b.pass(d)
	b.slept = append(b.slept, d)
	return ctx.Err()
}

// provider returns the scripted provider of the i-th link.
func (b *bench) provider(i int) *script { return b.conf.Links[i].Provider.(*script) }

// call returns a question in a step, and records all its events.
func (b *bench) call(step string) llm.Call {
	return llm.Call{
		Run: "r1", Step: step, Purpose: "propose", Template: "t1",
		Request: question("mend main.go"),
		Yield: func(e llm.Event) error {
			b.said = append(b.said, e)
			return nil
		},
	}
}

// question returns a request with one message.
func question(text string) llm.Request {
	return llm.Request{System: "be brief", Messages: []llm.Message{{Role: llm.User, Text: text}}, Temperature: 0.1, MaxTokens: 100}
}

// ask asks the question of a step.
func (b *bench) ask(t *testing.T, step string) (llm.Answer, error) {
	t.Helper()
	return b.Ask(t.Context(), b.call(step))
}

// wantAnswer asks the question of a step and checks the answer.
func (b *bench) wantAnswer(t *testing.T, step, want string) {
	t.Helper()
	answer, err := b.ask(t, step)
	if err != nil || answer.Text != want {
		t.Fatalf("step %s: answer %q, error %v, want %q", step, answer.Text, err, want)
	}
}

// wantKind checks that err comes from a request that ended with kind.
func wantKind(t *testing.T, err error, kind llm.Kind) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("error %v, want one of kind %s", err, kind)
	}
	return e
}

// story renders the events, one per line, without the texts that other tests check.
func (b *bench) story() string {
	var lines []string
	for _, e := range b.said {
		switch e := e.(type) {
		case llm.Started:
			lines = append(lines, fmt.Sprintf("started %d %s/%s %s recorded=%v", e.Attempt, e.Vendor, e.Model, b.names[e.Key], e.Recorded))
		case llm.Text:
			lines = append(lines, fmt.Sprintf("text %q", e.Text))
		case llm.Abandoned:
			lines = append(lines, fmt.Sprintf("abandoned %s shown=%v", e.Err.Kind, e.Shown))
		case llm.Waiting:
			lines = append(lines, fmt.Sprintf("waiting %v %s", e.For, e.Why.Kind))
		case llm.Done:
			lines = append(lines, fmt.Sprintf("done in=%d out=%d cost=%v recorded=%v", e.Usage.In.N, e.Usage.Out.N, e.Cost, e.Recorded))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

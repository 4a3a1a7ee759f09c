package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/orchestrator/llm"
)

func TestAnAnswerIsToldAndRecorded(t *testing.T) {
	st := step{
		chunks: []string{"one ", "", "two"}, model: "flash-001",
		usage: llm.Usage{In: llm.Tokens{N: 30}, Out: llm.Tokens{N: 20}, Cached: 10, Reason: 5},
	}
	b := newBench(t, 1, []step{no(llm.Overloaded), st}, nil, nil)
	answer, err := b.ask(t, "propose/1")
	if err != nil {
		t.Fatal(err)
	}
	if want := (llm.Answer{Text: "one two", Model: "flash-001", Usage: st.usage}); !reflect.DeepEqual(answer, want) {
		t.Errorf("answer %+v, want %+v", answer, want)
	}
	const story = `started 1 gemini/flash a recorded=false
abandoned overloaded shown=false
waiting 1s overloaded
started 2 gemini/flash a recorded=false
text "one "
text "two"
done in=30 out=20 cost=0.000059 recorded=false
`
	if got := b.story(); got != story {
		t.Errorf("the caller was told\n%s, want\n%s", got, story)
	}
	records := b.memory.Records()
	if len(records) != 2 {
		t.Fatalf("%d records, want one for each request", len(records))
	}
	r := records[1]
	var sent llm.Request
	if err := json.Unmarshal(r.Request, &sent); err != nil || sent.Model != "flash" || sent.Messages[0].Text != "mend main.go" {
		t.Errorf("the recorded request is %s, error %v", r.Request, err)
	}
	r.Request = nil
	want := llm.Record{
		Run: "r1", Step: "propose/1", Attempt: 2, Vendor: "gemini", Model: "flash", Key: llm.NewKey(secret(0)).ID,
		Purpose: "propose", Template: "t1", Digest: llm.Digest(question("mend main.go")), Begun: start.Add(time.Second),
		Outcome: llm.Outcome{Text: "one two", Version: "flash-001", Usage: st.usage, Cost: 59, Priced: true},
	}
	if fmt.Sprintf("%+v", r) != fmt.Sprintf("%+v", want) {
		t.Errorf("record\n%+v, want\n%+v", r, want)
	}
	if r := records[0]; r.Kind != llm.Overloaded || r.Detail != "no overloaded" || r.Text != "" || r.Cost != 0 {
		t.Errorf("the first record is %+v", r)
	}
}

func TestTextOfABrokenAnswerIsTakenBack(t *testing.T) {
	b := newBench(t, 1, []step{{chunks: []string{"half of "}, kind: llm.Network, detail: "unexpected EOF"}, say("whole")}, nil, nil)
	b.wantAnswer(t, "s", "whole")
	if !strings.Contains(b.story(), "text \"half of \"\nabandoned network shown=true\n") {
		t.Errorf("the caller was told\n%s", b.story())
	}
	if r := b.memory.Records()[0]; r.Cost == 0 || r.Usage.Out.N != 2 || !r.Usage.Out.Estimated || r.Text != "" {
		t.Errorf("what was begun is recorded as %+v", r)
	}
}

// Battery G02: 5xx four times, then an answer.
func TestAnOverloadedVendorIsAskedFourTimesMore(t *testing.T) {
	busy := no(llm.Overloaded)
	b := newBench(t, 1, []step{busy, busy, busy, busy, say("x")}, nil, nil)
	b.wantAnswer(t, "s", "x")
	if n := len(b.memory.Records()); n != 5 {
		t.Errorf("%d requests are recorded, want 5", n)
	}
}

func TestAttemptsAreCapped(t *testing.T) {
	b := newBench(t, 8, []step{no(llm.Quota)}, []step{no(llm.Overloaded)}, func(c *llm.Config) { c.Limits.Attempts = 9 })
	_, err := b.ask(t, "s")
	var gone *llm.ExhaustedError
	if !errors.As(err, &gone) || gone.Attempts != 9 || len(b.memory.Records()) != 9 {
		t.Errorf("error %v after %d requests, want an ExhaustedError after 9", err, len(b.memory.Records()))
	}
}

func TestAfterTheLastAttemptNobodyWaits(t *testing.T) {
	b := newBench(t, 1, []step{no(llm.Network)}, nil, func(c *llm.Config) { c.Limits.Attempts = 2 })
	_, err := b.ask(t, "s")
	wantKind(t, err, llm.Network)
	if len(b.slept) != 1 {
		t.Errorf("waits %v, want one between the two attempts", b.slept)
	}
}

// For a chain, nonsense is an answer too. A run that keeps asking because of it ends, even without a cap.
func TestEveryRunEnds(t *testing.T) {
	b := newBench(t, 1, []step{say("nonsense")}, nil, nil)
	for i := range 200 {
		b.wantAnswer(t, fmt.Sprint("heal/", i), "nonsense")
	}
	_, err := b.ask(t, "heal/200")
	var spent *llm.BudgetError
	if !errors.As(err, &spent) || spent.Run.Requests != 200 {
		t.Errorf("error %v, want a BudgetError after 200 requests", err)
	}
}

// Concurrent goroutines share the budget and rotate through the keys.
func TestABudgetHoldsForGoroutines(t *testing.T) {
	b := newBench(t, 5, []step{say("x")}, nil, func(c *llm.Config) { c.Limits.Requests = 10 })
	askTogether(t, b)
	if n := len(b.memory.Records()); n != 10 {
		t.Errorf("%d requests were made, want 10", n)
	}
}

func TestTurnsHoldForGoroutines(t *testing.T) {
	b := newBench(t, 5, []step{say("x")}, nil, nil)
	askTogether(t, b)
	uses := map[string]int{}
	for _, r := range b.memory.Records() {
		uses[b.names[r.Key]]++
	}
	for _, key := range strings.Fields("a b c d e") {
		if uses[key] != 8 {
			t.Errorf("keys were used %v times, want each of 5 eight times", uses)
		}
	}
}

// askTogether asks 40 questions concurrently, on a store that yields to other goroutines.
func askTogether(t *testing.T, b *bench) {
	t.Helper()
	b.conf.Journal, b.conf.States = yielding{b.memory, b.memory}, yielding{b.memory, b.memory}
	b.renew(t)
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			call := b.call(fmt.Sprint(i))
			call.Yield = nil
			var spent *llm.BudgetError
			if _, err := b.Ask(t.Context(), call); err != nil && !errors.As(err, &spent) {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// yielding lets other goroutines run after it has read.
type yielding struct {
	llm.Journal
	llm.KeyStates
}

func (y yielding) Spent(ctx context.Context, run string, since time.Time) (llm.Spent, llm.Spent, error) {
	ofRun, ofAll, err := y.Journal.Spent(ctx, run, since)
	for range 1000 { // lets all other readers read before this goroutine writes
		runtime.Gosched()
	}
	return ofRun, ofAll, err
}

func (y yielding) Load(ctx context.Context, vendor string) ([]llm.KeyState, error) {
	list, err := y.KeyStates.Load(ctx, vendor)
	runtime.Gosched()
	return list, err
}

func TestABudgetEndsARun(t *testing.T) {
	// Each answer costs 0.000058 and has 160 tokens. Before it is given, 0.000252 and 105 tokens are reserved for a question of 5 tokens.
	st := say("x")
	st.usage = llm.Usage{In: llm.Tokens{N: 100}, Out: llm.Tokens{N: 60}}
	price := llm.Price{In: 0.1, Out: 0.8}
	for _, c := range []struct {
		cap    string
		set    func(*llm.Limits)
		answer int // number of answers given
		text   string
	}{
		{"requests of a run", func(l *llm.Limits) { l.Requests = 3 }, 3, "3 of 3 spent; the run spent 3 requests, 480 tokens"},
		{"tokens of a run", func(l *llm.Limits) { l.Tokens = 584 }, 3, "480 of 584 spent, and the next request may take 105;"},
		{"tokens of a run", func(l *llm.Limits) { l.Tokens = 585 }, 4, "640 of 585 spent; "},
		{"cost of a run", func(l *llm.Limits) { l.RunCost = 196 }, 2, "0.000116 of 0.000196 spent, and the next request may take 0.000081;"},
		{"cost of a run", func(l *llm.Limits) { l.RunCost = 197 }, 3, "0.000174 of 0.000197 spent"},
		{"cost of a day", func(l *llm.Limits) { l.DayCost = 255 }, 4, "0.000232 of 0.000255 spent"},
		{"time of a run", func(l *llm.Limits) { l.RunTime = 5 * time.Second }, 3, "6s of 5s spent; the run"},
	} {
		t.Run(c.cap, func(t *testing.T) {
			b := newBench(t, 1, []step{st}, nil, func(conf *llm.Config) {
				conf.Links[0].Price = &price
				c.set(&conf.Limits)
			})
			var err error
			answers := 0
			for ; answers < 10; answers++ {
				call := b.call(fmt.Sprint(answers))
				call.Yield = func(e llm.Event) error {
					if _, ok := e.(llm.Text); ok {
						b.pass(2 * time.Second)
					}
					return nil
				}
				if c.cap == "cost of a day" {
					call.Run = fmt.Sprint("run ", answers)
				}
				if _, err = b.Ask(t.Context(), call); err != nil {
					break
				}
			}
			var spent *llm.BudgetError
			if !errors.As(err, &spent) || spent.Cap != c.cap || answers != c.answer || len(b.memory.Records()) != answers {
				t.Fatalf("after %d answers: error %v, want a cap on the %s after %d", answers, err, c.cap, c.answer)
			}
			if !strings.Contains(err.Error(), c.text) || !strings.Contains(spent.Next(), c.cap) {
				t.Errorf("error %q, next %q, want %q in it", err, spent.Next(), c.text)
			}
		})
	}
}

func TestTheCapOfADayEndsAtMidnight(t *testing.T) {
	st := say("x")
	b := newBench(t, 1, []step{st}, nil, func(c *llm.Config) { c.Limits.DayCost = 255 })
	b.wantAnswer(t, "1", "x")
	_, err := b.ask(t, "2")
	var spent *llm.BudgetError
	if !errors.As(err, &spent) {
		t.Fatalf("error %v, want a BudgetError", err)
	}
	b.pass(12*time.Hour - time.Second)
	if _, err := b.ask(t, "2"); !errors.As(err, &spent) {
		t.Fatalf("a second before midnight: error %v, want a BudgetError", err)
	}
	b.pass(time.Second)
	b.wantAnswer(t, "2", "x")
}

// An exceeded budget ends the run, even if a free model is left to ask.
func TestABudgetIsNoReasonToFallBack(t *testing.T) {
	b := newBench(t, 1, []step{say("x")}, []step{say("local")}, func(c *llm.Config) { c.Limits.RunCost = 1 })
	_, err := b.ask(t, "s")
	var spent *llm.BudgetError
	if !errors.As(err, &spent) || len(b.memory.Records()) != 0 {
		t.Errorf("error %v after %d requests, want a BudgetError after none", err, len(b.memory.Records()))
	}
}

func TestAnUnknownPrice(t *testing.T) {
	for _, set := range []func(*llm.Config){
		func(c *llm.Config) { c.Links[0].Price, c.Limits.RunCost = nil, 1 },
		func(c *llm.Config) { c.Links[0].Price, c.Limits.DayCost = nil, 1 },
		func(c *llm.Config) { c.Links[0].Price = &llm.Price{In: -1} },
		func(c *llm.Config) { c.Links[0].Price = &llm.Price{Out: math.NaN()} },
	} {
		b := newBench(t, 1, []step{say("x")}, nil, nil)
		set(&b.conf)
		if _, err := llm.New(b.conf); err == nil || !strings.Contains(err.Error(), "make a chain: gemini/flash: ") || !strings.Contains(err.Error(), "price") {
			t.Errorf("error %v, want one about the price", err)
		}
	}
	b := newBench(t, 1, []step{say("x")}, nil, func(c *llm.Config) { c.Links[0].Price = nil })
	b.wantAnswer(t, "s", "x")
	if r := b.memory.Records()[0]; r.Priced || r.Cost != 0 {
		t.Errorf("cost %v, known %v, want it unknown", r.Cost, r.Priced)
	}
	run, _, err := b.memory.Spent(t.Context(), "r1", start)
	if err != nil || run.Unpriced != 1 || !strings.Contains(run.String(), "1 request, 6 tokens, 0.0 s, cost not known") {
		t.Errorf("spent %v, error %v", run, err)
	}
}

func TestAChainNeedsItsParts(t *testing.T) {
	whole := newBench(t, 1, []step{say("x")}, nil, nil).conf
	for _, take := range []func(*llm.Config){
		func(c *llm.Config) { c.Links = nil },
		func(c *llm.Config) { c.Links = []llm.Link{{Model: "flash"}} },
		func(c *llm.Config) { c.Links = []llm.Link{{Provider: c.Links[0].Provider}} },
		func(c *llm.Config) { c.Journal = nil },
		func(c *llm.Config) { c.States = nil },
	} {
		conf := whole
		take(&conf)
		if _, err := llm.New(conf); err == nil {
			t.Errorf("a chain was made of %+v", conf)
		}
	}
	if _, err := llm.New(llm.Config{Journal: whole.Journal, Replay: "r1"}); err != nil {
		t.Errorf("a replay needs a journal alone, error %v", err)
	}
}

func TestWhatIsNoQuestionIsNotSent(t *testing.T) {
	secretText := "token = " + secret(0)
	for name, spoil := range map[string]func(*llm.Call){
		"needs a run and a step":       func(c *llm.Call) { c.Run = "" },
		"a run and a step":             func(c *llm.Call) { c.Step = "" },
		"last message":                 func(c *llm.Call) { c.Request.Messages = nil },
		"a result is for the call":     func(c *llm.Call) { c.Request.Messages[0].Results = []llm.ToolResult{{ID: "x"}} },
		"is not the user's":            func(c *llm.Call) { c.Request.Messages[0].Role = llm.Assistant },
		"finite and not negative":      func(c *llm.Call) { c.Request.Temperature = math.NaN() },
		"bound of -1 tokens":           func(c *llm.Call) { c.Request.MaxTokens = -1 },
		"contains an API key":          func(c *llm.Call) { c.Request.Messages[0].Text = secretText },
		"the question contains an API": func(c *llm.Call) { c.Request.System = secretText },
		"a file with 2 secrets":        func(c *llm.Call) { c.Request.Messages[0].Text = "guarded" },
	} {
		b := newBench(t, 2, []step{say("x")}, nil, func(c *llm.Config) {
			c.Guard = func(r llm.Request) error {
				if r.Messages[0].Text == "guarded" {
					return errors.New("a file with 2 secrets")
				}
				return nil
			}
		})
		call := b.call("s")
		spoil(&call)
		_, err := b.Ask(t.Context(), call)
		if err == nil || !strings.Contains(err.Error(), name) || leaks(err.Error(), secret(0)) != "" {
			t.Errorf("error %v, want %q", err, name)
		}
		if len(b.memory.Records()) != 0 || b.provider(0).keys(b) != "" {
			t.Errorf("%s: a request was made", name)
		}
	}
}

func TestAQuestionThatIsTooLongIsNotSent(t *testing.T) {
	long := strings.Repeat("word ", 1000) // 1250 tokens by estimate, 5000 at most
	for _, c := range []struct {
		name    string
		context int // of the first link
		count   func(llm.Request) (llm.Tokens, error)
		counted int
		want    string
	}{
		{"no context is known", 0, nil, 0, "first"},
		{"it fits whatever the count", 5200, nil, 0, "first"},
		{"it fits by estimate", 1400, nil, 1, "first"},
		{"it does not by estimate", 1300, nil, 1, "second"},
		{"it does not by count", 4000, func(llm.Request) (llm.Tokens, error) { return llm.Tokens{N: 3901}, nil }, 1, "second"},
		{"the count is not to be had", 1400, func(llm.Request) (llm.Tokens, error) { return llm.Tokens{}, errors.New("503") }, 1, "first"},
		{"the bound of the answer alone is too much", 50, nil, 1, "second"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, 1, []step{say("first")}, []step{say("second")}, func(conf *llm.Config) { conf.Links[0].Context = c.context })
			counted := 0
			b.provider(0).count = func(r llm.Request) (llm.Tokens, error) {
				counted++
				if r.Model != "flash" {
					t.Errorf("counted for model %q", r.Model)
				}
				if c.count != nil {
					return c.count(r)
				}
				return llm.Estimate(r.System, r.Messages[0].Text), nil
			}
			call := b.call("s")
			call.Request = question(long)
			answer, err := b.Ask(t.Context(), call)
			if err != nil || answer.Text != c.want || counted != c.counted {
				t.Errorf("answer %q after %d counts, error %v, want %q after %d", answer.Text, counted, err, c.want, c.counted)
			}
		})
	}
	b := newBench(t, 1, []step{say("x")}, nil, func(c *llm.Config) { c.Links[0].Context = 1300 })
	call := b.call("s")
	call.Request = question(long)
	_, err := b.Ask(t.Context(), call)
	wantKind(t, err, llm.Invalid)
	if !strings.Contains(err.Error(), "the question has 1252 tokens, but the context of 1300 leaves 1200 for it") || len(b.memory.Records()) != 0 {
		t.Errorf("error %v after %d requests", err, len(b.memory.Records()))
	}
}

func TestAQuestionIsCountedOnce(t *testing.T) {
	b := newBench(t, 1, []step{no(llm.Network), no(llm.Network), say("x")}, nil, func(c *llm.Config) { c.Links[0].Context = 110 })
	counted := 0
	b.provider(0).count = func(llm.Request) (llm.Tokens, error) {
		counted++
		return llm.Tokens{N: 10}, nil
	}
	b.wantAnswer(t, "s", "x")
	if counted != 1 {
		t.Errorf("the question was counted %d times for three attempts", counted)
	}
}

func TestWhoGivesUpDuringTheCountHasSpentNothing(t *testing.T) {
	b := newBench(t, 1, []step{say("x")}, nil, func(c *llm.Config) { c.Links[0].Context = 110 })
	ctx, cancel := context.WithCancel(t.Context())
	b.provider(0).count = func(llm.Request) (llm.Tokens, error) {
		cancel()
		return llm.Tokens{}, context.Canceled
	}
	if _, err := b.Ask(ctx, b.call("s")); err != context.Canceled || b.provider(0).keys(b) != "" {
		t.Errorf("error %v after requests with %q, want that of the context and none", err, b.provider(0).keys(b))
	}
}

func TestTheContextOfTheLinkIsAskedFor(t *testing.T) {
	b := newBench(t, 1, []step{no(llm.Missing)}, []step{say("x")}, func(c *llm.Config) { c.Links[1].Context = 32000 })
	b.wantAnswer(t, "s", "x")
	if got := b.provider(1).asked[0].req; got.Context != 32000 || got.Model != "coder" {
		t.Errorf("the second model was asked %+v", got)
	}
}

func TestTheCallersErrorComesBackAsItIs(t *testing.T) {
	stop := errors.New("the person pressed q")
	for _, at := range []string{"Started", "Text", "Abandoned", "Waiting", "Done"} {
		b := newBench(t, 1, []step{no(llm.Overloaded), say("x")}, nil, nil)
		call := b.call("s")
		call.Yield = func(e llm.Event) error {
			if strings.HasSuffix(fmt.Sprintf("%T", e), at) {
				return stop
			}
			return nil
		}
		if _, err := b.Ask(t.Context(), call); err != stop { //nolint:errorlint // as it is
			t.Errorf("%s: error %v", at, err)
		}
		last := b.memory.Records()[len(b.memory.Records())-1]
		want := map[string]llm.Kind{"Started": llm.Cancelled, "Text": llm.Cancelled, "Abandoned": llm.Overloaded, "Waiting": llm.Overloaded}[at]
		if last.Kind != want || (last.Cost > 0) != (at == "Text" || at == "Done") {
			t.Errorf("%s: the last request is recorded as %+v", at, last.Outcome)
		}
	}
}

func TestACancelledQuestionIsRecorded(t *testing.T) {
	b := newBench(t, 1, []step{{chunks: []string{"half"}, hang: true}}, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	call := b.call("s")
	call.Yield = func(e llm.Event) error {
		if _, ok := e.(llm.Text); ok {
			cancel()
		}
		return nil
	}
	if _, err := b.Ask(ctx, call); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if r := b.memory.Records()[0]; r.Kind != llm.Cancelled || r.Cost == 0 || r.Usage.Out.N != 1 {
		t.Errorf("the request is recorded as %+v", r.Outcome)
	}
}

// An answer that arrived completely is kept even if the caller gave up at its last piece: it was paid for, and the next run finds it.
func TestAnAnswerThatWasPaidForIsKept(t *testing.T) {
	b := newBench(t, 1, []step{{chunks: []string{"whole"}}, say("another")}, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.conf.Links[0].Provider = late{b.provider(0), cancel}
	b.renew(t)
	if answer, err := b.Ask(ctx, b.call("s")); err != nil || answer.Text != "whole" {
		t.Errorf("answer %q, error %v", answer.Text, err)
	}
	b.wantAnswer(t, "s", "whole")
	if n := len(b.memory.Records()); n != 1 {
		t.Errorf("%d requests were made, want 1", n)
	}
}

// late is a provider whose answer is complete at the moment when the caller gives up.
type late struct {
	*script
	cancel func()
}

func (l late) Generate(ctx context.Context, key llm.Key, req llm.Request, yield func(string) error) (llm.Answer, error) {
	answer, err := l.script.Generate(ctx, key, req, yield)
	l.cancel()
	return answer, err
}

// broken is a journal and key states in which one operation fails.
type broken struct {
	llm.Journal
	llm.KeyStates
	act string
}

var errBroken = errors.New("the database is gone")

func (b broken) err(act string) error {
	if b.act == act {
		return errBroken
	}
	return nil
}

func (b broken) Find(ctx context.Context, run, step, digest string) (llm.Record, bool, error) {
	r, ok, err := b.Journal.Find(ctx, run, step, digest)
	return r, ok, errors.Join(err, b.err("find"))
}

func (b broken) Begin(ctx context.Context, r llm.Record) (int64, error) {
	if err := b.err("begin"); err != nil {
		return 0, err
	}
	return b.Journal.Begin(ctx, r)
}

func (b broken) End(ctx context.Context, n int64, o llm.Outcome) error {
	return errors.Join(b.err("end"), b.Journal.End(ctx, n, o))
}

func (b broken) Spent(ctx context.Context, run string, since time.Time) (llm.Spent, llm.Spent, error) {
	x, y, err := b.Journal.Spent(ctx, run, since)
	return x, y, errors.Join(err, b.err("spent"))
}

func (b broken) Load(ctx context.Context, vendor string) ([]llm.KeyState, error) {
	list, err := b.KeyStates.Load(ctx, vendor)
	return list, errors.Join(err, b.err("load"))
}

func (b broken) Save(ctx context.Context, s llm.KeyState) error {
	return errors.Join(b.err("save"), b.KeyStates.Save(ctx, s))
}

func TestWithoutTheRecordNothingIsAsked(t *testing.T) {
	for act, requests := range map[string]int{"find": 0, "spent": 0, "begin": 0, "load": 0, "save": 0, "end": 1} {
		b := newBench(t, 1, []step{say("x")}, nil, nil)
		b.conf.Journal, b.conf.States = broken{b.memory, b.memory, act}, broken{b.memory, b.memory, act}
		b.renew(t)
		_, err := b.ask(t, "s")
		if !errors.Is(err, errBroken) || len(strings.Fields(b.provider(0).keys(b))) != requests {
			t.Errorf("%s: error %v after requests with %q, want %d", act, err, b.provider(0).keys(b), requests)
		}
	}
}

// The chain sets the sampling of each link's model; it is not part of the question.
func TestAModelIsAskedWithTheSamplingOfItsLink(t *testing.T) {
	b := newBench(t, 1, []step{no(llm.Missing), say("x")}, []step{say("y")}, func(c *llm.Config) {
		c.Links[0].Sampling = llm.Sampling{Temperature: 0.7, TopP: 0.8, TopK: 20}
	})
	call := b.call("s")
	call.Request.TopP, call.Request.TopK = 1, 1
	if _, err := b.Ask(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	first, second := b.provider(0).asked[0].req, b.provider(1).asked[0].req
	if first.Temperature != 0.7 || first.TopP != 0.8 || first.TopK != 20 || second.Temperature != 0.1 || second.TopP != 0 || second.TopK != 0 {
		t.Errorf("asked with %+v and %+v", first, second)
	}
	if r := b.memory.Records(); r[0].Digest != r[1].Digest || r[0].Digest != llm.Digest(question("mend main.go")) || !strings.Contains(string(r[0].Request), `"top_p":0.8,"top_k":20`) {
		t.Errorf("recorded as %s", r[0].Request)
	}
	call.Request.Temperature = 0.9
	call.Step = "t"
	if _, err := b.Ask(t.Context(), call); err != nil || b.provider(0).asked[1].req.Temperature != 0.9 {
		t.Errorf("a question that wants more variety: %+v, %v", b.provider(0).asked, err)
	}
}

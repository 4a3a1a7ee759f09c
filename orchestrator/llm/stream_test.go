package llm_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agent/orchestrator/llm"
)

// Battery G05 and G06: an endless answer is cut off, and its kind blames the vendor.
func TestAnAnswerWithoutAnEndIsCut(t *testing.T) {
	for _, c := range []struct {
		name   string
		step   step
		kind   llm.Kind
		detail string
	}{
		{"one byte again and again", step{chunks: []string{"x"}, flood: true}, llm.Malformed, "the answer is longer than 1000 bytes"},
		{"one huge piece", say(strings.Repeat("x", 50<<20)), llm.Malformed, "the answer is longer than 1000 bytes"},
		{"a provider that does not stop", step{chunks: []string{strings.Repeat("x", 999), "yy", "z"}, deaf: true}, llm.Malformed, "longer than 1000"},
		{"no text at all", step{hang: true}, llm.Network, "no text for 5m0s"},
		{"text and then nothing", step{chunks: []string{"half"}, hang: true}, llm.Network, "no text for 5m0s"},
		{"work that never ends", step{chunks: []string{""}, flood: true}, llm.Network, "no complete answer within 15m0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 1, []step{c.step}, []step{say("x")}, func(conf *llm.Config) { conf.Limits.AnswerBytes = 1000 })
				b.conf.Links[0].Provider = slow{b.provider(0)}
				b.renew(t)
				b.wantAnswer(t, "s", "x")
				r := b.memory.Records()[0]
				if r.Kind != c.kind || !strings.Contains(r.Detail, c.detail) {
					t.Errorf("recorded as %s: %s", r.Kind, r.Detail)
				}
				if r.Cost == 0 || !r.Usage.In.Estimated {
					t.Errorf("a request that the vendor worked on counts as %+v", r.Outcome)
				}
			})
		})
	}
}

// slow is a provider whose empty pieces each take a second.
type slow struct{ *script }

func (s slow) Generate(ctx context.Context, key llm.Key, req llm.Request, yield func(string) error) (llm.Answer, error) {
	return s.script.Generate(ctx, key, req, func(text string) error {
		if text == "" {
			time.Sleep(time.Second)
		}
		return yield(text)
	})
}

// A slow reader does not count as a silent vendor.
func TestTheCallersTimeIsNotTheVendors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1, []step{{chunks: []string{"a", "b"}}}, nil, nil)
		call := b.call("s")
		call.Yield = func(e llm.Event) error {
			if _, ok := e.(llm.Text); ok {
				time.Sleep(6 * time.Minute)
			}
			return nil
		}
		if answer, err := b.Ask(t.Context(), call); err != nil || answer.Text != "ab" {
			t.Errorf("answer %q, error %v", answer.Text, err)
		}
	})
}

// A provider that ignores an error of yield is no longer listened to.
func TestAfterGivingUpThereIsNoMoreText(t *testing.T) {
	b := newBench(t, 1, []step{{chunks: []string{"a", "b", "c"}, deaf: true}}, nil, nil)
	stop := errors.New("enough")
	var shown string
	call := b.call("s")
	call.Yield = func(e llm.Event) error {
		if text, ok := e.(llm.Text); ok {
			shown += text.Text
			return stop
		}
		return nil
	}
	if _, err := b.Ask(t.Context(), call); !errors.Is(err, stop) || shown != "a" {
		t.Errorf("error %v after the text %q, want the caller's own after \"a\"", err, shown)
	}
}

func TestTheModelIsAsAskedWhenItDoesNotSay(t *testing.T) {
	b := newBench(t, 1, []step{say("x")}, nil, nil)
	if answer, err := b.ask(t, "s"); err != nil || answer.Model != "flash" {
		t.Errorf("the answer is of model %q, error %v", answer.Model, err)
	}
}

func TestARequestEndsWithTheTimeOfItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1, []step{{hang: true}}, nil, func(c *llm.Config) {
			c.Now, c.Sleep = nil, nil
			c.Limits.RunTime = 2 * time.Minute
		})
		_, err := b.ask(t, "s")
		var spent *llm.BudgetError
		if !errors.As(err, &spent) || spent.Cap != "time of a run" {
			t.Errorf("error %v, want the cap on the time of a run", err)
		}
		if r := b.memory.Records(); len(r) != 1 || r[0].Detail != "no complete answer within 2m0s" || r[0].Duration != 2*time.Minute {
			t.Errorf("recorded %+v", r)
		}
	})
}

func TestWhatIsNoAnswerIsAskedAgain(t *testing.T) {
	other := "another text"
	for name, st := range map[string]step{
		"the answer is empty": say(""),
		"answer is empty":     say(" \n"),
		"the complete answer is not the sum of its pieces": {chunks: []string{"a text"}, text: &other},
		"is not the sum of its pieces":                     {text: &other},
	} {
		b := newBench(t, 1, []step{st, say("x")}, nil, nil)
		b.wantAnswer(t, "s", "x")
		if r := b.memory.Records()[0]; r.Kind != llm.Malformed || !strings.Contains(r.Detail, name) || r.Text != "" {
			t.Errorf("%s: recorded as %+v", name, r.Outcome)
		}
	}
}

// Battery G11: missing, negative or huge usage is estimated, and marked as an estimate.
func TestUsageThatCannotBeBelievedIsEstimated(t *testing.T) {
	// The question has 20 bytes and the answer 8.
	est := func(n int) llm.Tokens { return llm.Tokens{N: n, Estimated: true} }
	for name, c := range map[string]struct{ given, want llm.Usage }{
		"believable": {llm.Usage{In: tokens(9), Out: tokens(4), Cached: 9, Reason: 4}, llm.Usage{In: tokens(9), Out: tokens(4), Cached: 9, Reason: 4}},
		"missing":    {llm.Usage{}, llm.Usage{In: est(5), Out: est(2)}},
		"negative":   {llm.Usage{In: tokens(-1), Out: tokens(-1), Cached: -1, Reason: -1}, llm.Usage{In: est(5), Out: est(2)}},
		"huge":       {llm.Usage{In: tokens(1 << 40), Out: tokens(1 << 40), Cached: 1 << 40, Reason: 1 << 40}, llm.Usage{In: est(5), Out: est(2)}},
		"estimated":  {llm.Usage{In: est(7), Out: est(3)}, llm.Usage{In: est(7), Out: est(3)}},
		"parts that are more than the whole": {
			llm.Usage{In: tokens(9), Out: tokens(4), Cached: 10, Reason: 5}, llm.Usage{In: tokens(9), Out: tokens(4)},
		},
	} {
		st := say("12345678")
		st.usage = c.given
		b := newBench(t, 1, []step{st}, nil, nil)
		answer, err := b.ask(t, "s")
		if err != nil || answer.Usage != c.want || b.memory.Records()[0].Usage != c.want {
			t.Errorf("%s: usage %+v, error %v, want %+v", name, answer.Usage, err, c.want)
		}
	}
}

// The usage of an error is accepted too.
func TestTheUsageOfAnErrorIsRecorded(t *testing.T) {
	st := no(llm.Truncated)
	st.usage = llm.Usage{In: tokens(9), Out: tokens(100)}
	b := newBench(t, 1, []step{st}, nil, nil)
	_, err := b.ask(t, "s")
	wantKind(t, err, llm.Truncated)
	if r := b.memory.Records()[0]; r.Usage != st.usage || r.Cost != 253 {
		t.Errorf("recorded %+v", r.Outcome)
	}
}

// TestNoKeyLeaks has a vendor return the key in every possible way, and looks for it in everything that leaves the chain.
func TestNoKeyLeaks(t *testing.T) {
	key := secret(0)
	for name, form := range encodings(key) {
		cause := &url.Error{Op: "Post", URL: "https://host/?key=" + form, Err: errors.New(form)}
		for how, st := range map[string]step{
			"in the detail":         {kind: llm.Network, detail: "dial " + form + " refused"},
			"in a strange error":    {raw: cause},
			"in the cause":          {raw: &llm.Error{Kind: llm.Network, Detail: "x", Err: cause}},
			"in the answer":         say("the key is " + form),
			"in two pieces":         {chunks: []string{"the key is " + form[:len(form)/3], form[len(form)/3:]}},
			"in the model":          {chunks: []string{"ok"}, model: "flash-" + form},
			"with a caller's error": {kind: llm.Truncated, detail: form},
		} {
			b := newBench(t, 1, []step{st}, nil, nil)
			_, err := b.ask(t, "s")
			texts := []string{fmt.Sprintf("%+v", b.memory.Records()), fmt.Sprintf("%+v", b.memory.States()), fmt.Sprintf("%+v %#v", b.conf.Links, b.Chain)}
			for ; err != nil; err = errors.Unwrap(err) {
				texts = append(texts, fmt.Sprintf("%v %+v %#v", err, err, err))
			}
			for _, e := range b.said {
				texts = append(texts, fmt.Sprintf("%+v", e))
				if a, ok := e.(llm.Abandoned); ok {
					texts = append(texts, fmt.Sprintf("%v %v", a.Err, a.Err.Err))
				}
			}
			for _, text := range texts {
				if form := leaks(text, key); form != "" {
					t.Errorf("%s, %s: the key (%s) is in %q", name, how, form, text)
				}
			}
		}
	}
}

func TestAProvidersErrorIsBroughtIntoForm(t *testing.T) {
	cause := errors.New("unexpected EOF")
	for _, c := range []struct {
		err  error
		want string
		kind llm.Kind
	}{
		{errors.New("strange\nthing"), "gemini/flash: unknown: strange thing", llm.Unknown},
		{fmt.Errorf("ask: %w", &llm.Error{Kind: llm.Auth, Vendor: "g", Model: "m", Detail: "no\x1b[0m"}), "gemini/flash: auth: no [0m", llm.Auth},
		{&llm.Error{Kind: "news", Detail: "d"}, "gemini/flash: unknown: d", llm.Unknown},
		{&llm.Error{Kind: llm.Cancelled, Detail: "d"}, "gemini/flash: unknown: d", llm.Unknown},
		{&llm.Error{Kind: llm.Missing, Detail: strings.Repeat("x", 1<<20), Err: cause}, "gemini/flash: missing: xxx", llm.Missing},
	} {
		b := newBench(t, 1, []step{{raw: c.err}}, nil, nil)
		_, err := b.ask(t, "s")
		e := wantKind(t, err, c.kind)
		if !strings.HasPrefix(e.Error(), c.want) || len(e.Detail) > 300 {
			t.Errorf("error %q, want %q", e, c.want)
		}
		if c.kind == llm.Missing && !errors.Is(err, cause) {
			t.Error("the cause is lost")
		}
	}
}

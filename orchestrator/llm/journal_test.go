package llm_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"agent/orchestrator/llm"
)

// Users' records contain these digests, so they may not change.
func TestDigestsStayAsTheyAre(t *testing.T) {
	for want, r := range map[string]llm.Request{
		"5894e09f5e3218edc362ea77110b970ddde7fd50d78391c5eee7817438e85fc6": {},
		"d25a5debe3bd45a76eb847f0a1e4e6ab52e062a356412b641032293e08e4b07a": {
			Model: "m", System: "s", Temperature: 0.1, MaxTokens: 8192, Context: 32000,
			Messages: []llm.Message{{Role: llm.User, Text: "a"}, {Role: llm.Assistant, Text: "b\x00\xff"}, {Role: llm.User, Text: "c"}},
		},
	} {
		if got := llm.Digest(r); got != want {
			t.Errorf("%+v has digest %s, want %s", r, got, want)
		}
	}
}

func TestEqualRequestsAloneHaveEqualDigests(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "a", "b", "ab", "\x00", "\x01a", "\xff", "\xfe", "user"})
	message := rapid.Custom(func(t *rapid.T) llm.Message {
		return llm.Message{Role: llm.Role(text.Draw(t, "role")), Text: text.Draw(t, "text")}
	})
	request := rapid.Custom(func(t *rapid.T) llm.Request {
		return llm.Request{
			Model: text.Draw(t, "model"), System: text.Draw(t, "system"),
			Messages:    rapid.SliceOfN(message, 0, 3).Draw(t, "messages"),
			Temperature: rapid.SampledFrom([]float64{0, 0.1, 1}).Draw(t, "temperature"),
			MaxTokens:   rapid.IntRange(0, 2).Draw(t, "max"), Context: rapid.IntRange(0, 2).Draw(t, "context"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		x, y := request.Draw(t, "x"), request.Draw(t, "y")
		same := fmt.Sprintf("%q", fmt.Sprintf("%#v", x)) == fmt.Sprintf("%q", fmt.Sprintf("%#v", y))
		if (llm.Digest(x) == llm.Digest(y)) != same {
			t.Fatalf("%#v has %s and %#v has %s", x, llm.Digest(x), y, llm.Digest(y))
		}
	})
}

func TestAResumedRunDoesNotPayTwice(t *testing.T) {
	st := step{chunks: []string{"caf\xc3", "\xa9 \x00"}, model: "flash-001"}
	b := newBench(t, 1, []step{no(llm.Network), st, say("another")}, nil, nil)
	first, err := b.ask(t, "propose/1")
	if err != nil {
		t.Fatal(err)
	}
	b.said = nil
	b.renew(t)
	again, err := b.ask(t, "propose/1")
	if err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("the answer again is %+v, error %v, want %+v", again, err, first)
	}
	const story = "started 0 gemini/flash a recorded=true\ntext \"café \\x00\"\ndone in=5 out=2 cost=0.000007 recorded=true\n"
	if b.story() != story {
		t.Errorf("the caller was told\n%s, want\n%s", b.story(), story)
	}
	if n := len(b.memory.Records()); n != 2 {
		t.Errorf("%d requests are recorded, want the 2 that were made", n)
	}
	call := b.call("propose/1")
	call.Request.Model = "another model"
	if again, err := b.Ask(t.Context(), call); err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("which model the caller named makes another question: %+v, error %v", again, err)
	}
	for name, change := range map[string]func(*llm.Call){
		"another step":    func(c *llm.Call) { c.Step = "propose/2" },
		"another run":     func(c *llm.Call) { c.Run = "r2" },
		"another request": func(c *llm.Call) { c.Request.Temperature = 1 },
	} {
		call := b.call("propose/1")
		change(&call)
		if answer, err := b.Ask(t.Context(), call); err != nil || answer.Text != "another" {
			t.Errorf("%s: answer %q, error %v", name, answer.Text, err)
		}
	}
}

// A chain of other models finds the answer too, since it was paid for.
func TestAnAnswerIsFoundWhateverTheChain(t *testing.T) {
	b := newBench(t, 1, []step{say("x")}, nil, nil)
	b.wantAnswer(t, "s", "x")
	b.conf.Links[0] = llm.Link{Provider: &script{vendor: "other", steps: []step{no(llm.Auth)}, now: b.time}, Model: "m", Context: 1000}
	b.renew(t)
	b.wantAnswer(t, "s", "x")
}

// A process that died during a request leaves a record without an outcome. The question is asked again, and the possible cost of the
// first request counts.
func TestADeadProcessHasSpentByEstimate(t *testing.T) {
	b := newBench(t, 1, []step{say("x")}, nil, func(c *llm.Config) { c.Limits.RunCost = 600 })
	b.conf.Journal = dying{b.memory}
	b.renew(t)
	if _, err := b.ask(t, "s"); !errors.Is(err, errBroken) {
		t.Fatalf("error %v", err)
	}
	b.conf.Journal = b.memory
	b.renew(t)
	b.wantAnswer(t, "s", "x")
	run, _, err := b.memory.Spent(t.Context(), "r1", start)
	if err != nil || run.Requests != 2 || run.Cost != 252+4 {
		t.Errorf("spent %v, error %v, want two requests at 0.000252 and 0.000004", run, err)
	}
	_, err = b.ask(t, "s2")
	if err != nil {
		t.Fatal(err)
	}
	b.conf.Limits.RunCost = 500
	b.renew(t)
	_, err = b.ask(t, "s3")
	var spent *llm.BudgetError
	if !errors.As(err, &spent) {
		t.Errorf("error %v, want a BudgetError: what the dead process may have spent counts", err)
	}
}

// dying is a journal of a process that dies before it ends a record.
type dying struct{ llm.Journal }

func (dying) End(context.Context, int64, llm.Outcome) error { return errBroken }

// Prompts change between versions, and a replay works with older records: a step keeps its answer if its template has changed. With the
// same template, different text is a different question.
func TestAReplayOutlivesItsPrompts(t *testing.T) {
	b := newBench(t, 1, []step{say("one"), say("two")}, nil, nil)
	record := func(step, template string) {
		call := b.call(step)
		call.Template = template
		if _, err := b.Ask(t.Context(), call); err != nil {
			t.Fatal(err)
		}
	}
	record("1", "old template")
	record("2", "")
	replay, err := llm.New(llm.Config{Journal: b.memory, Replay: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ step, template, want string }{
		{"1", "new template", "one"},
		{"1", "old template", ""},
		{"2", "new template", ""}, // not made from a template
		{"3", "new template", ""},
	} {
		call := b.call(c.step)
		call.Template, call.Request = c.template, question("worded otherwise")
		answer, err := replay.Ask(t.Context(), call)
		if answer.Text != c.want || (c.want == "") != errors.Is(err, llm.ErrNotRecorded) {
			t.Errorf("step %s by %s: %q, %v", c.step, c.template, answer.Text, err)
		}
	}
}

func TestAReplayCallsNobody(t *testing.T) {
	b := newBench(t, 1, []step{no(llm.Network), say("one"), say("two"), no(llm.Truncated), no(llm.Missing)}, nil, nil)
	b.wantAnswer(t, "1", "one")
	b.wantAnswer(t, "2", "two")
	for _, step := range []string{"cut", "gone"} {
		if _, err := b.ask(t, step); err == nil {
			t.Fatalf("step %s was answered", step)
		}
	}
	records := len(b.memory.Records())

	replay, err := llm.New(llm.Config{Journal: b.memory, Replay: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(step string) (llm.Answer, error) {
		call := b.call(step)
		call.Run = "r2"
		return replay.Ask(t.Context(), call)
	}
	for step, want := range map[string]string{"1": "one", "2": "two"} {
		if answer, err := ask(step); err != nil || answer.Text != want {
			t.Errorf("step %s: answer %q, error %v, want %q", step, answer.Text, err, want)
		}
	}
	var gone *llm.ExhaustedError
	_, err = ask("cut")
	wantKind(t, err, llm.Truncated)
	if errors.As(err, &gone) {
		t.Errorf("error %v, want the bare one as in the recorded run", err)
	}
	_, err = ask("gone")
	wantKind(t, err, llm.Missing)
	if !errors.As(err, &gone) {
		t.Errorf("error %v, want an ExhaustedError as in the recorded run", err)
	}
	number, err := b.memory.Begin(t.Context(), llm.Record{Run: "r1", Step: "cancelled", Digest: llm.Digest(question("mend main.go"))})
	if err == nil {
		err = b.memory.End(t.Context(), number, llm.Outcome{Kind: llm.Cancelled})
	}
	if err != nil {
		t.Fatal(err)
	}
	records++
	if _, err = ask("cancelled"); !errors.Is(err, llm.ErrNotRecorded) {
		t.Errorf("error %v, want ErrNotRecorded where the recorded run was cancelled", err)
	}
	if _, err = ask("never asked"); !errors.Is(err, llm.ErrNotRecorded) {
		t.Errorf("error %v, want ErrNotRecorded", err)
	}
	if n := len(b.memory.Records()); n != records {
		t.Errorf("a replay added %d records", n-records)
	}
}

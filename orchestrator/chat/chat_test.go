package chat_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/agent/draft"
	"agent/orchestrator/agent/tools"
	"agent/orchestrator/chat"
	"agent/orchestrator/llm"
	"agent/sandbox/workspace"
)

// A book is a record that is kept in memory only.
type book struct {
	chat  chat.Chat
	turns []chat.Turn
	calls []conversation.Call
	// paid holds the answers that were paid for, by question.
	paid map[string]llm.Answer
}

func (b *book) Ask(_ context.Context, _ int64, t chat.Turn) error {
	if len(b.turns) >= t.N {
		return chat.ErrTaken
	}
	b.turns, b.chat.Note = append(b.turns, t), ""
	return nil
}

func (b *book) Answer(_ context.Context, _ int64, t chat.Turn, draft []byte) error {
	if b.turns[t.N-1].Cause != "" {
		return chat.ErrTaken
	}
	b.turns[t.N-1], b.chat.Draft = t, draft
	return nil
}

func (b *book) Keep(_ context.Context, c chat.Chat) error {
	b.chat = c
	return nil
}

func (b *book) Turns(context.Context, int64) ([]chat.Turn, error) { return slices.Clone(b.turns), nil }

func (b *book) FindCall(_ context.Context, c conversation.Call) (conversation.Call, bool, error) {
	i := slices.IndexFunc(b.calls, func(k conversation.Call) bool {
		return k.Step == c.Step && k.Number == c.Number && k.Digest == c.Digest
	})
	if i < 0 {
		return c, false, nil
	}
	return b.calls[i], true, nil
}

func (b *book) SaveCall(_ context.Context, c conversation.Call) error {
	b.calls = append(b.calls, c)
	return nil
}

func (b *book) SaveEnd(context.Context, conversation.Ended) error { return nil }

// A model answers by its script. It repeats an answer to the same question at the same place, so that nothing is paid for twice.
type model struct {
	*book
	answers []llm.Answer
	asked   []llm.Request
	dies    int // the number of the question that gets no answer
	during  func()
}

var errLost = errors.New("the connection is lost")

func (m *model) Converse(ctx context.Context, q conversation.Question) (llm.Answer, string, error) {
	if err := q.Request.CheckTurns(); err != nil {
		return llm.Answer{}, "", err
	}
	key := q.Step + llm.Digest(q.Request)
	if a, ok := m.paid[key]; ok {
		return a, "test/model", nil
	}
	m.asked = append(m.asked, q.Request)
	if m.during != nil {
		m.during()
	}
	if ctx.Err() != nil {
		return llm.Answer{}, "", ctx.Err()
	}
	if m.dies--; m.dies == 0 {
		return llm.Answer{}, "", errLost
	}
	if len(m.answers) == 0 {
		return llm.Answer{Text: "Yes."}, "test/model", nil
	}
	a := m.answers[0]
	m.answers = m.answers[1:]
	m.paid[key] = a
	return a, "test/model", nil
}

func (m *model) last() string {
	messages := m.asked[len(m.asked)-1].Messages
	return messages[len(messages)-1].Text
}

func calls(text, id, name, arguments string) llm.Answer {
	return llm.Answer{Text: text, Calls: []llm.ToolCall{{ID: id, Name: name, Arguments: arguments}}}
}

// A person talks with the model about a directory.
type person struct {
	*chat.Session
	*model
	dir  string
	told []string
}

// sits lets a person continue the conversation of a book, as a new process would.
func sits(t *testing.T, dir string, b *book, answers ...llm.Answer) *person {
	t.Helper()
	prompts, err := agent.LoadPrompts()
	if err != nil {
		t.Fatal(err)
	}
	if b.paid == nil {
		b.paid = map[string]llm.Answer{}
	}
	p := &person{model: &model{book: b, answers: answers}, dir: dir}
	bench := &tools.Bench{}
	p.Session = &chat.Session{
		Chat: b.chat, Book: b, Engineer: &agent.Engineer{Prompts: prompts}, Tell: func(text string) { p.told = append(p.told, text) },
		Scan: func(ctx context.Context) (*workspace.Manifest, error) {
			return workspace.Scan(ctx, dir, nil, workspace.Limits{})
		},
		Open: func(_ context.Context, base *workspace.Manifest) (*conversation.Chat, error) {
			bench.Draft = draft.New(base)
			return &conversation.Chat{Conversation: conversation.Conversation{Model: p.model, Record: b, Bench: bench, Fence: agent.NewFence(b.chat.Fence)}}, nil
		},
		Rules: func(*workspace.Manifest) (string, error) { return "Keep it short.", nil },
	}
	if err := p.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

func newBook() *book {
	return &book{chat: chat.Chat{ID: 7, Title: "a rate", Fence: "0123456789abcdef"}}
}

func shop(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "tax.py", "RATE = 19\n")
	write(t, dir, "cart.py", "from tax import RATE\n")
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p *person) says(t *testing.T, text string) conversation.Said {
	t.Helper()
	said, err := p.Session.Ask(t.Context(), chat.Question{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return said
}

const raise = `{"path": "tax.py", "old": "RATE = 19", "new": "RATE = 21"}`

func TestAConversationIsRows(t *testing.T) {
	b, dir := newBook(), shop(t)
	p := sits(t, dir, b, calls("I look.", "a", "read", `{"path": "tax.py"}`), llm.Answer{Text: "It is 19."})
	if said := p.says(t, "What is the rate?"); said.Text != "It is 19." || said.Calls != 1 || said.End != conversation.Talked {
		t.Fatalf("%+v", said)
	}
	if first := p.asked[0].Messages[0].Text; !strings.Contains(first, "Keep it short.") || !strings.HasPrefix(first, "What is the rate?") {
		t.Errorf("the first question is %s", first)
	}
	if slices.ContainsFunc(p.asked[0].Tools, func(t llm.Tool) bool { return t.Name == tools.Finish }) {
		t.Error("a conversation can be finished by the model")
	}
	// Another process continues from the stored rows alone.
	p = sits(t, dir, b, calls("", "b", "edit", raise), llm.Answer{Text: "It is 21 now."})
	p.says(t, "Raise it to 21.")
	if got := p.asked[0].Messages; len(got) != 5 || got[1].Text != "I look." || got[3].Text != "It is 19." || strings.Contains(got[4].Text, "Keep it short") {
		t.Errorf("it goes on with %+v", got)
	}
	p = sits(t, dir, b)
	if !strings.Contains(p.Changes().Diff(), "+RATE = 21") {
		t.Errorf("the draft is\n%s", p.Changes().Diff())
	}
	if data, err := os.ReadFile(filepath.Join(dir, "tax.py")); err != nil || string(data) != "RATE = 19\n" {
		t.Errorf("the workspace has %q, %v", data, err)
	}
	if err := p.Drop(t.Context(), "It was given up.\n"); err != nil || len(b.chat.Draft) != 0 || !p.Changes().Empty() {
		t.Errorf("%v, %s", err, b.chat.Draft)
	}
	p = sits(t, dir, b)
	p.says(t, "And now?")
	if !strings.Contains(p.last(), "what was done meanwhile\nIt was given up.\n") {
		t.Errorf("it is told\n%s", p.last())
	}
}

// Wherever a process ends, the next one repeats no answered question and no finished call.
func TestWhatWasCutOffIsCarriedOn(t *testing.T) {
	script := []llm.Answer{
		calls("", "a", "read", `{"path": "tax.py"}`), calls("", "b", "edit", raise), calls("", "c", "read", `{"path": "cart.py"}`), {Text: "It is 21 now."},
	}
	for dies := 1; dies <= len(script); dies++ {
		t.Run(fmt.Sprint(dies), func(t *testing.T) {
			b, dir := newBook(), shop(t)
			p := sits(t, dir, b, script...)
			p.dies = dies
			if _, err := p.Session.Ask(t.Context(), chat.Question{Text: "Raise it."}); !errors.Is(err, errLost) {
				t.Fatal(err)
			}
			q := sits(t, dir, b, script[dies-1:]...)
			if q.Pending() == nil || q.Pending().Typed != "Raise it." {
				t.Fatalf("pending is %+v", q.Pending())
			}
			said, err := q.Carry(t.Context())
			if err != nil || said.Text != "It is 21 now." || len(p.asked)+len(q.asked) != len(script)+1 || len(b.calls) != 3 {
				t.Errorf("%+v, %v; asked %d and %d times, called %d", said, err, len(p.asked), len(q.asked), len(b.calls))
			}
			if q.Pending() != nil || !strings.Contains(q.Changes().Diff(), "+RATE = 21") || !strings.Contains(string(b.chat.Draft), "+RATE = 21") {
				t.Errorf("the draft is %s", b.chat.Draft)
			}
		})
	}
	// The same within one process, where another question replaces the one that was cut off.
	b, dir := newBook(), shop(t)
	p := sits(t, dir, b, script...)
	p.dies = 3
	_, _ = p.Session.Ask(t.Context(), chat.Question{Text: "Raise it."})
	if said := p.says(t, "What else?"); said.Text == "" || b.turns[0].Cause != chat.Failed || b.turns[1].Cause != "talked" {
		t.Errorf("%+v, %+v", said, b.turns)
	}
}

func TestAnAnswerThatIsInterruptedLeavesTheConversation(t *testing.T) {
	b, dir := newBook(), shop(t)
	p := sits(t, dir, b, calls("", "a", "edit", raise), llm.Answer{Text: "never said"})
	ctx, cancel := context.WithCancel(t.Context())
	p.during = func() {
		if len(p.asked) == 2 {
			cancel()
		}
	}
	if _, err := p.Session.Ask(ctx, chat.Question{Text: "Raise it."}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if b.turns[0].Cause != string(conversation.Interrupted) || p.Pending() != nil || !strings.Contains(string(b.chat.Draft), "+RATE = 21") {
		t.Errorf("%+v, draft %s", b.turns[0], b.chat.Draft)
	}
	p = sits(t, dir, b)
	p.says(t, "Go on.")
	if got := p.asked[0].Messages; len(got) != 5 || got[3].Role != llm.Assistant || !strings.Contains(got[3].Text, "interrupted") {
		t.Errorf("it goes on with %+v", got)
	}
}

func TestADraftFollowsTheFiles(t *testing.T) {
	b, dir := newBook(), shop(t)
	p := sits(t, dir, b, calls("", "a", "edit", raise), llm.Answer{Text: "Done."})
	p.says(t, "Raise it.")
	write(t, dir, "cart.py", "from tax import RATE  # seen\n")
	p.says(t, "Fine?")
	if !strings.Contains(p.last(), "Files of the workspace were changed") || !strings.Contains(p.Changes().Diff(), "+RATE = 21") || len(p.told) != 0 {
		t.Errorf("told %q, draft\n%s\nasked\n%s", p.told, p.Changes().Diff(), p.last())
	}
	// The line that the draft changes is now different.
	write(t, dir, "tax.py", "TAX = 7\n")
	p.says(t, "And now?")
	if len(p.told) != 1 || !strings.Contains(p.told[0], "/drop discards it") || !strings.Contains(string(b.chat.Draft), "+RATE = 21") {
		t.Errorf("told %q, draft %s", p.told, b.chat.Draft)
	}
	if err := p.Drop(t.Context(), ""); err != nil || !p.Changes().Empty() {
		t.Error(err)
	}
}

// A model that keeps calling tools answers in words once a cap is reached.
func TestACapHasTheQuestionAnswered(t *testing.T) {
	b, dir := newBook(), shop(t)
	same := calls("", "a", "list", `{}`)
	var script []llm.Answer
	for i := range 3 {
		same.Calls = []llm.ToolCall{{ID: fmt.Sprint(i), Name: "list", Arguments: "{}"}}
		script = append(script, same)
	}
	p := sits(t, dir, b, append(script, llm.Answer{Text: "Two files."})...)
	said := p.says(t, "How many files?")
	if said.Text != "Two files." || said.End != conversation.Repeated || p.asked[3].Choice != llm.NoCall || !strings.Contains(p.last(), "Answer in words") {
		t.Errorf("%+v, %+v", said, p.asked[len(p.asked)-1])
	}
	p.says(t, "Sure?")
}

func TestAQuestionWithACredentialIsNotKept(t *testing.T) {
	b, dir := newBook(), shop(t)
	p := sits(t, dir, b)
	p.Hide = func(text string) string { return strings.ReplaceAll(text, "key-of-mine", "[hidden]") }
	for _, q := range []chat.Question{{Text: "is key-of-mine good?"}, {Text: "see", Picks: []agent.Excerpt{{Path: "a", Why: "b", Text: "k = key-of-mine"}}}} {
		var stop *agent.StopError
		if _, err := p.Session.Ask(t.Context(), q); !errors.As(err, &stop) || len(b.turns)+len(p.asked) != 0 || p.Pending() != nil {
			t.Errorf("%v, %+v, asked %d times", err, b.turns, len(p.asked))
		}
	}
	p.says(t, "is it good?")
}

func TestTwoProcessesDoNotAnswerOneQuestion(t *testing.T) {
	b, dir := newBook(), shop(t)
	p, q := sits(t, dir, b), sits(t, dir, b)
	p.says(t, "One.")
	if _, err := q.Session.Ask(t.Context(), chat.Question{Text: "Two."}); !errors.Is(err, chat.ErrTaken) || len(q.asked) != 0 {
		t.Errorf("%v, asked %d times", err, len(q.asked))
	}
}

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/agent"
)

// scripted answers questions from a list and keeps what it was asked.
type scripted struct {
	answers []string
	asked   []agent.Question
}

var errSilent = errors.New("nobody answers")

func (s *scripted) Ask(_ context.Context, q agent.Question) (agent.Reply, error) {
	s.asked = append(s.asked, q)
	if len(s.answers) == 0 {
		return agent.Reply{}, errSilent
	}
	text := s.answers[0]
	s.answers = s.answers[1:]
	return agent.Reply{Text: text, Model: "script/1"}, nil
}

func everywhere(string) bool { return true }

func TestTheMemoryIsMergedAndEverySecondTimeCompressed(t *testing.T) {
	p, f := load(t, nil), agent.NewFence(word)
	m := &scripted{answers: []string{"shop/stock.py counts returns.", "merged: shop/stock.py, shop/tax.py", "short: shop/stock.py, shop/tax.py"}}
	memory := agent.Memory{}
	for i, session := range []string{"changed shop/stock.py", "changed shop/tax.py"} {
		next, kept, err := memory.Remember(t.Context(), m, p, f, session, everywhere)
		if err != nil || kept != "" || next.Iteration != i+1 {
			t.Fatalf("iteration %d: %+v, %q, %v", i+1, next, kept, err)
		}
		memory = next
	}
	if memory.Text != "short: shop/stock.py, shop/tax.py" {
		t.Errorf("memory %q", memory.Text)
	}
	var steps []string
	for _, q := range m.asked {
		steps = append(steps, q.Step)
	}
	if got := fmt.Sprint(steps); got != "[memory/UM memory/UM memory/RM]" {
		t.Errorf("asked %s", got)
	}
	if !strings.Contains(m.asked[2].Text, "merged: shop/stock.py") {
		t.Error("the compression does not start from the merged memory")
	}
}

func TestAnAnswerThatIsNoMemoryIsNotTaken(t *testing.T) {
	p, f := load(t, nil), agent.NewFence(word)
	before := agent.Memory{Text: "a.py uses b.py; c.py is old."}
	for name, answer := range map[string]string{
		"empty":         " \n",
		"too long":      strings.Repeat("a.py b.py c.py d.py ", 100),
		"an edit":       "<EDIT><SEARCH>\na.py b.py c.py d.py\n</SEARCH></EDIT>",
		"forgets paths": "All is well.",
	} {
		next, kept, err := before.Remember(t.Context(), &scripted{answers: []string{answer}}, p, f, "changed d.py", everywhere)
		if err != nil || kept == "" || !strings.HasPrefix(kept, "UM: ") {
			t.Errorf("%s: kept %q, %v", name, kept, err)
		}
		if !strings.Contains(next.Text, "c.py is old.") || !strings.Contains(next.Text, "changed d.py") {
			t.Errorf("%s: the memory is now %q", name, next.Text)
		}
	}
	gone := func(p string) bool { return p == "d.py" }
	if _, kept, err := before.Remember(t.Context(), &scripted{answers: []string{"Only d.py is left."}}, p, f, "changed d.py", gone); err != nil || kept != "" {
		t.Errorf("paths of files that are gone must be named: %q, %v", kept, err)
	}
}

func TestAMemoryOutlivesASilentModel(t *testing.T) {
	before := agent.Memory{Text: "x", Iteration: 3}
	next, _, err := before.Remember(t.Context(), &scripted{}, load(t, nil), agent.NewFence(word), "s", everywhere)
	if !errors.Is(err, errSilent) || next != before {
		t.Errorf("%+v, %v", next, err)
	}
}

func TestTheOldestIsForgottenFirst(t *testing.T) {
	before := agent.Memory{Text: lines("fact", 300)}
	next, kept, err := before.Remember(t.Context(), &scripted{answers: []string{""}}, load(t, nil), agent.NewFence(word), "the newest", everywhere)
	if err != nil || kept == "" || len(next.Text) > agent.MaxMemory || !strings.HasSuffix(next.Text, "the newest") || strings.Contains(next.Text, "fact 0\n") {
		t.Errorf("%d bytes, %q, %v", len(next.Text), kept, err)
	}
}

func TestHistoryShortensLongDiffs(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 30, 45, 0, time.UTC)
	short := agent.Entry{At: at, Path: "a.py", Diff: lines("+line", 20)}
	if got := short.Markdown(); !strings.HasPrefix(got, "## 2026-03-04 12:30:45 - `a.py`\n\n```diff\n+line 0\n") || strings.Contains(got, "TRUNCATED") {
		t.Errorf("%s", got)
	}
	long := agent.Entry{At: at, Path: "a`\n.py", Diff: lines("+line", 21)}.Markdown()
	if !strings.Contains(long, "+line 4\n[TRUNCATED FOR MEMORY]\n+line 16\n") || strings.Contains(long, "+line 5\n") || strings.Contains(long, "`\n.py") {
		t.Errorf("%s", long)
	}
	if got := (agent.Entry{Diff: "+```\n"}).Markdown(); !strings.Contains(got, "````diff\n") {
		t.Errorf("a diff leaves its fence: %s", got)
	}
	all := []agent.Entry{{Path: "1"}, {Path: "2"}, {Path: "3"}, {Path: "4"}}
	if got := agent.Recent(all); strings.Contains(got, "`1`") || !strings.Contains(got, "`2`") || strings.Index(got, "`2`") > strings.Index(got, "`4`") {
		t.Errorf("%s", got)
	}
	if agent.Recent(nil) != "" {
		t.Error("no history is not empty")
	}
}

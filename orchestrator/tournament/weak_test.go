package tournament_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/tournament"
	"agent/verify"
)

// A weak is a model that answers only from the question and remembers nothing.
type weak struct {
	answer func(q agent.Question) string
	asked  []agent.Question
}

// Ask implements agent.Model.
func (w *weak) Ask(_ context.Context, q agent.Question) (agent.Reply, error) {
	w.asked = append(w.asked, q)
	return agent.Reply{Text: w.answer(q), Model: "weak/1"}, nil
}

// hunted runs the goal of runtest on a.py with a weak model.
func hunted(t *testing.T, text, wanted string, w *weak) run.Document {
	t.Helper()
	b, _ := runtest.Hunt(t, runtest.Wants(wanted), nil)
	b.Write(t, "a.py", text)
	crew := b.Crew
	b.Crew = func(id string, emit func(agent.Progress)) tournament.Crew {
		c := crew(id, emit)
		c.Engineer.Model = w
		return c
	}
	return b.Run(t.Context(), b.Goal())
}

// block returns an edit of a.py.
func block(from, to string) string {
	return fmt.Sprintf("<EDIT file=\"a.py\">\n<SEARCH>\n%s\n</SEARCH>\n<REPLACE>\n%s\n</REPLACE>\n</EDIT>\n", from, to)
}

// A model that can correct only an answer that it sees succeeds: the rejected answer is quoted whole, so that its correct blocks are sent
// again. A model that had to remember them would fail.
func TestARejectedAnswerIsQuotedToItsAuthor(t *testing.T) {
	t.Parallel()
	good, stale := block("one = 1", "one = 10"), block("two = 22", "two = 20")
	w := &weak{answer: func(q agent.Question) string {
		if q.Purpose != agent.Repair {
			return "<THOUGHT>ten times</THOUGHT>\n" + good + stale
		}
		_, said, _ := strings.Cut(q.Text, "your answer, of which nothing was applied\n")
		said, _, _ = strings.Cut(said, ">>")
		if !strings.Contains(said, good) {
			return block("two = 2", "two = 20") // it forgets the rest
		}
		return strings.Replace(said[:strings.LastIndexByte(said, '\n')], "two = 22", "two = 2", 1)
	}}
	doc := hunted(t, "one = 1\ntwo = 2\n", "one = 10\ntwo = 20\n", w)
	if doc.State != run.Promoted || len(w.asked) != 2 {
		t.Errorf("%s after %d questions: %+v", doc.State, len(w.asked), doc.Error)
	}
}

// A model that repeats itself is asked differently and with a higher temperature. If it repeats itself again, it is not asked any more.
func TestAnEqualAnswerIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	same := block("two = 22", "two = 20")
	for name, c := range map[string]struct {
		changes   func(q agent.Question) bool
		questions int
		state     run.State
	}{
		"by another form": {func(q agent.Question) bool { return strings.Contains(q.Text, "the same answer twice") }, 3, run.Promoted},
		"by temperature":  {func(q agent.Question) bool { return q.Temperature > 0.5 }, 3, run.Promoted},
		"never":           {func(agent.Question) bool { return false }, 3, run.Rejected},
	} {
		w := &weak{answer: func(q agent.Question) string {
			if c.changes(q) {
				return "<FILE file=\"a.py\">\ntwo = 20\n</FILE>"
			}
			return same
		}}
		doc := hunted(t, "two = 2\n", "two = 20\n", w)
		if doc.State != c.state || len(w.asked) != c.questions {
			t.Errorf("%s: %s after %d questions: %+v", name, doc.State, len(w.asked), doc.Error)
		}
	}
}

// A run reports which prompts the workspace supplied.
func TestPromptsOfTheWorkspaceAreReported(t *testing.T) {
	t.Parallel()
	for want, own := range map[string]fstest.MapFS{"using the prompts of the workspace: PP": {"PP.md": {Data: []byte("look")}}, "": {}} {
		prompts, err := agent.LoadPrompts(own)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := runtest.Hunt(t, runtest.Wants("x = 2\n"), map[string]string{"propose/1": runtest.Only("x = 1", "x = 2")})
		crew, said := b.Crew, ""
		b.Crew = func(id string, emit func(agent.Progress)) tournament.Crew {
			c := crew(id, emit)
			c.Engineer.Prompts = prompts
			return c
		}
		b.Runner.Emit = func(e run.Event) {
			if strings.HasPrefix(e.Note, "using the prompts of") {
				said += e.Note
			}
		}
		if doc := b.Run(t.Context(), b.Goal()); doc.State != run.Promoted || said != want {
			t.Errorf("%s, said %q, want %q", doc.State, said, want)
		}
	}
}

// An answer that was applied and did not pass is shown as its change, not quoted.
func TestAnAppliedAnswerIsNotQuoted(t *testing.T) {
	t.Parallel()
	w := &weak{answer: func(q agent.Question) string {
		if q.Purpose == agent.Implement {
			return block("two = 2", "two = 3")
		}
		return block("two = 3", "two = 20")
	}}
	doc := hunted(t, "two = 2\n", "two = 20\n", w)
	if doc.State != run.Promoted || len(w.asked) != 2 || strings.Contains(w.asked[1].Text, "of which nothing was applied") {
		t.Errorf("%s, %v\n%s", doc.State, doc.Verdict == verify.Pass, w.asked[1].Text)
	}
}

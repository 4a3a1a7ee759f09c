package term

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/agent"
	"agent/orchestrator/run"
)

// The board shows the end of the answer while it is written, and the gates of each candidate in separate rows.
func TestTheBoardShowsTheAnswerAsItIsWritten(t *testing.T) {
	t.Parallel()
	b, _ := aBoard(100, 40)
	for _, p := range []agent.Progress{
		{Step: "propose/1", Stage: agent.Asked, Model: "gemini/m", In: 10},
		{Step: "propose/1", Stage: agent.Writing, Text: "first line\nsecond"},
		{Step: "propose/1", Stage: agent.Writing, Text: " line \x1b[2J"},
	} {
		b.Event(run.Event{Model: &p})
	}
	if text := frame(b); !strings.Contains(text, "│ second line ␛[2J") || strings.Contains(text, "first line") {
		t.Errorf("the board is\n%s", text)
	}
	// An indentation does not make the board show an empty line in its place.
	b.Event(run.Event{Model: &agent.Progress{Step: "propose/1", Stage: agent.Writing, Text: "\n\n    "}})
	if text := frame(b); !strings.Contains(text, "│ second line ␛[2J") {
		t.Errorf("the board is\n%s", text)
	}
	b.Event(run.Event{Model: &agent.Progress{Step: "propose/1", Stage: agent.Dropped, Why: "it broke"}})
	if text := frame(b); strings.Contains(text, "second line") || !strings.Contains(text, "it broke") {
		t.Errorf("what was dropped is still shown:\n%s", text)
	}
	b.Event(run.Event{State: run.Verifying})
	for n := 1; n <= 2; n++ {
		for _, e := range termtest.Events() {
			if e.Gate != nil && !e.Gate.Done {
				b.Event(run.Event{Gate: e.Gate, Candidate: n})
			}
		}
	}
	text := frame(b)
	for want, times := range map[string]int{"  ⠋ 1  gemini/m": 1, "  ⠋ 2 ": 1, "    ⠋ lint ": 2, "    ⠋ smoke": 2, "│": 0} {
		if strings.Count(text, want) != times {
			t.Errorf("%q is not on the board %d times:\n%s", want, times, text)
		}
	}
}

// The rounds of a conversation appear in the block of their candidate, with the calls.
func TestTheBoardShowsWhatIsCalled(t *testing.T) {
	t.Parallel()
	b, _ := aBoard(100, 40)
	for _, p := range []agent.Progress{
		{Step: "heal/2.1/r3", Stage: agent.Asked, Model: "compatible/m", In: 10},
		{Step: "heal/2.1/r3", Stage: agent.Answered, In: 10, Out: 2},
		{Step: "heal/2.1/r3", Stage: agent.Called, Text: "search tax \x1b[2J"},
	} {
		b.Event(run.Event{Model: &p})
	}
	text := frame(b)
	for _, want := range []string{"⠋ compatible/m", "repair", "round 3 · search tax ␛[2J"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not on the board:\n%s", want, text)
		}
	}
	b.Event(run.Event{Model: &agent.Progress{Step: "heal/2.1/r4", Stage: agent.Asked, Model: "compatible/m", In: 12}})
	if text := frame(b); strings.Contains(text, "round 3") || strings.Contains(text, "compatible/m") && strings.Count(text, "repair") != 1 {
		t.Errorf("the board keeps the round before:\n%s", text)
	}
}

// On a narrow terminal the figures of a question get a line of their own instead of running over the edge.
func TestTheFiguresOfAQuestionAreNotCutOff(t *testing.T) {
	t.Parallel()
	for columns, want := range map[int]struct {
		lines int
		text  string
	}{
		60:  {3, "31200 tokens in, 1900 out, 20 tokens/s, cost 0.002100"},
		80:  {2, "95.0s  31200 tokens in, 1900 out, cost 0.002100"},
		120: {2, "95.0s  31200 tokens in, 1900 out, 20 tokens/s, cost 0.002100"},
	} {
		b, _ := aBoard(columns, 24)
		for _, p := range []agent.Progress{
			{Step: "propose/1", Stage: agent.Asked, Model: "gemini/gemini-2.5-flash", In: 31200, Estimated: true},
			{Step: "propose/1", Stage: agent.Answered, In: 31200, Out: 1900, Seconds: 95, Cost: 2100, Priced: true},
		} {
			b.Event(run.Event{Model: &p})
		}
		lines := b.lines(columns, allGates)
		if text := strings.Join(lines, "\n"); len(lines) != want.lines || !strings.Contains(text, want.text) {
			t.Errorf("on %d columns: %q", columns, lines)
		}
		for _, line := range lines {
			if ansi.StringWidth(line) >= columns {
				t.Errorf("%q is wider than %d columns", line, columns)
			}
		}
	}
}

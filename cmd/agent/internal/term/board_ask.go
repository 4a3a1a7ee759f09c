package term

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"agent/orchestrator/agent"
	"agent/orchestrator/llm"
)

// An askRow is one question to a model on the board.
//
//	⠙ propose/1   gemini/gemini-2.5-flash  ~3120 tokens in, ~410 out, 7.2 s, 57 tokens/s, spent 0.002100
//	    │ def level(self, name):
type askRow struct {
	step, model string
	stage       agent.Stage
	in          int
	guess       bool // nobody measured in
	began       time.Time
	wrote       int    // bytes of the answer so far
	tail        string // the last line of it
	said        time.Time
	note        string // how it ended, or why it waits
}

// sayEvery is the time between two plain lines about an answer that is
// being written.
const sayEvery = 10 * time.Second

// ask records how a question fares. Whoever asks the same question again
// goes on in the same row.
func (b *Board) ask(p agent.Progress) {
	// Few questions are open at a time: looking through them is enough.
	at := -1
	for i, r := range b.asks {
		if r.step == p.Step {
			at = i
		}
	}
	if at < 0 {
		at = len(b.asks)
		b.asks = append(b.asks, askRow{step: p.Step})
	}
	r := &b.asks[at]
	r.stage = p.Stage
	switch p.Stage {
	// A new attempt begins with nothing written, whoever was asked before.
	case agent.Asked:
		*r = askRow{step: p.Step, stage: p.Stage, model: CleanLine(p.Model), in: p.In, guess: p.Estimated, began: time.Now()}
		b.print(r.name() + " … asked, " + r.question())
	case agent.Writing:
		b.write(r, p.Text)
	case agent.Dropped:
		// What was shown of the answer is void.
		r.wrote, r.tail, r.note = 0, "", CleanLine(p.Why)
		b.print(r.name() + " … " + r.note)
	case agent.Waiting:
		r.note = fmt.Sprintf("waits %.0f s: %s", p.Seconds, CleanLine(p.Why))
		b.print(r.name() + " … " + r.note)
	case agent.Answered:
		b.answered(r, p)
	}
}

// write takes a piece of the answer. Plain lines tell of the first one,
// and after that every few seconds.
func (b *Board) write(r *askRow, text string) {
	// The first piece is told at once: it says that the model is alive.
	first := r.wrote == 0
	r.wrote += len(text)
	// A line may come in many pieces, and has no end as far as we know.
	const most = 500
	r.tail += text
	// The last line that says something: an indent alone says nothing yet.
	if at := strings.LastIndexByte(strings.TrimRight(r.tail, " \t\r\n"), '\n'); at >= 0 {
		r.tail = r.tail[at+1:]
	}
	r.tail = r.tail[max(0, len(r.tail)-most):]
	if first || time.Since(r.said) >= sayEvery {
		r.said = time.Now()
		b.print(r.name() + " … " + r.pace())
	}
}

// answered records the end of a question.
func (b *Board) answered(r *askRow, p agent.Progress) {
	// The answer is whole, and judged elsewhere; its text has done its work.
	r.tail = ""
	about := ""
	if p.Estimated {
		about = "~"
	}
	r.note = fmt.Sprintf("%s%d tokens in, %s%d out, %.1f s", about, p.In, about, p.Out, p.Seconds) + rate(p.Out, p.Seconds)
	// Money is named only where it is known; 0 would read as free.
	switch {
	case p.Recorded:
		r.note += ", from the record"
	case p.Priced && p.Cost == 0:
		r.note += ", free"
	case p.Priced:
		b.spent += p.Cost
		r.note += fmt.Sprintf(", cost %v, spent %v", llm.Money(p.Cost), llm.Money(b.spent))
	default:
		r.note += ", cost not known"
	}
	b.print(r.name() + " … answered, " + r.note)
}

// name is the question as people read it.
func (r askRow) name() string { return strings.TrimRight(r.step+" "+r.model, " ") }

// question says how large the question is.
func (r askRow) question() string {
	about := ""
	if r.guess {
		about = "~"
	}
	return fmt.Sprintf("%s%d tokens in", about, r.in)
}

// pace says how the answer comes along. A token is about four bytes;
// the vendor counts when it is done.
func (r askRow) pace() string {
	// The clock runs from when the question was sent, thinking included.
	took, out := time.Since(r.began).Seconds(), (r.wrote+3)/4
	return fmt.Sprintf("%s, ~%d out, %.1f s", r.question(), out, took) + rate(out, took)
}

// rate says how fast tokens came, and nothing of a time that is shown as 0: a
// recorded answer, or a first piece, came at no speed that means anything.
func rate(tokens int, seconds float64) string {
	if tokens == 0 || seconds < 0.05 {
		return ""
	}
	return fmt.Sprintf(", %.0f tokens/s", float64(tokens)/seconds)
}

// askLines returns a question as it should look now: one line, or two where
// the terminal is narrow, since the figures must not be cut off; and while
// the model writes another one with the end of the answer.
func (b *Board) askLines(r askRow, columns int) []string {
	// The sign tells at a glance whether anybody is at work.
	sign, text := b.spinner(), r.pace()
	switch r.stage {
	case agent.Answered:
		sign, text = b.palette.Good("✓"), r.note
	case agent.Dropped, agent.Waiting:
		sign, text = b.palette.Warn("!"), r.note
	}
	// What the run has spent so far, while the next amount is not known.
	if b.spent > 0 && r.stage != agent.Answered {
		text += fmt.Sprintf(", spent %v", llm.Money(b.spent))
	}
	lines := []string{fmt.Sprintf("  %s %-15s %s", sign, r.step, r.model)}
	if whole := lines[0] + "  " + b.palette.Dim(text); ansi.StringWidth(whole) < columns {
		lines[0] = whole
	} else {
		lines = append(lines, "  "+b.palette.Dim(text))
	}
	// A model's text reaches the terminal only cleaned.
	if tail := strings.TrimRight(r.tail, " \t\r\n"); strings.TrimSpace(tail) != "" {
		lines = append(lines, b.palette.Dim("      │ "+strings.ReplaceAll(CleanTabs(tail), "\t", "    ")))
	}
	return lines
}

package term

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"agent/orchestrator/agent"
	"agent/orchestrator/llm"
)

// An askRow is one question to a model on the board.
//
//	⠙ answer            7.2s  ~3120 tokens in, ~410 out, 57 tokens/s
//	  │ def level(self, name):
type askRow struct {
	step, model string
	stage       agent.Stage
	in          int
	guess       bool // in is an estimate
	began       time.Time
	seconds     float64 // of an answered question
	wrote       int     // bytes of the answer so far
	tail        string  // its last line
	said        time.Time
	note        string // how it ended, or why it waits
	short, cost string // the note without the speed, and the cost alone
}

// sayEvery is the time between two plain lines about an answer that is being written.
const sayEvery = 10 * time.Second

// candidateOf returns the number of the candidate that a question is asked for, or 0 if there is none: 2 for
// "propose/2" and "heal/2.1".
func candidateOf(step string) int {
	kind, number, _ := strings.Cut(step, "/")
	switch kind {
	case "propose", "implement", "heal":
		number, _, _ = strings.Cut(number, "/") // the round of a conversation comes after it
		number, _, _ = strings.Cut(number, ".")
		n, err := strconv.Atoi(number)
		if err == nil {
			return n
		}
	}
	return 0
}

// kind returns a word for what the model is asked for.
func (r *askRow) kind() string {
	switch kind, _, _ := strings.Cut(r.step, "/"); kind {
	case "propose", "implement":
		return "answer"
	case "heal":
		return "repair"
	}
	return "answer"
}

// ask handles the progress of a question. Asking the same question again continues in the same row.
func (b *Board) ask(p agent.Progress) {
	r := b.askRow(p)
	r.stage = p.Stage
	switch p.Stage {
	// A new attempt starts with nothing written, whichever model was asked before.
	case agent.Asked:
		*r = askRow{step: p.Step, stage: p.Stage, model: CleanLine(p.Model), in: p.In, guess: p.Estimated, began: time.Now()}
		b.print(r.name() + " … asked, " + r.question())
	case agent.Writing:
		b.write(r, p.Text)
	case agent.Dropped:
		// The part of the answer shown so far is void.
		r.wrote, r.tail, r.note = 0, "", CleanLine(p.Why)
		b.print(r.name() + " … " + r.note)
	case agent.Waiting:
		r.note = fmt.Sprintf("waits %.0f s: %s", p.Seconds, CleanLine(p.Why))
		b.print(r.name() + " … " + r.note)
	case agent.Answered:
		b.answered(r, p)
	case agent.Called:
		r.note = r.round() + CleanLine(p.Text)
		b.print(r.name() + " … " + r.note)
	}
}

// round returns the round of a conversation that the question opened, or "".
func (r *askRow) round() string {
	if _, n, ok := strings.Cut(r.step, "/r"); ok {
		return "round " + n + " · "
	}
	return ""
}

// askRow returns the row of a question: the one of its candidate, or one of its own.
func (b *Board) askRow(p agent.Progress) *askRow {
	if n := candidateOf(p.Step); n > 0 {
		k := b.block(n)
		if k.ask == nil || k.ask.step != p.Step {
			k.asked(p.Stage)
			k.ask = &askRow{step: p.Step, began: time.Now()}
		}
		return k.ask
	}
	b.folded = false
	// Few questions are open at a time: a linear search is enough.
	for i, r := range b.asks {
		if r.step == p.Step {
			return &b.asks[i]
		}
	}
	b.asks = append(b.asks, askRow{step: p.Step, began: time.Now()})
	return &b.asks[len(b.asks)-1]
}

// write handles a piece of the answer. Plain lines report the first piece, and after that every few seconds.
func (b *Board) write(r *askRow, text string) {
	// The first piece is reported at once: it says that the model is alive.
	first := r.wrote == 0
	r.wrote += len(text)
	// A line may arrive in many pieces, and may never end.
	const most = 500
	r.tail += text
	// Keep the last line that says something: an indent alone says nothing yet.
	if at := strings.LastIndexByte(strings.TrimRight(r.tail, " \t\r\n"), '\n'); at >= 0 {
		r.tail = r.tail[at+1:]
	}
	r.tail = r.tail[max(0, len(r.tail)-most):]
	if first || time.Since(r.said) >= sayEvery {
		r.said = time.Now()
		b.print(r.name() + " … " + r.pace())
	}
}

// answered handles the end of a question.
func (b *Board) answered(r *askRow, p agent.Progress) {
	// The answer is complete, and judged elsewhere; its text is no longer needed.
	r.tail, r.seconds = "", p.Seconds
	about := ""
	if p.Estimated {
		about = "~"
	}
	counts := fmt.Sprintf("%s%d tokens in, %s%d out", about, p.In, about, p.Out)
	speed, cost, spent := rate(p.Out, p.Seconds), "", ""
	// Money is named only if it is known; 0 would read as free.
	switch {
	case p.Recorded:
		cost = ", from the record"
	case p.Priced && p.Cost == 0:
		cost = ", free"
	case p.Priced:
		b.spent, b.priced = b.spent+p.Cost, b.priced+1
		cost = fmt.Sprintf(", cost %v", llm.Money(p.Cost))
		spent = fmt.Sprintf(", spent %v", llm.Money(b.spent))
	default:
		cost = ", cost not known"
	}
	r.note, r.short, r.cost = counts+speed+cost, counts+cost, strings.TrimPrefix(cost, ", ")
	b.print(fmt.Sprintf("%s … answered, %s, %.1f s%s%s%s", r.name(), counts, p.Seconds, speed, cost, spent))
}

// open reports whether the question has no answer yet.
func (r *askRow) open() bool { return r.stage != agent.Answered }

// took returns how long the question has been open, including thinking.
func (r *askRow) took() time.Duration {
	if r.stage == agent.Answered {
		return time.Duration(r.seconds * float64(time.Second))
	}
	return time.Since(r.began)
}

// name returns the question as people read it.
func (r *askRow) name() string { return strings.TrimRight(r.step+" "+r.model, " ") }

// question says how large the question is.
func (r *askRow) question() string {
	about := ""
	if r.guess {
		about = "~"
	}
	return fmt.Sprintf("%s%d tokens in", about, r.in)
}

// figures returns what is known of the question besides its time.
func (r *askRow) figures() string {
	switch r.stage {
	case agent.Answered, agent.Dropped, agent.Waiting, agent.Called:
		return r.note
	}
	if r.wrote == 0 {
		return r.question()
	}
	return fmt.Sprintf("%s, ~%d out", r.question(), r.out()) + rate(r.out(), r.took().Seconds())
}

// fitting returns the figures, without the speed if only that makes them fit into so many cells. If nothing fits, it
// returns all of them.
func (r *askRow) fitting(cells int) (text string, fits bool) {
	text = r.figures()
	if ansi.StringWidth(text) > cells && r.stage == agent.Answered && ansi.StringWidth(r.short) <= cells {
		text = r.short
	}
	return text, ansi.StringWidth(text) <= cells
}

// out estimates how many tokens have arrived. A token is about four bytes; the vendor reports its count at the end.
func (r *askRow) out() int { return (r.wrote + 3) / 4 }

// pace says how the answer is progressing.
func (r *askRow) pace() string {
	// The clock runs from the sending of the question, including thinking.
	took := time.Since(r.began).Seconds()
	return fmt.Sprintf("%s, ~%d out, %.1f s", r.question(), r.out(), took) + rate(r.out(), took)
}

// rate says how fast tokens arrived. It says nothing for a time that is shown as 0: the speed of a recorded answer, or
// of a first piece, means nothing.
func rate(tokens int, seconds float64) string {
	if tokens == 0 || seconds < 0.05 {
		return ""
	}
	return fmt.Sprintf(", %.0f tokens/s", float64(tokens)/seconds)
}

package term

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"agent/orchestrator/agent"
	"agent/orchestrator/llm"
	"agent/orchestrator/run"
	"agent/verify"
)

// How much of the blocks a frame shows: all, or where a terminal is low gates that
// passed on one line, or one line for each candidate.
const (
	allGates = iota
	openGates
	noGates
)

// draw replaces the last frame by a new one.
func (b *Board) draw() { b.paint("") }

// paint replaces the last frame by a new one, below a line that stays unless it is "".
// It is one write, so that nothing flickers. Every line is cut to the width, since one
// that wrapped would be counted wrongly by the next frame.
func (b *Board) paint(above string) {
	if !b.live || b.still {
		return
	}
	columns, lines := b.size()
	var out strings.Builder
	// Up to the first line of the last frame; from there each line is
	// written over and its rest cleared.
	if up := min(height(b.drawn, columns), lines-1); up > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", up)
	}
	if above != "" {
		out.WriteString("\r" + above + "\x1b[K\n")
	}
	text := b.fitting(columns, lines-1)
	if len(text)+len(b.drawn)+len(above) == 0 {
		return
	}
	b.drawn = nil
	for _, line := range text {
		line = ansi.Truncate(line, columns-1, "…")
		b.drawn = append(b.drawn, ansi.StringWidth(line))
		out.WriteString("\r" + line + "\x1b[K\n")
	}
	// Also the keys that were pressed, which the terminal showed: ^C.
	out.WriteString("\r\x1b[J")
	// A write that goes wrong is not looked at: the run matters more
	// than its display.
	io.WriteString(b.w, out.String()) // a terminal that went away must not end the run
}

// height is how many lines of a terminal of so many columns the lines take that were
// drawn on it: one that was made narrower has broken those that are too long now.
func height(drawn []int, columns int) (n int) {
	for _, width := range drawn {
		n += max(1, (width+columns-1)/columns)
	}
	return n
}

// fitting returns the board in at most so many lines: the cursor cannot go up past the
// top of the screen.
func (b *Board) fitting(columns, most int) []string {
	var text []string
	for detail := allGates; detail <= noGates; detail++ {
		if text = b.lines(columns, detail); len(text) <= most {
			return text
		}
	}
	// Where the run is stands first, and what is newest last.
	return append(text[:1], text[len(text)-most+1:]...)
}

// lines returns the board as it should look now.
func (b *Board) lines(columns, detail int) []string {
	var text []string
	if head := b.head(); head != "" && !b.folded {
		text = append(text, head)
	}
	for _, k := range b.blocks {
		if b.folded && k.ask != nil && !k.shown {
			text = append(text, b.foldedLine(k, columns))
		}
		if !k.shown && !b.folded {
			text = append(text, b.blockLines(k, columns, detail)...)
		}
	}
	if b.folded && b.priced > 1 && len(text) > 0 {
		text = append(text, "  "+b.palette.Dim(fmt.Sprintf("spent %v", llm.Money(b.spent))))
	}
	for _, r := range b.asks {
		text = append(text, "  "+join(" ", b.askSign(&r), r.step, r.model))
		text = append(text, b.askLines("    ", &r, columns, detail)...)
	}
	return text
}

// head is the line that says where the run is.
func (b *Board) head() string {
	head := b.palette.Bold(strings.ReplaceAll(b.state, "_", " "))
	if b.note != "" {
		head = join(" ", head, b.palette.Dim(b.note))
	}
	// The cost of a single answer stands with it.
	if b.priced > 1 {
		head += b.palette.Dim(fmt.Sprintf("  spent %v", llm.Money(b.spent)))
	}
	// Before the first gate a large workspace can take a while: the
	// seconds show that it is alive.
	if took := time.Since(b.since); b.state != "" && len(b.blocks)+len(b.asks) == 0 && took > time.Second && !run.State(b.state).Final() {
		head += b.palette.Dim(fmt.Sprintf(" %.0f s", took.Seconds()))
	}
	return head
}

// blockLines returns a candidate: a line about it, its question, its gates. One of
// several that is judged has the one line, and a patch that was given none of its own.
func (b *Board) blockLines(k *block, columns, detail int) []string {
	several, heading := len(b.blocks) > 1, b.heading(k)
	indent := "  "
	var text []string
	if heading != "" {
		text, indent = append(text, "  "+b.headingLine(k, heading, several, detail)), "    "
	}
	if heading != "" && (several && k.verdict != "" || detail == noGates) {
		return text
	}
	if k.ask != nil {
		text = append(text, b.askLines(indent, k.ask, columns, detail)...)
	}
	return append(text, b.rowLines(k, indent, detail)...)
}

// foldedLine is what a result does not say of a candidate: who was asked, and what it cost.
func (b *Board) foldedLine(k *block, columns int) string {
	line := fmt.Sprintf("  %s %-*s %5.1fs", b.askSign(k.ask), b.headingWidth(), b.heading(k), k.ask.took().Seconds())
	figures, fits := k.ask.fitting(columns - ansi.StringWidth(line) - 3)
	if !fits && k.ask.cost != "" {
		figures = k.ask.cost
	}
	return line + "  " + b.palette.Dim(figures)
}

// headingLine is the line of a candidate: its sign, what it is, the total time, and
// what became of it or of the attempt before.
func (b *Board) headingLine(k *block, heading string, several bool, detail int) string {
	sign, word, about := b.palette.Dim("·"), "", ""
	switch {
	case k.verdict != "":
		sign, word, about = b.mark(k.verdict), string(k.verdict), k.reason()
		if k.verdict == verify.Pass {
			about = run.Count(k.passed(), "gate")
		}
	case k.busy():
		sign = b.spinner()
	case run.State(b.state) == run.Verifying && len(k.rows) == 0:
		about = "waiting for its turn"
	}
	if k.verdict == "" && k.after != "" {
		about = join(", ", about, "after "+k.after)
	}
	if work := k.work(b.smoke); detail == noGates && work != "" {
		about = work
	}
	if !several {
		// The gates below say it.
		word = ""
		if k.verdict != "" {
			about = ""
		}
	}
	text := fmt.Sprintf("%s %-*s", sign, b.headingWidth(), heading)
	if several {
		text += fmt.Sprintf(" %-9s", word)
	}
	text += fmt.Sprintf(" %5.1fs", k.took().Seconds())
	if about != "" {
		text += "  " + b.palette.Dim(about)
	}
	return text
}

// heading is what a candidate is: its number where there are several, the model that
// was asked, and the attempt if it is not the first.
func (b *Board) heading(k *block) string {
	var parts []string
	if len(b.blocks) > 1 {
		parts = append(parts, fmt.Sprint(k.number))
	}
	if k.ask != nil && k.ask.model != "" {
		model := k.ask.model
		// Whose model it is can be left out where there is little room.
		if columns, _ := b.size(); columns < 80 {
			model = model[strings.IndexByte(model, '/')+1:]
		}
		parts = append(parts, model)
	}
	if k.attempt > 1 {
		parts = append(parts, fmt.Sprintf("attempt %d", k.attempt))
	}
	return strings.Join(parts, "  ")
}

// headingWidth is the width of the widest heading, so that what follows stands in columns.
func (b *Board) headingWidth() (width int) {
	for _, k := range b.blocks {
		width = max(width, ansi.StringWidth(b.heading(k)))
	}
	return width
}

// work names what is at work.
func (k *block) work(smoke time.Duration) string {
	var parts []string
	for _, r := range k.rows {
		if !r.done && !r.began.IsZero() {
			parts = append(parts, join(" ", r.gate, r.about(smoke)))
		}
	}
	return strings.Join(parts, ", ")
}

// rowLines returns the gates of a candidate.
func (b *Board) rowLines(k *block, indent string, detail int) (text []string) {
	var passed []string
	for _, r := range k.rows {
		if r.done && r.verdict == verify.Pass && !r.idle && detail != allGates {
			passed = append(passed, r.gate)
			continue
		}
		text = append(text, indent+b.rowLine(r))
	}
	if len(passed) > 0 {
		text = append([]string{indent + b.palette.Good("✓") + " " + strings.Join(passed, ", ") + " pass"}, text...)
	}
	return text
}

// rowLine returns one gate: its mark, name, time, and what is to be known of it.
func (b *Board) rowLine(r *gateRow) string {
	sign := b.palette.Dim("·")
	switch {
	case r.done && r.idle:
		sign = unprovenMark(b.palette)
	case r.done && r.verdict == "":
		sign = b.palette.Dim("-")
	case r.done:
		sign = b.mark(r.verdict)
	case !r.began.IsZero() && !r.waiting:
		sign = b.spinner()
	}
	text := fmt.Sprintf("%s %-8s %-7s", sign, r.gate, r.word())
	if r.began.IsZero() && !r.done || r.done && r.verdict == "" {
		text += strings.Repeat(" ", len("   0.0s"))
	} else {
		text += fmt.Sprintf(" %5.1fs", r.took().Seconds())
	}
	if about := r.about(b.smoke); about != "" {
		text += "  " + b.palette.Dim(about)
	}
	return text
}

// askLines returns a question as it should look now: one line, or two where
// the terminal is narrow, since the figures must not be cut off; and while
// the model writes another one with the end of the answer.
func (b *Board) askLines(indent string, r *askRow, columns, detail int) []string {
	line := fmt.Sprintf("%s%s %-8s %-7s %5.1fs", indent, b.askSign(r), r.kind(), "", r.took().Seconds())
	var lines []string
	if text, fits := r.fitting(columns - ansi.StringWidth(line) - 3); fits {
		lines = []string{line + "  " + b.palette.Dim(text)}
	} else {
		lines = []string{line, indent + "  " + b.palette.Dim(text)}
	}
	// A model's text reaches the terminal only cleaned.
	if tail := strings.TrimRight(r.tail, " \t\r\n"); detail == allGates && strings.TrimSpace(tail) != "" {
		lines = append(lines, b.palette.Dim(indent+"  │ "+strings.ReplaceAll(CleanTabs(tail), "\t", "    ")))
	}
	return lines
}

// askSign tells at a glance whether anybody is at work.
func (b *Board) askSign(r *askRow) string {
	switch r.stage {
	case agent.Answered:
		return b.palette.Good("✓")
	case agent.Dropped, agent.Waiting:
		return b.palette.Warn("!")
	}
	return b.spinner()
}

// spinner is the sign of what goes on.
func (b *Board) spinner() string {
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	return b.palette.Accent(string(frames[b.frame%len(frames)]))
}

// mark returns the sign of a verdict.
func (b *Board) mark(v verify.Verdict) string { return mark(b.palette, v) }

// unprovenMark is the sign of a gate that did not object and did not judge all.
func unprovenMark(p Palette) string { return p.Warn("?") }

// mark is a verdict as one character. Infrastructure and cancellation
// are not the patch's fault and must not look as if they were.
func mark(p Palette, v verify.Verdict) string {
	switch v {
	case verify.Pass:
		return p.Good("✓")
	case "":
		return p.Dim("·")
	case verify.Infra, verify.Cancelled:
		return p.Warn("!")
	}
	return p.Bad("✗")
}

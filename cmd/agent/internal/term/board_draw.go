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

// How much of the blocks a frame shows: everything or, if the terminal is low, gates that passed on one line, or one
// line for each candidate.
const (
	allGates = iota
	openGates
	noGates
)

// draw replaces the last frame with a new one.
func (b *Board) draw() { b.paint("") }

// paint replaces the last frame with a new one, below a line that stays unless it is "". It makes a single write, so
// that nothing flickers. Every line is cut to the width, since the next frame would miscount a line that wrapped.
func (b *Board) paint(above string) {
	if !b.live || b.still {
		return
	}
	columns, lines := b.size()
	var out strings.Builder
	// Go up to the first line of the last frame; from there each line is overwritten and its rest cleared.
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
	// This also clears pressed keys that the terminal showed, such as ^C.
	out.WriteString("\r\x1b[J")
	// Write errors are ignored: the run matters more than its display.
	io.WriteString(b.w, out.String()) // a terminal that went away must not end the run
}

// height returns how many lines the drawn lines occupy on a terminal of so many columns: a terminal that was made
// narrower has wrapped those that are now too long.
func height(drawn []int, columns int) (n int) {
	for _, width := range drawn {
		n += max(1, (width+columns-1)/columns)
	}
	return n
}

// fitting returns the board in no more lines than most: the cursor cannot go up past the top of the screen.
func (b *Board) fitting(columns, most int) []string {
	var text []string
	for detail := allGates; detail <= noGates; detail++ {
		if text = b.lines(columns, detail); len(text) <= most {
			return text
		}
	}
	// Keep the state of the run, which comes first, and the newest lines, which come last.
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

// head returns the line with the state of the run.
func (b *Board) head() string {
	head := b.palette.Bold(strings.ReplaceAll(b.state, "_", " "))
	if b.note != "" {
		head = join(" ", head, b.palette.Dim(b.note))
	}
	// The cost of a single answer is shown with that answer.
	if b.priced > 1 {
		head += b.palette.Dim(fmt.Sprintf("  spent %v", llm.Money(b.spent)))
	}
	// Before the first gate a large workspace can take a while: the seconds show that the run is alive.
	if took := time.Since(b.since); b.state != "" && len(b.blocks)+len(b.asks) == 0 && took > time.Second && !run.State(b.state).Final() {
		head += b.palette.Dim(fmt.Sprintf(" %.0f s", took.Seconds()))
	}
	return head
}

// blockLines returns a candidate: a line about it, its question, its gates. If there are several, a judged one has only
// that line. A patch that was given has no such line.
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

// foldedLine returns what a result does not say of a candidate: which model was asked, and what it cost.
func (b *Board) foldedLine(k *block, columns int) string {
	line := fmt.Sprintf("  %s %-*s %5.1fs", b.askSign(k.ask), b.headingWidth(), b.heading(k), k.ask.took().Seconds())
	figures, fits := k.ask.fitting(columns - ansi.StringWidth(line) - 3)
	if !fits && k.ask.cost != "" {
		figures = k.ask.cost
	}
	return line + "  " + b.palette.Dim(figures)
}

// headingLine returns the line of a candidate: its sign, its heading, the total time, and its outcome or that of the
// previous attempt.
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

// heading identifies a candidate: its number if there are several, the model that was asked, and the attempt if it is
// not the first.
func (b *Board) heading(k *block) string {
	var parts []string
	if len(b.blocks) > 1 {
		parts = append(parts, fmt.Sprint(k.number))
	}
	if k.ask != nil && k.ask.model != "" {
		model := k.ask.model
		// The vendor of the model can be left out if there is little room.
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

// headingWidth returns the width of the widest heading, so that the text after it is aligned.
func (b *Board) headingWidth() (width int) {
	for _, k := range b.blocks {
		width = max(width, ansi.StringWidth(b.heading(k)))
	}
	return width
}

// work names the gates that are at work.
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

// rowLine returns one gate: its mark, name, time, and what to know about it.
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

// askLines returns a question as it should look now: one line, or two if the terminal is narrow, since the figures must
// not be cut off. While the model writes, another line shows the end of the answer.
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

// askSign shows at a glance whether a model is at work.
func (b *Board) askSign(r *askRow) string {
	switch r.stage {
	case agent.Answered:
		return b.palette.Good("✓")
	case agent.Dropped, agent.Waiting:
		return b.palette.Warn("!")
	}
	return b.spinner()
}

// spinner returns the sign for work in progress.
func (b *Board) spinner() string {
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	return b.palette.Accent(string(frames[b.frame%len(frames)]))
}

// mark returns the sign of a verdict.
func (b *Board) mark(v verify.Verdict) string { return mark(b.palette, v) }

// unprovenMark returns the sign of a gate that did not object, but did not judge everything.
func unprovenMark(p Palette) string { return p.Warn("?") }

// mark returns a verdict as one character. Infrastructure and cancellation are not the patch's fault and must not look
// as if they were.
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

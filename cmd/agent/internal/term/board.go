package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"agent/orchestrator/run"
	"agent/verify"
)

// A Board shows a run while it goes on. On a terminal it redraws a few
// lines in place, one a gate; elsewhere it prints one plain line an
// event. It never changes the terminal's modes, so there is nothing to
// restore when the process dies.
//
//	verifying 2 files changed
//	  ✓ lint            pass      0.4s  ruff check over the workspace
//	  ⠙ smoke                     3.8s  6 s to go
//	  · types (before)  done      1.7s
type Board struct {
	// Where it draws: stderr, since stdout is for the result.
	w io.Writer
	// Whether w is a terminal that may be redrawn.
	live    bool
	palette Palette
	// Asked anew for every frame: people resize their windows.
	size  func() (columns, lines int)
	smoke time.Duration // how long the smoke test watches: the countdown

	// The clock of the live board; closing done ends it.
	ticks sync.WaitGroup
	done  chan struct{}

	// The run's events and the clock come from different goroutines.
	mu    sync.Mutex // guards what follows
	asks  []askRow   // questions to models
	spent int64      // on them, in millionths
	rows  []gateRow
	state string
	since time.Time // when it was entered
	note  string
	drawn int // lines on the screen that the next frame replaces
	frame int
	still bool // somebody else has the terminal
}

// A gateRow is one gate on the board. Rows keep the order in which the
// gates began, so that nothing jumps about on the screen.
type gateRow struct {
	// The gate's name, and whether it runs on the unpatched snapshot:
	// together they tell rows apart.
	gate     string
	baseline bool
	// Which of several candidates it judges, 0 when there is but one.
	candidate int
	// When it was first heard of, by this process's clock; seconds is
	// the gate's own measure once it is done.
	began   time.Time
	done    bool
	verdict verify.Verdict
	// It passes because nothing ran in it.
	idle    bool
	seconds float64
	detail  string
}

// frameEvery is the time between two frames: fast enough for a spinner,
// slow enough for a terminal at the other end of a line.
const frameEvery = 120 * time.Millisecond

// NewBoard returns a running board on the command line's stderr; close
// ends it.
func (c *Console) NewBoard(smoke time.Duration) *Board {
	b := &Board{
		w: c.Stderr, live: c.rich(c.Stderr), palette: c.Palette(c.Stderr), smoke: smoke,
		size: func() (int, int) { return c.Size(c.Stderr) }, done: make(chan struct{}),
	}
	// Plain lines need no clock: they are printed when something
	// happens.
	if b.live {
		b.ticks.Go(b.tick)
	}
	return b
}

// Close draws the last frame and leaves it on the screen.
func (b *Board) Close() {
	close(b.done)
	b.ticks.Wait()
	// The note says what goes on, and nothing does any more.
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note = ""
	b.draw()
}

// tick redraws until the board is closed, for the spinner and the
// seconds.
func (b *Board) tick() {
	t := time.NewTicker(frameEvery)
	defer t.Stop()
	for {
		select {
		case <-b.done:
			return
		case <-t.C:
			b.mu.Lock()
			b.frame++
			b.draw()
			b.mu.Unlock()
		}
	}
}

// Pause leaves the terminal to somebody else until the returned
// function is called; what was drawn stays, and the board goes on
// below.
func (b *Board) Pause() func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.draw()
	// Forgetting what was drawn makes the next frame begin on a new
	// line, below what the other writer leaves behind. The gates are
	// done by then, and stay above.
	b.still, b.drawn, b.rows, b.asks = true, 0, nil, nil
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.still = false
	}
}

// Event takes one event of a run.
func (b *Board) Event(e run.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// An event carries one of the four. Notes and details may repeat
	// what a tool printed, so they are cleaned before anything else.
	switch {
	case e.Gate != nil:
		b.gate(*e.Gate, e.Candidate)
	case e.Model != nil:
		b.ask(*e.Model)
	case e.State != "" && string(e.State) == b.state && e.Note == "": // the end of a run repeats its last state
	case e.State != "":
		// Each round asks and judges anew; the result has all of them.
		if e.State == run.Proposing {
			b.keepFailure()
			b.asks, b.rows = nil, nil
		}
		if e.State == run.Verifying {
			b.rows = nil
		}
		b.state, b.since, b.note = string(e.State), time.Now(), CleanLine(e.Note)
		b.print(strings.TrimSuffix(b.state+": "+b.note, ": "))
	default:
		b.note = CleanLine(e.Note)
		b.print(b.note)
	}
	b.draw()
}

// keepFailure leaves what failed on the screen, above what follows: whoever watches a
// repair wants to see what is repaired.
func (b *Board) keepFailure() {
	for _, r := range b.rows {
		if r.done && !r.baseline && r.verdict != verify.Pass && r.verdict != "" {
			b.draw()
			b.drawn = 0
			return
		}
	}
}

// gate records a gate's event. A gate that runs on the unpatched
// snapshot has a row of its own: a person who waits for it should see
// that.
func (b *Board) gate(e verify.Event, candidate int) {
	// A gate that has not been heard of gets a row at the end.
	at := -1
	for i, r := range b.rows {
		if r.gate == e.Gate && r.baseline == e.Baseline && r.candidate == candidate {
			at = i
		}
	}
	if at < 0 {
		at = len(b.rows)
		b.rows = append(b.rows, gateRow{gate: e.Gate, baseline: e.Baseline, candidate: candidate, began: time.Now()})
	}
	r := &b.rows[at]
	r.detail = CleanLine(e.Detail)
	// Nothing more is heard of what was still at work.
	for i, other := range b.rows {
		if e.Verdict == verify.Cancelled && other.candidate == candidate && !other.done {
			b.rows[i].done, b.rows[i].verdict, b.rows[i].seconds = true, e.Verdict, time.Since(other.began).Seconds()
		}
	}
	if e.Done {
		r.done, r.verdict, r.idle, r.seconds = true, e.Verdict, e.Idle, e.Seconds
		b.print(fmt.Sprintf("%s … %s %.1fs", r.name(), r.word(), r.seconds))
	}
}

// name is the gate as people read it.
func (r gateRow) name() string {
	name := r.gate
	if r.candidate > 0 {
		name = fmt.Sprintf("%d: %s", r.candidate, name)
	}
	if r.baseline {
		name += " (before)"
	}
	return name
}

// word is the verdict of a gate that is done. What came before the
// patch has none: it is recorded, not judged.
func (r gateRow) word() string {
	switch {
	case r.verdict == "":
		return "done"
	case r.idle:
		return NothingRan
	}
	return string(r.verdict)
}

// NothingRan is what is said of tests in place of a pass when none ran.
const NothingRan = "no tests ran"

// print writes a plain line when the board is not a live one.
func (b *Board) print(line string) {
	if !b.live && line != "" {
		fmt.Fprintln(b.w, line)
	}
}

// draw replaces the last frame by a new one, in one write so that
// nothing flickers. Every line is cut to the width, since one that
// wrapped would be counted wrongly by the next frame.
func (b *Board) draw() {
	if !b.live || b.still {
		return
	}
	columns, lines := b.size()
	text := b.lines()
	// A terminal that is lower than the board shows its end: the cursor
	// cannot go up past the top of the screen.
	if len(text) > lines-1 {
		text = text[len(text)-lines+1:]
	}
	var out strings.Builder
	// Up to the first line of the last frame; from there each line is
	// written over and its rest cleared.
	if b.drawn > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", b.drawn)
	}
	for _, line := range text {
		out.WriteString("\r" + ansi.Truncate(line, columns-1, "…") + "\x1b[K\n")
	}
	if len(text) < b.drawn {
		out.WriteString("\x1b[J")
	}
	// A write that goes wrong is not looked at: the run matters more
	// than its display.
	b.drawn = len(text)
	io.WriteString(b.w, out.String()) // a terminal that went away must not end the run
}

// lines returns the board as it should look now.
func (b *Board) lines() []string {
	columns, _ := b.size()
	// The head line says where the run is; below it stands one line for
	// each gate.
	var text []string
	head := b.palette.Bold(b.state)
	if b.note != "" {
		head += " " + b.palette.Dim(b.note)
	}
	// Before the first gate a large workspace can take a while: the
	// seconds show that it is alive.
	if took := time.Since(b.since); len(b.rows)+len(b.asks) == 0 && took > time.Second && !run.State(b.state).Final() {
		head += b.palette.Dim(fmt.Sprintf(" %.0f s", took.Seconds()))
	}
	if head != "" {
		text = append(text, head)
	}
	for _, r := range b.asks {
		text = append(text, b.askLines(r, columns)...)
	}
	for _, r := range b.rows {
		text = append(text, "  "+b.line(r))
	}
	return text
}

// line returns one gate: its mark, name, time, and what is to be known
// of it.
func (b *Board) line(r gateRow) string {
	if r.done {
		sign := b.mark(r.verdict)
		if r.idle {
			sign = unprovenMark(b.palette)
		}
		text := fmt.Sprintf("%s %-15s %-7s %5.1fs", sign, r.name(), r.word(), r.seconds)
		if r.detail != "" {
			text += "  " + b.palette.Dim(r.detail)
		}
		return text
	}
	// A gate that is not done has no word yet; the column stays empty
	// so that the seconds keep their place.
	took := time.Since(r.began)
	text := fmt.Sprintf("%s %-15s %-7s %5.1fs", b.spinner(), r.name(), "", took.Seconds())
	// The smoke test watches for a fixed time, so the end is known.
	switch left := b.smoke - took; {
	case r.gate == "smoke" && left > 0:
		text += b.palette.Dim(fmt.Sprintf("  %.0f s to go", left.Seconds()))
	case r.detail != "":
		text += "  " + b.palette.Dim(r.detail)
	}
	return text
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

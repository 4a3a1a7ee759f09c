package term

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"agent/orchestrator/run"
	"agent/verify"
)

// A Board shows a run in progress. On a terminal it redraws a few lines in place, a block for each candidate with a
// line for each gate; elsewhere it prints one plain line per event. It never changes the terminal's modes, so there is
// nothing to restore when the process dies.
//
//	verifying 2 candidates
//	✗ 1  gemini/gemini-2.5-flash  fail  12.3s  types: 2 findings
//	⠙ 2  gemini/gemini-2.5-flash  attempt 2, after types: fail  3.8s
//	  ✓ lint     pass      0.4s  ruff check over the workspace
//	  ⠙ smoke              3.8s  6 s to go
//
// The creator of a board closes it. A board without anything to show has no goroutine.
type Board struct {
	// The destination: stderr, since stdout is for the result.
	w io.Writer
	// Whether w is a terminal that may be redrawn.
	live    bool
	palette Palette
	// Queried for every frame: people resize their windows.
	size  func() (columns, lines int)
	smoke time.Duration // how long the smoke test watches, for the countdown
	// Prints messages that do not belong to the board; nil for none.
	notices *Notices

	// The clock of the live board. The first event starts it; closing done ends it.
	ticks sync.WaitGroup
	done  chan struct{}

	// The run's events and the clock come from different goroutines.
	mu      sync.Mutex // guards the fields below
	ticking bool
	closed  bool
	blocks  []*block // one per candidate, by number
	asks    []askRow // questions to models that concern no candidate
	spent   int64    // on questions, in millionths
	priced  int      // the number of answers in spent
	state   string
	since   time.Time // when the state was entered
	note    string
	drawn   []int // the widths in cells of the lines on the screen that the next frame replaces
	frame   int
	still   bool // something else has the terminal
	folded  bool // the result is printed, and reports the gates
}

// frameEvery is the time between two frames: fast enough for a spinner, slow enough for a terminal on a remote
// connection.
const frameEvery = 120 * time.Millisecond

// NewBoard returns a board on the command line's stderr; Close ends it.
func (c *Console) NewBoard(smoke time.Duration) *Board {
	b := &Board{
		w: c.Stderr, live: Terminal(c.Stderr) != nil && c.rich(c.Stderr), palette: c.Palette(c.Stderr), smoke: smoke,
		size: func() (int, int) { return c.screen(c.Stderr) }, done: make(chan struct{}), notices: c.Notices,
	}
	if b.live {
		b.notices.attach(b)
	}
	return b
}

// Close draws the last frame and leaves it on the screen. A second call has no effect.
func (b *Board) Close() {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return
	}
	b.closed = true
	b.mu.Unlock()
	close(b.done)
	b.ticks.Wait()
	b.notices.detach(b)
	// The note says what is going on, and nothing is any more.
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note = ""
	b.draw()
}

// clock starts the clock of a live board. Plain lines need none: they are printed when something happens. It must be
// called with mu held.
func (b *Board) clock() {
	if b.live && !b.ticking && !b.closed {
		b.ticking = true
		b.ticks.Go(b.tick)
	}
}

// tick redraws until the board is closed, for the spinner and the seconds.
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

// Pause leaves the terminal to someone else until the returned function is called. What was drawn stays, and the board
// continues below.
func (b *Board) Pause() func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.draw()
	// Forgetting what was drawn makes the next frame start on a new line, below the output of the other writer. What
	// was shown stays above, and reappears only when something happens to it.
	b.still, b.drawn, b.asks = true, nil, nil
	for _, k := range b.blocks {
		k.shown = true
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.still = false
	}
}

// Fold removes from a terminal what the result repeats; it is called before the result is printed there. The questions
// to the models stay.
func (b *Board) Fold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.folded, b.note = true, ""
	b.draw()
}

// say prints a line unrelated to the run above the board.
func (b *Board) say(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.still {
		fmt.Fprintln(b.w, line)
		return
	}
	b.paint(line)
}

// Event handles one event of a run.
func (b *Board) Event(e run.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clock()
	// An event carries one of these five. Notes and details may repeat what a tool printed, so they are cleaned first.
	switch {
	case e.Gate != nil:
		b.gate(*e.Gate, e.Candidate)
	case e.Model != nil:
		b.ask(*e.Model)
	case e.Verdict != "":
		b.block(e.Candidate).judge(e.Verdict, CleanLine(e.Note))
	case e.State != "" && string(e.State) == b.state && e.Note == "": // the end of a run repeats its last state
	case e.State != "":
		b.enter(e.State, CleanLine(e.Note))
	default:
		b.note = CleanLine(e.Note)
		b.print(b.note)
	}
	b.draw()
}

// enter records that the run has entered another state.
func (b *Board) enter(state run.State, note string) {
	switch state {
	case run.Queued, run.Analyzing: // another run of a loop
		b.asks, b.blocks = nil, nil
	case run.Proposing:
		b.asks = nil // each round asks anew; the result has all questions
	}
	b.folded = false
	b.state, b.since, b.note = string(state), time.Now(), note
	b.print(strings.TrimSuffix(b.state+": "+b.note, ": "))
}

// block returns the block of a candidate, and creates it if there is none. 0 stands for the only candidate.
func (b *Board) block(number int) *block {
	number = max(number, 1)
	at, found := slices.BinarySearchFunc(b.blocks, number, func(k *block, n int) int { return k.number - n })
	if !found {
		b.blocks = slices.Insert(b.blocks, at, &block{number: number})
	}
	b.blocks[at].shown = false
	b.folded = false
	return b.blocks[at]
}

// gate handles an event of a gate.
func (b *Board) gate(e verify.Event, candidate int) {
	k := b.block(candidate)
	// A candidate that is judged again starts over.
	if k.verdict != "" {
		k.restart()
	}
	r := k.gate(e)
	plain := gateName(r.gate, candidate)
	switch {
	case e.Baseline && e.Done:
		r.baseline = CleanLine(e.Detail)
		if e.Seconds > 0 {
			r.baseline = fmt.Sprintf("baseline %.1fs", e.Seconds)
		}
		b.print(plain + " … " + r.baseline)
	case e.Baseline:
		r.comparing = time.Now()
	case e.Done:
		b.print(fmt.Sprintf("%s … %s %.1fs", plain, r.word(), r.seconds))
	}
}

// gateName returns the name of a gate in plain lines.
func gateName(gate string, candidate int) string {
	if candidate > 0 {
		return fmt.Sprintf("%d: %s", candidate, gate)
	}
	return gate
}

// print writes a plain line unless the board is live.
func (b *Board) print(line string) {
	if !b.live && line != "" {
		fmt.Fprintln(b.w, line)
	}
}

package term

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/run"
	"agent/verify"
)

func TestWithoutATerminalEachEventIsAPlainLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := newConsole(func(string) string { return "" }, nil, nil, &out).NewBoard(10 * time.Second)
	for _, e := range termtest.Events() {
		b.Event(e)
	}
	b.Close()
	termtest.Golden(t, "board-plain.txt", out.String())
}

// aBoard returns a live board that draws to a buffer, and only on request.
func aBoard(columns, lines int) (*Board, *bytes.Buffer) {
	var out bytes.Buffer
	return &Board{
		w: &out, live: true, smoke: 10 * time.Second, done: make(chan struct{}),
		size: func() (int, int) { return columns, lines },
		// The clock would draw by itself.
		ticking: true,
	}, &out
}

// frame returns the expected look of the board.
func frame(b *Board) string {
	columns, _ := b.size()
	return strings.Join(b.lines(columns, allGates), "\n")
}

func TestTheBoardIsRedrawnInPlace(t *testing.T) {
	t.Parallel()
	b, out := aBoard(80, 24)
	for _, e := range termtest.Events() {
		b.Event(e)
	}
	b.Close()
	screen := replay(t, out.String(), 80)
	want := "rejected\n  ✓ lint     pass      0.4s  2 files, baseline 0.5s\n  ✗ smoke    fail     10.0s  exit status 1"
	if got := strings.Join(screen, "\n"); got != want {
		t.Errorf("the screen shows\n%s\nwant\n%s", got, want)
	}
}

// replay plays a board's output on a terminal and returns its lines. It knows only what a board may use: lines, return,
// up, and clearing.
func replay(t *testing.T, text string, columns int) []string {
	t.Helper()
	screen, at := []string{""}, 0
	for text != "" {
		var n int
		switch {
		case strings.HasPrefix(text, "\x1b[K"):
			text = text[3:]
		case strings.HasPrefix(text, "\x1b[J"):
			screen, text = append(screen[:at], ""), text[3:]
		case strings.HasPrefix(text, "\x1b["):
			if _, err := fmt.Sscanf(text, "\x1b[%dA", &n); err != nil {
				t.Fatalf("the board printed an escape sequence that it should not: %q", text[:min(len(text), 10)])
			}
			if at -= n; at < 0 {
				t.Fatal("the board moved above its own first line")
			}
			_, text, _ = strings.Cut(text, "A")
		case text[0] == '\r':
			screen[at], text = "", text[1:]
		case text[0] == '\n':
			if at++; at == len(screen) {
				screen = append(screen, "")
			}
			text = text[1:]
		default:
			end := strings.IndexAny(text, "\x1b\r\n")
			if end < 0 {
				end = len(text)
			}
			screen[at] += text[:end]
			if w := ansi.StringWidth(screen[at]); w >= columns {
				t.Fatalf("a line of %d cells would wrap at %d: %q", w, columns, screen[at])
			}
			text = text[end:]
		}
	}
	for len(screen) > 0 && screen[len(screen)-1] == "" {
		screen = screen[:len(screen)-1]
	}
	return screen
}

func TestTheBoardFitsNarrowAndLowTerminals(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{20, 24}, {10, 24}, {80, 4}} {
		b, out := aBoard(size[0], size[1])
		for _, e := range termtest.Events() {
			b.Event(e)
		}
		b.Close()
		if screen := replay(t, out.String(), size[0]); len(screen) > size[1]-1 {
			t.Errorf("%v: %d lines do not fit", size, len(screen))
		}
	}
}

func TestTheSmokeTestCountsDown(t *testing.T) {
	t.Parallel()
	b, out := aBoard(80, 24)
	b.Event(run.Event{Gate: &verify.Event{Gate: "smoke"}})
	if !strings.Contains(out.String(), "s to go") {
		t.Errorf("no countdown:\n%q", out)
	}
	out.Reset()
	b.Event(run.Event{Gate: &verify.Event{Gate: "lint"}})
	b.Event(run.Event{Gate: &verify.Event{Gate: "smoke", Done: true, Verdict: verify.Pass, Seconds: 10}})
	if got := strings.Join(replay(t, "\n"+out.String(), 80), "\n"); strings.Contains(got, "to go") {
		t.Errorf("it counts down after the end:\n%s", got)
	}
}

// No gate of a cancelled candidate continues, and every gate of the others does.
func TestACancelledCandidateHasNothingAtWork(t *testing.T) {
	t.Parallel()
	b, out := aBoard(80, 24)
	for _, e := range []run.Event{
		{Candidate: 1, Gate: &verify.Event{Gate: "tests"}},
		{Candidate: 2, Gate: &verify.Event{Gate: "tests"}},
		{Candidate: 2, Gate: &verify.Event{Gate: "contest", Done: true, Verdict: verify.Cancelled, Detail: "candidate 1 has passed"}},
	} {
		b.Event(e)
	}
	screen := strings.Join(replay(t, out.String(), 80), "\n")
	if !strings.Contains(screen, "⠋ 1             0.0s\n    ⠋ tests ") || !strings.Contains(screen, "    ! tests    cancelled   0.0s\n    ! contest  cancelled   0.0s  candidate 1 has passed") {
		t.Errorf("the screen shows\n%s", screen)
	}
}

// A failure stays above the repair, and a pass does not.
func TestAFailureStaysOnTheScreenAtARepair(t *testing.T) {
	t.Parallel()
	for verdict, stays := range map[verify.Verdict]bool{verify.Fail: true, verify.Pass: false} {
		b, out := aBoard(80, 24)
		for _, e := range []run.Event{
			{State: run.Verifying},
			{Gate: &verify.Event{Gate: "tests", Done: true, Verdict: verdict, Detail: "test_total"}},
			{Verdict: verdict, Note: "tests: test_total"},
			{State: run.Proposing, Note: "repair: tests"},
			{State: run.Verifying},
			{Gate: &verify.Event{Gate: "lint"}},
		} {
			b.Event(e)
		}
		screen := strings.Join(replay(t, out.String(), 80), "\n")
		if strings.Contains(screen, "test_total") != stays || !strings.Contains(screen, "lint") {
			t.Errorf("%s: the screen shows\n%s", verdict, screen)
		}
	}
}

func TestAYieldedTerminalIsLeftAlone(t *testing.T) {
	t.Parallel()
	b, out := aBoard(80, 24)
	b.Event(run.Event{State: run.AwaitingApproval})
	resume := b.Pause()
	out.Reset()
	b.Event(run.Event{Note: "something happens meanwhile"})
	if out.Len() != 0 {
		t.Errorf("it drew over the question: %q", out)
	}
	resume()
	b.Event(run.Event{State: run.Promoted})
	if got := out.String(); !strings.Contains(got, "promoted") || strings.Contains(got, "A\r") {
		t.Errorf("it does not go on below the question: %q", got)
	}
}

// A gate in which nothing ran has no mark of a pass, and one that judged only a part is not called a pass.
func TestAGateInWhichNothingRanIsNoPass(t *testing.T) {
	t.Parallel()
	pass := verify.Gate{Name: "tests", Verdict: verify.Pass}
	for name, c := range map[string]struct {
		gate       verify.Gate
		list       []verify.Unproven
		sign, word string
	}{
		"all judged":        {pass, []verify.Unproven{}, "✓", "pass"},
		"none ran":          {pass, []verify.Unproven{{Gate: "tests", Kind: "all-skipped"}}, "?", "no tests ran"},
		"a part":            {pass, []verify.Unproven{{Gate: "tests", Kind: "not-installed", Part: true}}, "?", "pass"},
		"another gate":      {pass, []verify.Unproven{{Gate: "lint", Kind: "not-installed"}}, "✓", "pass"},
		"one that objected": {verify.Gate{Name: "tests", Verdict: verify.Fail}, []verify.Unproven{{Gate: "tests", Part: true}}, "✗", "fail"},
	} {
		if sign, word := GateWord(Palette{}, c.gate, c.list); sign != c.sign || word != c.word {
			t.Errorf("%s: %s %s, want %s %s", name, sign, word, c.sign, c.word)
		}
	}
	b := &Board{w: io.Discard}
	b.gate(verify.Event{Gate: "tests", Done: true, Verdict: verify.Pass, Idle: true}, 0)
	if line := b.rowLine(b.blocks[0].rows[0]); !strings.HasPrefix(line, "? tests    no tests ran") {
		t.Errorf("the board says %q", line)
	}
}

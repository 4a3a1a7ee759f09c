package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"agent/orchestrator/run"
	"agent/verify"
)

// eventsOfARun are what a small run tells.
func eventsOfARun() []run.Event {
	gate := func(e verify.Event) run.Event { return run.Event{Run: "1k3", Gate: &e} }
	return []run.Event{
		{Run: "1k3", State: run.Queued, Note: "patch good.xml"},
		{Run: "1k3", State: run.Verifying, Note: "2 files changed"},
		gate(verify.Event{Gate: "lint"}),
		gate(verify.Event{Gate: "smoke"}),
		gate(verify.Event{Gate: "lint", Baseline: true}),
		gate(verify.Event{Gate: "lint", Done: true, Verdict: verify.Pass, Seconds: 0.42, Detail: "2 files"}),
		gate(verify.Event{Gate: "lint", Baseline: true, Done: true, Seconds: 0.5}),
		{Run: "1k3", Note: "a file changed; scanning again \x1b[2J"},
		gate(verify.Event{Gate: "smoke", Done: true, Verdict: verify.Fail, Seconds: 10, Detail: "exit status 1"}),
		{Run: "1k3", State: run.Rejected},
		{Run: "1k3", State: run.Rejected},
	}
}

func TestWithoutATerminalEachEventIsAPlainLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := newCmdline(func(string) string { return "" }, nil, nil, &out).newBoard(10 * time.Second)
	for _, e := range eventsOfARun() {
		b.event(e)
	}
	b.close()
	golden(t, "board-plain.txt", out.String())
}

// aBoard returns a live board that draws on a buffer, and only when told.
func aBoard(columns, lines int) (*board, *bytes.Buffer) {
	var out bytes.Buffer
	return &board{
		w: &out, live: true, smoke: 10 * time.Second, done: make(chan struct{}),
		size: func() (int, int) { return columns, lines },
	}, &out
}

func TestTheBoardIsRedrawnInPlace(t *testing.T) {
	t.Parallel()
	b, out := aBoard(80, 24)
	for _, e := range eventsOfARun() {
		b.event(e)
	}
	b.close()
	screen := replay(t, out.String(), 80)
	want := "rejected\n  ✓ lint            pass      0.4s  2 files\n  ✗ smoke           fail     10.0s  exit status 1\n  · lint (before)   done      0.5s"
	if got := strings.Join(screen, "\n"); got != want {
		t.Errorf("the screen shows\n%s\nwant\n%s", got, want)
	}
}

// replay plays what a board printed on a terminal and returns its lines. It
// knows only what a board may use: lines, return, up, and clearing.
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
		for _, e := range eventsOfARun() {
			b.event(e)
		}
		b.close()
		if screen := replay(t, out.String(), size[0]); len(screen) > size[1]-1 {
			t.Errorf("%v: %d lines do not fit", size, len(screen))
		}
	}
}

func TestTheSmokeTestCountsDown(t *testing.T) {
	t.Parallel()
	b, out := aBoard(80, 24)
	b.event(run.Event{Gate: &verify.Event{Gate: "smoke"}})
	if !strings.Contains(out.String(), "s to go") {
		t.Errorf("no countdown:\n%q", out)
	}
	out.Reset()
	b.event(run.Event{Gate: &verify.Event{Gate: "lint"}})
	b.event(run.Event{Gate: &verify.Event{Gate: "smoke", Done: true, Verdict: verify.Pass, Seconds: 10}})
	if got := strings.Join(replay(t, "\n"+out.String(), 80), "\n"); strings.Contains(got, "to go") {
		t.Errorf("it counts down after the end:\n%s", got)
	}
}

// Of a candidate that was cancelled no gate goes on, and of the others all.
func TestACancelledCandidateHasNothingAtWork(t *testing.T) {
	t.Parallel()
	b, out := aBoard(80, 24)
	for _, e := range []run.Event{
		{Candidate: 1, Gate: &verify.Event{Gate: "tests"}},
		{Candidate: 2, Gate: &verify.Event{Gate: "tests"}},
		{Candidate: 2, Gate: &verify.Event{Gate: "contest", Done: true, Verdict: verify.Cancelled, Detail: "candidate 1 has passed"}},
	} {
		b.event(e)
	}
	screen := strings.Join(replay(t, out.String(), 80), "\n")
	if !strings.Contains(screen, "⠋ 1: tests") || !strings.Contains(screen, "! 2: tests        cancelled") || !strings.Contains(screen, "! 2: contest      cancelled   0.0s  candidate 1") {
		t.Errorf("the screen shows\n%s", screen)
	}
}

func TestAYieldedTerminalIsLeftAlone(t *testing.T) {
	t.Parallel()
	b, out := aBoard(80, 24)
	b.event(run.Event{State: run.AwaitingApproval})
	resume := b.yield()
	out.Reset()
	b.event(run.Event{Note: "something happens meanwhile"})
	if out.Len() != 0 {
		t.Errorf("it drew over the question: %q", out)
	}
	resume()
	b.event(run.Event{State: run.Promoted})
	if got := out.String(); !strings.Contains(got, "promoted") || strings.Contains(got, "A\r") {
		t.Errorf("it does not go on below the question: %q", got)
	}
}

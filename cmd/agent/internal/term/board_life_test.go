package term

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/run"
	"agent/verify"
)

// A board that shows nothing has no clock, and a closed one has stopped its clock, whatever is reported afterwards.
// Closing it again does nothing.
func TestABoardLeavesNothingAtWork(t *testing.T) {
	t.Parallel()
	p := termtest.NewPerson(t)
	c := Console{Getenv: func(string) string { return "" }, Stdin: p.TTY, Stdout: p.TTY, Stderr: p.TTY, Notices: NewNotices(p.TTY)}
	first, second := c.NewBoard(0), c.NewBoard(0)
	if first.ticking || second.ticking {
		t.Error("a board that was only made has a clock")
	}
	for _, b := range []*Board{first, second} {
		b.Event(run.Event{State: run.Verifying})
		b.Close()
		b.Close()
		b.ticks.Wait()
		b.Event(run.Event{Note: "late"})
		b.ticks.Wait() // would wait forever if there were a clock
	}
	if len(c.Notices.boards) != 0 {
		t.Errorf("%d closed boards are still drawn around", len(c.Notices.boards))
	}
}

// A terminal that becomes narrower breaks the lines that are now too long; the next frame begins where the first of
// them does.
func TestAResizedBoardIsDrawnOverItself(t *testing.T) {
	t.Parallel()
	b, out := aBoard(0, 24)
	columns := 120
	b.size = func() (int, int) { return columns, 24 }
	b.Event(run.Event{State: run.Verifying, Note: "2 files changed"})
	b.Event(run.Event{Gate: &verify.Event{Gate: "lint", Done: true, Verdict: verify.Pass, Detail: strings.Repeat("x", 90)}})
	out.Reset()
	columns = 50
	b.Event(run.Event{Gate: &verify.Event{Gate: "types"}})
	// The head is one line; lint's line has 119 cells, which is three lines of 50.
	if !strings.HasPrefix(out.String(), "\x1b[4A\r") {
		t.Errorf("it goes up by %.6q", out.String())
	}
	out.Reset()
	columns = 120
	b.Event(run.Event{Gate: &verify.Event{Gate: "types", Done: true}})
	if !strings.HasPrefix(out.String(), "\x1b[3A\r") {
		t.Errorf("wide again, it goes up by %.6q", out.String())
	}
}

// What was left above a question does not appear again below it, except for new events.
func TestABoardGoesOnBelowAQuestion(t *testing.T) {
	t.Parallel()
	b, out := aBoard(80, 24)
	for n := 1; n <= 2; n++ {
		b.Event(run.Event{Candidate: n, Gate: &verify.Event{Gate: "lint", Done: true, Verdict: verify.Pass}})
		b.Event(run.Event{Candidate: n, Verdict: verify.Pass})
	}
	resume := b.Pause()
	out.Reset()
	resume()
	b.Event(run.Event{State: run.Verifying})
	b.Event(run.Event{Candidate: 2, Gate: &verify.Event{Gate: "tests"}})
	if text := frame(b); strings.Contains(text, "lint") || !strings.Contains(text, "⠋ 2  attempt 2") || !strings.Contains(text, "⠋ tests") || strings.Contains(text, "✓ 1") {
		t.Errorf("the board is\n%s", text)
	}
	b.Fold()
	if text := frame(b); text != "" {
		t.Errorf("beside the result there is\n%s", text)
	}
}

// A refused candidate of several has its reason on its line, and a low terminal has a line for each candidate.
func TestAJudgedCandidateIsOneLine(t *testing.T) {
	t.Parallel()
	b, _ := aBoard(80, 6)
	b.Event(run.Event{State: run.Verifying, Note: "3 candidates"})
	b.Event(run.Event{Candidate: 3, Verdict: verify.Fail, Note: "edit: SEARCH text not found in the file"})
	for n := 1; n <= 2; n++ {
		for i := range 6 {
			b.Event(run.Event{Candidate: n, Gate: &verify.Event{Gate: fmt.Sprint("gate", i), Done: i < 5, Verdict: verify.Pass}})
		}
	}
	want := "verifying 3 candidates\n  ⠋ 1             0.0s  gate5\n  ⠋ 2             0.0s  gate5\n  ✗ 3 fail        0.0s  edit: SEARCH text not found in the file"
	if got := strings.Join(b.fitting(80, 5), "\n"); got != want {
		t.Errorf("the board is\n%s\nwant\n%s", got, want)
	}
}

// An alert reaches the person in the way that they chose, and never goes to a pipe.
func TestAnAlertReachesTheTerminalOnly(t *testing.T) {
	t.Parallel()
	for alerts, want := range map[string]string{"bell": "\a", "osc9": "\x1b]9;agent: a change of ␛ waits\a", "off": "", "": ""} {
		p := termtest.NewPerson(t)
		c := Console{Getenv: func(string) string { return "" }, Stderr: p.TTY, Alerts: alerts}
		c.Alert("a change of \x1b waits")
		fmt.Fprint(p.TTY, "end")
		p.Sees(t, "end", 1)
		if got := p.Screen(); got != want+"end" {
			t.Errorf("%s: %q", alerts, got)
		}
		var out bytes.Buffer
		c.Stderr = &out
		if c.Alert("x"); out.Len() > 0 {
			t.Errorf("%s: %q into a pipe", alerts, &out)
		}
	}
}

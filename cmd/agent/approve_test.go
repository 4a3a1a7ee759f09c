package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// aProposal is a proven candidate whose diff is longer than the preview.
func aProposal(holds ...policy.Hold) run.Proposal {
	return run.Proposal{Run: "1k3mzq8a0v2c", Workspace: "/home/me/shop", Candidate: gate.Candidate{
		Verdict: verify.Pass, Holds: holds, Diff: termtest.Diff + strings.Repeat(" context\n", 20) + "+the very last line\n",
		Gates: []verify.Gate{{Name: "lint", Verdict: verify.Pass, Seconds: 0.2}, {Name: "smoke", Verdict: verify.Pass, Seconds: 10}},
	}}
}

var ciHold = policy.Hold{Path: ".github/workflows/ci.yml", Kind: "ci", Reason: "It runs on the build server.", Block: true}

func TestWithoutAPersonThePolicyDecides(t *testing.T) {
	t.Parallel()
	noted := policy.Hold{Path: "Makefile", Kind: "tooling", Reason: "It runs whenever the project is built."}
	for _, c := range []struct {
		name  string
		yes   bool
		allow []string
		holds []policy.Hold
		want  run.Decision
		by    string
	}{
		{"nothing said", false, nil, nil, run.Unattended, "no terminal and no --yes"},
		{"--yes", true, nil, nil, run.Apply, "--yes"},
		{"--yes and a change to look at", true, nil, []policy.Hold{noted}, run.Apply, "--yes"},
		{"--yes and a held change", true, nil, []policy.Hold{noted, ciHold}, run.Unattended, ".github/workflows/ci.yml (ci)"},
		{"--yes --allow ci", true, []string{"git", "ci"}, []policy.Hold{ciHold}, run.Apply, "--yes"},
		{"--allow of another kind", true, []string{"git"}, []policy.Hold{ciHold}, run.Unattended, "(ci)"},
		{"--allow without --yes", false, []string{"ci"}, []policy.Hold{ciHold}, run.Unattended, "no --yes"},
	} {
		cmd := newCmdline(func(string) string { return "" }, strings.NewReader("a\n"), io.Discard, io.Discard)
		a := &approver{cmdline: cmd, yes: c.yes, allow: c.allow, board: cmd.NewBoard(0)}
		got, err := a.Approve(t.Context(), aProposal(c.holds...))
		if got.Decision != c.want || !strings.Contains(got.By, c.by) || err != nil {
			t.Errorf("%s: %+v, %v; want %s by %q", c.name, got, err, c.want, c.by)
		}
	}
}

// A person at a terminal: what is typed there, and what is shown.
type person struct {
	master *os.File
	cmd    *cmdline

	reading sync.WaitGroup
	mu      sync.Mutex
	seen    bytes.Buffer
	changed chan struct{} // has room for one: something was printed
}

// aPerson sits at a fresh terminal with this environment.
func aPerson(t *testing.T, env map[string]string) *person {
	t.Helper()
	master, tty := termtest.OpenPTY(t)
	p := &person{
		master: master, changed: make(chan struct{}, 1),
		cmd: newCmdline(func(k string) string { return env[k] }, tty, tty, tty),
	}
	p.reading.Go(func() {
		chunk := make([]byte, 4096)
		for {
			n, err := master.Read(chunk)
			p.mu.Lock()
			p.seen.Write(chunk[:n])
			p.mu.Unlock()
			select {
			case p.changed <- struct{}{}:
			default:
			}
			if err != nil { // the terminal was closed
				return
			}
		}
	})
	t.Cleanup(func() { tty.Close(); p.reading.Wait() })
	return p
}

// sees waits until the terminal shows text, n times in all.
func (p *person) sees(t *testing.T, text string, n int) {
	t.Helper()
	patience := time.After(time.Minute) // a test that hangs tells less than one that fails
	for {
		if strings.Count(p.screen(), text) >= n {
			return
		}
		select {
		case <-p.changed:
		case <-patience:
			t.Fatalf("the terminal never showed %q, but\n%s", text, p.screen())
		}
	}
}

func (p *person) screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

func (p *person) types(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(p.master, text); err != nil {
		t.Fatal(err)
	}
}

// An answer is what Approve returned.
type answer struct {
	run.Answer
	err error
}

// asked starts the question and returns where its answer will come.
func (p *person) asked(ctx context.Context, proposal run.Proposal) <-chan answer {
	got := make(chan answer, 1)
	a := &approver{cmdline: p.cmd, board: p.cmd.NewBoard(0)}
	go func() {
		said, err := a.Approve(ctx, proposal)
		a.board.Close()
		got <- answer{said, err}
	}()
	return got
}

const question = "[a]pply, [f]ull diff, edit [c]ode, edit [x]ml, [s]kip"

func TestAPersonDecides(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]run.Decision{"a\n": run.Apply, "YES\n": run.Apply, "s\n": run.Skip, "n\n": run.Skip, "\x04": run.Unattended} {
		p := aPerson(t, nil)
		got := p.asked(t.Context(), aProposal(ciHold))
		p.sees(t, question, 1)
		p.types(t, typed)
		if a := <-got; a.Decision != want || a.err != nil {
			t.Errorf("%q: %+v, want %s", typed, a, want)
		}
		screen := p.screen()
		for _, text := range []string{"lint pass 0.2s, smoke pass 10.0s", ".github/workflows/ci.yml", "It runs on the build server.", "… and "} {
			if !strings.Contains(screen, text) {
				t.Errorf("the question does not show %q:\n%s", text, screen)
			}
		}
		if strings.Contains(screen, "the very last line") {
			t.Errorf("the preview shows all of a long diff:\n%s", screen)
		}
	}
}

// Enter does not approve what needs an approval of its own.
func TestWhatIsHeldHasNoDefaultAnswer(t *testing.T) {
	t.Parallel()
	p := aPerson(t, nil)
	got := p.asked(t.Context(), aProposal(ciHold))
	p.sees(t, question, 1)
	p.types(t, "\n")
	p.sees(t, question, 2)
	p.types(t, "what?\n")
	p.sees(t, "please answer", 2)
	p.sees(t, question, 3)
	p.types(t, "s\n")
	if a := <-got; a.Decision != run.Skip {
		t.Errorf("got %+v, want skip", a)
	}
}

func TestTheFullDiffGoesThroughThePager(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "pager")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho PAGED $1; cat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ pager, shows string }{
		"the user's pager": {script + " -x", "PAGED -x"},
		"no such program":  {"/nonexistent/pager", "the very last line"},
		"one that breaks":  {"/bin/false", "the very last line"},
	} {
		p := aPerson(t, map[string]string{"PAGER": c.pager})
		got := p.asked(t.Context(), aProposal())
		p.sees(t, question, 1)
		p.types(t, "f\n")
		p.sees(t, question, 2)
		p.types(t, "a\n")
		if a := <-got; a.Decision != run.Apply {
			t.Errorf("%s: got %+v, want apply", name, a)
		}
		if screen := p.screen(); !strings.Contains(screen, c.shows) || !strings.Contains(screen, "the very last line") {
			t.Errorf("%s: the full diff was not shown:\n%s", name, screen)
		}
	}
}

func TestCancellingEndsTheQuestion(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := aPerson(t, nil)
	got := p.asked(ctx, aProposal())
	p.sees(t, question, 1)
	cancel()
	if a := <-got; !errors.Is(a.err, context.Canceled) || a.Decision == run.Apply {
		t.Errorf("got %+v, want the context's error", a)
	}
}

func TestYesOnATerminalDoesNotAsk(t *testing.T) {
	t.Parallel()
	p := aPerson(t, nil)
	a := &approver{cmdline: p.cmd, yes: true, board: p.cmd.NewBoard(0)}
	defer a.board.Close()
	if got, err := a.Approve(t.Context(), aProposal()); got.Decision != run.Apply || got.By != "--yes" || err != nil {
		t.Errorf("%+v, %v; want apply by --yes", got, err)
	}
}

func TestNoEscapesReachATerminalThatWantsNone(t *testing.T) {
	t.Parallel()
	for _, env := range []map[string]string{{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "COLUMNS": "20"}} {
		p := aPerson(t, env)
		got := p.asked(t.Context(), aProposal(ciHold))
		p.sees(t, question, 1)
		p.types(t, "s\n")
		<-got
		if screen := p.screen(); strings.Contains(screen, "\x1b") {
			t.Errorf("%v: an escape sequence was printed:\n%q", env, screen)
		}
	}
}

func TestUndoAsksBeforeItWrites(t *testing.T) {
	t.Parallel()
	of := run.Record{ID: "1k3mzq8a0v2c", Workspace: "/home/me/shop", Intent: "patch good.xml"}
	cs := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: "a.py", Before: []byte("new\n"), After: []byte("old\n"), Mode: 0o644}}}
	for typed, exit := range map[string]int{"y\n": run.ExitDone, "\nno\n": run.ExitApproval, "\x04": run.ExitApproval} {
		p := aPerson(t, nil)
		p.types(t, "y\n") // ahead, which answers nothing
		got := make(chan error, 1)
		go func() { got <- p.cmd.confirmUndo(t.Context(), false, of, cs) }()
		p.sees(t, "[y]es, [n]o", 1)
		p.types(t, typed)
		err := <-got
		if err != nil {
			if _, code := fault.Classify(t.Context(), err); code != exit {
				t.Errorf("%q: exit %d, %v; want %d", typed, code, err, exit)
			}
		} else if exit != run.ExitDone {
			t.Errorf("%q was taken for a yes", typed)
		}
	}
	alone := newCmdline(func(string) string { return "" }, strings.NewReader("y\n"), io.Discard, io.Discard)
	if err := alone.confirmUndo(t.Context(), false, of, cs); err == nil {
		t.Error("without a terminal it needs --yes")
	}
	if err := alone.confirmUndo(t.Context(), true, of, cs); err != nil {
		t.Errorf("--yes: %v", err)
	}
}

package checkpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/verify"
	"agent/verify/policy"
)

// aProposal returns a proven candidate whose diff is longer than the preview.
func aProposal(holds ...policy.Hold) run.Proposal {
	return run.Proposal{Run: "1k3mzq8a0v2c", Workspace: "/home/me/shop", Candidate: gate.Candidate{
		Verdict: verify.Pass, Holds: holds, Diff: termtest.Diff + strings.Repeat(" context\n", 20) + "+the very last line\n",
		Gates: []verify.Gate{{Name: "lint", Verdict: verify.Pass, Seconds: 0.2}, {Name: "smoke", Verdict: verify.Pass, Seconds: 10}},
	}}
}

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
		{"--yes and one kind four times", true, nil, []policy.Hold{ciHold, {Path: "a.py", Kind: "suppression", Block: true}, ciHold, ciHold, ciHold}, run.Unattended, ".github/workflows/ci.yml (ci, and 3 more), a.py (suppression)"},
		{"--yes --allow ci", true, []string{"git", "ci"}, []policy.Hold{ciHold}, run.Apply, "--yes"},
		{"--allow of another kind", true, []string{"git"}, []policy.Hold{ciHold}, run.Unattended, "(ci)"},
		{"--allow without --yes", false, []string{"ci"}, []policy.Hold{ciHold}, run.Unattended, "no --yes"},
	} {
		cmd := cmdlinetest.Unattended("a\n")
		a := &Approver{Console: &cmd.Console, Yes: c.yes, Allow: c.allow, Board: cmd.NewBoard(0)}
		got, err := a.Approve(t.Context(), aProposal(c.holds...))
		if got.Decision != c.want || !strings.Contains(got.By, c.by) || err != nil {
			t.Errorf("%s: %+v, %v; want %s by %q", c.name, got, err, c.want, c.by)
		}
	}
}

// A person sits at a terminal.
type person struct{ *cmdlinetest.Person }

func newPerson(t *testing.T, env map[string]string) *person {
	t.Helper()
	return &person{cmdlinetest.NewPerson(t, env)}
}

// An answer is the result of Approve.
type answer struct {
	run.Answer
	err error
}

// asked asks the question and returns the channel on which its answer will come.
func (p *person) asked(ctx context.Context, proposal run.Proposal) <-chan answer {
	got := make(chan answer, 1)
	a := &Approver{Console: &p.Line.Console, Board: p.Line.NewBoard(0)}
	go func() {
		said, err := a.Approve(ctx, proposal)
		a.Board.Close()
		got <- answer{said, err}
	}()
	return got
}

func TestAPersonDecides(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]run.Decision{"a": run.Apply, "Y": run.Apply, "s": run.Skip, "n": run.Skip, "q": run.Leave, "\x04": run.Unattended} {
		p := newPerson(t, nil)
		got := p.asked(t.Context(), aProposal(ciHold))
		p.Sees(t, question, 1)
		p.Types(t, typed)
		if a := <-got; a.Decision != want || a.err != nil {
			t.Errorf("%q: %+v, want %s", typed, a, want)
		}
		screen := p.Screen()
		for _, text := range []string{"lint pass 0.2s, smoke pass 10.0s", ".github/workflows/ci.yml", "It runs on the build server.", "the very last line"} {
			if !strings.Contains(screen, text) {
				t.Errorf("the question does not show %q:\n%s", text, screen)
			}
		}
	}
}

// Enter does not approve a change that needs its own approval.
func TestWhatIsHeldHasNoDefaultAnswer(t *testing.T) {
	t.Parallel()
	p := newPerson(t, nil)
	got := p.asked(t.Context(), aProposal(ciHold))
	p.Sees(t, question, 1)
	p.Types(t, "\n")
	p.Sees(t, question, 2)
	p.Types(t, "w")
	p.Sees(t, "press one of a, f, c, x, s, q", 2)
	p.Sees(t, question, 3)
	p.Types(t, "s")
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
		p := newPerson(t, map[string]string{"PAGER": c.pager})
		got := p.asked(t.Context(), aProposal())
		p.Sees(t, question, 1)
		p.Types(t, "f")
		p.Sees(t, question, 2)
		p.Types(t, "a")
		if a := <-got; a.Decision != run.Apply {
			t.Errorf("%s: got %+v, want apply", name, a)
		}
		if screen := p.Screen(); !strings.Contains(screen, c.shows) || !strings.Contains(screen, "the very last line") {
			t.Errorf("%s: the full diff was not shown:\n%s", name, screen)
		}
	}
}

func TestCancellingEndsTheQuestion(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := newPerson(t, nil)
	got := p.asked(ctx, aProposal())
	p.Sees(t, question, 1)
	cancel()
	if a := <-got; !errors.Is(a.err, context.Canceled) || a.Decision == run.Apply {
		t.Errorf("got %+v, want the context's error", a)
	}
}

func TestYesOnATerminalDoesNotAsk(t *testing.T) {
	t.Parallel()
	p := newPerson(t, nil)
	a := &Approver{Console: &p.Line.Console, Yes: true, Board: p.Line.NewBoard(0)}
	defer a.Board.Close()
	if got, err := a.Approve(t.Context(), aProposal()); got.Decision != run.Apply || got.By != "--yes" || err != nil {
		t.Errorf("%+v, %v; want apply by --yes", got, err)
	}
}

func TestNoEscapesReachATerminalThatWantsNone(t *testing.T) {
	t.Parallel()
	for _, env := range []map[string]string{{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "COLUMNS": "20"}} {
		p := newPerson(t, env)
		got := p.asked(t.Context(), aProposal(ciHold))
		p.Sees(t, question, 1)
		p.Types(t, "s\n")
		<-got
		if screen := p.Screen(); strings.Contains(screen, "\x1b") {
			t.Errorf("%v: an escape sequence was printed:\n%q", env, screen)
		}
	}
}

var ciHold = policy.Hold{Path: ".github/workflows/ci.yml", Kind: "ci", Reason: "It runs on the build server.", Block: true}

const question = "Write this to the workspace?"

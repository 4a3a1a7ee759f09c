package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify/policy"
)

// aModelsProposal returns a model's proposal: two files are changed, one is deleted.
func aModelsProposal() run.Proposal {
	p := aProposal()
	p.Again, p.Response = true, []byte("<EDIT file=\"a.py\">old</EDIT>\n")
	p.Candidate.Changeset = workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Modify, Path: "a.py", Before: []byte("x = 0\n"), After: []byte("x = 1\n"), Mode: 0o644},
		{Op: workspace.Create, Path: "lib/b.py", After: []byte("y = 1\n"), Mode: 0o644},
		{Op: workspace.Delete, Path: "c.py", Before: []byte("z = 1\n"), Mode: 0o644},
	}}
	return p
}

func TestEachKeyOfTheCheckpoint(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]run.Answer{
		"\r": {Decision: run.Apply, By: run.ByTerminal},
		"r":  {Decision: run.Regenerate, By: run.ByTerminal},
		"s":  {Decision: run.Skip, By: run.ByTerminal},
		"q":  {Decision: run.Leave, By: run.ByTerminal},
		"x":  {Decision: run.Reword, By: run.ByTerminal, Response: []byte("<EDIT file=\"a.py\">new</EDIT>\n")},
	} {
		p := newPerson(t, map[string]string{"EDITOR": termtest.Editor(t, "old", "new")})
		got := p.asked(t.Context(), aModelsProposal())
		p.Sees(t, "[r]egenerate", 1)
		p.Types(t, typed)
		if a := <-got; a.Decision != want.Decision || a.By != want.By || string(a.Response) != string(want.Response) || a.err != nil {
			t.Errorf("%q: %+v, want %+v", typed, a, want)
		}
	}
}

// Code is edited in the state in which the candidate leaves it, in all its files; the result is a diff against it.
func TestCodeIsEditedAsTheCandidateLeavesIt(t *testing.T) {
	t.Parallel()
	p := newPerson(t, map[string]string{"VISUAL": termtest.Editor(t, " = 1", " = 2")})
	got := p.asked(t.Context(), aModelsProposal())
	p.Sees(t, "edit [c]ode", 1)
	p.Types(t, "c")
	a := <-got
	if a.Decision != run.Amend || a.err != nil {
		t.Fatalf("%+v", a)
	}
	for _, line := range []string{"-x = 1", "+x = 2", "-y = 1", "+y = 2", "+++ b/lib/b.py"} {
		if !strings.Contains(string(a.Response), line+"\n") {
			t.Errorf("the diff does not hold %q:\n%s", line, a.Response)
		}
	}
	if strings.Contains(string(a.Response), "z = ") {
		t.Errorf("a deleted file was edited:\n%s", a.Response)
	}
}

func TestAnEditorThatChangesNothingAsksAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ editor, shows string }{
		"nothing": {termtest.Editor(t, "absent", "x"), "nothing was changed"}, "broken": {"/bin/false", "editor /bin/false"},
	} {
		p := newPerson(t, map[string]string{"EDITOR": c.editor})
		got := p.asked(t.Context(), aModelsProposal())
		p.Sees(t, "edit patch [x]", 1)
		p.Types(t, "x")
		p.Sees(t, "edit patch [x]", 2)
		p.Types(t, "s")
		if a := <-got; a.Decision != run.Skip {
			t.Errorf("%s: %+v", name, a)
		}
		if !strings.Contains(p.Screen(), c.shows) {
			t.Errorf("%s: the person is not told %q:\n%s", name, c.shows, p.Screen())
		}
	}
}

func TestTheCountdownFollowsThePolicy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		holds []policy.Hold
		apply bool
		want  run.Decision
		by    string
		shows string
	}{
		"by default":     {nil, false, run.Unattended, "no answer in time", "stops in 2 s > "},
		"told to apply":  {nil, true, run.Apply, "countdown", "applies in 2 s > "},
		"something held": {[]policy.Hold{ciHold}, true, run.Unattended, ".github/workflows/ci.yml", "stops in 2 s > "},
	} {
		p := newPerson(t, map[string]string{"TERM": "xterm"})
		a := &Approver{Console: &p.Line.Console, Wait: config.Patience{Time: 1500 * time.Millisecond, Apply: c.apply}, Board: p.Line.NewBoard(0)}
		got, err := a.Approve(t.Context(), aProposal(c.holds...))
		a.Board.Close()
		if got.Decision != c.want || !strings.Contains(got.By, c.by) || got.Expired != (c.want == run.Unattended) || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if !strings.Contains(p.Screen(), c.shows) {
			t.Errorf("%s: the countdown is not shown:\n%s", name, p.Screen())
		}
	}
}

// In a loop a person may approve everything that passes, but nothing that needs its own approval.
func TestAlwaysHoldsForTheRunsToCome(t *testing.T) {
	t.Parallel()
	p := newPerson(t, nil)
	a := &Approver{Console: &p.Line.Console, Board: p.Line.NewBoard(0), Loop: true}
	defer a.Board.Close()
	ask := func(of run.Proposal) <-chan answer {
		got := make(chan answer, 1)
		go func() {
			said, err := a.Approve(t.Context(), of)
			got <- answer{said, err}
		}()
		return got
	}
	got := ask(aProposal())
	p.Sees(t, "a[l]ways", 1)
	p.Types(t, "l")
	if said := <-got; said.Decision != run.Apply || said.By != run.ByTerminal {
		t.Errorf("the first: %+v", said)
	}
	if said := <-ask(aProposal()); said.Decision != run.Apply || said.By == run.ByTerminal {
		t.Errorf("the second: %+v", said)
	}
	got = ask(aProposal(ciHold))
	p.Sees(t, "a[l]ways", 2)
	p.Types(t, "s")
	if said := <-got; said.Decision != run.Skip {
		t.Errorf("what is held: %+v", said)
	}
	// Outside a loop the key has no meaning.
	a = &Approver{Console: &p.Line.Console, Board: p.Line.NewBoard(0)}
	defer a.Board.Close()
	got = ask(aProposal())
	p.Sees(t, "Write this", 3)
	p.Types(t, "l")
	p.Sees(t, "press one of a, f, c, x, s, q", 1)
	p.Types(t, "s")
	<-got
}

// After a failed edit the person gets its text again, with the reason.
func TestAFailedEditGoesOnFromItsText(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncat \"$1\"\necho more >> \"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := newPerson(t, map[string]string{"EDITOR": script, "NO_COLOR": "1"})
	a := &Approver{Console: &p.Line.Console, Board: p.Line.NewBoard(0)}
	defer a.Board.Close()
	proposal := aModelsProposal()
	for i, want := range []string{"more\n", "more\nmore\n"} {
		got := make(chan answer, 1)
		go func() {
			said, err := a.Approve(t.Context(), proposal)
			got <- answer{said, err}
		}()
		p.Sees(t, "edit patch [x]", i+1)
		p.Types(t, "x")
		said := <-got
		if text := string(said.Response); said.Decision != run.Reword || text != "<EDIT file=\"a.py\">old</EDIT>\n"+want {
			t.Errorf("%s gives %q", said.Decision, text)
		}
		proposal.Failed = &run.FailedEdit{Answer: said.Answer, Why: "the patch does not apply\x1b[2J"}
	}
	p.Sees(t, "Your edit was not applied: the patch does not apply", 1)
	p.Sees(t, "</EDIT>\r\nmore\r\n", 1)
	if strings.Contains(p.Screen(), "\x1b[2J") {
		t.Error("what was wrong rules the terminal")
	}
}

// An editor that ends with an error changes nothing; its text is there again the next time.
func TestATextOfABrokenEditorIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "editor")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntest -e "+dir+"/again && exit 0\n: > "+dir+"/again\necho typed >> \"$1\"\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := newPerson(t, map[string]string{"EDITOR": script})
	got := p.asked(t.Context(), aModelsProposal())
	p.Sees(t, "edit patch [x]", 1)
	p.Types(t, "x")
	p.Sees(t, "your text is kept", 1)
	p.Sees(t, "edit patch [x]", 2)
	p.Types(t, "x")
	if a := <-got; a.Decision != run.Reword || !strings.HasSuffix(string(a.Response), "</EDIT>\ntyped\n") {
		t.Errorf("%+v", a)
	}
}

// The last question shows the model's explanation, and which candidate it is.
func TestTheQuestionExplainsTheCandidate(t *testing.T) {
	t.Parallel()
	p := newPerson(t, map[string]string{"NO_COLOR": "1"})
	proposal := aModelsProposal()
	proposal.Which, proposal.Candidate.Thought = "candidate 2 of 3, the only one that passed", "it rounds up\x1b[2J"
	got := p.asked(t.Context(), proposal)
	p.Sees(t, "Write this", 1)
	p.Types(t, "s")
	<-got
	if screen := p.Screen(); !strings.Contains(screen, "candidate 2 of 3, the only one that passed\r\nThe model says: it rounds up") || strings.Contains(screen, "\x1b[2J") {
		t.Errorf("the question reads\n%s", screen)
	}
}

func TestEachKeyBeforeAQuestionIsSent(t *testing.T) {
	t.Parallel()
	const ask = "Ask some-model for a review of shop/tax.py ("
	for _, c := range []struct {
		typed []string
		text  string
		err   error
	}{
		{[]string{"\r"}, "change old\n", nil},
		{[]string{"a"}, "change old\n", nil},
		{[]string{"s"}, "change old\n", agent.ErrSkipped},
		{[]string{"\x04"}, "change old\n", agent.ErrSkipped},
		{[]string{"e", "\r"}, "change new\n", nil},
		{[]string{"v", "\r"}, "change old\n", nil},
	} {
		p := newPerson(t, map[string]string{"EDITOR": termtest.Editor(t, "old", "new"), "PAGER": "/bin/cat"})
		q, err := p.sends(t, func() {
			for i, text := range c.typed {
				p.Sees(t, ask, i+1)
				p.Sees(t, "\n> ", i+1)
				p.Types(t, text)
			}
		})
		if q.Text != c.text || !errors.Is(err, c.err) {
			t.Errorf("%q: %q, %v", c.typed, q.Text, err)
		}
	}
	p := newPerson(t, nil)
	q, err := p.sends(t, func() {
		p.Sees(t, "\n> ", 1)
		p.Types(t, "u")
		p.Sees(t, "Add to the prompt: ", 1)
		p.Types(t, "and be brief\n")
		p.Sees(t, ask, 2)
		p.Sees(t, "\n> ", 2)
		p.Types(t, "\r")
	})
	if want := "change old\n\n### User Augmentation\nand be brief\n"; q.Text != want || err != nil {
		t.Errorf("%q, %v; want %q", q.Text, err, want)
	}
}

// sends shows the person a question before it is sent, while act runs.
func (p *person) sends(t *testing.T, act func()) (q agent.Question, err error) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := &Sender{Console: &p.Line.Console, Model: "some-model", Board: p.Line.NewBoard(0)}
		q, err = s.Before(t.Context(), agent.Question{Step: "propose/1", Purpose: agent.Patch, File: "shop/tax.py", Text: "change old\n"})
		s.Board.Close()
	}()
	act()
	<-done
	return q, err
}

// Without a person at a terminal no question is asked, and text typed before it was visible is not an answer to it.
func TestTypedAheadIsForgotten(t *testing.T) {
	t.Parallel()
	p := newPerson(t, nil)
	p.Types(t, "\n")
	p.Sees(t, "\r\n", 1) // the terminal echoes it, so it waits to be read
	got := p.asked(t.Context(), aModelsProposal())
	p.Sees(t, "[r]egenerate", 1)
	p.Types(t, "s")
	if a := <-got; a.Decision != run.Skip {
		t.Errorf("the Enter from before was taken for an answer: %+v", a)
	}
}

// Without an answer nothing is sent, unless the user has the countdown apply.
func TestTheCountdownBeforeAQuestion(t *testing.T) {
	t.Parallel()
	for apply, want := range map[bool]error{true: nil, false: agent.ErrSkipped} {
		p := newPerson(t, nil)
		s := &Sender{Console: &p.Line.Console, Board: p.Line.NewBoard(0), Wait: config.Patience{Time: 1500 * time.Millisecond, Apply: apply}}
		q, err := s.Before(t.Context(), agent.Question{Step: "propose/1", Purpose: agent.Patch, Text: "change it\n"})
		s.Board.Close()
		if shows := map[bool]string{true: "is sent in 2 s > ", false: "is not sent in 2 s > "}[apply]; q.Text != "change it\n" || !errors.Is(err, want) || !strings.Contains(p.Screen(), shows) {
			t.Errorf("apply %v: %q, %v\n%s", apply, q.Text, err, p.Screen())
		}
	}
}

package checkpoint

import (
	"errors"
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

// aModelsProposal is what a model made: two files are changed, one is deleted.
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
		"\n":           {Decision: run.Apply, By: run.ByTerminal},
		"REGENERATE\n": {Decision: run.Regenerate, By: run.ByTerminal},
		"r\n":          {Decision: run.Regenerate, By: run.ByTerminal},
		"SKIP\n":       {Decision: run.Skip, By: run.ByTerminal},
		"EDIT_XML\n":   {Decision: run.Reword, By: run.ByTerminal, Response: []byte("<EDIT file=\"a.py\">new</EDIT>\n")},
		"x\n":          {Decision: run.Reword, By: run.ByTerminal, Response: []byte("<EDIT file=\"a.py\">new</EDIT>\n")},
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

// Code is edited as the candidate leaves it, in all its files, and what comes
// back is a diff to it.
func TestCodeIsEditedAsTheCandidateLeavesIt(t *testing.T) {
	t.Parallel()
	p := newPerson(t, map[string]string{"VISUAL": termtest.Editor(t, " = 1", " = 2")})
	got := p.asked(t.Context(), aModelsProposal())
	p.Sees(t, "edit [c]ode", 1)
	p.Types(t, "EDIT_CODE\n")
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
		p.Types(t, "x\n")
		p.Sees(t, "edit patch [x]", 2)
		p.Types(t, "s\n")
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
		stop  bool
		want  run.Decision
		by    string
	}{
		"nothing held":   {nil, false, run.Apply, "countdown"},
		"something held": {[]policy.Hold{ciHold}, false, run.Unattended, ".github/workflows/ci.yml"},
		"told to stop":   {nil, true, run.Unattended, "the countdown ended"},
	} {
		p := newPerson(t, map[string]string{"TERM": "xterm"})
		a := &Approver{Console: &p.Line.Console, Wait: config.Patience{Time: 1500 * time.Millisecond, Stop: c.stop}, Board: p.Line.NewBoard(0)}
		got, err := a.Approve(t.Context(), aProposal(c.holds...))
		a.Board.Close()
		if got.Decision != c.want || !strings.Contains(got.By, c.by) || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if !strings.Contains(p.Screen(), "s remaining | You: ") {
			t.Errorf("%s: the countdown is not shown:\n%s", name, p.Screen())
		}
	}
}

func TestEachKeyBeforeAQuestionIsSent(t *testing.T) {
	t.Parallel()
	const ask = "[e]dit prompt"
	for _, c := range []struct {
		typed []string
		text  string
		err   error
	}{
		{[]string{"\n"}, "change old\n", nil},
		{[]string{"SKIP\n"}, "change old\n", agent.ErrSkipped},
		{[]string{"\x04"}, "change old\n", agent.ErrSkipped},
		{[]string{"EDIT_PROMPT\n", "\n"}, "change new\n", nil},
		{[]string{"what?\n", "send\n"}, "change old\n", nil},
		{[]string{"v\n", "\n"}, "change old\n", nil},
	} {
		p := newPerson(t, map[string]string{"EDITOR": termtest.Editor(t, "old", "new"), "PAGER": "/bin/cat"})
		q, err := p.sends(t, func() {
			for i, text := range c.typed {
				p.Sees(t, ask, i+1)
				p.Types(t, text)
			}
		})
		if q.Text != c.text || !errors.Is(err, c.err) {
			t.Errorf("%q: %q, %v", c.typed, q.Text, err)
		}
	}
	p := newPerson(t, nil)
	q, err := p.sends(t, func() {
		p.Sees(t, ask, 1)
		p.Types(t, "AUGMENT_PROMPT\n")
		p.Sees(t, "Add to the prompt", 1)
		p.Types(t, "and be brief\n")
		p.Sees(t, ask, 2)
		p.Types(t, "\n")
	})
	if want := "change old\n\n### User Augmentation\nand be brief\n"; q.Text != want || err != nil {
		t.Errorf("%q, %v; want %q", q.Text, err, want)
	}
}

// sends has the person see a question before it is sent, while act goes on.
func (p *person) sends(t *testing.T, act func()) (q agent.Question, err error) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := &Sender{Console: &p.Line.Console, Board: p.Line.NewBoard(0)}
		q, err = s.Before(t.Context(), agent.Question{Step: "propose/1", Purpose: agent.Patch, Text: "change old\n"})
		s.Board.Close()
	}()
	act()
	<-done
	return q, err
}

// With nobody at a terminal a question is never asked, and what was typed
// before it was seen is no answer to it.
func TestTypedAheadIsForgotten(t *testing.T) {
	t.Parallel()
	p := newPerson(t, nil)
	p.Types(t, "\n")
	p.Sees(t, "\r\n", 1) // the terminal echoes it: it waits to be read
	got := p.asked(t.Context(), aModelsProposal())
	p.Sees(t, "[r]egenerate", 1)
	p.Types(t, "s\n")
	if a := <-got; a.Decision != run.Skip {
		t.Errorf("the Enter from before was taken for an answer: %+v", a)
	}
}

// Nobody's answer before a call sends it, unless the policy is to stop.
func TestTheCountdownBeforeAQuestion(t *testing.T) {
	t.Parallel()
	for stop, want := range map[bool]error{false: nil, true: agent.ErrSkipped} {
		p := newPerson(t, nil)
		s := &Sender{Console: &p.Line.Console, Board: p.Line.NewBoard(0), Wait: config.Patience{Time: 1500 * time.Millisecond, Stop: stop}}
		q, err := s.Before(t.Context(), agent.Question{Step: "propose/1", Purpose: agent.Patch, Text: "change it\n"})
		s.Board.Close()
		if q.Text != "change it\n" || !errors.Is(err, want) || !strings.Contains(p.Screen(), "s remaining | You: ") {
			t.Errorf("stop %v: %q, %v\n%s", stop, q.Text, err, p.Screen())
		}
	}
}

package checkpoint

import (
	"strings"
	"testing"
	"time"

	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/config"
	"agent/orchestrator/run"
)

// aFeature returns a feature that is proposed at a checkpoint.
func aFeature() run.Proposal {
	return run.Proposal{Run: "1k3mzq8a0v2c", Workspace: "/home/me/shop", Feature: &run.KeptProposal{
		ID: 7, Kind: run.Feature, Path: "shop/stock.py", Text: "say how much is left\x1b[2J",
	}}
}

const featureQuestion = "[p]roceed, [s]kip, [d]elete"

func TestAPersonDecidesAboutAFeature(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]run.Decision{
		"p": run.Apply, "y": run.Apply, "s": run.Skip, "n": run.Skip, "d": run.Drop, "q": run.Leave,
		"\x04": run.Unattended,
	} {
		p := newPerson(t, nil)
		got := p.asked(t.Context(), aFeature())
		p.Sees(t, featureQuestion, 1)
		p.Types(t, typed)
		if a := <-got; a.Decision != want || a.err != nil || (want != run.Unattended && a.By != run.ByTerminal) {
			t.Errorf("%q: %+v, want %s", typed, a, want)
		}
		if screen := p.Screen(); !strings.Contains(screen, "say how much is left") || strings.Contains(screen, "\x1b[2J") {
			t.Errorf("the feature is not shown, or rules the terminal: %q", screen)
		}
	}
	p := newPerson(t, nil)
	got := p.asked(t.Context(), aFeature())
	p.Sees(t, featureQuestion, 1)
	p.Types(t, "\r") // Enter is not an answer
	p.Sees(t, "press one of p, s, d, q", 1)
	p.Types(t, "p")
	if a := <-got; a.Decision != run.Apply {
		t.Errorf("after a slip: %+v", a)
	}
}

// Only a person can order a feature: without an answer it stays a proposal, whatever flags and settings say about what
// passed.
func TestWithoutAnAnswerAFeatureIsKept(t *testing.T) {
	t.Parallel()
	short := config.Patience{Time: time.Millisecond}
	for name, c := range map[string]struct {
		yes  bool
		wait config.Patience
		by   string
	}{
		"--yes":               {yes: true, by: "--yes"},
		"--yes and a wait":    {yes: true, wait: short, by: "--yes"},
		"expiry is stop":      {wait: short, by: "no answer in time"},
		"expiry is apply":     {wait: config.Patience{Time: time.Millisecond, Apply: true}, by: "no answer in time"},
		"both of them differ": {yes: true, wait: config.Patience{Time: time.Millisecond, Apply: true}, by: "--yes"},
	} {
		p := newPerson(t, nil)
		a := &Approver{Console: &p.Line.Console, Yes: c.yes, Wait: c.wait, Board: p.Line.NewBoard(0)}
		got, err := a.Approve(t.Context(), aFeature())
		a.Board.Close()
		if got.Decision != run.Unattended || !strings.Contains(got.By, c.by) || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, yes := range []bool{false, true} {
		cmd := cmdlinetest.Unattended("p\n")
		a := &Approver{Console: &cmd.Console, Yes: yes, Board: cmd.NewBoard(0)}
		if got, err := a.Approve(t.Context(), aFeature()); got.Decision != run.Unattended || err != nil {
			t.Errorf("without a terminal, --yes %v: %+v, %v", yes, got, err)
		}
	}
}

// --features is a person's order for all features, at a terminal or not.
func TestFeaturesAreImplementedWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	for _, yes := range []bool{false, true} {
		cmd := cmdlinetest.Unattended("")
		a := &Approver{Console: &cmd.Console, Yes: yes, Features: true, Board: cmd.NewBoard(0)}
		if got, err := a.Approve(t.Context(), aFeature()); got.Decision != run.Apply || got.By != run.ByFeatures || err != nil {
			t.Errorf("--yes %v: %+v, %v", yes, got, err)
		}
	}
}

package verify

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"agent/sandbox"
	"agent/verify/check"
)

// A lossy launcher is an engine that kills boxes of one purpose right after they start, or is unavailable at first.
type lossy struct {
	*sandbox.Engine
	purpose string
	// How many boxes are killed, and how many starts find no engine.
	losses, absences int32
	started, asked   atomic.Int32
}

func (l *lossy) Start(ctx context.Context, spec sandbox.Spec) (*sandbox.Box, error) {
	if l.asked.Add(1) <= l.absences {
		return nil, &sandbox.UnavailableError{Host: "nowhere", Hint: "wait", Err: errors.New("refused")}
	}
	box, err := l.Engine.Start(ctx, spec)
	if err == nil && spec.Purpose == l.purpose && l.started.Add(1) <= l.losses {
		err = exec.CommandContext(ctx, "docker", "kill", box.ID()).Run()
	}
	return box, err
}

func TestWhatTheEngineLosesIsJudgedOnceMore(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"main.py": "if __name__ == '__main__':\n    print(1)\n"})
	patch := map[string]string{"main.py": "if __name__ == '__main__':\n    print(2)\n"}
	for name, c := range map[string]struct {
		engine  *lossy
		verdict check.Verdict
		starts  int32
	}{
		"nothing lost":  {&lossy{purpose: check.GroupStatic}, check.Pass, 1},
		"static gates":  {&lossy{purpose: check.GroupStatic, losses: 1}, check.Pass, 2},
		"the program":   {&lossy{purpose: check.GroupSmoke, losses: 1}, check.Pass, 2},
		"lost for good": {&lossy{purpose: check.GroupStatic, losses: 9}, check.Infra, 2},
		"away at first": {&lossy{purpose: check.GroupStatic, absences: 5}, check.Pass, 1},
	} {
		c.engine.Engine, s.verifier.Boxes = s.lab.Engine, c.engine
		r := s.verify(t, patch)
		if r.Verdict != c.verdict {
			t.Errorf("%s: %s, want %s: %s", name, r.Verdict, c.verdict, detailsOf(r))
		}
		if got := c.engine.started.Load(); got != c.starts {
			t.Errorf("%s: %d boxes, want %d", name, got, c.starts)
		}
		if again := strings.Contains(detailsOf(r), "judged again"); again != (name != "nothing lost") {
			t.Errorf("%s: %s", name, detailsOf(r))
		}
	}
}

// detailsOf joins the details of all gates in a report.
func detailsOf(r Report) string {
	var all []string
	for _, g := range r.Gates {
		all = append(all, g.Detail)
	}
	return strings.Join(all, "; ")
}

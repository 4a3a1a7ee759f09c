package gate

import (
	"testing"
	"time"

	"agent/orchestrator/edit/problem"
	"agent/verify"
)

func TestARefusalBecomesAGateWithItsBlocks(t *testing.T) {
	g := refusedGate(&problem.Refusal{Problems: []problem.Problem{
		{Block: 2, Path: "a.py", Kind: "ambiguous", Reason: "it matches twice", Lines: []int{4, 9}, Nearest: "4: x\n", Differs: "yours has y\n", Advice: "choose the place"},
		{Kind: "parse", Reason: "no block"},
	}}, time.Second)
	if g.Name != "edit" || g.Verdict != verify.Fail || g.Seconds != 1 || len(g.Findings) != 2 {
		t.Fatalf("gate %+v", g)
	}
	if f := g.Findings[0]; f.File != "a.py" || f.Line != 4 || f.Rule != "ambiguous" || f.Message != "block 2: it matches twice\n→ choose the place" || f.Source != "4: x\nyours has y\n" {
		t.Errorf("finding %+v", f)
	}
	if f := g.Findings[1]; f.Line != 0 || f.Message != "no block" {
		t.Errorf("finding %+v", f)
	}
}

//go:build bench

package edit

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/parse"
)

// TestRecordedCasesLeaveTheWorkUntouched measures how much of a response's work budget the most expensive recorded case uses. A budget
// that real edits come close to would refuse some of them.
func TestRecordedCasesLeaveTheWorkUntouched(t *testing.T) {
	f, err := os.Open(os.Getenv("AGENT_EDIT_CASES"))
	if err != nil {
		t.Fatalf("AGENT_EDIT_CASES must name the recorded cases, unpacked: %v", err)
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 1<<20)
	most, dearest, n := 0.0, "", 0
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var c struct {
			ID, Path, Before string
			Blocks           [][2]string
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		var ops []*parse.Operation
		for i, b := range c.Blocks {
			ops = append(ops, &parse.Operation{Block: i + 1, Path: c.Path, Search: parse.SplitBody(b[0]), Replace: parse.SplitBody(b[1])})
		}
		w := document.NewWork()
		w.Open(len(c.Before))
		all := left(*w)
		editFile(c.Path, []byte(c.Before), ops, w)
		if share := float64(all-left(*w)) / float64(all); share > most {
			most, dearest = share, c.ID
		}
		n++
	}
	t.Logf("of %d cases %s takes most of the work that is allowed, one part in %.0f", n, dearest, 1/most)
	if n == 0 || 50*most > 1 {
		t.Errorf("the dearest of %d cases takes %.1f %% of the work", n, 100*most)
	}
}

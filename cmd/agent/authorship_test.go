package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	blamecmd "agent/cmd/agent/internal/command/blame"
	"agent/cmd/agent/internal/command/review"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/run"
)

// A run for a goal is one iteration of the loop, and its requests are recorded under the iteration. The record still
// reports who wrote the code, and at what cost.
func TestAGoalRunHasItsModelAndCost(t *testing.T) {
	t.Parallel()
	usage := &llmtest.Usage{In: 1000, Out: 200}
	edit := "<EDIT file=\"main.py\">\n<SEARCH>\nb = 2\n</SEARCH>\n<REPLACE>\nb = 3\n</REPLACE>\n</EDIT>\n"
	x := newTrial(t, ailment{
		steps: []llmtest.Step{{Text: edit, Usage: usage}, {Text: "- b is three", Usage: usage}},
		before: func(t *testing.T, x *trial) {
			config := filepath.Join(t.TempDir(), "agent")
			if err := os.MkdirAll(config, 0o755); err != nil {
				t.Fatal(err)
			}
			prices := "[prices.\"gemini/m\"]\nin = 100\nout = 1000\n"
			if err := os.WriteFile(filepath.Join(config, "config.toml"), []byte(prices), 0o600); err != nil {
				t.Fatal(err)
			}
			x.env = append(x.env, "XDG_CONFIG_HOME="+filepath.Dir(config))
		},
	})
	x.run(t)
	if x.exit != run.ExitDone || x.doc.State != run.Promoted {
		t.Fatalf("exit code %d, %+v\n%s", x.exit, x.doc, x.stderr)
	}
	env := map[string]string{}
	for _, pair := range x.env {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	var list []review.Reviewed
	if got := commandIn(t, env, "review", "-w", x.dir, "--json"); json.Unmarshal([]byte(got.stdout), &list) != nil || len(list) != 1 {
		t.Fatalf("review: %+v", got)
	}
	if r := list[0]; r.Model != "gemini/m" || r.Cost == nil || *r.Cost < 0.3 {
		t.Errorf("the review has the model %q and the cost %v", r.Model, r.Cost)
	}
	if got := commandIn(t, env, "review", "-w", x.dir, x.doc.Run); !strings.Contains(got.stdout, "gemini/m, cost 0.") {
		t.Errorf("a person reads\n%s%s", got.stdout, got.stderr)
	}
	var doc blamecmd.File
	if got := commandIn(t, env, "blame", "-w", x.dir, "main.py", "--json"); json.Unmarshal([]byte(got.stdout), &doc) != nil || len(doc.Lines) != 4 {
		t.Fatalf("blame: %+v", got)
	}
	if by := doc.Lines[1].Origin; by.Run != x.doc.Run || by.Model != "gemini/m" {
		t.Errorf("the line is by %+v", by)
	}
	// The cost is the sum of all requests that v_model_calls assigns to the run.
	if got := x.text(t, "select (v.cost = (select sum(cost) from v_model_calls c where c.run = v.run))::text from v_reviews v"); got != "true" {
		t.Errorf("the sum of the requests is the cost: %s", got)
	}
}

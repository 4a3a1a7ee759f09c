package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"agent/cmd/agent/internal/command/build"
	"agent/orchestrator/crew"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/run"
)

// A limit of a task file, and a model that goes beyond it.
type reachedLimit struct {
	name, head string
	// The model's answers; the last one repeats.
	answers []llmtest.Step
	words   string // of the result
}

// toolCalls returns an answer that calls tools.
func toolCalls(list ...llmtest.Call) llmtest.Step { return llmtest.Step{Calls: list} }

// reachedLimits returns all the limits: those of a conversation, which end an execution, and those of all loops together.
func reachedLimits() []reachedLimit {
	var many []llmtest.Call
	for i := range 5 {
		many = append(many, called("read", "path", "README.md", "from", 1, "to", i+1))
	}
	look, usage := toolCalls(called("read", "path", "README.md")), &llmtest.Usage{In: 100, Out: 10}
	done := toolCalls(called("finish", "summary", "there is nothing to do", "nothing", true))
	paid := toolCalls(called("list"))
	paid.Usage = usage
	return []reachedLimit{
		{"loops", "loops = 1", []llmtest.Step{done}, "limits.loops: the task is not done after 1 loops"},
		{"iterations", "iterations = 2", []llmtest.Step{look, toolCalls(called("list"))}, "limits.iterations: after 2 rounds"},
		{"calls", "calls = 3", []llmtest.Step{toolCalls(many...)}, "limits.calls: after 1 rounds and 3 calls"},
		{"calls_per_iteration", "calls_per_iteration = 2", []llmtest.Step{toolCalls(many...), done}, "limits.calls_per_iteration: 3 calls were refused: 2 in one answer are the most"},
		{"identical", "identical = 2", []llmtest.Step{look}, "limits.identical: after 2 rounds"},
		{"failed_iterations", "failed_iterations = 2", []llmtest.Step{toolCalls(called("read", "path", "none.py")), toolCalls(called("read", "path", "neither.py"))}, "limits.failed_iterations: after 2 rounds"},
		{"output", "output = 60", []llmtest.Step{look}, "limits.output: after 1 rounds"},
		{"requests", "requests = 2", []llmtest.Step{look, toolCalls(called("list"))}, "limits.requests: the cap on the requests of a plan is reached: 2 of 2 spent"},
		{"tokens", "tokens = 10", []llmtest.Step{look}, "limits.tokens: the cap on the tokens of a plan is reached: 0 of 10 spent"},
		{"cost", "cost = 0.01", []llmtest.Step{paid}, "limits.cost: the cap on the cost of a plan is reached: "},
		{"time", "time = \"1s\"", []llmtest.Step{{Hang: true}}, "limits.time: the cap on the time of a plan is reached: "},
	}
}

// raised continues the newest loop with a higher cap, as its result suggests: it does not end at the cap of the file.
func (h *plannedHouse) raised(t *testing.T, name, flag string) {
	t.Helper()
	h.model.Choose(func(llmtest.Request) llmtest.Step {
		return toolCalls(called("finish", "summary", "there is nothing to do", "nothing", true))
	})
	value := map[string]string{"cost": "5", "time": "10m"}[name]
	if value == "" {
		value = "90000"
	}
	out, _ := h.command("loop", "--resume", flag, value, "--yes").CombinedOutput()
	if !strings.Contains(string(out), "limits.loops: the task is not done after 1 loops") {
		t.Errorf("with %s %s:\n%s", flag, value, out)
	}
}

// limitNames returns the names of a task file's limits.
func limitNames(limits reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(limits) {
		if name := f.Tag.Get("toml"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// A model reaches each limit that a task file can have, and the result names the limit; a limit that ends a
// conversation is named in the reason of its loop. The workspace is unchanged.
func TestEachLimitOfATaskFileIsReachedAndNamed(t *testing.T) {
	t.Parallel()
	h := newHouseOf(t, ledgerScripts)
	// Only a model with a price can be held to a cap on cost.
	own := ""
	for _, v := range h.env {
		if dir, ok := strings.CutPrefix(v, "XDG_CONFIG_HOME="); ok {
			own = filepath.Join(dir, "agent")
		}
	}
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "config.toml"), []byte("[prices.\"gemini/*\"]\nin = 1\nout = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "AGENT_MODE=tools")
	before := snapshotOf(t, h.work)
	missing := limitNames(reflect.TypeFor[crew.LoopLimits]())
	for _, l := range reachedLimits() {
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == l.name })
		t.Run(l.name, func(t *testing.T) {
			var mu sync.Mutex
			n := 0
			h.model.Choose(func(llmtest.Request) llmtest.Step {
				mu.Lock()
				defer mu.Unlock()
				n++
				return l.answers[min(n, len(l.answers))-1]
			})
			head := l.head
			if l.name != "loops" {
				head += "\nloops = 1"
			}
			file := filepath.Join(t.TempDir(), "TASK.md")
			if err := os.WriteFile(file, fmt.Appendf(nil, "+++\n[limits]\n%s\n[accept]\ntext = \"it is done\"\n+++\nDo it.\n", head), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := h.command("loop", file, "--yes", "--json")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, _ := cmd.Output()
			var doc build.Built
			if err := json.Unmarshal(out, &doc); err != nil || doc.Error == nil {
				t.Fatalf("%v\n%s\n%s", err, out, &stderr)
			}
			if code := cmd.ProcessState.ExitCode(); code != run.ExitBudget || !strings.Contains(doc.Error.Message, l.words) {
				t.Errorf("exit %d, %q: %q", code, doc.Error.Kind, doc.Error.Message)
			}
			if flag := map[string]string{"requests": "--max-requests", "tokens": "--max-tokens", "cost": "--max-cost", "time": "--max-time"}[l.name]; flag != "" {
				h.raised(t, l.name, flag)
			}
		})
	}
	if snapshotOf(t, h.work) != before {
		t.Error("the workspace was touched")
	}
	if len(missing) > 0 {
		t.Errorf("no model reaches %v", missing)
	}
}

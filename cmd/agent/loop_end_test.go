package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
)

// exits runs a command that must end with this exit code, and returns its output.
func (h *household) exits(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, told bytes.Buffer
	cmd := exec.Command(agentProgram, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = h.env, &out, &told
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("agent %v: exit code %d, want %d\n%s%s", args, got, code, &out, &told)
	}
	return out.String(), told.String()
}

// result reads the last line that a loop printed with --json.
func result(t *testing.T, stdout string) (r loop.Result) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		t.Fatalf("%v in\n%s", err, stdout)
	}
	return r
}

// The caps of a loop cover all its iterations: the second of three reaches one, and a resumed loop keeps what it has
// already spent.
func TestALoopSpendsFromOnePurse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ flag, cap, more, says string }{
		// The first iteration makes three requests, the second one. Each answer has 1000 tokens and costs 0.1; the
		// estimate allows it 8192.
		"cost":     {"--max-cost", "1.15", "9", "the cap on the cost of a loop is reached: 0.400000 of 1.150000 spent"},
		"requests": {"--max-requests", "4", "99", "the cap on the requests of a loop is reached: 4 of 4 spent"},
		"tokens":   {"--max-tokens", "15500", "9000000", "the cap on the tokens of a loop is reached: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHousehold(t, "gemini")
			answers := answersFor(t)
			h.model.Choose(func(q llmtest.Request) llmtest.Step {
				step := answers(q)
				step.Usage = &llmtest.Usage{Out: 1000}
				return step
			})
			prices := "[prices.\"gemini/*\"]\nin = 0.0\nout = 100.0\n"
			if err := os.MkdirAll(filepath.Join(h.home, "agent"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(h.home, "agent", "config.toml"), []byte(prices), 0o644); err != nil {
				t.Fatal(err)
			}
			loop := func(code int, args ...string) loop.Result {
				stdout, _ := h.exits(t, code, append([]string{"sandbox", "loop", "--workspace", h.work, "--rest", "0s", "--yes", "--json"}, args...)...)
				return result(t, stdout)
			}
			first := loop(run.ExitBudget, "--iterations", "3", c.flag, c.cap)
			if first.Promoted != 1 || len(first.Iterations) != 2 || !strings.Contains(first.Stopped, c.says) || !strings.Contains(first.Stopped, "the loop spent 4 requests") {
				t.Errorf("%d promoted in %d iterations: %s", first.Promoted, len(first.Iterations), first.Stopped)
			}
			if first.Error == nil || !strings.Contains(first.Error.Next, "agent sandbox loop --resume "+c.flag) {
				t.Errorf("the error is %+v", first.Error)
			}
			asked := len(h.model.Requests())
			second := loop(run.ExitBudget, "--resume", c.flag, c.cap)
			if n := len(h.model.Requests()); n != asked || second.Promoted != 0 || !strings.Contains(second.Stopped, c.says) {
				t.Errorf("resumed with the same cap it asked %d times more: %s", n-asked, second.Stopped)
			}
			third := loop(run.ExitDone, "--resume", c.flag, c.more)
			if third.Promoted != 2 || third.Stopped != "all of 3 iterations done" {
				t.Errorf("resumed with a higher cap %d promoted: %s", third.Promoted, third.Stopped)
			}
		})
	}
}

// The model finds nothing and would propose a feature each time it is asked: a loop with --yes ends without an
// invention, even if proposed features are already on record.
func TestALoopOfFeaturesEnds(t *testing.T) {
	t.Parallel()
	h := newHousehold(t, "ollama")
	// A question about the list of files is answered with "any of them".
	asked := 0
	h.model.Choose(func(q llmtest.Request) llmtest.Step {
		asked++
		text := q.Messages[len(q.Messages)-1].Text
		switch {
		case strings.HasPrefix(text, "Choose"):
			return llmtest.Step{Text: "any of them"}
		case strings.HasPrefix(text, "Review"):
			return llmtest.Step{Text: "NOTHING"}
		case strings.HasPrefix(text, "Propose"):
			return llmtest.Step{Text: fmt.Sprintf("<THOUGHT>\nidea %d\n</THOUGHT>\n<SNIPPET>\nx = %d\n</SNIPPET>", asked, asked)}
		}
		return llmtest.Step{Text: "<EDIT file=\"post/tax.py\">\n<CREATE_FILE path=\"new.py\">\nx = 1\n</CREATE_FILE>"}
	})
	before := snapshotOf(t, h.work)
	stdout, _ := h.exits(t, run.ExitDone, "sandbox", "loop", "--workspace", h.work, "--rest", "0s", "--yes", "--json")
	res := result(t, stdout)
	if res.Promoted != 0 || !strings.HasPrefix(res.Stopped, "clean: every file") || snapshotOf(t, h.work) != before {
		t.Errorf("%d promoted: %s", res.Promoted, res.Stopped)
	}
	for _, i := range res.Iterations {
		if i.Outcome != "clean" {
			t.Errorf("iteration %d on %s: %s", i.N, i.Target, i.Outcome)
		}
	}
	asks := func(want string) {
		t.Helper()
		for query, want := range map[string]string{
			"select count(*) from v_proposals where kind = 'FEATURE' and state = 'open'": want,
			"select count(*) from v_model_calls where step like 'feature/%'":             want,
			"select count(*) from v_model_calls where step like 'implement/%'":           "0",
		} {
			if got := h.sql(t, query); got != want {
				t.Errorf("%s gives %s, want %s", query, got, want)
			}
		}
	}
	asks("0")
	// A single run records one proposal for a person to decide on, and asks for no other.
	target := res.Iterations[0].Target
	stdout, _ = h.exits(t, run.ExitDone, "sandbox", "run", "--workspace", h.work, "--yes", "--file", target, "--json")
	var doc run.Document
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || doc.Outcome != "proposed" || doc.State != run.Done ||
		len(doc.Proposals) != 1 || doc.Next != fmt.Sprintf("run `agent sandbox run --proposal %d` to have the feature written", doc.Proposals[0].ID) {
		t.Errorf("the run ended %+v, %v", doc, err)
	}
	asks("1")
	h.agent(t, "sandbox", "run", "--workspace", h.work, "--yes", "--file", target)
	h.agent(t, "sandbox", "loop", "--workspace", h.work, "--rest", "0s", "--yes", "--until-clean")
	asks("1")
	// With --features it is written: the result is judged, and the model's answer is not a patch.
	h.exits(t, run.ExitFail, "sandbox", "run", "--workspace", h.work, "--yes", "--features", "--file", target)
	if got := h.sql(t, "select count(*) from v_model_calls where step like 'implement/%'"); got == "0" {
		t.Error("--features had nothing written")
	}
	if snapshotOf(t, h.work) != before {
		t.Error("something was written")
	}
}

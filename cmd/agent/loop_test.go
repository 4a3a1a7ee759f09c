package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/store/storetest"
)

// defects are the files of testdata/defects with a defect, in the order in which the model of these tests takes them
// up. defects-answers/N.xml fixes the N-th.
var defects = []string{"post/bands.py", "post/parcels.py", "post/tax.py"}

// answersFor returns the model's answers to the questions of a loop over testdata/defects. It reads the question as a
// model does, so that a repeated question gets the same answer.
func answersFor(t *testing.T) func(llmtest.Request) llmtest.Step {
	says := map[string]string{}
	for _, name := range []string{"1.xml", "2.xml", "3.xml", "memory-1.md", "memory-2.md", "memory-2-short.md", "memory-3.md"} {
		text, err := os.ReadFile(filepath.Join("testdata/defects-answers", name))
		if err != nil {
			t.Fatal(err)
		}
		says[name] = string(text)
	}
	return func(q llmtest.Request) llmtest.Step {
		text := q.Messages[len(q.Messages)-1].Text
		at := 0 // the index of the defect that the question is about
		for n, file := range defects {
			switch {
			case strings.HasPrefix(text, "Choose") && strings.Contains(text, "- `"+file+"`\n"):
				at = n + 1 // the history has this one, so the next is due
			case strings.HasPrefix(text, "Review "+file), strings.HasPrefix(text, "Merge") && strings.Contains(text, "+++ b/"+file):
				at = n
			}
		}
		number := string(rune('1' + at))
		switch {
		case strings.HasPrefix(text, "Choose"):
			return llmtest.Step{Text: defects[min(at, 2)]}
		case strings.HasPrefix(text, "Review"):
			return llmtest.Step{Text: says[number+".xml"]}
		case strings.HasPrefix(text, "Merge"):
			return llmtest.Step{Text: says["memory-"+number+".md"]}
		case strings.HasPrefix(text, "Compress"):
			return llmtest.Step{Text: says["memory-2-short.md"]}
		}
		return llmtest.Step{Status: 400, Message: "no answer to " + text[:min(len(text), 60)]}
	}
}

// A household is a workspace with three defects, a database and a model.
type household struct {
	home, work string
	env        []string
	model      *llmtest.Server
}

// newHousehold returns a household whose model is a fake of vendor.
func newHousehold(t *testing.T, vendor string) *household {
	t.Helper()
	_, url := storetest.Warm(t)
	h := &household{home: t.TempDir()}
	h.work = filepath.Join(h.home, "work")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GEMINI_") && !strings.HasPrefix(v, "OLLAMA_") {
			h.env = append(h.env, v)
		}
	}
	h.env = append(h.env, "AGENT_DATABASE_URL="+url, "XDG_CONFIG_HOME="+h.home, "AGENT_MODE=question")
	if vendor == "gemini" {
		h.model = llmtest.Gemini()
		h.env = append(h.env, "GEMINI_API_KEY=a-secret-of-the-test-0123456789", "GEMINI_BASE_URL="+h.model.URL())
	} else {
		h.model = llmtest.Ollama()
		h.env = append(h.env, "OLLAMA_HOST="+h.model.URL())
	}
	t.Cleanup(h.model.Close)
	h.model.Choose(answersFor(t))
	h.copy(t, h.work)
	return h
}

// copy makes a fresh copy of the example at dir.
func (h *household) copy(t *testing.T, dir string) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS("testdata/defects")); err != nil {
		t.Fatal(err)
	}
}

// agent runs a command that must succeed, and returns its output.
func (h *household) agent(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(agentProgram, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = h.env, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("agent %v: %v\n%s%s", args, err, &stdout, &stderr)
	}
	return stdout.String()
}

// sql asks the record for one value.
func (h *household) sql(t *testing.T, query string) string {
	t.Helper()
	_, value, _ := strings.Cut(h.agent(t, "sql", "--csv", query), "\n")
	return strings.TrimSpace(value)
}

// codeOf returns the workspace at dir without the agent's exports.
func codeOf(t *testing.T, dir string) string {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, ".agent")); err != nil {
		t.Fatal(err)
	}
	return snapshotOf(t, dir)
}

// A loop of three iterations fixes three defects, with the models of either vendor. What it learnt is in SQL, and its
// replay without a model produces the same bytes.
func TestALoopMendsThreeDefects(t *testing.T) {
	t.Parallel()
	for _, vendor := range []string{"gemini", "ollama"} {
		t.Run(vendor, func(t *testing.T) {
			t.Parallel()
			h := newHousehold(t, vendor)
			h.agent(t, "sandbox", "loop", "--workspace", h.work, "--iterations", "3", "--rest", "0s", "--yes")
			for query, want := range map[string]string{
				"select count(*) from v_promotions where status = 'committed'":                     "3",
				"select count(*) from v_history":                                                   "3",
				"select string_agg(outcome, ' ' order by n) from v_iterations":                     "promoted promoted promoted",
				"select count(*) from v_memory":                                                    "3",
				"select text like '%tax.py%' from v_memory where current":                          "true",
				"select count(distinct path) >= 3 from v_symbols":                                  "true",
				"select count(*) from v_model_calls where error_kind is not null or ended is null": "0",
			} {
				if got := h.sql(t, query); got != want {
					t.Errorf("%s gives %s, want %s", query, got, want)
				}
			}
			loop := h.sql(t, "select distinct loop from v_iterations")
			h.model.Close()
			again := filepath.Join(h.home, "again")
			h.copy(t, again)
			h.agent(t, "sandbox", "loop", "--workspace", again, "--replay", loop, "--yes")
			if codeOf(t, h.work) != codeOf(t, again) {
				t.Error("the replay made another tree")
			}
		})
	}
}

// A loop that is killed without warning in each of its phases in turn continues each time from where it stopped:
// nothing is lost, and no answer is paid for twice.
func TestALoopIsKilledInEveryPhase(t *testing.T) {
	t.Parallel()
	whole, h := newHousehold(t, "gemini"), newHousehold(t, "gemini")
	command := []string{"sandbox", "loop", "--iterations", "1", "--rest", "0s", "--yes", "--workspace"}
	whole.agent(t, append(command, whole.work)...)
	after, paid := codeOf(t, whole.work), len(whole.model.Requests())
	command = append(command, h.work)
	markers := []string{
		"planning", "target gemini", "proposing", "propose/1 gemini", "verifying", "promoting", "promoted", "bring the ledger", "memory/UM gemini",
	}
	for _, marker := range markers {
		h.killAt(t, marker, command...)
		command = []string{"sandbox", "loop", "--resume", "--yes", "--workspace", h.work}
	}
	h.agent(t, command...)
	if got := codeOf(t, h.work); got != after {
		t.Errorf("the tree is\n%s\nwant\n%s", got, after)
	}
	// A question that is open when the process dies is asked again, because it has no answer yet. One may still follow
	// the marker before the kill.
	if n := len(h.model.Requests()); n < paid || n > paid+len(markers) {
		t.Errorf("%d requests, want %d and at most one for each of %d kills", n, paid, len(markers))
	}
	for query, want := range map[string]string{
		"select string_agg(phase || ' ' || outcome, ', ') from v_iterations":                                       "settled promoted",
		"select count(*) from v_promotions where status = 'committed'":                                             "1",
		"select count(*) from v_history":                                                                           "1",
		"select count(*) from v_memory":                                                                            "1",
		"select count(distinct step) = count(*) from v_model_calls where ended is not null and error_kind is null": "true",
	} {
		if got := h.sql(t, query); got != want {
			t.Errorf("%s gives %s, want %s", query, got, want)
		}
	}
}

// killAt runs a command and kills it when marker appears in its progress.
func (h *household) killAt(t *testing.T, marker string, args ...string) {
	t.Helper()
	cmd := exec.Command(agentProgram, args...)
	cmd.Env = h.env
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	seen := false
	for lines := bufio.NewScanner(io.TeeReader(progress, &told)); !seen && lines.Scan(); {
		seen = strings.Contains(lines.Text(), marker)
	}
	cmd.Process.Kill()
	io.Copy(io.Discard, progress)
	if cmd.Wait(); !seen {
		t.Fatalf("no line holds %q\n%s", marker, &told)
	}
}

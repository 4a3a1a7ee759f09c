package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// A signal while a model writes ends the run cleanly, and the request is
// recorded as given up.
func TestASignalEndsAQuestionToAModel(t *testing.T) {
	t.Parallel()
	db, url := storetest.Warm(t)
	dir := filepath.Join(t.TempDir(), "shop")
	if err := os.CopyFS(dir, os.DirFS("testdata/example")); err != nil {
		t.Fatal(err)
	}
	model := llmtest.Ollama(llmtest.Step{Chunks: []string{"<THOUGHT>"}, Hang: true})
	defer model.Close()
	var stdout strings.Builder
	cmd := exec.Command(agentProgram, "sandbox", "run", "--workspace", dir, "--goal", "x", "--file", "main.py", "--model", "ollama/slow", "--yes", "--json")
	cmd.Env, cmd.Stdout = append(os.Environ(), "AGENT_DATABASE_URL="+url, "OLLAMA_HOST="+model.URL()), &stdout
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitText(t, progress, "tokens in, ~3 out")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	awaitText(t, progress, "cancelled")
	err = cmd.Wait()
	var doc run.Document
	if code := cmd.ProcessState.ExitCode(); code != run.ExitCancelled || json.Unmarshal([]byte(stdout.String()), &doc) != nil || doc.State != run.Cancelled {
		t.Errorf("exit code %d, %v\n%s", code, err, stdout.String())
	}
	got := commandIn(t, map[string]string{"AGENT_DATABASE_URL": url, "AGENT_GUEST": os.Getenv("AGENT_GUEST")}, "sql", "--csv", "select error_kind, ended is not null from v_model_calls")
	if !strings.Contains(got.stdout, "cancelled,t") {
		t.Errorf("the request is recorded as\n%s%s", got.stdout, got.stderr)
	}
	if d, err := db.Run(t.Context(), doc.Run); err != nil || d.State != run.Cancelled {
		t.Errorf("the record says %q, %v", d.State, err)
	}
}

// The whole way at a terminal: the question is sent, its answer proved,
// another one asked for, and that one's code edited and applied.
func TestAGoalAtATerminal(t *testing.T) {
	t.Parallel()
	_, url := storetest.Warm(t)
	p := aPerson(t, nil)
	dir := filepath.Join(t.TempDir(), "shop")
	if err := os.CopyFS(dir, os.DirFS("testdata/example")); err != nil {
		t.Fatal(err)
	}
	edit := func(to string) llmtest.Step {
		return llmtest.Step{Text: "<EDIT file=\"shop/stock.py\">\n<SEARCH>\n\"\"\"What is on the shelf.\"\"\"\n</SEARCH>\n<REPLACE>\n\"\"\"" + to + ".\"\"\"\n</REPLACE>\n</EDIT>\n"}
	}
	model := llmtest.Ollama(edit("The first"), edit("The second"))
	defer model.Close()
	cmd := exec.Command(agentProgram, "sandbox", "run", "--workspace", dir, "--goal", "say it", "--file", "shop/stock.py", "--model", "ollama/m", "--ask-model")
	cmd.Env = append(os.Environ(), "AGENT_DATABASE_URL="+url, "OLLAMA_HOST="+model.URL(), "TERM=xterm", "EDITOR="+termtest.Editor(t, "The second", "The third"), "VISUAL=")
	tty := p.TTY
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		shows string
		n     int
		types string
	}{
		{"[e]dit prompt", 1, "\r"},
		{"[r]egenerate", 1, "r"},
		{"[e]dit prompt", 2, "\r"},
		{"[r]egenerate", 2, "c"},
		{"[r]egenerate", 3, "\r"},
	} {
		p.Sees(t, step.shows, step.n)
		p.Sees(t, "in 220 s > ", 1)
		p.Types(t, step.types)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, p.Screen())
	}
	text, err := os.ReadFile(filepath.Join(dir, "shop", "stock.py"))
	if err != nil || !strings.HasPrefix(string(text), "\"\"\"The third.\"\"\"\n") {
		t.Errorf("%v:\n%s", err, text)
	}
}

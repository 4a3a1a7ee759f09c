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

// A signal while a model writes ends the run cleanly, and the request is recorded as given up.
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

// A goal at a terminal from start to end: the question is sent, its answer proved, another one requested, and the code
// of that one edited and applied.
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

// A patch from a pipe leaves the terminal to the question: all bytes of the pipe belong to the patch, and the answer is
// typed. A Ctrl-C there leaves the terminal as it was.
func TestAPatchFromAPipeIsAskedAboutAtTheTerminal(t *testing.T) {
	t.Parallel()
	patch := block("main.py", "print(a, b)", "print(b, a)")
	for typed, want := range map[string]int{"a": run.ExitDone, "q": run.ExitApproval, "\x03": run.ExitCancelled} {
		p, x := aPerson(t, nil), newTrial(t, ailment{})
		before := snapshotOf(t, x.dir)
		cmd := exec.Command(agentProgram, "sandbox", "run", "--workspace", x.dir, "--patch", "-")
		cmd.Env = append(x.env, "TERM=xterm")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(patch), p.TTY, p.TTY
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
		modes := func() string {
			t.Helper()
			stty := exec.Command("stty", "-a")
			stty.Stdin = p.TTY
			out, err := stty.Output()
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}
		was := modes()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p.Sees(t, question, 1)
		p.Sees(t, "stops in ", 1)
		if modes() == was {
			t.Error("the question reads no keys")
		}
		p.Types(t, typed)
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != want {
			t.Errorf("%q: %v\n%s", typed, err, p.Screen())
		}
		if is := modes(); is != was {
			t.Errorf("%q: the modes of the terminal were\n%s\nand are\n%s", typed, was, is)
		}
		if changed := snapshotOf(t, x.dir) != before; changed != (want == run.ExitDone) {
			t.Errorf("%q: the workspace changed: %v", typed, changed)
		}
		if typed == "q" {
			p.Sees(t, "awaiting approval\x1b[m  run ", 1)
			p.Sees(t, "agent runs apply ", 1)
		}
	}
}

// Without --ask-model there is no question before a request. With checkpoint = "model" there is one, which says what is
// asked of whom.
func TestARequestIsAskedAboutWhereThatIsWanted(t *testing.T) {
	t.Parallel()
	for want, env := range map[string]string{"": "AGENT_CHECKPOINT=apply", "Ask ": "AGENT_CHECKPOINT=model"} {
		p, x := aPerson(t, nil), newTrial(t, ailment{steps: []llmtest.Step{turned()}})
		cmd := exec.Command(agentProgram, "sandbox", "run", "--workspace", x.dir, "--goal", "turn them", "--file", "main.py")
		cmd.Env = append(x.env, "TERM=xterm", env)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = p.TTY, p.TTY, p.TTY
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if want != "" {
			p.Sees(t, "for a change to main.py (", 1)
			p.Sees(t, " tokens)?\x1b[m\r\n[a]sk (Enter)", 1)
			p.Types(t, "a")
		}
		p.Sees(t, question, 1)
		p.Sees(t, "stops in ", 1)
		p.Types(t, "s")
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != run.ExitApproval {
			t.Errorf("%v\n%s", err, p.Screen())
		}
		if got := strings.Contains(p.Screen(), " tokens)?"); got != (want != "") {
			t.Errorf("%s: a question before the request: %v", env, got)
		}
	}
}

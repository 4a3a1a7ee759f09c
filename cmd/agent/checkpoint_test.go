package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent/cmd/agent/internal/config"
	"agent/orchestrator/agent"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
	"agent/sandbox/workspace"
	"agent/verify/policy"
)

// anEditor is a program that puts one text in the place of another in every
// file that it is given.
func anEditor(t *testing.T, from, to string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(path, []byte(fmt.Sprintf("#!/bin/sh\nexec sed -i 's/%s/%s/' \"$@\"\n", from, to)), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// aModelsProposal is what a model made: two files are changed, one is deleted.
func aModelsProposal() run.Proposal {
	p := aProposal()
	p.Again, p.Response = true, []byte("<EDIT file=\"a.py\">old</EDIT>\n")
	p.Candidate.Changeset = workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Modify, Path: "a.py", Before: []byte("x = 0\n"), After: []byte("x = 1\n"), Mode: 0o644},
		{Op: workspace.Create, Path: "lib/b.py", After: []byte("y = 1\n"), Mode: 0o644},
		{Op: workspace.Delete, Path: "c.py", Before: []byte("z = 1\n"), Mode: 0o644},
	}}
	return p
}

func TestEachKeyOfTheCheckpoint(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]run.Answer{
		"\n":           {Decision: run.Apply, By: run.ByTerminal},
		"REGENERATE\n": {Decision: run.Regenerate, By: run.ByTerminal},
		"r\n":          {Decision: run.Regenerate, By: run.ByTerminal},
		"SKIP\n":       {Decision: run.Skip, By: run.ByTerminal},
		"EDIT_XML\n":   {Decision: run.Reword, By: run.ByTerminal, Response: []byte("<EDIT file=\"a.py\">new</EDIT>\n")},
		"x\n":          {Decision: run.Reword, By: run.ByTerminal, Response: []byte("<EDIT file=\"a.py\">new</EDIT>\n")},
	} {
		p := aPerson(t, map[string]string{"EDITOR": anEditor(t, "old", "new")})
		got := p.asked(t.Context(), aModelsProposal())
		p.Sees(t, "[r]egenerate", 1)
		p.Types(t, typed)
		if a := <-got; a.Decision != want.Decision || a.By != want.By || string(a.Response) != string(want.Response) || a.err != nil {
			t.Errorf("%q: %+v, want %+v", typed, a, want)
		}
	}
}

// Code is edited as the candidate leaves it, in all its files, and what comes
// back is a diff to it.
func TestCodeIsEditedAsTheCandidateLeavesIt(t *testing.T) {
	t.Parallel()
	p := aPerson(t, map[string]string{"VISUAL": anEditor(t, " = 1", " = 2")})
	got := p.asked(t.Context(), aModelsProposal())
	p.Sees(t, "edit [c]ode", 1)
	p.Types(t, "EDIT_CODE\n")
	a := <-got
	if a.Decision != run.Amend || a.err != nil {
		t.Fatalf("%+v", a)
	}
	for _, line := range []string{"-x = 1", "+x = 2", "-y = 1", "+y = 2", "+++ b/lib/b.py"} {
		if !strings.Contains(string(a.Response), line+"\n") {
			t.Errorf("the diff does not hold %q:\n%s", line, a.Response)
		}
	}
	if strings.Contains(string(a.Response), "z = ") {
		t.Errorf("a deleted file was edited:\n%s", a.Response)
	}
}

func TestAnEditorThatChangesNothingAsksAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ editor, shows string }{
		"nothing": {anEditor(t, "absent", "x"), "nothing was changed"}, "broken": {"/bin/false", "editor /bin/false"},
	} {
		p := aPerson(t, map[string]string{"EDITOR": c.editor})
		got := p.asked(t.Context(), aModelsProposal())
		p.Sees(t, "edit [x]ml", 1)
		p.Types(t, "x\n")
		p.Sees(t, "edit [x]ml", 2)
		p.Types(t, "s\n")
		if a := <-got; a.Decision != run.Skip {
			t.Errorf("%s: %+v", name, a)
		}
		if !strings.Contains(p.Screen(), c.shows) {
			t.Errorf("%s: the person is not told %q:\n%s", name, c.shows, p.Screen())
		}
	}
}

func TestTheCountdownFollowsThePolicy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		holds []policy.Hold
		stop  bool
		want  run.Decision
		by    string
	}{
		"nothing held":   {nil, false, run.Apply, "countdown"},
		"something held": {[]policy.Hold{ciHold}, false, run.Unattended, ".github/workflows/ci.yml"},
		"told to stop":   {nil, true, run.Unattended, "the countdown ended"},
	} {
		p := aPerson(t, map[string]string{"TERM": "xterm"})
		a := &approver{cmdline: p.cmd, wait: config.Patience{Time: 1500 * time.Millisecond, Stop: c.stop}, board: p.cmd.NewBoard(0)}
		got, err := a.Approve(t.Context(), aProposal(c.holds...))
		a.board.Close()
		if got.Decision != c.want || !strings.Contains(got.By, c.by) || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if !strings.Contains(p.Screen(), "s remaining | You: ") {
			t.Errorf("%s: the countdown is not shown:\n%s", name, p.Screen())
		}
	}
}

func TestEachKeyBeforeAQuestionIsSent(t *testing.T) {
	t.Parallel()
	const ask = "[e]dit prompt"
	for _, c := range []struct {
		typed []string
		text  string
		err   error
	}{
		{[]string{"\n"}, "change old\n", nil},
		{[]string{"SKIP\n"}, "change old\n", agent.ErrSkipped},
		{[]string{"\x04"}, "change old\n", agent.ErrSkipped},
		{[]string{"EDIT_PROMPT\n", "\n"}, "change new\n", nil},
		{[]string{"what?\n", "send\n"}, "change old\n", nil},
		{[]string{"v\n", "\n"}, "change old\n", nil},
	} {
		p := aPerson(t, map[string]string{"EDITOR": anEditor(t, "old", "new"), "PAGER": "/bin/cat"})
		q, err := p.sends(t, func() {
			for i, text := range c.typed {
				p.Sees(t, ask, i+1)
				p.Types(t, text)
			}
		})
		if q.Text != c.text || !errors.Is(err, c.err) {
			t.Errorf("%q: %q, %v", c.typed, q.Text, err)
		}
	}
	p := aPerson(t, nil)
	q, err := p.sends(t, func() {
		p.Sees(t, ask, 1)
		p.Types(t, "AUGMENT_PROMPT\n")
		p.Sees(t, "Add to the prompt", 1)
		p.Types(t, "and be brief\n")
		p.Sees(t, ask, 2)
		p.Types(t, "\n")
	})
	if want := "change old\n\n### User Augmentation\nand be brief\n"; q.Text != want || err != nil {
		t.Errorf("%q, %v; want %q", q.Text, err, want)
	}
}

// sends has the person see a question before it is sent, while act goes on.
func (p *person) sends(t *testing.T, act func()) (q agent.Question, err error) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := &sender{cmdline: p.cmd, board: p.cmd.NewBoard(0)}
		q, err = s.before(t.Context(), agent.Question{Step: "propose/1", Purpose: agent.Patch, Text: "change old\n"})
		s.board.Close()
	}()
	act()
	<-done
	return q, err
}

// With nobody at a terminal a question is never asked, and what was typed
// before it was seen is no answer to it.
func TestTypedAheadIsForgotten(t *testing.T) {
	t.Parallel()
	p := aPerson(t, nil)
	p.Types(t, "\n")
	p.Sees(t, "\r\n", 1) // the terminal echoes it: it waits to be read
	got := p.asked(t.Context(), aModelsProposal())
	p.Sees(t, "[r]egenerate", 1)
	p.Types(t, "s\n")
	if a := <-got; a.Decision != run.Skip {
		t.Errorf("the Enter from before was taken for an answer: %+v", a)
	}
}

// A signal while a model writes ends the run cleanly, and the request is
// recorded as given up.
func TestASignalEndsAQuestionToAModel(t *testing.T) {
	t.Parallel()
	db, url := storetest.New(t)
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
	_, url := storetest.New(t)
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
	cmd := exec.Command(agentProgram, "sandbox", "run", "--workspace", dir, "--goal", "say it", "--file", "shop/stock.py", "--model", "ollama/m")
	cmd.Env = append(os.Environ(), "AGENT_DATABASE_URL="+url, "OLLAMA_HOST="+model.URL(), "TERM=xterm", "EDITOR="+anEditor(t, "The second", "The third"), "VISUAL=")
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
		{"[e]dit prompt", 1, "\n"},
		{"[r]egenerate", 1, "REGENERATE\n"},
		{"[e]dit prompt", 2, "\n"},
		{"[r]egenerate", 2, "EDIT_CODE\n"},
		{"[r]egenerate", 3, "\n"},
	} {
		p.Sees(t, step.shows, step.n)
		p.Sees(t, "s remaining | You: ", 1)
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

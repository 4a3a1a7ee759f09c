package main

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/llm/llmtest"
)

// sits starts a run of a trial at a person's terminal and returns a function that waits for its end and returns its
// exit code.
func (x *trial) sits(t *testing.T, p *person, env ...string) (wait func() int) {
	t.Helper()
	cmd := exec.Command(agentProgram, "sandbox", "run", "--workspace", x.dir, "--goal", "turn them", "--file", "main.py", "--ask-model")
	cmd.Env = append(append(x.env, "TERM=xterm"), env...)
	tty := p.TTY
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() int {
		if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode()
	}
}

// turned returns an answer that passes every gate.
func turned() llmtest.Step {
	return llmtest.Step{Text: "<EDIT file=\"main.py\">\n<SEARCH>\nprint(a, b)\n</SEARCH>\n<REPLACE>\nprint(b, a)\n</REPLACE>\n</EDIT>\n"}
}

// answers lists the answers at checkpoints, and who gave them.
func (x *trial) answers(t *testing.T) string {
	t.Helper()
	return x.text(t, `select coalesce(string_agg(concat_ws(' ', actor, subject), ', ' order by event), '') from v_events where kind = 'approval'`)
}

// Each key has its documented effect in a run: added text reaches the model, the pager gets the diff, and edits of the
// edits are parsed and judged again.
func TestTheKeysOfBothCheckpointsInARun(t *testing.T) {
	t.Parallel()
	p, x := aPerson(t, nil), newTrial(t, ailment{steps: []llmtest.Step{turned()}})
	wait := x.sits(t, p, "EDITOR="+termtest.Editor(t, "print(b, a)", "print(b, b)"), "VISUAL=", "PAGER=/bin/cat")
	for _, step := range []struct {
		shows string
		n     int
		types string
	}{
		{"a[u]gment", 1, "u"},
		{"Add to the prompt: ", 1, "and be quick about it\n"},
		{"a[u]gment", 2, "v"},
		{"### User Augmentation", 1, ""},
		{"a[u]gment", 3, "\r"},
		{"[f]ull diff", 1, "f"},
		{"print(b, a)", 2, ""}, // in the question, and in the pager
		{"[f]ull diff", 2, "x"},
		{"print(b, b)", 1, ""},
		{"[f]ull diff", 3, "a"},
	} {
		p.Sees(t, step.shows, step.n)
		p.Types(t, step.types)
	}
	if exit := wait(); exit != 0 || !strings.HasSuffix(readFile(t, x.dir+"/main.py"), "print(b, b)\n") {
		t.Errorf("exit code %d\n%s\n%s", exit, readFile(t, x.dir+"/main.py"), p.Screen())
	}
	asked := x.model.Requests()
	if len(asked) == 0 || x.kinds(t) != "answer" || !strings.HasSuffix(asked[0].Messages[0].Text, "### User Augmentation\nand be quick about it\n") {
		t.Errorf("asked %+v", asked)
	}
	if got := x.text(t, `select string_agg(verdict, ' ' order by candidate) from v_gates where gate = 'lint'`); got != "pass pass" {
		t.Errorf("what was edited was judged as %q", got)
	}
	if got := x.answers(t); got != "terminal send, terminal reword, terminal apply" {
		t.Errorf("the log has the answers %q", got)
	}
}

// A question that is skipped is not sent, and the run ends.
func TestASkippedQuestionIsNotSent(t *testing.T) {
	t.Parallel()
	p, x := aPerson(t, nil), newTrial(t, ailment{steps: []llmtest.Step{turned()}})
	wait := x.sits(t, p)
	p.Sees(t, "[s]kip", 1)
	p.Types(t, "s")
	if exit := wait(); exit != 4 || len(x.model.Requests()) != 0 || !strings.Contains(p.Screen(), "skipped at the terminal") || x.answers(t) != "terminal skip" {
		t.Errorf("exit code %d, %d requests, answers %q\n%s", exit, len(x.model.Requests()), x.answers(t), p.Screen())
	}
}

// With no one at the keys nothing is sent or applied, unless the user configured the countdown to do both.
func TestTheCountdownOfARun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expiry  string
		exit    int
		kinds   string // of the requests
		ends    string
		answers string
	}{
		{"apply", 0, "answer", "print(b, a)\n", "countdown send, countdown apply"},
		{"stop", 4, "", "print(a, b)\n", "nobody skip"},
	} {
		p, x := aPerson(t, nil), newTrial(t, ailment{steps: []llmtest.Step{turned()}})
		exit := x.sits(t, p, "AGENT_COUNTDOWN=2s", "AGENT_EXPIRY="+c.expiry)()
		if text := readFile(t, x.dir+"/main.py"); exit != c.exit || x.kinds(t) != c.kinds || !strings.HasSuffix(text, c.ends) {
			t.Errorf("%s: exit code %d, requests %q\n%s\n%s", c.expiry, exit, x.kinds(t), text, p.Screen())
		}
		approved := x.text(t, `select coalesce(string_agg(approved_by, ' '), 'nobody') from v_promotions`)
		if want := map[bool]string{true: "countdown", false: "nobody"}[c.exit == 0]; approved != want {
			t.Errorf("%s: approved by %q, want %q", c.expiry, approved, want)
		}
		if got := x.answers(t); got != c.answers {
			t.Errorf("%s: the log has the answers %q, want %q", c.expiry, got, c.answers)
		}
	}
}

//go:build self

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/run"
	"agent/orchestrator/selfbuild"
)

// replace returns a patch that replaces one line of the stand-in's program.
func replace(old, with string) string {
	return "<EDIT file=\"cmd/agent/program.go\"><SEARCH>\n" + old + "\n</SEARCH><REPLACE>\n" + with + "\n</REPLACE></EDIT>\n"
}

// patch writes a patch next to the workspace and rebuilds with it.
func (s *standIn) patch(text string, flags ...string) execution {
	s.t.Helper()
	name := s.t.TempDir() + "/change"
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return s.self(append([]string{"rebuild", "--workspace", s.dir, "--patch", name, "--yes"}, flags...)...)
}

// monitor answers the stand-ins that ask about their health: the first well of them are healthy.
func monitor(t *testing.T, well int) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			answer := "well"
			if n >= well {
				answer = "ill"
			}
			fmt.Fprint(conn, answer)
			conn.Close()
		}
	}()
	return l.Addr().String()
}

// good is the start of a comment, whose change is harmless.
const good = "// run is the program."

func TestSelfRebuild(t *testing.T) {
	s := newStandIn(t)
	if got := s.self("rebuild", "--workspace", s.dir, "--yes", "--trial", "0s"); got.exit != 0 {
		t.Fatalf("the first image: %d: %s", got.exit, got.stderr)
	}
	first := s.state().Current
	if got := s.patch(replace(good, good+" It has no state.")); got.exit != run.ExitApproval {
		t.Errorf("a harmless change without a person: %d: %s", got.exit, got.stderr)
	}
	s.env["AGENT_SELF_UNATTENDED"], s.env["AGENT_MODE"] = "true", "question"
	for _, c := range []struct {
		name, patch string
		exit        int
		phase       selfbuild.Phase
		cause       string
	}{
		{"a test breaks", replace("	return 1, \"fail\"", "	return 2, \"fail\"") + replace("// verdict is the judgement of a patch.\nfunc verdict(patch string) (int, string) {",
			"// verdict is the judgement of a patch.\nfunc verdict(patch string) (int, string) {\n	patch = strings.ToUpper(patch)"), run.ExitFail, selfbuild.Gate, "tests"},
		{"it does not compile", replace("	return 1, \"fail\"", "	return 1, 2"), run.ExitFail, selfbuild.Gate, "types"},
		{"it does not start", replace("	command := strings.Join(args, \" \")", "	if len(args) > 0 {\n		return 9\n	}\n	command := strings.Join(args, \" \")"), run.ExitFail, selfbuild.Canary, "`agent images build` of the image"},
		{"its verdicts are softer", replace("	return 1, \"fail\"", "	if strings.Contains(patch, \"import os\") {\n		return 0, \"pass\"\n	}\n	return 1, \"fail\""), run.ExitFail, selfbuild.Canary, `"lint"`},
		{"it falls ill on trial", replace("const monitor = \"\"", "const monitor = \""+monitor(t, 3)+"\""), run.ExitFail, selfbuild.Trial, "doctor"},
		{"it runs before main", replace(good, "func init() {\n	monitors = append(monitors, \"\")\n}\n\nvar monitors []string\n\n"+good), run.ExitApproval, selfbuild.Gate, "init function"},
		{"it changes the gate", "<CREATE_FILE file=\"verify/gates.go\">\n// Package verify judges nothing.\npackage verify\n</CREATE_FILE>\n", run.ExitApproval, selfbuild.Gate, "needs a person"},
	} {
		// The stand-in's tests do not execute some of the changes, which is not under test here.
		got := s.patch(c.patch, "--trial", "60s", "--allow", "protected", "--allow", "unproven")
		state := s.state()
		if diff := cmp.Diff(first, state.Current); got.exit != c.exit || diff != "" {
			t.Errorf("%s: it ends with %d, want %d: %s\n%s", c.name, got.exit, c.exit, got.stderr, diff)
		}
		if past := state.Past[0]; past.Phase != c.phase || !strings.Contains(past.Cause, c.cause) {
			t.Errorf("%s: recorded is %+v", c.name, past)
		}
		if c.phase == selfbuild.Trial { // the change was written: it is undone like any other
			if got := commandIn(t, s.env, "undo", "--yes", "--workspace", s.dir); got.exit != 0 {
				t.Fatalf("undo ends with %d: %s", got.exit, got.stderr)
			}
		}
	}
	if got := s.patch(replace(good, good+" It has no state."), "--trial", "5s"); got.exit != 0 {
		t.Fatalf("a harmless change: %d: %s", got.exit, got.stderr)
	}
	state := s.state()
	if diff := cmp.Diff(first, state.Previous); diff != "" || state.Current.Source == first.Source {
		t.Errorf("after a harmless change the current version is %+v, the previous one (-want +got):\n%s", state.Current, diff)
	}
	if got := s.self("rollback"); got.exit != 0 || s.state().Current.Source != first.Source {
		t.Errorf("rolled back: %d: %s", got.exit, got.stderr)
	}
}

// TestSelfRebuildForAGoal lets a model find the change. The first answer does not compile, the second fixes that, and
// its image becomes the current one.
func TestSelfRebuildForAGoal(t *testing.T) {
	s := newStandIn(t)
	model := llmtest.Gemini(
		llmtest.Step{Text: replace("	return 1, \"fail\"", "	return 1, 2")},
		llmtest.Step{Text: replace("	return 1, 2", "	return 1, \"fail\" // as ever")},
		llmtest.Step{Text: "- the verdict of a failure is 1"},
	)
	t.Cleanup(model.Close)
	s.env["AGENT_SELF_UNATTENDED"], s.env["AGENT_MODE"] = "true", "question"
	s.env["GEMINI_API_KEY"], s.env["GEMINI_BASE_URL"] = "a-secret-of-the-test-0123456789", model.URL()
	got := s.self("rebuild", "--workspace", s.dir, "--goal", "say what a failure is", "--file", "cmd/agent/program.go", "--yes", "--allow", "unproven", "--trial", "1s")
	state := s.state()
	if got.exit != 0 || state.Current == nil || state.Past[0].Phase != selfbuild.Settled || !strings.Contains(got.stderr, "repair: types") {
		t.Fatalf("it ends with %d, %+v: %s", got.exit, state, got.stderr)
	}
	if text, err := os.ReadFile(s.dir + "/cmd/agent/program.go"); err != nil || !strings.Contains(string(text), "\"fail\" // as ever\n") {
		t.Errorf("the program is %q, %v", text, err)
	}
}

// TestALoopRebuildsTheAgent has a loop of two iterations change the source. The image of each written change is the
// current one when the next iteration begins. A change whose image falls ill ends the loop.
func TestALoopRebuildsTheAgent(t *testing.T) {
	s := newStandIn(t)
	model := llmtest.Gemini(
		llmtest.Step{Text: replace("	return 1, \"fail\"", "	word := \"fail\"\n	return 1, word")}, llmtest.Step{Text: "- the verdict of a failure is 1"},
		llmtest.Step{Text: replace("const monitor = \"\"", "const monitor = \""+monitor(t, 3)+"\"")},
	)
	t.Cleanup(model.Close)
	s.env["AGENT_MODE"], s.env["GEMINI_API_KEY"], s.env["GEMINI_BASE_URL"] = "question", "a-secret-of-the-test-0123456789", model.URL()
	loop := func(more ...string) execution {
		return commandIn(t, s.env, append([]string{"sandbox", "loop", "--self", "--workspace", s.dir, "--yes", "--allow", "unproven", "--rest", "0s"}, more...)...)
	}
	if got := commandIn(t, s.env, "sandbox", "loop", "--self", "--workspace", t.TempDir(), "--yes"); got.exit != run.ExitUsage || !strings.Contains(got.stderr, "is not the agent's repository") {
		t.Errorf("in another directory it ends with %d: %s", got.exit, got.stderr)
	}
	s.env["AGENT_SELF_UNATTENDED"] = "true"
	goal := []string{"--goal", "say what the program is", "--file", "cmd/agent/program.go", "--iterations", "3"}
	got := loop(append(goal, "--trial", "60s")...)
	state := s.state()
	if got.exit == 0 || state.Current == nil || len(state.Past) != 2 || state.Past[1].Phase != selfbuild.Settled || state.Past[0].Phase != selfbuild.Trial || !strings.HasPrefix(state.Past[1].Intent, "iteration ") {
		t.Fatalf("it ends with %d, %+v: %s\n%s", got.exit, state, got.stdout, got.stderr)
	}
	// The image is that of the first change. The second change was written, and is undone like any other.
	if text, err := os.ReadFile(s.dir + "/cmd/agent/program.go"); err != nil || !strings.Contains(string(text), "	return 1, word\n") {
		t.Errorf("the program is %q, %v", text, err)
	}
	if !strings.Contains(got.stdout, "2 iterations, 2 promoted") {
		t.Errorf("it says %s", got.stdout)
	}
}

// TestSelfKill kills the process as soon as it reports the beginning of a step.
func TestSelfKill(t *testing.T) {
	s := newStandIn(t)
	if got := s.self("rebuild", "--workspace", s.dir, "--yes", "--trial", "0s"); got.exit != 0 {
		t.Fatalf("the first image: %d: %s", got.exit, got.stderr)
	}
	first := s.state().Current
	s.env["AGENT_SELF_UNATTENDED"], s.env["AGENT_MODE"] = "true", "question"
	for n, word := range []string{"verifying", "self: build", "self: canary", "self: swap", "self: trial"} {
		name := t.TempDir() + "/change"
		if err := os.WriteFile(name, []byte(replace(good, fmt.Sprintf("%s (%d)", good, n))), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), agentProgram, "self", "rebuild", "--workspace", s.dir, "--patch", name, "--yes", "--trial", "60s")
		cmd.Env = os.Environ()
		for k, v := range s.env {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
		stderr, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		for buf := make([]byte, 4096); !strings.Contains(said.String(), word); {
			k, err := stderr.Read(buf)
			said.Write(buf[:k])
			if err != nil {
				t.Fatalf("it ends before %q: %v: %s", word, err, &said)
			}
		}
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		state := s.state()
		if diff := cmp.Diff(first, state.Current); diff != "" || state.Attempt != nil || !strings.Contains(state.Past[0].Cause, "killed") {
			t.Errorf("killed at %q: %+v\n%s", word, state.Past[0], diff)
		}
		if word == "self: swap" || word == "self: trial" {
			if got := commandIn(t, s.env, "undo", "--yes", "--workspace", s.dir); got.exit != 0 {
				t.Fatalf("undo ends with %d: %s", got.exit, got.stderr)
			}
		}
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/sandbox/enginetest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"agent/cmd/agent/internal/cmdline"
	"agent/orchestrator/run"
	"agent/orchestrator/selfbuild"
	"agent/orchestrator/store/storetest"
	"agent/sandbox"
)

// A standIn is a small repository in place of the agent's own, with its own journal and tags.
type standIn struct {
	t      *testing.T
	dir    string
	env    map[string]string
	engine *sandbox.Engine
}

// newStandIn unpacks testdata/self.txtar. The end of the test removes its images.
func newStandIn(t *testing.T) *standIn {
	t.Helper()
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, url := storetest.Warm(t)
	tags := fmt.Sprintf("agent-standin-%d-%d", os.Getpid(), time.Now().UnixNano())
	s := &standIn{t, cmdline.Resolved(t.TempDir()), map[string]string{
		"AGENT_DATABASE_URL": url, "XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir(), "AGENT_GUEST": os.Getenv("AGENT_GUEST"), "AGENT_SELF_TAGS": tags,
	}, engine}
	archive, err := txtar.ParseFile("testdata/self.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		s.write(f.Name, string(f.Data))
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		list, err := selfbuild.Versions(filepath.Join(s.env["XDG_STATE_HOME"], "agent", "self"))
		for _, v := range list {
			err = errors.Join(err, engine.RemoveImage(ctx, v.Image))
		}
		if err := errors.Join(err, engine.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// write puts a file into the workspace.
func (s *standIn) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// self runs a command of the group self.
func (s *standIn) self(args ...string) execution {
	s.t.Helper()
	return commandIn(s.t, s.env, append([]string{"self"}, args...)...)
}

// state reads `agent self status`, and checks whether the tag current names that image and the image works.
func (s *standIn) state() selfbuild.State {
	s.t.Helper()
	got := s.self("status", "--json")
	var state selfbuild.State
	if err := json.Unmarshal([]byte(got.stdout), &state); err != nil || got.exit != 0 {
		s.t.Fatalf("status ends with %d (%v): %s", got.exit, err, got.stderr)
	}
	if state.Current == nil {
		return state
	}
	current := s.env["AGENT_SELF_TAGS"] + ":current"
	id, _, err := s.engine.ImageLabels(s.t.Context(), current)
	if err != nil || id != state.Current.Image {
		s.t.Errorf("the tag current names %q (%v), the journal %q", id, err, state.Current.Image)
	}
	end, err := s.engine.Errand(s.t.Context(), sandbox.Errand{Image: current, Args: []string{"version"}})
	if err != nil || !strings.Contains(string(end.Stdout), state.Current.Source) {
		s.t.Errorf("the current image says %q (%v), and was built from %s", end.Stdout, err, state.Current.Source)
	}
	return state
}

func TestTheAgentIsBuiltFromItsWorkspaceAndRefusesAChangedGateWithoutAPerson(t *testing.T) {
	t.Parallel()
	enginetest.Need(t)
	s := newStandIn(t)
	if got := s.self("rebuild", "--workspace", s.dir); got.exit != run.ExitApproval || s.state().Current != nil {
		t.Errorf("without --yes and a terminal it ends with %d: %s", got.exit, got.stderr)
	}
	got := s.self("rebuild", "--workspace", s.dir, "--yes", "--trial", "0s")
	if got.exit != 0 || !strings.Contains(got.stdout, " is current\n") {
		t.Fatalf("the first rebuild ends with %d: %s", got.exit, got.stderr)
	}
	first := s.state()
	if first.Previous != nil || first.Attempt != nil || first.Past[0].Cause != "" || len(first.Current.Verdicts) == 0 {
		t.Errorf("the journal is %+v", first)
	}
	// By default even a change of unprotected code waits for a person.
	s.write("cmd/agent/more.go", "package main\n\nfunc more() {}\n")
	got = s.self("rebuild", "--workspace", s.dir, "--yes", "--allow", "protected")
	if got.exit != run.ExitApproval || !strings.Contains(got.stderr, "cmd/agent/more.go") {
		t.Errorf("a change of the program: it ends with %d: %s", got.exit, got.stderr)
	}
	// No setting permits code that runs before main.
	s.env["AGENT_SELF_UNATTENDED"] = "true"
	s.write("cmd/agent/more.go", "package main\n\nfunc init() { println() }\n")
	got = s.self("rebuild", "--workspace", s.dir, "--yes")
	if got.exit != run.ExitApproval || !strings.Contains(got.stderr, "cmd/agent/more.go") {
		t.Errorf("an init function: it ends with %d: %s", got.exit, got.stderr)
	}
	if err := os.Remove(filepath.Join(s.dir, "cmd/agent/more.go")); err != nil {
		t.Fatal(err)
	}
	// Its gate has changed: no flag approves that.
	s.write("verify/gates.go", "// Package verify judges nothing.\npackage verify\n")
	s.env["AGENT_YES"] = "true"
	got = s.self("rebuild", "--workspace", s.dir, "--yes", "--allow", "protected")
	if got.exit != run.ExitApproval || !strings.Contains(got.stderr, "verify/gates.go") {
		t.Errorf("a changed gate: it ends with %d: %s", got.exit, got.stderr)
	}
	state := s.state()
	if diff := cmp.Diff(first.Current, state.Current); diff != "" || !strings.Contains(state.Past[0].Cause, "verify/gates.go") {
		t.Errorf("recorded is %+v; the current version (-was +is):\n%s", state.Past[0], diff)
	}
	if got := s.self("rollback"); got.exit != run.ExitUsage {
		t.Errorf("rolled back to nothing: %d: %s", got.exit, got.stdout)
	}
	if got := s.self("list"); got.exit != 0 || !strings.Contains(got.stdout, first.Current.Name()) {
		t.Errorf("the list is %s", got.stdout)
	}
	if got := s.self("status"); !strings.Contains(got.stdout, "ended in gate") || !strings.Contains(got.stdout, "previous  none") {
		t.Errorf("the status is %s", got.stdout)
	}
}

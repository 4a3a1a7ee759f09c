package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/selfbuild"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
	"agent/sandbox"
	"agent/sandbox/workspace"
)

// A standIn is a small repository in the place of the agent's own, with a journal and tags of its own.
type standIn struct {
	t      *testing.T
	dir    string
	env    map[string]string
	engine *sandbox.Engine
}

// newStandIn unpacks testdata/self.txtar. The test's end removes its images.
func newStandIn(t *testing.T) *standIn {
	t.Helper()
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, url := storetest.New(t)
	tags := fmt.Sprintf("agent-standin-%d-%d", os.Getpid(), time.Now().UnixNano())
	s := &standIn{t, resolved(t.TempDir()), map[string]string{
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

// state reads what `agent self status` says, and looks whether the tag current names that image, and whether it works.
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
	// Its gate is another now: no flag approves that.
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

func TestAChangedGateIsHeldWhateverTheConfigurationSays(t *testing.T) {
	t.Parallel()
	cmd := newCmdline(func(string) string { return "" }, strings.NewReader(""), io.Discard, io.Discard)
	for _, change := range []workspace.Change{
		{Op: workspace.Modify, Path: "verify/gates.go"},
		{Op: workspace.Delete, Path: "orchestrator/selfbuild/battery.go"},
		{Op: workspace.Rename, Path: "docs/old.go", From: "sandbox/box.go"},
	} {
		inner := &approver{cmdline: cmd, yes: true, allow: []string{"self", "protected"}, wait: config.Patience{Time: time.Millisecond}, board: cmd.NewBoard(0)}
		a := &selfApprover{approver: inner, rebuild: &rebuild{cmdline: cmd, journal: &selfbuild.Journal{}}}
		answer, err := a.Approve(t.Context(), run.Proposal{Base: &workspace.Manifest{}, Candidate: gate.Candidate{Changeset: workspace.Changeset{Changes: []workspace.Change{change}}}})
		if err != nil || answer.Decision != run.Unattended || !strings.Contains(answer.By, "needs a person") {
			t.Errorf("%s of %s: %+v, %v", change.Op, change.Path, answer, err)
		}
		inner.board.Close()
	}
}

// TestAPersonIsAskedForAChangedGate answers at a terminal, where Enter and the end of the countdown approve nothing.
func TestAPersonIsAskedForAChangedGate(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"s\n", ""} {
		master, tty := termtest.OpenPTY(t)
		cmd := newCmdline(func(string) string { return "" }, tty, tty, tty)
		inner := &approver{cmdline: cmd, yes: true, allow: []string{"self"}, wait: config.Patience{Time: 300 * time.Millisecond}, board: cmd.NewBoard(0)}
		if typed != "" {
			inner.wait.Time = 0
		}
		go func() {
			if typed != "" {
				awaitText(t, master, "[s]kip") // what is typed ahead is forgotten
				master.WriteString(typed)
			}
			io.Copy(io.Discard, master)
		}()
		a := &selfApprover{approver: inner, rebuild: &rebuild{cmdline: cmd, journal: &selfbuild.Journal{}}}
		answer, err := a.Approve(t.Context(), run.Proposal{Base: &workspace.Manifest{}, Candidate: gate.Candidate{Changeset: workspace.Changeset{
			Changes: []workspace.Change{{Op: workspace.Modify, Path: "verify/gates.go", Before: []byte("a\n"), After: []byte("b\n")}},
		}}})
		if err != nil || answer.Decision == run.Apply {
			t.Errorf("typed %q: %+v, %v", typed, answer, err)
		}
		inner.board.Close()
	}
}

func TestARebuildSaysWhoseFaultItIs(t *testing.T) {
	t.Parallel()
	open := func(past string) *selfbuild.Journal {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte(`{"past": [`+past+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := selfbuild.Open(t.Context(), dir, "none", untagged{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { j.Close() })
		return j
	}
	for _, c := range []struct {
		past string
		err  error
		exit int
		undo bool
	}{
		{`{"phase": "canary", "cause": "softer"}`, errors.New("softer"), run.ExitFail, false},
		{`{"phase": "trial", "cause": "ill"}`, errors.New("ill"), run.ExitFail, true},
		{`{"phase": "canary", "cause": "gone"}`, &sandbox.UnavailableError{Host: "unix:///none", Err: errors.New("gone")}, run.ExitInfra, false},
		{`{"phase": "settled"}`, errors.New("an old version stays"), run.ExitInfra, false},
	} {
		j := open(c.past)
		err := refused(j, c.err)
		problem, code := fault.Classify(t.Context(), err)
		if code != c.exit || strings.Contains(problem.Next, "agent undo") != c.undo {
			t.Errorf("%s: exit %d, want %d; next: %s", c.past, code, c.exit, problem.Next)
		}
		// A script finds one document, and the exit code.
		var stdout, stderr strings.Builder
		cmd := newCmdline(func(string) string { return "" }, strings.NewReader(""), &stdout, &stderr)
		told := cmd.tellRebuilt(t.Context(), j.State(), true, err)
		var state selfbuild.State
		if code := cmd.exit(t.Context(), told, true); code != c.exit || json.Unmarshal([]byte(stdout.String()), &state) != nil || !strings.Contains(stderr.String(), "agent: ") {
			t.Errorf("%s: exit %d with %q and %q", c.past, code, &stdout, &stderr)
		}
	}
}

// untagged is an engine on which every image is there.
type untagged struct{}

func (untagged) TagImage(context.Context, string, string) error { return nil }
func (untagged) RemoveImage(context.Context, string) error      { return nil }

func (untagged) ImageLabels(_ context.Context, ref string) (string, map[string]string, error) {
	return ref, nil, nil
}

// TestTheImageIsMadeOfWhatWasJudged needs no engine: the copy of the schema, for which there is no database, is what ends it.
func TestTheImageIsMadeOfWhatWasJudged(t *testing.T) {
	t.Parallel()
	state, dir := t.TempDir(), t.TempDir()
	cmd := newCmdline(func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }, strings.NewReader(""), io.Discard, io.Discard)
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	approve := func() (*rebuild, run.Proposal, run.Answer) {
		t.Helper()
		base, err := workspace.Rescan(t.Context(), dir, nil, workspace.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(dir, "verify/late.go"), "package verify\n") // since the gates judged
		j, err := selfbuild.Open(t.Context(), filepath.Join(state, "agent", "self"), "none", untagged{})
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		r := &rebuild{cmdline: cmd, journal: j, set: config.Settings{"database_url": {Text: "nowhere", Origin: "a test"}}}
		a := &selfApprover{approver: &approver{cmdline: cmd, yes: true, wait: config.Patience{Time: time.Millisecond}, board: cmd.NewBoard(0)}, rebuild: r}
		p := run.Proposal{Workspace: dir, Base: base, Candidate: gate.Candidate{Changeset: workspace.Changeset{
			Changes: []workspace.Change{{Op: workspace.Create, Path: "readme.md", After: []byte("b\n"), Mode: 0o644}},
		}}}
		answer, err := a.Approve(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return r, p, answer
	}
	write(filepath.Join(dir, "main.go"), "package main\n")
	r, p, answer := approve()
	if r.work.Source == nil || r.work.Source.Digest() != p.Base.With(p.Candidate.Changeset).Digest() {
		t.Errorf("the image is made of %+v: %+v", r.work.Source, answer)
	}
	// The current version was made of nothing, so by now a file of the gate has been added by hand.
	write(filepath.Join(state, "agent/self/state.json"), `{"current": {"source": "aaaaaaaaaaaaaaaa", "image": "sha256:a"}}`)
	write(filepath.Join(state, "agent/self/versions/aaaaaaaaaaaa/source.tar"), "")
	if r, _, answer := approve(); answer.Decision != run.Unattended || !strings.Contains(answer.By, "verify/late.go") || r.work.Source != nil {
		t.Errorf("what is protected was changed before: %+v", answer)
	}
}

func TestALoopIsCarriedOnByTheNextContainer(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"sandbox loop --yes --goal x --iterations=3 --until-clean -n 2": "sandbox loop --resume --yes",
		"sandbox loop --resume --yes":                                   "sandbox loop --resume --yes",
		"sandbox loop -goal x -file=a --n 2 -yes -fresh":                "sandbox loop --resume -yes",
		"sandbox loop -resume -yes":                                     "sandbox loop -resume -yes",
		"sandbox run --goal x":                                          "sandbox run --goal x",
		"version":                                                       "version",
	} {
		if got := strings.Join(resumed(strings.Fields(args)), " "); got != want {
			t.Errorf("%s is carried on by %s", args, got)
		}
	}
}

func TestAScratchSchemaIsMigratedAndDropped(t *testing.T) {
	t.Parallel()
	_, url := storetest.New(t)
	name := fmt.Sprintf("agent_scratch_%d", os.Getpid())
	for range 2 { // the second finds what a killed one left
		own, drop, err := store.Scratch(t.Context(), url, name)
		if err != nil {
			t.Fatal(err)
		}
		db, err := store.Open(t.Context(), own)
		if err != nil {
			t.Fatal(err)
		}
		if version, err := db.Version(t.Context()); err != nil || version == 0 || !strings.Contains(own, name) {
			t.Errorf("version %d of %s, %v", version, db.Address(), err)
		}
		db.Close()
		t.Cleanup(func() {
			if err := drop(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	if _, _, err := store.Scratch(t.Context(), "host=nowhere", name); err == nil {
		t.Error("an address that is no URL is taken")
	}
}

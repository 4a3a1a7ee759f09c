package self

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/cmd/agent/internal/checkpoint"
	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/selfbuild"
	"agent/sandbox"
	"agent/sandbox/workspace"
)

func TestAChangedGateIsHeldWhateverTheConfigurationSays(t *testing.T) {
	t.Parallel()
	cmd := cmdline.New(func(string) string { return "" }, strings.NewReader(""), io.Discard, io.Discard)
	for _, change := range []workspace.Change{
		{Op: workspace.Modify, Path: "verify/gates.go"},
		{Op: workspace.Delete, Path: "orchestrator/selfbuild/battery.go"},
		{Op: workspace.Rename, Path: "docs/old.go", From: "sandbox/box.go"},
	} {
		inner := &checkpoint.Approver{Console: &cmd.Console, Yes: true, Allow: []string{"self", "protected"}, Wait: config.Patience{Time: time.Millisecond}, Board: cmd.NewBoard(0)}
		a := &approver{Approver: inner, rebuild: &rebuild{command: command{cmd}, journal: &selfbuild.Journal{}}}
		answer, err := a.Approve(t.Context(), run.Proposal{Base: &workspace.Manifest{}, Candidate: gate.Candidate{Changeset: workspace.Changeset{Changes: []workspace.Change{change}}}})
		if err != nil || answer.Decision != run.Unattended || !strings.Contains(answer.By, "needs a person") {
			t.Errorf("%s of %s: %+v, %v", change.Op, change.Path, answer, err)
		}
		inner.Board.Close()
	}
}

// TestAPersonIsAskedForAChangedGate answers at a terminal, where Enter and the end of the countdown approve nothing.
func TestAPersonIsAskedForAChangedGate(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"s\n", ""} {
		p := cmdlinetest.NewPerson(t, nil)
		inner := &checkpoint.Approver{Console: &p.Line.Console, Yes: true, Allow: []string{"self"}, Wait: config.Patience{Time: 300 * time.Millisecond}, Board: p.Line.NewBoard(0)}
		if typed != "" {
			inner.Wait.Time = 0
		}
		a := &approver{Approver: inner, rebuild: &rebuild{command: command{p.Line}, journal: &selfbuild.Journal{}}}
		var answer run.Answer
		var err error
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			answer, err = a.Approve(t.Context(), run.Proposal{Base: &workspace.Manifest{}, Candidate: gate.Candidate{Changeset: workspace.Changeset{
				Changes: []workspace.Change{{Op: workspace.Modify, Path: "verify/gates.go", Before: []byte("a\n"), After: []byte("b\n")}},
			}}})
		}()
		if typed != "" {
			p.Sees(t, "[s]kip", 1) // what is typed ahead is forgotten
			p.Types(t, typed)
		}
		<-ended
		if err != nil || answer.Decision == run.Apply {
			t.Errorf("typed %q: %+v, %v", typed, answer, err)
		}
		inner.Board.Close()
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
		cmd := cmdline.New(func(string) string { return "" }, strings.NewReader(""), &stdout, &stderr)
		told := (command{cmd}).tellRebuilt(t.Context(), j.State(), true, err)
		var state selfbuild.State
		if code := cmd.Exit(t.Context(), told, true); code != c.exit || json.Unmarshal([]byte(stdout.String()), &state) != nil || !strings.Contains(stderr.String(), "agent: ") {
			t.Errorf("%s: exit %d with %q and %q", c.past, code, &stdout, &stderr)
		}
	}
}

// untagged is an engine on which every image is there.
type untagged struct{}

func (untagged) TagImage(context.Context, string, string) error { return nil }

func (untagged) RemoveImage(context.Context, string) error { return nil }

func (untagged) ImageLabels(_ context.Context, ref string) (string, map[string]string, error) {
	return ref, nil, nil
}

// TestTheImageIsMadeOfWhatWasJudged needs no engine: the copy of the schema, for which there is no database, is what ends it.
func TestTheImageIsMadeOfWhatWasJudged(t *testing.T) {
	t.Parallel()
	state, dir := t.TempDir(), t.TempDir()
	cmd := cmdline.New(func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }, strings.NewReader(""), io.Discard, io.Discard)
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
		r := &rebuild{command: command{cmd}, journal: j, set: config.Settings{"database_url": {Text: "nowhere", Origin: "a test"}}}
		a := &approver{Approver: &checkpoint.Approver{Console: &cmd.Console, Yes: true, Wait: config.Patience{Time: time.Millisecond}, Board: cmd.NewBoard(0)}, rebuild: r}
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

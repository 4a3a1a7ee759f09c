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

	"github.com/urfave/cli/v2"
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

// These are the settings of a user who chose nothing, and of one who chose that no person need be there. There is no
// database, so a rebuild ends where its image would be proved.
var (
	usual      = config.Settings{"database_url": {Text: "nowhere", Origin: "a test"}, "yes": {Text: "true", Origin: "a test"}}
	unattended = config.Settings{"database_url": usual["database_url"], "yes": usual["yes"], "self.unattended": {Text: "true", Origin: "a test"}}
)

// A program is a workspace and the journal of a rebuild without a version.
type program struct {
	base    *workspace.Manifest
	dir     string
	rebuild *rebuild
	inner   *checkpoint.Approver
}

// newProgram returns a program with one unprotected package.
func newProgram(t *testing.T, line *cmdline.Line, set config.Settings) program {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "size.go"), []byte("package edit\n\nfunc Size() int { return 1 }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	base, err := workspace.Rescan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	inner := &checkpoint.Approver{Console: &line.Console, Yes: true, Allow: []string{"self", "protected"}, Wait: config.Patience{Time: 300 * time.Millisecond}, Board: line.NewBoard(0)}
	t.Cleanup(inner.Board.Close)
	return program{base, dir, &rebuild{command: command{line}, journal: &selfbuild.Journal{}, set: set}, inner}
}

// approve asks for approval of a new file.
func (p program) approve(t *testing.T, name, text string) run.Answer {
	t.Helper()
	a := &approver{Approver: p.inner, rebuild: p.rebuild}
	answer, err := a.Approve(t.Context(), run.Proposal{Workspace: p.dir, Base: p.base, Candidate: gate.Candidate{Changeset: workspace.Changeset{
		Changes: []workspace.Change{{Op: workspace.Create, Path: name, After: []byte(text), Mode: 0o644}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// nobody returns a command line without a terminal.
func nobody(t *testing.T) *cmdline.Line {
	state := t.TempDir()
	return cmdline.New(func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }, strings.NewReader(""), io.Discard, io.Discard)
}

// Any linked package can reach the engine's socket, so a person reads each change, unless the user chose otherwise.
func TestEveryChangeOfTheProgramWaitsForAPerson(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"readme.md": "b\n", "orchestrator/edit/more.go": "package edit\n\nfunc More() {}\n"} {
		p := newProgram(t, nobody(t), usual)
		if answer := p.approve(t, name, text); answer.Decision != run.Unattended || !strings.Contains(answer.By, name) || p.rebuild.work.Source != nil {
			t.Errorf("%s: %+v", name, answer)
		}
		// By the user's choice it is built, but there is no database to prove it with.
		p = newProgram(t, nobody(t), unattended)
		if answer := p.approve(t, name, text); p.rebuild.work.Source == nil {
			t.Errorf("%s with self.unattended: %+v", name, answer)
		}
	}
	// A person sees the diff; neither Enter nor the end of the countdown means yes.
	sits := cmdlinetest.NewPerson(t, nil)
	p := newProgram(t, sits.Line, usual)
	answer := p.approve(t, "orchestrator/edit/more.go", "package edit\n\nfunc More() {}\n")
	if sits.Sees(t, "b/orchestrator/edit/more.go", 1); answer.Decision == run.Apply || p.rebuild.work.Source != nil {
		t.Errorf("at the end of the countdown: %+v", answer)
	}
}

// Someone who can commit to the workspace must not be able to decide that no one reads the commits.
func TestOnlyTheUserChoosesThatNobodyNeedBeThere(t *testing.T) {
	t.Parallel()
	const chosen = "[self]\nunattended = true\n"
	home := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(home, "agent"), 0o755), os.WriteFile(filepath.Join(home, "agent", "config.toml"), []byte(chosen), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"XDG_CONFIG_HOME": t.TempDir()}, false},
		{map[string]string{"XDG_CONFIG_HOME": home}, true},
		{map[string]string{"XDG_CONFIG_HOME": t.TempDir(), "AGENT_SELF_UNATTENDED": "true"}, true},
		{map[string]string{"XDG_CONFIG_HOME": home, "AGENT_SELF_UNATTENDED": "false"}, false},
	} {
		if got := cmdlinetest.Settings(t, c.env, t.TempDir()).On("self.unattended"); got != c.want {
			t.Errorf("%v: %v", c.env, got)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "agent.toml"), []byte(chosen), 0o644); err != nil {
		t.Fatal(err)
	}
	app := &cli.App{HideHelp: true, HideVersion: true, Flags: []cli.Flag{cmdline.WorkspaceFlag()}, Action: func(ctx *cli.Context) error {
		_, err := config.Load(ctx, func(string) string { return "" })
		return err
	}}
	if err := app.RunContext(t.Context(), []string{"agent", "--workspace", dir}); err == nil || !strings.Contains(err.Error(), "self") {
		t.Errorf("a workspace that chooses it: %v", err)
	}
}

// TestWhatReachesFurtherIsRefused tries each in an unprotected package, with a user who chose that no person need be there.
func TestWhatReachesFurtherIsRefused(t *testing.T) {
	t.Parallel()
	for text, refused := range map[string]bool{
		"import _ \"unsafe\"\n\n//go:linkname list agent/orchestrator/selfbuild.protected\nvar list []string": true,
		"import \"unsafe\"\n\nvar Width = unsafe.Sizeof(1)":                                                   true,
		"import \"C\"":                                          true,
		"func init() { println() }":                             true,
		"var _ = Size()":                                        true,
		"var list = []int{Size()}":                              true,
		"import \"plugin\"\n\nvar Open = plugin.Open":           false,
		"import \"syscall\"\n\nvar Sync = syscall.Sync":         false,
		"import \"golang.org/x/sys/unix\"\n\nvar S = unix.Sync": false,
	} {
		p := newProgram(t, nobody(t), unattended)
		answer := p.approve(t, "more.go", "package edit\n\n"+text+"\n")
		want := run.Unattended
		if refused {
			want = run.Skip
		}
		if answer.Decision != want || !strings.Contains(answer.By, "more.go") || p.rebuild.work.Source != nil || (p.rebuild.cause != nil) != refused {
			t.Errorf("%s: %+v", text, answer)
		}
		if refused {
			if _, code := fault.Classify(t.Context(), p.rebuild.cause); code != run.ExitApproval {
				t.Errorf("%s: exit %d", text, code)
			}
		}
		// The next candidate may be a better one.
		if answer := p.approve(t, "more.go", "package edit\n\nfunc More() {}\n"); p.rebuild.work.Source == nil {
			t.Errorf("after %s: %+v", text, answer)
		}
	}
	p := newProgram(t, nobody(t), unattended)
	if answer := p.approve(t, "fast_amd64.s", "TEXT ·f(SB), 4, $0\n"); answer.Decision != run.Skip || p.rebuild.work.Source != nil {
		t.Errorf("assembly: %+v", answer)
	}
}

// TestTheWorkspaceAsItIsWaitsForAPerson has a version that was built from one file, and a workspace that has gained another.
func TestTheWorkspaceAsItIsWaitsForAPerson(t *testing.T) {
	t.Parallel()
	const harmless, linked = "package edit\n\nfunc More() {}\n", "package edit\n\nimport _ \"unsafe\"\n\n//go:linkname list agent/orchestrator/selfbuild.protected\nvar list []string\n"
	for _, c := range []struct {
		name, text string
		set        config.Settings
		typed      string // by a person, "" for none
		built      bool
	}{
		{"the user chose nothing", harmless, usual, "", false},
		{"nobody need be there", harmless, unattended, "", true},
		{"it links into another package", linked, unattended, "", false},
		{"a person says no", linked, usual, "n", false},
		{"a person who saw it says yes", linked, usual, "y", true},
	} {
		line := nobody(t)
		var sits *cmdlinetest.Person
		if c.typed != "" {
			sits = cmdlinetest.NewPerson(t, map[string]string{"XDG_STATE_HOME": t.TempDir()})
			line = sits.Line
		}
		p := newProgram(t, line, c.set)
		state := t.TempDir()
		for name, text := range map[string]string{"state.json": `{"current": {"source": "aaaaaaaaaaaaaaaa", "image": "sha256:a"}}`, "versions/aaaaaaaaaaaa/source.tar": ""} {
			full := filepath.Join(state, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644), os.WriteFile(filepath.Join(p.dir, "more.go"), []byte(c.text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		j, err := selfbuild.Open(t.Context(), state, "none", untagged{})
		if err != nil {
			t.Fatal(err)
		}
		p.rebuild.journal, p.rebuild.req.Workspace = j, p.dir
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			err = p.rebuild.asItIs(t.Context())
		}()
		if sits != nil {
			sits.Sees(t, "b/more.go", 1)
			sits.Sees(t, "self: look at more.go:5", 1)
			sits.Sees(t, "[n]o", 1) // text typed ahead is forgotten
			sits.Types(t, c.typed)
		}
		<-ended
		_, code := fault.Classify(t.Context(), err)
		if built := p.rebuild.work.Source != nil; built != c.built || !built && code != run.ExitApproval {
			t.Errorf("%s: %v", c.name, err)
		}
		j.Close()
	}
}

// TestAPersonIsAskedForAChangedGate answers at a terminal, where Enter and the end of the countdown approve nothing.
func TestAPersonIsAskedForAChangedGate(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"s", ""} {
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
			p.Sees(t, "[s]kip", 1) // text typed ahead is forgotten
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
		// A script gets one document, and the exit code.
		var stdout, stderr strings.Builder
		cmd := cmdline.New(func(string) string { return "" }, strings.NewReader(""), &stdout, &stderr)
		told := (command{cmd}).tellRebuilt(t.Context(), j.State(), true, err)
		var state selfbuild.State
		if code := cmd.Exit(t.Context(), told, true); code != c.exit || json.Unmarshal([]byte(stdout.String()), &state) != nil || !strings.Contains(stderr.String(), "agent: ") {
			t.Errorf("%s: exit %d with %q and %q", c.past, code, &stdout, &stderr)
		}
	}
}

// untagged is an engine that has every image.
type untagged struct{}

func (untagged) TagImage(context.Context, string, string) error { return nil }

func (untagged) RemoveImage(context.Context, string) error { return nil }

func (untagged) ImageLabels(_ context.Context, ref string) (string, map[string]string, error) {
	return ref, nil, nil
}

// TestTheImageIsMadeOfWhatWasJudged needs no engine: the rebuild ends at the copy of the schema, because there is no database.
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
		write(filepath.Join(dir, "verify/late.go"), "package verify\n") // a change after the judgement of the gates
		j, err := selfbuild.Open(t.Context(), filepath.Join(state, "agent", "self"), "none", untagged{})
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		r := &rebuild{command: command{cmd}, journal: j, set: unattended}
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
	// The current version was built without the file, so a file of the gate has been added by hand since.
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

package exec

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workbench"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A benchBox is a workbench without a box: what it contains in the end, and how it ends.
type benchBox struct {
	result  guest.Result
	runErr  error
	found   workbench.Extract
	foundBy error
	closing error
	ran     guest.Command
	known   []guest.Known
	closed  int
	way     sandbox.Egress
	// The messages of the commits in it, how often a repository was begun, what was applied, and which run keeps it.
	log     string
	begun   int
	applied workspace.Changeset
	kept    string
	keepErr error
}

// AllowEgress records the last egress that was allowed; nil, after the command, does not overwrite it.
func (b *benchBox) AllowEgress(e sandbox.Egress) { b.way = cmp.Or(e, b.way) }

func (b *benchBox) ID() string { return "0123456789abcdef" }

func (b *benchBox) Apply(_ context.Context, cs workspace.Changeset) error { b.applied = cs; return nil }

func (b *benchBox) Keep(_ context.Context, run string) error {
	if b.keepErr == nil {
		b.kept, b.closed = run, b.closed+1
	}
	return b.keepErr
}

func (b *benchBox) RunAt(_ context.Context, cmd guest.Command, at workbench.Console) (guest.Result, error) {
	switch cmd.Args[2] {
	case beginScript:
		b.begun++
		return guest.Result{}, nil
	case commitsScript:
		return guest.Result{Stdout: guest.Output{Head: []byte(b.log)}}, nil
	}
	b.ran = cmd
	if at.Stdout != nil {
		_, _ = at.Stdout.Write([]byte("hello"))
	}
	return b.result, b.runErr
}

func (b *benchBox) Extract(_ context.Context, _ guest.Rules, known []guest.Known) (workbench.Extract, error) {
	b.known = known
	return b.found, b.foundBy
}

func (b *benchBox) Close() error { b.closed++; return b.closing }

// changes returns these files as the content of a workbench.
func changes(files map[string]string) workbench.Extract {
	e := workbench.Extract{Files: map[string]workbench.ExtractFile{}}
	for name, text := range files {
		e.Files[name] = workbench.ExtractFile{Content: []byte(text)}
	}
	return e
}

// executed runs a command in the box, which leaves its content there, and returns the document.
func executed(t *testing.T, b *runtest.Bench, box *benchBox, w Work) run.Document {
	t.Helper()
	r := &Runner{Runner: b.Runner, Start: func(_ context.Context, spec sandbox.Spec) (Box, error) {
		if spec.Purpose != "exec" || spec.Run == "" || spec.Limits.Work < workRoom || time.Until(spec.Lease) < DefaultTimeout {
			t.Errorf("the workbench is %+v", spec)
		}
		return box, nil
	}}
	req := run.Request{Workspace: b.Dir, Approver: runtest.Decide(run.Apply)}
	w.Command = append([]string{"agent"}, w.Command...)
	doc := r.Run(t.Context(), req, w)
	if box.closed == 0 {
		t.Error("the box is left")
	}
	return doc
}

func TestWhatACommandLeavesIsAPatch(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	b.Runner.Hide = func(s string) string { return strings.ReplaceAll(s, "hush", "***") }
	box := &benchBox{result: guest.Result{Exit: 3, Wall: 2 * time.Second}, found: changes(map[string]string{"a.py": "x = 2\n", ".env": "KEY=1", "node_modules/x.js": "x"})}
	box.found.Left, box.found.LeftCount = []guest.Left{{Path: "link", Reason: "symbolic link"}}, 7
	doc := executed(t, b, box, Work{Command: []string{"-p", "hush"}, Env: map[string]string{"A": "b"}, Stdin: []byte("in")})
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if got := b.Tree(t); got["a.py"] != "x = 2\n" || got[".env"] != "" {
		t.Errorf("the tree is %q", got)
	}
	c := doc.Command
	if c == nil || c.Exit != 3 || c.Seconds != 2 || c.LeftCount != 8 || len(c.Left) != 2 || c.Left[0].Path != ".env" || !slices.Equal(c.Args, []string{"agent", "-p", "***"}) {
		t.Errorf("command %+v", c)
	}
	if want := []string{"/bin/sh", "-c", `exec "$@"`, "sh", "agent", "-p", "hush"}; !slices.Equal(box.ran.Args, want) || box.ran.Env["A"] != "b" || string(box.ran.Stdin) != "in" || box.ran.Timeout != DefaultTimeout {
		t.Errorf("it ran %+v", box.ran)
	}
	if len(box.known) != 1 || box.known[0].Path != "a.py" || box.known[0].Size != 6 || len(box.known[0].Digest) != 64 {
		t.Errorf("the box was told of %+v", box.known)
	}
	rec, err := b.DB.Run(t.Context(), doc.Run)
	if err != nil || rec.Intent != "exec agent -p ***" {
		t.Errorf("the record has %q, %v", rec.Intent, err)
	}
}

// Only the gates decide.
func TestWhatTheGatesRefuseIsNotWritten(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Fail))
	doc := executed(t, b, &benchBox{found: changes(map[string]string{"a.py": "x = 2\n"})}, Work{})
	b.Ended(t, doc, run.Rejected, verify.Fail, run.ExitFail)
	b.Untouched(t)
}

func TestACommandThatChangesNothingIsSaidSo(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Fail))
	doc := executed(t, b, &benchBox{result: guest.Result{Exit: -1, Signal: "SIGSEGV"}, found: changes(map[string]string{"a.py": "x = 1\n", ".env": "x"})}, Work{})
	b.Ended(t, doc, run.Rejected, verify.Pass, run.ExitDone)
	if doc.Outcome != run.OutcomeUnchanged || doc.Error != nil || doc.Command.Signal != "SIGSEGV" || len(doc.Candidates) > 0 {
		t.Errorf("document %+v", doc)
	}
}

func TestWhatDoesNotComeToItsEndIsNotJudged(t *testing.T) {
	t.Parallel()
	b, good := runtest.Setup(t, runtest.Says(verify.Pass)), changes(map[string]string{"a.py": "x = 2\n"})
	for name, test := range map[string]struct {
		box  benchBox
		exit int
		says string
	}{
		"a time limit":      {benchBox{result: guest.Result{TimedOut: true}, found: good}, run.ExitBudget, "still running after 30m"},
		"no memory":         {benchBox{result: guest.Result{Killed: true, OOM: true}, found: good}, run.ExitFail, "memory"},
		"the end of a box":  {benchBox{result: guest.Result{Killed: true}, found: good}, run.ExitFail, "ended its box"},
		"no box":            {benchBox{runErr: errors.New("gone"), found: good}, run.ExitInfra, "run the command: gone"},
		"too much":          {benchBox{foundBy: &workbench.ExtractError{Problem: "more than 10000 files changed"}}, run.ExitFail, "more than 10000 files"},
		"too many deleted":  {benchBox{found: workbench.Extract{Gone: make([]string, workspace.MaxChanges+1)}}, run.ExitFail, "a changeset may have 10000"},
		"no way to tell":    {benchBox{foundBy: errors.New("half a stream")}, run.ExitInfra, "half a stream"},
		"no removal":        {benchBox{found: good, closing: errors.New("stuck")}, run.ExitInfra, "remove the box: stuck"},
		"what may not be":   {benchBox{found: changes(map[string]string{"sub/HEAD": "ref: refs/heads/main", "sub/objects/a": "a", "sub/refs/a": "a"})}, run.ExitApproval, "git"},
		"a file and a path": {benchBox{found: changes(map[string]string{"b": "x", "b/c": "x"})}, run.ExitApproval, "nothing can be below it"},
	} {
		doc := executed(t, b, &test.box, Work{})
		if doc.Exit != test.exit || doc.Error == nil || !strings.Contains(doc.Error.Message, test.says) || doc.Error.Next == "" {
			t.Errorf("%s: exit %d, %+v; want %d, %q", name, doc.Exit, doc.Error, test.exit, test.says)
		}
		b.Untouched(t)
	}
}

// The user's own edits win: a file that changed on the host while the command ran is a conflict, and is not overwritten.
func TestAnEditOnTheHostIsAConflict(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	box := &benchBox{found: changes(map[string]string{"a.py": "x = 2\n"})}
	r := &Runner{Runner: b.Runner, Start: func(context.Context, sandbox.Spec) (Box, error) {
		return box, os.WriteFile(filepath.Join(b.Dir, "a.py"), []byte("mine\n"), 0o644)
	}}
	doc := r.Run(t.Context(), run.Request{Workspace: b.Dir, Approver: runtest.Decide(run.Apply)}, Work{Command: []string{"x"}})
	b.Ended(t, doc, run.Conflicted, verify.Conflict, run.ExitConflict)
	if got := b.Tree(t)["a.py"]; got != "mine\n" {
		t.Errorf("a.py is %q", got)
	}
}

func TestWhoAttendsIsToldOfTheEnd(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	var shown strings.Builder
	ended := 0
	r := &Runner{
		Runner: b.Runner, Start: func(context.Context, sandbox.Spec) (Box, error) { return &benchBox{}, nil },
		Attend: func(context.Context) (Attendance, error) {
			return Attendance{Console: workbench.Console{Stdout: &shown}, End: func() { ended++ }}, nil
		},
	}
	req := run.Request{Workspace: b.Dir, Approver: runtest.Decide(run.Apply)}
	if r.Run(t.Context(), req, Work{Command: []string{strings.Repeat("ä", 300)}}); shown.String() != "hello" || ended != 1 {
		t.Errorf("shown %q, ended %d times", &shown, ended)
	}
	r.Attend = func(context.Context) (Attendance, error) { return Attendance{}, errors.New("no terminal") }
	if doc := r.Run(t.Context(), req, Work{Command: []string{"x"}}); doc.Exit != run.ExitInfra || !strings.Contains(doc.Error.Message, "no terminal") {
		t.Errorf("%+v", doc.Error)
	}
	r.Start = func(context.Context, sandbox.Spec) (Box, error) { return nil, errors.New("no room") }
	if doc := r.Run(t.Context(), req, Work{Command: []string{"x"}}); doc.Exit != run.ExitInfra || !strings.Contains(doc.Error.Message, "start the box: no room") {
		t.Errorf("%+v", doc.Error)
	}
}

func TestTheConfigurationsLimitsStay(t *testing.T) {
	t.Parallel()
	base := &workspace.Manifest{}
	set := sandbox.Limits{Work: 1, Tmp: 2, Memory: 3, PIDs: 4}
	if got := limits(set, base); got.Work != 1 || got.Tmp != 2 || got.Memory != 3 || got.PIDs != 4 {
		t.Errorf("%+v", got)
	}
	if got := limits(sandbox.Limits{}, base); got.Work != workRoom || got.Tmp != tmpRoom || got.Memory != memory+workRoom || got.PIDs != pids {
		t.Errorf("%+v", got)
	}
}

func TestNotesNameTheFirstAndCountTheRest(t *testing.T) {
	t.Parallel()
	found := workbench.Extract{LeftCount: 200}
	for range maxNamed {
		found.Left = append(found.Left, guest.Left{Path: "f", Reason: "device"})
	}
	l := left(found, []workspace.Skip{{Path: ".env", Reason: "secret"}, {Path: "dist/a", Reason: "ignored by git", Quiet: true}})
	want := []string{"left out of the patch: f (device), f (device), f (device), f (device), f (device) and 196 more", "left out of the patch: 1 file in caches or ignored by git"}
	if got := l.notes(); !slices.Equal(got, want) || len(l.named) != maxNamed || l.count != 201 {
		t.Errorf("%q, %d named of %d", got, len(l.named), l.count)
	}
}

// nowhere is an egress that leads nowhere.
type nowhere struct{}

func (nowhere) Serve(context.Context, net.Conn) {}

// A command has the egress that was opened for its run, and the result of that egress decides whether the change is judged at all.
func TestACommandHasAWayOut(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	good := changes(map[string]string{"a.py": "x = 2\n"})
	var of string
	var problem *run.Problem
	w := Work{Start: []string{"/bin/claude", "--quietly"}, Model: true, Connect: func(_ context.Context, x *run.Execution) (Way, error) {
		of = x.ID()
		return Way{Egress: nowhere{}, Told: func() (string, *run.Problem) { return "12 requests", problem }}, nil
	}}
	box := &benchBox{found: good}
	problem = &run.Problem{Kind: run.ProblemBudget, Message: "the cap is reached", Next: "raise it"}
	doc := executed(t, b, box, w)
	if doc.Exit != run.ExitBudget || doc.Error.Message != "the cap is reached" || of != doc.Run || box.way == nil || doc.Command == nil {
		t.Errorf("exit %d, %+v, way %v of run %q", doc.Exit, doc.Error, box.way, of)
	}
	b.Untouched(t)
	problem = nil
	doc = executed(t, b, &benchBox{found: good}, w)
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if box.ran.Args[len(box.ran.Args)-1] != "--quietly" || doc.Command.Args[0] != "agent" {
		t.Errorf("it ran %q and tells of %q", box.ran.Args, doc.Command.Args)
	}
	w.Connect = func(context.Context, *run.Execution) (Way, error) { return Way{}, errors.New("no key") }
	if doc := executed(t, b, &benchBox{}, w); doc.Exit != run.ExitInfra || !strings.Contains(doc.Error.Message, "connect the box to the model: no key") {
		t.Errorf("%+v", doc.Error)
	}
}

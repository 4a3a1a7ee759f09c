package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/crew"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
	"agent/sandbox"
	"agent/sandbox/workspace/promotion"
)

// called runs `agent build` on a line, with act as its action if act is not nil.
func called(t *testing.T, line *cmdline.Line, act cli.ActionFunc, args ...string) error {
	t.Helper()
	c := Command(line)
	if act != nil {
		c.Action = act
	}
	return cmdlinetest.App(&bytes.Buffer{}, c).RunContext(t.Context(), append([]string{"agent", "build"}, args...))
}

// refused checks the exit code of an error, and that it or its next step contains these words.
func refused(t *testing.T, what string, err error, exit int, words string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s is no error", what)
		return
	}
	if problem, code := fault.Classify(t.Context(), err); code != exit || !strings.Contains(err.Error()+" "+problem.Next, words) {
		t.Errorf("%s: exit %d, %v; next %s; want %d, %q", what, code, err, problem.Next, exit, words)
	}
}

// A contradictory command line is refused before anything is opened: there is no record, engine or model.
func TestACommandLineThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	for args, words := range map[string]string{
		"": "no goal and no plan was given", "--plan 3 --resume": "mutually exclusive", "--plan 3 goal": "mutually exclusive", "--resume goal": "mutually exclusive", "--plan= --resume": "mutually exclusive",
		"--parallel 0 goal": "from 1 to 4", "--parallel 5 goal": "from 1 to 4", "--parallel -1 goal": "from 1 to 4", "--step goal": "there is no terminal", "--no-promote --commit goal": "commit", "--workspace /none goal": "/none",
	} {
		refused(t, args, called(t, cmdlinetest.Unattended(""), nil, strings.Fields(args)...), run.ExitUsage, words)
	}
}

// A site is a job on a workspace, with a record and nothing else.
type site struct {
	*job
	out bytes.Buffer
}

// at makes a job from a command line in a workspace.
func at(t *testing.T, s *wire.Session, dir string, line *cmdline.Line, yes bool, args ...string) *site {
	t.Helper()
	w := &site{}
	if line == nil {
		line = cmdline.New(func(string) string { return "" }, strings.NewReader("y\n"), &w.out, &w.out)
	}
	err := called(t, line, func(ctx *cli.Context) error {
		set := config.Settings{"workspace": {Text: dir}, "yes": {Text: fmt.Sprint(yes)}, "json": {Text: fmt.Sprint(ctx.Bool("json"))}}
		w.job = &job{command{line}, ctx, set, run.Request{Place: &promotion.Place{Path: dir}}, s}
		return nil
	}, args...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// record returns a session with a record, and a function that adds a plan to it.
func record(t *testing.T) (*wire.Session, func(dir string, state crew.PlanState, owner string) crew.Plan) {
	t.Helper()
	db, _ := storetest.New(t)
	return &wire.Session{DB: db}, func(dir string, state crew.PlanState, owner string) crew.Plan {
		p := row(2, "first")
		p.Workspace, p.State = dir, crew.Drafted
		var err error
		if p.ID, err = db.Plans().AddPlan(t.Context(), p); err == nil && owner != "" {
			p, err = db.Plans().TakePlan(t.Context(), p.ID, "", owner)
		}
		if p.State = state; err == nil {
			err = db.Plans().SavePlan(t.Context(), p, owner)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Owner = owner
		return p
	}
}

// --resume takes the newest plan of the workspace that was begun and is not over; --plan takes any existing one.
func TestWhichPlanIsCarriedOut(t *testing.T) {
	t.Parallel()
	s, add := record(t)
	dir := t.TempDir()
	add(dir, crew.Drafted, "")
	_, err := at(t, s, dir, nil, false, "--resume").plan()
	refused(t, "one that was never begun", err, run.ExitUsage, "this workspace has no unfinished plan to resume")
	for _, state := range []crew.PlanState{crew.Paused, crew.Awaiting, crew.Failed} {
		want := add(dir, state, "").ID
		for _, later := range []crew.PlanState{crew.Delivered, crew.Dropped, crew.Drafted} {
			add(dir, later, "")
		}
		add(dir+"/other", crew.Paused, "")
		if p, err := at(t, s, dir, nil, false, "--resume").plan(); err != nil || p.ID != want {
			t.Errorf("plan %d, %v; want %d, which is %s", p.ID, err, want, state)
		}
	}
	if want := add(dir, crew.Building, "nobody"); true {
		if p, err := at(t, s, dir, nil, false, "--resume").plan(); err != nil || p.ID != want.ID {
			t.Errorf("plan %d, %v; want %d, whose process died", p.ID, err, want.ID)
		}
	}
	for name, words := range map[string]string{"": "names no plan", "0": "invalid", "x": "invalid", "999": "there is no plan 999"} {
		_, err := at(t, s, dir, nil, false, "--plan", name).plan()
		refused(t, "--plan "+name, err, run.ExitUsage, words)
	}
}

// A plan that is over, in progress or of another directory is not begun, nor is one without approval; the record stays the same.
func TestWhatIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	s, add := record(t)
	dir := t.TempDir()
	for _, c := range []struct {
		dir   string
		state crew.PlanState
		owner string
		exit  int
		words string
	}{
		{dir, crew.Delivered, "", run.ExitUsage, "is delivered"},
		{dir, crew.Dropped, "", run.ExitUsage, "is dropped"},
		{dir + "/other", crew.Paused, "", run.ExitUsage, "--workspace " + dir + "/other"},
		{dir, crew.Building, sandbox.Owner(), run.ExitConflict, "agent jobs cancel"},
		{dir, crew.Drafted, "", run.ExitApproval, "no --yes"},
	} {
		p := add(c.dir, c.state, c.owner)
		refused(t, string(c.state), at(t, s, dir, nil, false, "--plan", fmt.Sprint(p.ID)).run(), c.exit, c.words)
		if got, err := s.DB.Plans().Plan(t.Context(), p.ID); err != nil || got.State != c.state || got.Owner != c.owner {
			t.Errorf("%s is %s of %q: %v", c.state, got.State, got.Owner, err)
		}
	}
}

// A plan is shown and asked about before it is carried out.
func TestAPlanIsConfirmed(t *testing.T) {
	t.Parallel()
	p := row(2, "first\x1b[2J")
	p.State = crew.Drafted
	for typed, ok := range map[string]bool{"y": true, "n": false, "\x04": false} {
		sits := cmdlinetest.NewPerson(t, nil)
		sits.Types(t, "y\n") // typed ahead, which answers nothing
		got := make(chan error, 1)
		j := at(t, nil, "/w", sits.Line, false, "--plan", "3")
		go func() { got <- j.confirm(p) }()
		sits.Sees(t, "[y]es, [n]o", 1)
		sits.Types(t, typed)
		err := <-got
		if ok && err != nil {
			t.Errorf("%q: %v", typed, err)
		} else if !ok {
			refused(t, fmt.Sprintf("%q", typed), err, run.ExitApproval, "agent plan edit 3")
		}
		if shown := sits.Screen(); !strings.Contains(shown, "1. first␛[2J") || !strings.Contains(shown, "Carry out these 2 tasks?") {
			t.Errorf("%q", shown)
		}
	}
	refused(t, "nobody there", at(t, nil, "/w", nil, false, "--resume").confirm(p), run.ExitApproval, "agent build --plan 3 --yes")
	if err := at(t, nil, "/w", nil, true, "--resume").confirm(p); err != nil {
		t.Errorf("--yes: %v", err)
	}
}

// The result of a plan is reported once, as text or as one document, and its exit code is the command's.
func TestWhatBecameOfAPlanIsReported(t *testing.T) {
	t.Parallel()
	problem := &run.Problem{Kind: run.ProblemPatch, Message: "task 1 was not done", Next: "do it"}
	for name, c := range map[string]struct {
		res  builder.Result
		told string
	}{
		"well":             {builder.Result{Exit: run.ExitDone}, ""},
		"before a run":     {builder.Result{Exit: run.ExitFail, Error: problem}, "task 1 was not done"},
		"a run that tells": {builder.Result{Exit: run.ExitApproval, Error: problem, Document: &run.Document{Run: "1k3", Exit: run.ExitApproval, Error: problem, Candidates: []gate.Document{}}}, ""},
		"after a good run": {builder.Result{Exit: run.ExitInfra, Error: problem, Document: &run.Document{Run: "1k3", Exit: run.ExitDone}}, "task 1 was not done"},
	} {
		c.res.Plan = row(2, "first")
		for _, args := range [][]string{{"--resume"}, {"--resume", "--json"}} {
			j := at(t, nil, "/w", nil, false, args...)
			err := j.report(c.res)
			var reported fault.Reported
			told, code := errors.As(err, &reported), run.ExitDone
			if told {
				code = reported.Exit
			} else if err != nil {
				_, code = fault.Classify(t.Context(), err)
			}
			if code != c.res.Exit {
				t.Errorf("%s: exit %d, %v", name, code, err)
			}
			if len(args) == 1 {
				if !strings.Contains(j.out.String(), "1. first") || c.told == "" && err != nil && !told || c.told != "" && (told || !strings.Contains(err.Error(), c.told)) {
					t.Errorf("%s: %v\n%s", name, err, &j.out)
				}
				continue
			}
			var doc Built
			if json.Unmarshal(j.out.Bytes(), &doc) != nil || doc.Plan.ID != 3 || (doc.Run == nil) != (c.res.Document == nil) || (doc.Error == nil) != (c.res.Error == nil) || err != nil && !told {
				t.Errorf("%s: %v\n%s", name, err, &j.out)
			}
		}
	}
}

// The commit of the whole plan has the given message, or that of the last task, or the goal, once, with the trailers of any run.
func TestTheCommitOfTheWholeIsDescribed(t *testing.T) {
	t.Parallel()
	s, add := record(t)
	const trailers = "\n\nAgent-Run: 1k3\n"
	for name, c := range map[string]struct{ given, last, want string }{
		"one line": {"all of it\n", "", "all of it"}, "paragraphs": {"all\n\nof it\n\n- and more\n", "the last", "all\n\nof it\n\n- and more"},
		"the last task's": {"", "the last\n\nwith a body", "the last\n\nwith a body"}, "the goal": {"", "", "prices have a currency"},
	} {
		p := add("/w", crew.Paused, "")
		if c.last != "" {
			p.Tasks[1].State, p.Tasks[1].Landed, p.Tasks[1].Message = crew.Done, 1, c.last
			if err := s.DB.Plans().SavePlan(t.Context(), p, ""); err != nil {
				t.Fatal(err)
			}
		}
		j := at(t, s, "/w", nil, false, "--resume", "--message", c.given)
		j.describe(p) // without an order there is nothing to describe
		j.req.Commit = &run.CommitOrder{}
		j.describe(p)
		for range 2 { // a second try gives the same
			if got := j.req.Commit.Message(context.WithoutCancel(t.Context()), run.CommitAbout{Run: "1k3"}); got != c.want+trailers {
				t.Errorf("%s: %q, want %q", name, got, c.want+trailers)
			}
		}
	}
}

package workbench_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/tournament"
	"agent/orchestrator/workbench"
	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A box only records what is done to it.
type box struct {
	done   *[]string
	result guest.Result
	err    error
}

func (b box) Apply(_ context.Context, cs workspace.Changeset) error {
	*b.done = append(*b.done, "apply "+string(cs.Changes[0].After))
	return nil
}

func (b box) Run(_ context.Context, cmd guest.Command) (guest.Result, error) {
	*b.done = append(*b.done, strings.Join(cmd.Args, " ")+" "+cmd.Timeout.String())
	return b.result, b.err
}

func (b box) Close() error {
	*b.done = append(*b.done, "close")
	return nil
}

// boxes returns a run whose model has boxes; the last result lists what happened in them.
func boxes(t *testing.T, j runtest.Judge, calls map[string]string, result guest.Result, err error) (*runtest.Bench, *script, *[]string) {
	t.Helper()
	b, s, r := hunt(t, j, calls)
	done := &[]string{}
	crew := b.Crew
	b.Crew = func(id string, emit func(agent.Progress)) tournament.Crew {
		c := crew(id, emit)
		c.Workbench = func(_ context.Context, _ *workspace.Manifest, task agent.Task) (tournament.Workbench, error) {
			return &workbench.Workbench{
				Model: s, Record: r, Fence: task.Fence, Hide: func(text string) string { return strings.ReplaceAll(text, "sesame", "***") },
				Turn: func(context.Context) (func(), error) { return func() { *done = append(*done, "give") }, nil },
				Start: func(_ context.Context, spec sandbox.Spec) (workbench.Box, error) {
					if spec.Purpose != "workbench" || spec.Lease.Before(time.Now()) || spec.Run == "" {
						t.Errorf("the box is %+v", spec)
					}
					*done = append(*done, "start")
					return box{done, result, err}, nil
				},
			}, nil
		}
		return c
	}
	return b, s, done
}

// Each command runs in its own box that contains the draft, and its output is shown. The gates judge the draft before it is finished.
func TestAModelTriesAndChecksItsDraft(t *testing.T) {
	t.Parallel()
	b, s, done := boxes(t, runtest.Wants("x = 2\n"), map[string]string{
		"propose/1/r1": edit("x = 1", "x = 5"), "propose/1/r2": `run {"command": "make test"}`, "propose/1/r3": "check {}",
		"propose/1/r4": edit("x = 5", "x = 2"), "propose/1/r5": "check {}", "propose/1/r6": finish,
	}, guest.Result{Exit: 1, Stdout: guest.Output{Head: []byte("sesame open"), Tail: []byte("end"), Dropped: 9}, Stderr: guest.Output{Head: []byte("bad\n")}}, nil)
	doc := b.Run(t.Context(), b.Goal())
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if want := []string{"start", "apply x = 5\n", "/bin/sh -c make test 1m0s", "close", "give"}; !slices.Equal(*done, want) {
		t.Errorf("done was %q", *done)
	}
	for round, want := range map[int]string{
		2: "exit status 1\n<<5f3c9a0e7b1d2468 answer 2\n*** open\n[9 bytes left out]\nendstandard error:\nbad\n5f3c9a0e7b1d2468>>",
		3: "this does not pass\n<<5f3c9a0e7b1d2468 answer 3\nlint: fail \na.py:1: X1 not as wanted\n5f3c9a0e7b1d2468>>",
		5: "every gate passes: finish when the work is done",
	} {
		messages := s.asked[round].Request.Messages
		if got := messages[len(messages)-1].Results[0].Text; got != want {
			t.Errorf("round %d: %q", round, got)
		}
	}
	if len(doc.Candidates) != 1 {
		t.Errorf("%d candidates", len(doc.Candidates))
	}
}

func TestHowACommandEnded(t *testing.T) {
	t.Parallel()
	for want, result := range map[string]guest.Result{
		"killed: it was still running after 1m0s":    {TimedOut: true, Exit: -1, Signal: "SIGKILL"},
		"killed: it used more memory than a box has": {OOM: true, Killed: true},
		"ended by SIGSEGV":                           {Signal: "SIGSEGV", Exit: -1},
		"its box broke":                              {Killed: true},
		"exit status 0, no output":                   {},
	} {
		b, s, _ := boxes(t, runtest.Says(verify.Pass), map[string]string{
			"propose/1/r1": edit("x = 1", "x = 2"), "propose/1/r2": `run {"command": "./endless"}`, "propose/1/r3": finish,
		}, result, nil)
		doc := b.Run(t.Context(), b.Goal())
		b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
		messages := s.asked[2].Request.Messages
		if got := messages[len(messages)-1].Results[0].Text; !strings.HasPrefix(got, want) {
			t.Errorf("%+v is told as %q", result, got)
		}
	}
}

// A machine failure is not the model's fault, and ends the run with infra.
func TestABoxThatBreaksEndsTheRun(t *testing.T) {
	t.Parallel()
	b, _, done := boxes(t, runtest.Says(verify.Pass), map[string]string{"propose/1/r1": edit("x = 1", "x = 2"), "propose/1/r2": `run {"command": "true"}`}, guest.Result{}, errors.New("the engine is gone"))
	doc := b.Run(t.Context(), b.Goal())
	if doc.State != run.Failed || doc.Exit != run.ExitInfra || !strings.Contains(doc.Error.Message, "the engine is gone") {
		t.Errorf("%s, %+v", doc.State, doc.Error)
	}
	b.Untouched(t)
	if !slices.Contains(*done, "close") {
		t.Errorf("the box is left: %q", *done)
	}
}

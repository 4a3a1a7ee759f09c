package sandbox

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/gate"
	"agent/orchestrator/llm"
	"agent/orchestrator/run"
	"agent/orchestrator/store/calls"
	"agent/verify"
)

// ordered returns the commit that the flags of a command line ask for.
func ordered(t *testing.T, dir string, noPromote bool, args ...string) (order *run.CommitOrder, err error) {
	t.Helper()
	line := cmdlinetest.Unattended("")
	line.Getenv = func(k string) string {
		return map[string]string{"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "a@x"}[k]
	}
	app := &cli.App{HideHelp: true, HideVersion: true, Flags: CommitFlags(), Action: func(ctx *cli.Context) error {
		order, err = CommitOrder(ctx, line, dir, noPromote)
		return nil
	}}
	if aerr := app.RunContext(t.Context(), append([]string{"agent"}, args...)); aerr != nil {
		t.Fatal(aerr)
	}
	return order, err
}

func TestWhatIsAskedToBeCommitted(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if order, err := ordered(t, dir, true); order != nil || err != nil {
		t.Errorf("%+v, %v", order, err)
	}
	if order, err := ordered(t, dir, false, "--branch", "x"); err != nil || order.Branch != "x" || order.By.Name != "Ann" {
		t.Errorf("%+v, %v", order, err)
	}
	for _, c := range []struct {
		dir       string
		noPromote bool
		args      string
		exit      int
		says      string
	}{
		{dir, false, "-m x", run.ExitUsage, "add --commit"},
		{dir, true, "--commit", run.ExitUsage, "omit one"},
		{dir, false, "--branch=", run.ExitUsage, "name a branch"},
		{dir, false, "--commit --message=", run.ExitUsage, "write a message"},
		{dir, false, "--branch a..b", run.ExitConflict, "check-ref-format"},
		{t.TempDir(), false, "--commit", run.ExitUsage, "git init"},
	} {
		_, err := ordered(t, c.dir, c.noPromote, strings.Fields(c.args)...)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Exit != c.exit || !strings.Contains(f.Next, c.says) {
			t.Errorf("%s: %v", c.args, err)
		}
	}
}

// answered is the list of a run's requests.
type answered []calls.Exchange

func (a answered) Exchanges(_ context.Context, run string) ([]calls.Exchange, error) {
	if run == "lost" {
		return nil, errors.New("no")
	}
	return a, nil
}

func TestTheMessageTellsWhereAChangeComesFrom(t *testing.T) {
	t.Parallel()
	ended := time.Unix(1, 0)
	asked := answered{
		{Record: llm.Record{Vendor: "gemini", Model: "pro"}, Ended: ended},
		{Record: llm.Record{Vendor: "gemini", Model: "pro"}, Ended: ended},
		{Record: llm.Record{Vendor: "ollama", Model: "x"}},
	}
	order := &run.CommitOrder{}
	Describe(order, "", "Round up", asked)
	about := run.CommitAbout{
		Run: "r1", Besides: []string{"a", "b", "c", "d"},
		Candidate: gate.Candidate{Verdict: verify.Pass, Unproven: []verify.Unproven{{Reason: "no test ran"}}},
	}
	want := "Round up\n\nAgent-Run: r1\nAgent-Model: gemini/pro\nAgent-Verdict: pass\nAgent-Unproven: no test ran; judged together with edits of a, b, c and others that are not in it\n"
	if got := order.Message(t.Context(), about); got != want {
		t.Errorf("%q", got)
	}
	Describe(order, "Mine\n\nWhy", "Round up", asked)
	about.Besides, about.Candidate.Unproven, about.Iteration = nil, nil, "lost"
	if got := order.Message(t.Context(), about); got != "Mine\n\nWhy\n\nAgent-Run: r1\nAgent-Model: unknown\nAgent-Verdict: pass\n" {
		t.Errorf("%q", got)
	}
	Describe(nil, "", "", nil)
	if got := modelsOf(t.Context(), nil, "r1"); got != "" {
		t.Errorf("%q", got)
	}
	for want, req := range map[string]run.Request{
		"make it faster":                    {Goal: "make it faster\nplease", Patch: nil},
		"Apply a change that a model found": {}, "Apply a patch": {Patch: []byte("x"), PatchName: "-"}, "Apply fix.diff": {Patch: []byte("x"), PatchName: "fix.diff"},
		strings.Repeat("x", 71) + "…": {Goal: strings.Repeat("x", 100)},
	} {
		if got := subject(req); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

package ci

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/verify"
)

// failed returns a run with findings, one of which tries to be a command.
func failed() run.Document {
	return run.Document{
		State: run.Rejected, Verdict: verify.Fail, Exit: run.ExitFail, Error: &run.Problem{Kind: run.ProblemPatch, Message: "the patch failed", Next: "fix it"},
		Unproven: []verify.Unproven{{Gate: "tests", Reason: "no test ran"}},
		Candidates: []gate.Document{{Verdict: verify.Fail, Gates: []verify.Gate{
			{Name: "lint", Verdict: verify.Pass, Findings: []verify.Finding{{File: "x", Message: "not told"}}},
			{Name: "types", Verdict: verify.Fail, Output: "::set-output name=a::b", Findings: []verify.Finding{
				{File: "a,b.py", Line: 3, Column: 7, Rule: "arg:type", Message: "100% wrong\n::error::forged"}, {File: "../out.py", Message: "elsewhere"},
			}},
		}}},
	}
}

func TestFindingsAreAnnotationsOfGitHub(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	github(&out, failed())
	want := "::error file=a%2Cb.py,line=3,col=7,title=types arg%3Atype::100%25 wrong%0A::error::forged\n::error title=types::elsewhere\n::notice title=not judged%3A tests::no test ran\n"
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
	out.Reset()
	if github(&out, run.Document{Error: &run.Problem{Message: "no engine"}}); out.String() != "::error title=agent::no engine\n" {
		t.Errorf("%s", out.String())
	}
}

func TestFindingsAreAReportOfGitLab(t *testing.T) {
	t.Parallel()
	list := gitlab(failed())
	if len(list) != 1 || list[0].Location.Path != "a,b.py" || list[0].Location.Lines.Begin != 3 || list[0].Fingerprint == "" || list[0].Severity != "major" {
		t.Errorf("%+v", list)
	}
	if text, err := json.Marshal(gitlab(run.Document{})); err != nil || string(text) != "[]" {
		t.Errorf("%s, %v", text, err)
	}
}

func TestTheBaseIsWhatTheBuildServerSays(t *testing.T) {
	t.Parallel()
	zero := strings.Repeat("0", 40)
	for want, env := range map[string]map[string]string{
		"": {"CI_COMMIT_BEFORE_SHA": zero}, "origin/main": {"GITHUB_BASE_REF": "main"}, "abc": {"CI_MERGE_REQUEST_DIFF_BASE_SHA": "abc", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "x"},
		"origin/dev": {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "dev"}, "def": {"CI_COMMIT_BEFORE_SHA": "def"},
	} {
		if got := base(func(k string) string { return env[k] }); got != want {
			t.Errorf("%v: %q", env, got)
		}
	}
}

// deliver returns the command's exit code and output for a result, with these flags and this environment.
func deliver(t *testing.T, doc run.Document, env map[string]string, args ...string) (exit int, out string) {
	t.Helper()
	var text bytes.Buffer
	line := cmdline.New(func(k string) string { return env[k] }, strings.NewReader(""), &text, &text)
	c := command{line}
	cmd := Command(line)
	app := &cli.App{HideHelp: true, HideVersion: true, Flags: cmd.Flags, ExitErrHandler: func(*cli.Context, error) {}, Action: func(ctx *cli.Context) error { return c.deliver(ctx, doc, false) }}
	return line.Exit(t.Context(), app.RunContext(t.Context(), append([]string{"agent"}, args...)), false), text.String()
}

func TestTheResultIsPrintedAndReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	report, log := filepath.Join(dir, "q.json"), filepath.Join(dir, "a.sarif")
	exit, out := deliver(t, failed(), map[string]string{"GITHUB_ACTIONS": "true"}, "--gitlab", report, "--sarif", log)
	begin, end := strings.Index(out, "::stop-commands::"), strings.Index(out, "::error file=")
	if exit != run.ExitFail || begin != 0 || strings.Index(out, "set-output") > end || !strings.Contains(out, "types") {
		t.Errorf("exit %d\n%s", exit, out)
	}
	token, _, _ := strings.Cut(strings.TrimPrefix(out, "::stop-commands::"), "\n")
	if resumed := strings.Index(out, "\n::"+token+"::\n"); resumed < strings.Index(out, "set-output") || resumed > end {
		t.Errorf("commands are not stopped around the result\n%s", out)
	}
	quality, err := os.ReadFile(report)
	if err != nil || !strings.Contains(string(quality), `"check_name": "types arg:type"`) {
		t.Errorf("%s, %v", quality, err)
	}
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), "2.1.0") {
		t.Errorf("%s, %v", text, err)
	}
	if exit, out := deliver(t, run.Document{State: run.Done, Verdict: verify.Pass}, nil); exit != 0 || strings.Contains(out, "::") {
		t.Errorf("exit %d\n%s", exit, out)
	}
	if exit, _ := deliver(t, failed(), nil, "--gitlab", filepath.Join(dir, "none", "q.json")); exit != run.ExitInfra {
		t.Errorf("exit %d", exit)
	}
}

func TestWhatIsWrongIsToldBeforeAnEngineIsAsked(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	line := cmdline.New(func(string) string { return "" }, strings.NewReader(""), &text, &text)
	ci := func(args ...string) int {
		text.Reset()
		app := cmdlinetest.App(io.Discard, Command(line))
		return line.Exit(t.Context(), app.RunContext(t.Context(), append([]string{"agent", "ci", "-w", dir}, args...)), false)
	}
	if exit := ci(); exit != run.ExitUsage || !strings.Contains(text.String(), "not in a git repository") {
		t.Errorf("exit %d, %s", exit, text.String())
	}
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "--allow-empty", "-m", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if exit := ci("--base", "nowhere"); exit != run.ExitUsage || !strings.Contains(text.String(), `no commit "nowhere"`) {
		t.Errorf("exit %d, %s", exit, text.String())
	}
	if exit := ci("--sarif", filepath.Join(dir, "none", "x")); exit != run.ExitUsage {
		t.Errorf("exit %d, %s", exit, text.String())
	}
}

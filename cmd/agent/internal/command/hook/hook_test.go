package hook

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/run"
	"agent/verify"
)

// A bench is a repository with one commit, where no engine answers.
type bench struct {
	*testing.T
	dir string
	env map[string]string
	out bytes.Buffer
	in  string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, dir: dir, env: map[string]string{"DOCKER_HOST": "unix://" + dir + "/none", "HOME": dir, "PATH": os.Getenv("PATH")}}
	b.git("init", "-q", "-b", "main")
	b.write("a.sh", "echo 1\n")
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "first")
	return b
}

func (b *bench) write(name, text string) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) git(args ...string) string {
	b.Helper()
	out, err := b.command(args...).CombinedOutput()
	if err != nil {
		b.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// command returns a git command in the repository.
func (b *bench) command(args ...string) *exec.Cmd {
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@x"}, args...)...)
	cmd.Dir = b.dir
	return cmd
}

// run runs a command of the group and returns its exit code and output.
func (b *bench) run(args ...string) (int, string) {
	b.Helper()
	b.out.Reset()
	line := cmdline.New(func(k string) string { return b.env[k] }, strings.NewReader(b.in), &b.out, &b.out)
	app := cmdlinetest.App(&b.out, Command(line))
	args = append([]string{"agent", "hook", args[0], "--workspace", b.dir}, args[1:]...)
	return line.Exit(b.Context(), app.RunContext(b.Context(), args), false), b.out.String()
}

func TestHooksComeAndGo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct {
		args string
		exit int
		says string
	}{
		{"status", 0, "pre-commit  not installed"},
		{"install --only pre-commit --timeout 90s --strict", 0, "pre-commit  installed"},
		{"status --json", 0, `"state": "installed"`},
		{"install", 0, "pre-push    installed"},
		{"install --only post-commit", run.ExitUsage, "unknown hook"},
		{"install --timeout 1ms", run.ExitUsage, "invalid duration"},
		{"uninstall", 0, "pre-push    not installed"},
	} {
		if exit, out := b.run(strings.Fields(c.args)...); exit != c.exit || !strings.Contains(out, c.says) {
			t.Errorf("%s: exit %d\n%s", c.args, exit, out)
		}
	}
	b.git("config", "core.hooksPath", "hooks")
	if exit, out := b.run("install"); exit != run.ExitUsage || !strings.Contains(out, `add this line to `) {
		t.Errorf("exit %d\n%s", exit, out)
	}
}

func TestWhatCallsTheAgentStopsNobodyWithoutIt(t *testing.T) {
	t.Parallel()
	for strict, want := range map[bool]int{false: 0, true: 1} {
		cmd := exec.Command("sh", "-c", call("/nowhere/it's", "pre-commit", time.Minute, strict))
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want || !strings.Contains(string(out), "this program is gone") {
			t.Errorf("strict %t: exit %d, %s", strict, got, out)
		}
	}
	if got := call("/bin/a", "pre-push", 90*time.Second, true); !strings.HasSuffix(got, "\nexec '/bin/a' hook pre-push --timeout 1m30s --strict") {
		t.Errorf("%q", got)
	}
}

// No engine is asked if nothing is staged, only the message changes, or a branch is deleted.
func TestWhereThereIsNothingToJudge(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.sh", "if\n")
	if exit, out := b.run("pre-commit"); exit != 0 || out != "" {
		t.Errorf("nothing is staged: exit %d\n%s", exit, out)
	}
	head, zero := b.git("rev-parse", "HEAD"), strings.Repeat("0", 40)
	for _, in := range []string{"", "(delete) " + zero + " refs/heads/x " + head + "\n", "refs/heads/main " + head + " refs/heads/main " + head + "\n"} {
		b.in = in
		if exit, out := b.run("pre-push", "origin", "url"); exit != 0 || out != "" {
			t.Errorf("%q: exit %d\n%s", in, exit, out)
		}
	}
	b.in = "garbage\n"
	if exit, out := b.run("pre-push"); exit != run.ExitUsage || !strings.Contains(out, "githooks(5)") {
		t.Errorf("exit %d\n%s", exit, out)
	}
}

// An engine that is down stops no commit or push, unless --strict asks for that.
func TestWhatCannotBeJudged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.sh", "if\n")
	b.git("add", "a.sh")
	if exit, out := b.run("pre-commit"); exit != 0 || !strings.Contains(out, "not judged; the commit continues") {
		t.Errorf("exit %d\n%s", exit, out)
	}
	if exit, out := b.run("pre-commit", "--strict"); exit != run.ExitFail || !strings.Contains(out, "--no-verify") {
		t.Errorf("exit %d\n%s", exit, out)
	}
	b.git("update-ref", "-d", "HEAD") // as before the first commit
	if exit, out := b.run("pre-commit", "--strict"); exit != run.ExitFail || !strings.Contains(out, "nothing was judged") {
		t.Errorf("exit %d\n%s", exit, out)
	}
	c := command{cmdline.New(func(string) string { return "" }, strings.NewReader(""), &b.out, &b.out)}
	b.out.Reset()
	if err := c.unjudged(run.Problem{Message: "no verdict within 5m0s"}, "push", false); err != nil || !strings.Contains(b.out.String(), "the push continues") {
		t.Errorf("%v, %s", err, b.out.String())
	}
}

func TestTheFirstThatFailsStopsIt(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := command{cmdline.New(func(string) string { return "" }, strings.NewReader(""), &out, &out)}
	list := []job{{"commit 1", "0", "1"}, {"commit 2", "1", "2"}, {"commit 3", "2", "3"}, {"commit 4", "3", "4"}}
	for bad, exit := range map[string]int{"3": run.ExitFail, "2": run.ExitApproval, "1": run.ExitInfra, "4": run.ExitCancelled} {
		out.Reset()
		asked := 0
		err := c.all(t.Context(), list, func(_ context.Context, _, _, after string) run.Document {
			asked++
			doc := run.Document{Verdict: verify.Pass}
			if after == bad {
				doc.Verdict, doc.Exit = verify.Fail, exit
				if exit != run.ExitCancelled {
					doc.Error = &run.Problem{Message: "the patch failed", Next: "fix it"}
				}
			}
			return doc
		}, "push")
		var stopped fault.Reported
		if exit <= run.ExitFail || exit == run.ExitApproval {
			if !errors.As(err, &stopped) || stopped.Exit != run.ExitFail || !strings.Contains(out.String(), "the push is stopped by commit "+bad) {
				t.Errorf("%v, %s", err, out.String())
			}
		} else if errors.As(err, &stopped) || err == nil {
			t.Errorf("%s: %v", bad, err)
		}
		if asked != int(bad[0]-'0') {
			t.Errorf("%d were judged", asked)
		}
	}
	if err := c.all(t.Context(), list, func(context.Context, string, string, string) run.Document { return run.Document{} }, "push"); err != nil {
		t.Error(err)
	}
	if got := headline(strings.Repeat("x", 100)); len([]rune(got)) != 73 {
		t.Errorf("%q", got)
	}
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"agent/cmd/agent/internal/cmdline"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// agentProgram is the command line as users have it, built once for the tests that need a separate process.
var agentProgram string

// TestMain builds the guest and the program, and makes "agent" a command of the scripts. The agent of a script is this
// test binary.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "agent" { // the program is not the agent of a script
		dir, err := os.MkdirTemp("", "agent-test-")
		if err == nil {
			err = buildPrograms(dir)
		}
		if err == nil {
			err = os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "build the programs under test:", err)
			os.Exit(1)
		}
		defer os.RemoveAll(dir)
	}
	testscript.Main(removing{m}, map[string]func(){"agent": checkedProgram})
}

// removing removes what TestMain built, since testscript.Main never returns.
type removing struct{ m *testing.M }

func (r removing) Run() int {
	code := r.m.Run()
	if err := storetest.DropWarm(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "drop the cache of the tests:", err)
	}
	os.RemoveAll(filepath.Dir(agentProgram))
	return code
}

// buildPrograms builds guest and agent in dir.
func buildPrograms(dir string) error {
	guest := filepath.Join(dir, "guest")
	agentProgram = filepath.Join(dir, "agent")
	for path, pkg := range map[string]string{guest: "agent/cmd/guest", agentProgram: "agent/cmd/agent"} {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", pkg, err, out)
		}
	}
	return os.Setenv("AGENT_GUEST", guest)
}

// An execution is the output of one command and its exit code.
type execution struct {
	exit           int
	stdout, stderr string
}

// commandIn runs the command line in this process, with an empty stdin and no environment but env.
func commandIn(t *testing.T, env map[string]string, args ...string) execution {
	t.Helper()
	var stdout, stderr bytes.Buffer
	exit := execute(t.Context(), args, func(k string) string { return env[k] }, strings.NewReader(""), &stdout, &stderr)
	if exit != run.ExitCancelled && env["AGENT_JSON"] == "" && printsDocuments(args) {
		if err := checkDocuments(args, exit, stdout.Bytes()); err != nil {
			t.Errorf("agent %q: %v\n%s", args, err, &stdout)
		}
	}
	return execution{exit, stdout.String(), stderr.String()}
}

// execute runs one command in this process and returns its exit code.
func execute(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	return command(ctx, cmdline.New(getenv, stdin, stdout, stderr), args)
}

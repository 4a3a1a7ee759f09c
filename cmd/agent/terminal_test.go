package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"

	"agent/cmd/agent/internal/term/termtest"
)

// patience bounds how long a command may use a terminal.
const patience = 10 * time.Minute

// atTerminal returns the script command for a person at a terminal of COLUMNS columns: at COLUMNS CODE SESSION ARG…. Each line
// of the file SESSION is a text that the terminal must show, followed after ` => ` by what is then typed, a Go string without
// its quotes. A repeated text must be shown once more. The file "screen" gets the final screen without colours, and "written"
// in $WORK everything as it was written. An ARG of <FILE is the command's input, which leaves the terminal to questions.
func atTerminal(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 4 {
			ts.Fatalf("usage: at COLUMNS CODE SESSION ARG…")
		}
		columns, err := strconv.Atoi(args[0])
		ts.Check(err)
		const lines = 24
		p := termtest.NewPerson(t)
		ts.Check(pty.Setsize(p.TTY, &pty.Winsize{Rows: lines, Cols: uint16(columns)}))
		// An unexpected question shows up, instead of being waited for until all tests end.
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, agentProgram)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = p.TTY, p.TTY, p.TTY
		for _, arg := range args[3:] {
			if name, ok := strings.CutPrefix(arg, "<"); ok {
				cmd.Stdin = strings.NewReader(ts.ReadFile(name))
			} else {
				cmd.Args = append(cmd.Args, arg)
			}
		}
		cmd.Dir = ts.MkAbs(".")
		cmd.Env = append(os.Environ(), "TERM=xterm", "COLUMNS=", "VISUAL=", "PAGER=cat")
		for _, name := range []string{
			"AGENT_DATABASE_URL", "AGENT_GUEST", "AGENT_COUNTDOWN", "AGENT_MODE", "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "DOCKER_HOST", "EDITOR", "NO_COLOR", "OLLAMA_HOST",
			"TERM", "AGENT_MODEL", "GEMINI_API_KEYS", "GEMINI_BASE_URL",
		} {
			if value := ts.Getenv(name); value != "" {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
		ts.Check(cmd.Start())
		shown := map[string]int{}
		for line := range strings.Lines(ts.ReadFile(args[2])) {
			text, typed, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " => ")
			typed, err := strconv.Unquote(`"` + typed + `"`)
			ts.Check(err)
			shown[text]++
			p.Sees(t, text, shown[text])
			p.Types(t, typed)
		}
		code, exit := 0, (*exec.ExitError)(nil)
		if err := cmd.Wait(); errors.As(err, &exit) {
			code = exit.ExitCode()
		} else {
			ts.Check(err)
		}
		screen := termtest.Plain(t, p.Whole(), columns, lines)
		ts.Check(os.WriteFile(filepath.Join(ts.MkAbs("."), "screen"), []byte(screen), 0o644))
		ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), "written"), []byte(p.Whole()), 0o644))
		if want := args[1]; strconv.Itoa(code) != want {
			ts.Fatalf("exit code %d, want %s\n%s", code, want, screen)
		}
	}
}

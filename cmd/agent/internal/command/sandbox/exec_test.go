package sandbox

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/exec"
	"agent/sandbox/guest"
)

// attempted returns an attempt of a command line with these settings.
func attempted(t *testing.T, line *cmdline.Line, env map[string]string) *Attempt {
	t.Helper()
	return &Attempt{Line: line, Settings: cmdlinetest.Settings(t, env, t.TempDir())}
}

// Without a terminal a command has pipes, and its output goes to the agent's streams. If there is a document, all of it
// goes to standard error.
func TestACommandWithoutATerminalIsShown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ json, stdout, stderr string }{{"false", "to out", "to err"}, {"true", "", "to outto err"}} {
		var stdout, stderr bytes.Buffer
		line := cmdline.New(func(string) string { return "" }, strings.NewReader(""), &stdout, &stderr)
		a := attempted(t, line, map[string]string{"AGENT_JSON": test.json})
		board := line.NewBoard(0)
		by, err := a.attend(t.Context(), board, exec.Work{})
		if err != nil || by.Terminal != nil || by.Console.Typed != nil {
			t.Fatalf("%+v, %v", by, err)
		}
		_, outErr := io.WriteString(by.Console.Stdout, "to out")
		_, errErr := io.WriteString(by.Console.Stderr, "to err")
		by.End()
		board.Close()
		if err := errors.Join(outErr, errErr); err != nil || stdout.String() != test.stdout || stderr.String() != test.stderr {
			t.Errorf("json %s: %q, %q, %v", test.json, &stdout, &stderr, err)
		}
	}
}

// TestACommandAtATerminalHasOne is not parallel: it sends a signal that concerns all terminals of the process.
func TestACommandAtATerminalHasOne(t *testing.T) {
	p := cmdlinetest.NewPerson(t, nil)
	a := attempted(t, p.Line, nil)
	board := p.Line.NewBoard(0)
	defer board.Close()
	by, err := a.attend(t.Context(), board, exec.Work{})
	if err != nil || by.Terminal == nil || *by.Terminal != (guest.Size{Rows: 24, Columns: 80}) {
		t.Fatalf("%+v, %v", by, err)
	}
	p.Types(t, "\x03")
	if got := <-by.Console.Typed; string(got) != "\x03" {
		t.Errorf("typed %q", got)
	}
	// The program may draw whatever it likes.
	if _, err := io.WriteString(by.Console.Stdout, "\x1b[31mred"); err != nil {
		t.Fatal(err)
	}
	p.Sees(t, "\x1b[31mred", 1)
	if err := pty.Setsize(p.TTY, &pty.Winsize{Rows: 10, Cols: 20}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(unix.Getpid(), unix.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	if got := <-by.Console.Sizes; got != (guest.Size{Rows: 10, Columns: 20}) {
		t.Errorf("resized to %+v", got)
	}
	by.End()
	// With its own input it has pipes here too.
	by, err = a.attend(t.Context(), board, exec.Work{Stdin: []byte{}})
	if err != nil || by.Terminal != nil {
		t.Errorf("with input: %+v, %v", by.Terminal, err)
	}
	by.End()
}

func TestStandardInputIsBounded(t *testing.T) {
	t.Parallel()
	if got, err := readStdin(t.Context(), strings.NewReader("")); err != nil || got == nil || len(got) != 0 {
		t.Errorf("nothing: %q, %v", got, err)
	}
	if got, err := readStdin(t.Context(), strings.NewReader("in")); err != nil || string(got) != "in" {
		t.Errorf("something: %q, %v", got, err)
	}
	_, err := readStdin(t.Context(), io.LimitReader(endless{}, guest.MaxStdin+1))
	var told *fault.Error
	if !errors.As(err, &told) || !strings.Contains(err.Error(), "more than 16 MiB") || told.Next == "" {
		t.Errorf("too much: %v", err)
	}
}

// endless is input without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

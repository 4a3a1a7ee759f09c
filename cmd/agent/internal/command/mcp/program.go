package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"agent/orchestrator/serve/mcp"
)

// A program runs commands of this very program in one workspace.
type program struct {
	path string
	env  []string
}

func newProgram(dir string) (*program, error) {
	path, err := os.Executable()
	return &program{path, environment(os.Environ(), dir)}, err
}

// The bounds on a command's output.
const (
	mostPrinted = 64 << 20 // bytes of standard output
	mostTold    = 8 << 10  // bytes of standard error that are kept, the last ones
	longestLine = 1 << 20
)

// endTime is how long a cancelled command has to put everything back.
const endTime = 30 * time.Second

// Run runs a command without a terminal, so that it has no one to ask.
func (p *program) Run(ctx context.Context, args []string, stdin string, progress func(string)) (mcp.Ended, error) {
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Env, cmd.Stdin = p.env, strings.NewReader(stdin)
	// A session of its own has no terminal, not even /dev/tty.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = endTime
	out := &bounded{most: mostPrinted}
	cmd.Stdout = out
	told, write := io.Pipe()
	cmd.Stderr = write
	var last bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(told)
		lines.Buffer(nil, longestLine)
		for lines.Scan() {
			progress(lines.Text())
			fmt.Fprintln(&last, lines.Text())
			if over := last.Len() - mostTold; over > 0 {
				last.Next(over)
			}
		}
		// A line that is too long ends the scan, and must not end the command.
		_, _ = io.Copy(io.Discard, told)
	}()
	err := cmd.Run()
	write.Close()
	<-read
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		return mcp.Ended{}, err
	}
	if out.over {
		return mcp.Ended{}, fmt.Errorf("it printed more than %d bytes", mostPrinted)
	}
	return mcp.Ended{Exit: cmd.ProcessState.ExitCode(), Stdout: out.kept.String(), Stderr: last.String()}, nil
}

// A bounded buffer accepts everything, and keeps a limited amount.
type bounded struct {
	kept bytes.Buffer // not embedded: a copy would fill it through ReadFrom, past Write
	most int
	over bool
}

// Write keeps p if it fits.
func (b *bounded) Write(p []byte) (int, error) {
	if b.kept.Len()+len(p) > b.most {
		b.over = true
		return len(p), nil
	}
	return b.kept.Write(p)
}

// input and output are the streams of the protocol. Closing them leaves the streams of the process open.
type (
	input  struct{ io.Reader }
	output struct{ io.Writer }
)

func (input) Close() error  { return nil }
func (output) Close() error { return nil }

package edit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/edit/batch"
	"agent/orchestrator/run"
)

// maxLine is the maximum length of a batch line, in bytes: JSON may write one byte of a file as six.
const maxLine = 64 << 20

// editBatch answers the lines of standard input, each before it reads the next. It reads no configuration and touches
// no file.
func (c command) editBatch(ctx *cli.Context) error {
	// Flags of a workspace would be ignored silently, above all --write.
	for _, name := range []string{"workspace", "file", "write", "allow", "json"} {
		if ctx.IsSet(name) {
			return fault.Usage("omit one of them", "--batch takes files from its lines: omit --%s", name)
		}
	}
	if ctx.NArg() > 0 {
		return fault.Usage("agent edit --batch < FILE", "--batch reads standard input, not %q", ctx.Args().First())
	}
	// A user sees what input is expected, instead of a command that hangs.
	if term.Terminal(c.Stdin) != nil {
		fmt.Fprintln(c.Stderr, `type lines such as {"id":1,"path":"a.py","before":"x\n","blocks":[["x\n","y\n"]]}, and Ctrl-D at the end`)
	}
	// Nothing outlives its line, so the heap stays small and would be collected every few lines. Rarer collections cost
	// some memory and make the slowest answers about a quarter faster.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	// Both buffers serve every line. Output is not buffered: the caller may wait for the answer before asking again.
	lines := bufio.NewReaderSize(term.Interruptible(ctx.Context, c.Stdin), 256<<10)
	var line, out []byte
	for {
		var err error
		line, err = readBatchLine(lines, line[:0])
		switch {
		case ctx.Context.Err() != nil:
			return fault.Reported{Exit: run.ExitCancelled} // the stream contains only lines
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, term.ErrTooLarge):
			out = batch.Refuse(out[:0], fmt.Sprintf("the line is longer than %d MiB", maxLine>>20))
		case err != nil:
			return fault.Infra("check what writes to standard input", "read standard input: %w", err)
		case len(bytes.TrimSpace(line)) == 0:
			continue
		default:
			out = batch.Answer(out[:0], line)
		}
		if _, err := c.Stdout.Write(out); err != nil {
			return err
		}
	}
}

// readBatchLine appends the next line to line, without its end. It reads a line that is too long to its end and returns
// term.ErrTooLarge.
func readBatchLine(r *bufio.Reader, line []byte) ([]byte, error) {
	// A long line arrives in parts. Once it is too long the parts are read and dropped, so that the next line is found.
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine+1; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return line, err
		case long:
			return line, term.ErrTooLarge
		case err != nil && len(line) == 0:
			return line, io.EOF
		}
		return bytes.TrimSuffix(line, []byte("\n")), nil // the last line may have no end
	}
}

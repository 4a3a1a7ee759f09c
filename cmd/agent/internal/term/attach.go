package term

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"golang.org/x/term"
)

// A Size is the size of a terminal in characters.
type Size struct{ Rows, Columns uint16 }

// An Attached is the person's terminal while a program in a box has it: every key goes there, including Ctrl-C.
type Attached struct {
	Size  Size
	Typed <-chan []byte
	// Sizes is closed when the terminal is detached.
	Sizes <-chan Size

	tty    *os.File
	before *term.State
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// Attachable reports whether both ends are terminals, so that a program in a box can use them.
func (c *Console) Attachable() bool { return Terminal(c.Stdin) != nil && Terminal(c.Stdout) != nil }

// Attach gives the terminal to a program in a box until Detach. Meanwhile the box handles keys, for instance by echoing
// them.
func (c *Console) Attach(ctx context.Context) (*Attached, error) {
	tty := Terminal(c.Stdin)
	if tty == nil || Terminal(c.Stdout) == nil {
		return nil, fmt.Errorf("standard input and output are not a terminal")
	}
	ctx, cancel := context.WithCancel(ctx)
	a := &Attached{tty: tty, cancel: cancel, Size: sizeOf(Terminal(c.Stdout))}
	var err error
	if a.before, err = term.MakeRaw(int(tty.Fd())); err != nil {
		cancel()
		return nil, fmt.Errorf("set the terminal's mode: %w", err)
	}
	typed, sizes := make(chan []byte), make(chan Size)
	a.Typed, a.Sizes = typed, sizes
	a.work.Go(func() { a.read(ctx, typed) })
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	a.work.Go(func() {
		defer close(sizes)
		defer signal.Stop(resized)
		for {
			select {
			case <-ctx.Done():
				return
			case <-resized:
				send(ctx, sizes, sizeOf(Terminal(c.Stdout)))
			}
		}
	})
	return a, nil
}

// read passes on what is typed. A terminal that went away types no more.
func (a *Attached) read(ctx context.Context, typed chan<- []byte) {
	from := Interruptible(ctx, a.tty)
	for {
		buf := make([]byte, 4<<10)
		n, err := from.Read(buf)
		if n > 0 {
			send(ctx, typed, buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// send waits for a receiver, or the end of ctx.
func send[T any](ctx context.Context, to chan<- T, v T) {
	select {
	case to <- v:
	case <-ctx.Done():
	}
}

// Detach returns the terminal to this process, as it was.
func (a *Attached) Detach() {
	a.cancel()
	a.work.Wait()
	_ = term.Restore(int(a.tty.Fd()), a.before) // a terminal that went away has no modes
}

// sizeOf returns the size of a terminal, 80 by 24 if it does not report one.
func sizeOf(f *os.File) Size {
	if x, y, err := term.GetSize(int(f.Fd())); err == nil && x > 0 && y > 0 {
		return Size{Rows: uint16(y), Columns: uint16(x)} //nolint:gosec // the kernel has no larger ones
	}
	return Size{Rows: 24, Columns: 80}
}

// Shown returns a writer for the output of a program of unknown origin. If w is a terminal the output is made harmless;
// otherwise it stays as it is.
func (c *Console) Shown(w io.Writer) io.Writer {
	if Terminal(w) == nil {
		return w
	}
	return &cleaner{w: w}
}

// A cleaner applies Clean to a stream, whose characters may arrive in parts.
type cleaner struct {
	mu   sync.Mutex
	w    io.Writer
	rest []byte
}

// Write writes the complete characters of p and of what was left before.
func (c *cleaner) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := append(c.rest, p...)
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if utf8.RuneStart(text[len(text)-back]) {
			if !utf8.FullRune(text[len(text)-back:]) {
				whole -= back
			}
			break
		}
	}
	if whole > 0 && text[whole-1] == '\r' { // may be the first half of a line end
		whole--
	}
	c.rest = append([]byte(nil), text[whole:]...)
	_, err := io.WriteString(c.w, Clean(strings.ReplaceAll(string(text[:whole]), "\r\n", "\n")))
	return len(p), err
}

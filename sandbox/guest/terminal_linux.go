package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"agent/sandbox/guest/process"
	"agent/sandbox/guest/wire"
)

// A lockedWriter takes one write at a time: the output of a command goes out between the frames of its way out.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes p as a whole.
func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// An outlet sends what a command writes to the host, up to a bound.
type outlet struct {
	mu   sync.Mutex
	to   io.Writer
	left int
}

// write sends p as output of a stream. Output beyond the bound is only kept, as all output is. The reader of the stream
// notices a host that has gone.
func (o *outlet) write(stream byte, p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p = p[:min(len(p), o.left)]
	if len(p) == 0 {
		return
	}
	o.left -= len(p)
	_ = wire.WriteFrame(o.to, wire.KindOutput, append([]byte{stream}, p...))
}

// queued is how many frames may wait for a program that does not read its terminal. What is typed beyond that is lost,
// as on any terminal.
const queued = 1024

// A keyboard holds what comes from the host for the terminal of a command.
type keyboard struct {
	typed chan []byte
	sizes chan Size
}

func newKeyboard() *keyboard {
	return &keyboard{typed: make(chan []byte, queued), sizes: make(chan Size, queued)}
}

// take keeps one frame, and never waits. A frame that comes when there is no terminal is late, and is dropped.
func (k *keyboard) take(kind wire.Kind, payload []byte) error {
	if k == nil {
		return nil
	}
	if kind == wire.KindInput {
		select {
		case k.typed <- payload:
		default:
		}
		return nil
	}
	var size Size
	if err := json.Unmarshal(payload, &size); err != nil {
		return fmt.Errorf("decode the size of the terminal: %w", err)
	}
	select {
	case k.sizes <- size:
	default:
	}
	return nil
}

// openTerminal opens a pair of pseudo-terminals of this size. The host's end does not block, so that a deadline can end
// a wait for it.
func openTerminal(size Size) (host, program *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	host = os.NewFile(uintptr(fd), "/dev/ptmx")
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = resize(host, size)
	}
	if err == nil {
		program, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		host.Close()
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	return host, program, nil
}

// resize sets the size of a terminal; the kernel tells the program.
func resize(f *os.File, size Size) error {
	conn, err := f.SyscallConn() // Fd would make it block
	if err != nil {
		return err
	}
	closed := conn.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Columns})
	})
	return errors.Join(closed, err)
}

// startOnTerminal forks the command with a terminal of its own, the controlling terminal of its session, so that Ctrl-C
// typed there reaches it.
func (ch *child) startOnTerminal(c Command, forker *process.Forker, keys *keyboard) error {
	host, program, err := openTerminal(*c.Terminal)
	if err != nil {
		return err
	}
	defer program.Close()
	ch.pipes = append(ch.pipes, host)
	attr := &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if ch.pid, err = fork(c, []*os.File{program, program, program}, forker, attr); err != nil {
		ch.close()
		return err
	}
	over := make(chan struct{})
	ch.copying.Go(func() {
		defer close(over)
		ch.stdout.readFrom(host) // EIO when the last process has closed it
	})
	ch.copying.Go(func() {
		keep(over, keys.typed, func(p []byte) { _, _ = host.Write(p) }) // a program need not read its input
	})
	ch.copying.Go(func() {
		keep(over, keys.sizes, func(s Size) { _ = resize(host, s) }) // one that is refused changes nothing
	})
	return nil
}

// keep calls do for one value after the other until over is closed.
func keep[T any](over <-chan struct{}, from <-chan T, do func(T)) {
	for {
		select {
		case v := <-from:
			do(v)
		case <-over:
			return
		}
	}
}

package term

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// A keyboard is the terminal that a person types at. Between press and release, keys are read one by one, without Enter
// and without an echo. The meaning of signals (Ctrl-C, Ctrl-Z) and the look of output stay unchanged.
type keyboard struct {
	tty    *os.File
	opened bool // by this program: standard input is something else
	// The modes to restore, nil if the terminal has none that could be set.
	before *unix.Termios
	ended  chan struct{} // closed by release
	watch  sync.WaitGroup
	mu     sync.Mutex // held while modes are set
}

// keyboard returns the terminal at which a person types: standard input or, if that is a pipe, the terminal of the
// process, as git does. It returns nil if there is no one to ask. The caller closes it.
func (c *Console) keyboard() *keyboard {
	if tty := Terminal(c.Stdin); tty != nil {
		return &keyboard{tty: tty}
	}
	if c.TTY == "" {
		return nil
	}
	tty, err := os.OpenFile(c.TTY, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	// A background job that reads its terminal is stopped by it for ever.
	if group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP); Terminal(tty) == nil || err != nil || group != unix.Getpgrp() {
		tty.Close()
		return nil
	}
	return &keyboard{tty: tty, opened: true}
}

// close closes what keyboard opened. The streams of the process stay open.
func (k *keyboard) close() {
	if k.opened {
		k.tty.Close()
	}
}

// press starts the reading of keys. It returns false if this terminal has only lines. Until release, nothing else may
// set its modes.
func (k *keyboard) press() bool {
	modes, err := unix.IoctlGetTermios(int(k.tty.Fd()), getModes)
	if err != nil {
		return false
	}
	k.before, k.ended = modes, make(chan struct{})
	if k.set() != nil {
		k.before = nil
		return false
	}
	// Installed before anyone can press a key, and so before a signal can be the answer.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGQUIT, syscall.SIGCONT)
	k.watch.Go(func() { k.guard(signals) })
	return true
}

// set sets the modes for reading keys.
func (k *keyboard) set() error {
	raw := *k.before
	raw.Lflag &^= unix.ICANON | unix.ECHO
	raw.Iflag |= unix.ICRNL
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(int(k.tty.Fd()), setModes, &raw)
}

// guard keeps the modes right if a signal ends the process or the shell takes the terminal meanwhile. Ctrl-C and TERM
// cancel the question, which restores the modes itself.
func (k *keyboard) guard(signals chan os.Signal) {
	defer signal.Stop(signals)
	for {
		select {
		case <-k.ended:
			return
		case s := <-signals:
			// After Ctrl-Z and fg the shell may have set modes of its own.
			if s == syscall.SIGCONT {
				k.mu.Lock()
				select {
				case <-k.ended: // restored by now, and must stay so
				default:
					_ = k.set() // the next read reports a terminal that went away
				}
				k.mu.Unlock()
				continue
			}
			// QUIT ends this process at once and with a trace, so restore the terminal first.
			k.restore()
			signal.Reset(syscall.SIGQUIT)
			_ = syscall.Kill(syscall.Getpid(), syscall.SIGQUIT) // the target is this process, which exists
		}
	}
}

// restore restores the former modes.
func (k *keyboard) restore() {
	k.mu.Lock()
	defer k.mu.Unlock()
	_ = unix.IoctlSetTermios(int(k.tty.Fd()), setModes, k.before) // a terminal that went away has none
}

// release ends the reading of keys.
func (k *keyboard) release() {
	if k.before == nil {
		return
	}
	k.mu.Lock()
	close(k.ended)
	k.mu.Unlock()
	k.restore()
	k.watch.Wait()
	k.before = nil
}

// endOfInput is the character that Ctrl-D types where keys are read.
const endOfInput = 0x04

// key returns the next key: a character, '\n' for Enter, or 0 for a key without a meaning here, such as an arrow.
// io.EOF means that there is no more input.
func (k *keyboard) key(ctx context.Context) (rune, error) {
	from, chunk := Interruptible(ctx, k.tty), make([]byte, 1)
	read := func() (byte, error) {
		n, err := from.Read(chunk)
		if n == 0 && err == nil {
			err = io.EOF
		}
		return chunk[0], err
	}
	b, err := read()
	switch {
	case err != nil:
		return 0, err
	case b == endOfInput:
		return 0, io.EOF
	case b == 0x1b:
		return 0, skipSequence(func() bool { return waiting(k.tty) }, read)
	case b < utf8.RuneSelf:
		return rune(b), nil
	}
	// The rest of a character arrives with its first byte.
	text := []byte{b}
	for !utf8.FullRune(text) {
		if b, err = read(); err != nil {
			return 0, err
		}
		text = append(text, b)
	}
	r, _ := utf8.DecodeRune(text)
	return r, nil
}

// skipSequence reads the rest of a key that sends more than one character (ECMA-48, 5.4): what follows Escape has
// arrived with it, and what was typed after it stays.
func skipSequence(waiting func() bool, read func() (byte, error)) error {
	if !waiting() {
		return nil // Escape itself
	}
	b, err := read()
	switch {
	case err != nil:
		return err
	case b == 'O': // a function key: one more
		if waiting() {
			_, err = read()
		}
	case b == '[': // parameters, up to the final byte
		for b = 0; err == nil && (b < 0x40 || b > 0x7e) && waiting(); {
			b, err = read()
		}
	}
	return err
}

// waiting reports whether a read of tty would return something at once.
func waiting(tty *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(tty.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLIN != 0
}

// Attended reports whether there is a person to ask.
func (c *Console) Attended() bool {
	if Terminal(c.Stderr) == nil {
		return false
	}
	k := c.keyboard()
	if k == nil {
		return false
	}
	k.close()
	return true
}

// RunAtKeys runs a program of the user's that reads the person's keys, such as an editor.
func (c *Console) RunAtKeys(ctx context.Context, words []string) error {
	k := c.keyboard()
	if k == nil {
		return fmt.Errorf("run %s: there is no terminal", words[0])
	}
	defer k.close()
	return c.RunProgram(ctx, words, k.tty)
}

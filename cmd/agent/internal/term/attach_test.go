package term

import (
	"bytes"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"agent/cmd/agent/internal/term/termtest"
)

// TestAProgramInABoxHasTheKeys is not parallel: it sends a signal that concerns all terminals of the process.
func TestAProgramInABoxHasTheKeys(t *testing.T) {
	p := termtest.NewPerson(t)
	before := modes(t, p.TTY)
	c := seated(p, nil)
	c.Stdout = p.TTY
	if !c.Attachable() {
		t.Fatal("a terminal at both ends is not attachable")
	}
	a, err := c.Attach(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a.Size != (Size{Rows: 24, Columns: 80}) || modes(t, p.TTY).Lflag&(unix.ISIG|unix.ICANON|unix.ECHO) != 0 {
		t.Errorf("size %+v, modes %b", a.Size, modes(t, p.TTY).Lflag)
	}
	// Ctrl-C is a key like any other.
	p.Types(t, "l\x03\r")
	var got []byte
	for len(got) < 3 {
		got = append(got, <-a.Typed...)
	}
	if string(got) != "l\x03\r" {
		t.Errorf("typed %q", got)
	}
	if err := pty.Setsize(p.TTY, &pty.Winsize{Rows: 50, Cols: 132}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(unix.Getpid(), unix.SIGWINCH); err != nil { // p.TTY is not this process's own terminal
		t.Fatal(err)
	}
	if s := <-a.Sizes; s != (Size{Rows: 50, Columns: 132}) {
		t.Errorf("resized to %+v", s)
	}
	a.Detach()
	if modes(t, p.TTY) != before {
		t.Error("the modes are not restored")
	}
	if _, open := <-a.Sizes; open {
		t.Error("a size after the end")
	}
}

func TestAPipeIsNoTerminalForABox(t *testing.T) {
	t.Parallel()
	c := &Console{Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}}
	if _, err := c.Attach(t.Context()); err == nil || c.Attachable() {
		t.Error("a pipe was attached")
	}
	if s := sizeOf(termtest.NewPerson(t).TTY); s != (Size{Rows: 24, Columns: 80}) {
		t.Errorf("size %+v", s)
	}
}

// A program's output is harmless on a terminal, however it is cut, and complete elsewhere.
func TestShownOutputObeysNobody(t *testing.T) {
	t.Parallel()
	const text = "ok\r\nä\x1b[2J€\rend\u202e\n"
	for cut := range len(text) + 1 {
		var b bytes.Buffer
		c := &cleaner{w: &b}
		for _, part := range []string{text[:cut], text[cut:]} {
			if n, err := c.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if b.String() != "ok\nä␛[2J€␍end<U+202E>\n" {
			t.Errorf("cut at %d: %q", cut, &b)
		}
	}
	var plain bytes.Buffer
	c := &Console{}
	if w := c.Shown(&plain); w != &plain {
		t.Error("a file is not written as it is")
	}
	p := termtest.NewPerson(t)
	if _, err := c.Shown(p.TTY).Write([]byte("a\x1b[2Jb\n")); err != nil {
		t.Fatal(err)
	}
	p.Sees(t, "a␛[2Jb", 1)
}

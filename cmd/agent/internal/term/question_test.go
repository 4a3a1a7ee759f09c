package term

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"agent/cmd/agent/internal/term/termtest"
)

// sample returns a question with every part.
func sample() Question {
	return Question{Text: "Write it?", Default: 'a', Choices: []Choice{
		{Key: 'a', Name: "apply", Help: "write it to the workspace", More: "y"},
		{Key: 'c', Name: "edit code", Help: "edit the files"},
		{Key: 'x', Name: "edit patch", Help: "edit the patch"},
		{Key: 'l', Name: "always", Help: "do not ask again"},
		{Key: 'q', Name: "quit", Help: "decide later"},
	}}
}

// seated returns a console with p at it.
func seated(p *termtest.Person, env map[string]string) *Console {
	return &Console{Getenv: func(k string) string { return env[k] }, Stdin: p.TTY, Stdout: p.TTY, Stderr: p.TTY}
}

// A reply is the result of Ask.
type reply struct {
	key rune
	err error
}

// asks starts a question and returns the channel on which its answer will come.
func asks(ctx context.Context, c *Console, q Question) <-chan reply {
	got := make(chan reply, 1)
	go func() {
		key, err := c.Ask(ctx, q)
		got <- reply{key, err}
	}()
	return got
}

// modes returns the modes of a terminal.
func modes(t *testing.T, tty *os.File) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(tty.Fd()), getModes)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

func TestAKeyAnswersWithoutEnter(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]reply{
		"a": {'a', nil}, "A": {'a', nil}, "y": {'a', nil}, "\r": {'a', nil}, "\n": {'a', nil}, "x": {'x', nil}, "q": {'q', nil}, "\x04": {0, io.EOF},
	} {
		p := termtest.NewPerson(t)
		before := modes(t, p.TTY)
		got := asks(t.Context(), seated(p, nil), sample())
		p.Sees(t, "> ", 1)
		if m := modes(t, p.TTY); m.Lflag&unix.ECHO != 0 || m.Lflag&unix.ISIG == 0 || m.Oflag != before.Oflag {
			t.Errorf("keys are read with the modes %+v", m)
		}
		p.Types(t, typed)
		if r := <-got; r != want {
			t.Errorf("%q: %q, %v", typed, r.key, r.err)
		}
		if after := modes(t, p.TTY); after != before {
			t.Errorf("%q: the modes were %+v and are %+v", typed, before, after)
		}
		if screen := p.Screen(); !strings.Contains(screen, "[a]pply (Enter), edit [c]ode, edit patch [x], a[l]ways, [q]uit, [?]\r\n> ") {
			t.Errorf("the question reads\n%s", screen)
		}
	}
}

func TestAnotherKeyAsksAgain(t *testing.T) {
	t.Parallel()
	p := termtest.NewPerson(t)
	q := sample()
	q.Default = 0
	got := asks(t.Context(), seated(p, nil), q)
	for i, typed := range []string{"z", "\x1b[A", "\r", "é", "7"} {
		p.Sees(t, "[?]\r\n> ", i+1)
		p.Types(t, typed)
		p.Sees(t, "press one of a, c, x, l, q (? for help)", i+1)
	}
	p.Types(t, "?")
	p.Sees(t, "  x  edit patch: edit the patch\r\n", 1)
	p.Sees(t, "[?]\r\n> ", 7)
	p.Types(t, "c")
	if r := <-got; r.key != 'c' || r.err != nil {
		t.Errorf("%q, %v", r.key, r.err)
	}
	p.Sees(t, "> edit code\r\n", 1)
	if strings.Contains(p.Screen(), "(Enter)") {
		t.Error("a default is shown, and there is none")
	}
}

func TestATerminalWithoutKeysTakesALine(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]rune{"a\n": 'a', "EDIT_CODE\n": 'c', "\n": 'a', " edit patch \n": 'x'} {
		p := termtest.NewPerson(t)
		got := asks(t.Context(), seated(p, map[string]string{"TERM": "dumb"}), sample())
		p.Sees(t, "> ", 1)
		p.Types(t, typed)
		if r := <-got; r.key != want || r.err != nil {
			t.Errorf("%q: %q, %v", typed, r.key, r.err)
		}
	}
}

func TestWhatWasTypedBeforeIsNoAnswer(t *testing.T) {
	t.Parallel()
	p := termtest.NewPerson(t)
	p.Types(t, "a\n")
	p.Sees(t, "a\r\n", 1) // the terminal echoes it, so it waits to be read
	got := asks(t.Context(), seated(p, nil), sample())
	p.Sees(t, "> ", 1)
	p.Types(t, "q")
	if r := <-got; r.key != 'q' {
		t.Errorf("answered %q", r.key)
	}
}

// Help does not reset the countdown, and the line is rewritten in place.
func TestTheCountdownGoesOn(t *testing.T) {
	t.Parallel()
	p := termtest.NewPerson(t)
	q := sample()
	q.Wait, q.Expires = 3*time.Second, "stops"
	before := modes(t, p.TTY)
	got := asks(t.Context(), seated(p, map[string]string{"TERM": "xterm"}), q)
	p.Sees(t, "stops in 3 s > ", 1)
	p.Sees(t, "\r\x1b[Kstops in ", 1)
	p.Types(t, "?")
	p.Sees(t, "this help", 1)
	if r := <-got; !errors.Is(r.err, ErrExpired) {
		t.Errorf("%q, %v", r.key, r.err)
	}
	if screen := p.Screen(); strings.Count(screen, "stops in 3 s") != 1 {
		t.Errorf("help wound the clock back:\n%s", screen)
	}
	if modes(t, p.TTY) != before {
		t.Error("the modes are not restored after the countdown")
	}
}

func TestAnEndRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	p := termtest.NewPerson(t)
	before := modes(t, p.TTY)
	ctx, cancel := context.WithCancel(t.Context())
	got := asks(ctx, seated(p, nil), sample())
	p.Sees(t, "> ", 1)
	// fg undoes what a shell does to a terminal while the program is stopped.
	lines := before
	if err := unix.IoctlSetTermios(int(p.TTY.Fd()), setModes, &lines); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for modes(t, p.TTY).Lflag&unix.ICANON != 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if r := <-got; !errors.Is(r.err, context.Canceled) || r.key != 0 {
		t.Errorf("%q, %v", r.key, r.err)
	}
	if modes(t, p.TTY) != before {
		t.Error("the modes are not restored after a cancellation")
	}
}

func TestNobodyIsAskedWithoutATerminal(t *testing.T) {
	t.Parallel()
	p := termtest.NewPerson(t)
	for name, c := range map[string]*Console{
		"a pipe":               {Getenv: func(string) string { return "" }, Stdin: strings.NewReader("a\n"), Stderr: p.TTY},
		"no such terminal":     {Getenv: func(string) string { return "" }, Stdin: strings.NewReader("a\n"), Stderr: p.TTY, TTY: "/nonexistent"},
		"a terminal of others": {Getenv: func(string) string { return "" }, Stdin: strings.NewReader("a\n"), Stderr: p.TTY, TTY: p.TTY.Name()},
		"a file":               {Getenv: func(string) string { return "" }, Stdin: strings.NewReader("a\n"), Stderr: p.TTY, TTY: "/dev/null"},
		"nothing is seen":      {Getenv: func(string) string { return "" }, Stdin: p.TTY, Stderr: io.Discard},
	} {
		if c.Attended() {
			t.Errorf("%s: attended", name)
		}
		if name == "nothing is seen" {
			continue
		}
		if key, err := c.Ask(t.Context(), sample()); key != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%s: %q, %v", name, key, err)
		}
	}
}

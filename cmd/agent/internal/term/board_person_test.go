package term

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"agent/cmd/agent/internal/term/termtest"
)

func TestTheBoardLeavesItsLastFrame(t *testing.T) {
	t.Parallel()
	p := termtest.NewPerson(t)
	c := Console{Getenv: func(string) string { return "" }, Stdin: p.TTY, Stdout: p.TTY, Stderr: p.TTY}
	b := c.NewBoard(10 * time.Second)
	for _, e := range termtest.Events() {
		b.Event(e)
	}
	p.Sees(t, "exit status 1", 1)
	b.Close()
	fmt.Fprintln(c.Stderr, "the result")
	p.Sees(t, "the result", 1)
	lines := strings.Split(p.Screen(), "\n")
	if last := lines[len(lines)-2]; strings.Trim(ansi.Strip(last), "\r") != "the result" {
		t.Errorf("the result does not stand below the board but in %q", last)
	}
	if strings.Contains(p.Screen(), "\x1b[?") {
		t.Error("the board changes a mode of the terminal, which a kill would leave changed")
	}
}

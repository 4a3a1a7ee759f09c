package termtest

import (
	"os"
	"testing"

	"github.com/creack/pty"
)

// OpenPTY opens a terminal of 24 by 80. Writing to master types, and reading from it returns what the program prints.
func OpenPTY(t *testing.T) (master, tty *os.File) {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close(); master.Close() })
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	return master, tty
}

package termtest

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Person sits at a terminal: what is typed there, and what is shown.
type Person struct {
	// TTY is the end of the terminal that a program has as its streams.
	TTY *os.File

	master  *os.File
	reading sync.WaitGroup
	mu      sync.Mutex
	seen    bytes.Buffer
	changed chan struct{} // has room for one: something was printed
}

// NewPerson puts a person at a fresh terminal, which is closed with the test.
func NewPerson(t *testing.T) *Person {
	t.Helper()
	master, tty := OpenPTY(t)
	p := &Person{TTY: tty, master: master, changed: make(chan struct{}, 1)}
	p.reading.Go(func() {
		chunk := make([]byte, 4096)
		for {
			n, err := master.Read(chunk)
			p.mu.Lock()
			p.seen.Write(chunk[:n])
			p.mu.Unlock()
			select {
			case p.changed <- struct{}{}:
			default:
			}
			if err != nil { // the terminal was closed
				return
			}
		}
	})
	t.Cleanup(func() { tty.Close(); p.reading.Wait() })
	return p
}

// Sees waits until the terminal shows text, n times in all.
func (p *Person) Sees(t *testing.T, text string, n int) {
	t.Helper()
	patience := time.After(5 * time.Minute) // a test that hangs tells less than one that fails
	for {
		if strings.Count(p.Screen(), text) >= n {
			return
		}
		select {
		case <-p.changed:
		case <-patience:
			t.Fatalf("the terminal never showed %q, but\n%s", text, p.Screen())
		}
	}
}

// Screen is all that was shown so far.
func (p *Person) Screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// Whole ends the terminal and returns all that was shown on it, also what a program wrote just before it ended.
func (p *Person) Whole() string {
	p.TTY.Close() // its end of it is the last
	p.reading.Wait()
	return p.Screen()
}

// Types types text, with what ends a line in it.
func (p *Person) Types(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(p.master, text); err != nil {
		t.Fatal(err)
	}
}

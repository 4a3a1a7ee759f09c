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

// A Person is a person at a terminal: what they type, and what they see.
type Person struct {
	// TTY is the end of the terminal that a program has as its streams.
	TTY *os.File

	master  *os.File
	reading sync.WaitGroup
	mu      sync.Mutex
	seen    bytes.Buffer
	changed chan struct{} // has room for one signal that something was printed
}

// NewPerson returns a person at a fresh terminal, which is closed with the test.
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

// Sees waits until the terminal shows text, n times in total.
func (p *Person) Sees(t *testing.T, text string, n int) {
	t.Helper()
	patience := time.After(5 * time.Minute) // a test that hangs says less than one that fails
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

// Screen returns everything that was shown so far.
func (p *Person) Screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// Whole ends the terminal and returns everything that was shown on it, including what a program wrote just before it ended.
func (p *Person) Whole() string {
	p.TTY.Close() // the last handle on that end
	p.reading.Wait()
	return p.Screen()
}

// Types types text, which includes any line end.
func (p *Person) Types(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(p.master, text); err != nil {
		t.Fatal(err)
	}
}

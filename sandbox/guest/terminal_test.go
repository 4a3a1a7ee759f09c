package guest

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"agent/sandbox/guest/process"
	"agent/sandbox/guest/wire"
)

// shown collects what is streamed, and signals each piece.
type shown struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{}
}

func (s *shown) write(_ byte, p []byte) {
	s.mu.Lock()
	s.text.Write(p)
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// sees waits for text.
func (s *shown) sees(text string) {
	for {
		s.mu.Lock()
		there := strings.Contains(s.text.String(), text)
		s.mu.Unlock()
		if there {
			return
		}
		<-s.changed
	}
}

// A program has a terminal of its own. Its keys, size and Ctrl-C come over the stream, and the output that remains when
// the program has ended is read to its end.
func TestAProgramHasATerminalOfItsOwn(t *testing.T) {
	forker, err := process.OpenForker()
	must(t, err)
	defer forker.Close()
	keys, screen := newKeyboard(), &shown{changed: make(chan struct{}, 1)}
	c := Command{
		Args:   []string{"/bin/sh", "-c", `stty size; read line; echo "got $line"; trap "stty size; exit 3" INT; until [ "$(stty size)" = "10 20" ]; do sleep 0.01; done; echo ready; while :; do sleep 0.01; done`},
		Stream: true, Terminal: &Size{Rows: 30, Columns: 100}, Dir: "/",
	}.WithDefaults()
	must(t, c.Check())
	ch, err := start(c, forker, screen.write, keys)
	must(t, err)
	screen.sees("30 100")
	must(t, keys.take(wire.KindInput, []byte("hello\r")))
	screen.sees("got hello")
	must(t, keys.take(wire.KindResize, []byte(`{"rows":10,"columns":20}`)))
	screen.sees("ready")
	must(t, keys.take(wire.KindInput, []byte("\x03")))
	var status unix.WaitStatus
	if pid, err := unix.Wait4(ch.pid, &status, 0, nil); err != nil || pid != ch.pid || status.ExitStatus() != 3 {
		t.Errorf("wait: %d, %v, %v", pid, err, status)
	}
	ch.drain()
	if text := string(ch.stdout.output().Head); !strings.Contains(text, "10 20") || !strings.Contains(text, "^C") || len(ch.stderr.output().Head) > 0 {
		t.Errorf("the terminal showed %q", text)
	}
	if text := screen.text.String(); text != string(ch.stdout.output().Head) {
		t.Errorf("streamed %q", text)
	}
}

func TestAProgramThatIsNotThereGetsNoTerminal(t *testing.T) {
	forker, err := process.OpenForker()
	must(t, err)
	defer forker.Close()
	c := Command{Args: []string{"/no/such/program"}, Stream: true, Terminal: &Size{}, Dir: "/"}.WithDefaults()
	if _, err := start(c, forker, nil, newKeyboard()); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("error %v", err)
	}
}

// A program that does not read blocks no one: input beyond a bound is lost.
func TestAKeyboardNeverWaits(t *testing.T) {
	t.Parallel()
	k := newKeyboard()
	for range 3 * queued {
		must(t, k.take(wire.KindInput, []byte("x")))
		must(t, k.take(wire.KindResize, []byte(`{"rows":1}`)))
	}
	if len(k.typed) != queued || len(k.sizes) != queued {
		t.Errorf("%d keys and %d sizes wait", len(k.typed), len(k.sizes))
	}
	if err := k.take(wire.KindResize, []byte("{")); err == nil {
		t.Error("a size that is none is taken")
	}
	var none *keyboard // the command has ended
	must(t, none.take(wire.KindInput, []byte("late")))
}

func TestAnOutletIsBounded(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	o := &outlet{to: &lockedWriter{w: &b}, left: 5}
	var writing sync.WaitGroup
	for range 4 {
		writing.Go(func() { o.write(1, []byte("ab")) })
	}
	writing.Wait()
	o.write(2, []byte("more"))
	got := ""
	for {
		kind, p, err := wire.ReadFrame(&b, 100)
		if err == io.EOF {
			break
		}
		if must(t, err); kind != wire.KindOutput || p[0] != 1 {
			t.Errorf("frame %c %q", kind, p)
		}
		got += string(p[1:])
	}
	if got != "ababa" {
		t.Errorf("streamed %q", got)
	}
}

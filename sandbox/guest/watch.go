package guest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agent/sandbox/guest/process"
	"agent/sandbox/workspace/lazyregexp"
)

// A Watch says how to recognise that a command is ready for its work. The guest then ends the command, instead of at
// its Timeout.
type Watch struct {
	// Path is what every listening port is asked for by HTTP, such as "/health"; "" means "/".
	Path string `json:"path,omitempty"`
	// Port is the only port that counts; 0 means all of them.
	Port int `json:"port,omitempty"`
	// Text is what the command writes when it is ready. If it is set, no port is asked anything.
	Text string `json:"text,omitempty"`
	// Settle is how long the command must stay ready. 0 means 1 s.
	Settle time.Duration `json:"settle,omitempty"`
	// Look is how long to watch if nothing listens by then and Text is empty; 0 means until Timeout.
	Look time.Duration `json:"look,omitempty"`
}

// A Port is one on which something in the box accepts connections.
type Port struct {
	// Port is its number.
	Port int `json:"port"`
	// Status is the status of the HTTP answer, 0 if there was none.
	Status int `json:"status,omitempty"`
	// Latency is the time until the answer's first line.
	Latency time.Duration `json:"latency,omitempty"`
}

// The bounds of a Watch. The contents of the box decide everything else.
const (
	// MaxPorts is how many ports are asked and reported, the first seen.
	MaxPorts = 8
	// maxReadyText is the longest Path or Text in bytes.
	maxReadyText = 1 << 10
	// maxTable is how much of a table of sockets is read in bytes.
	maxTable = 4 << 20
	// maxStatusLine is how much of an answer is read in bytes.
	maxStatusLine = 1 << 10
)

const (
	// lookInterval is how often a watch looks.
	lookInterval = 100 * time.Millisecond
	// askInterval is the pause after a missing answer, or one that reports trouble, before the next question.
	askInterval = 500 * time.Millisecond
)

// check reports why no guest would accept w.
func (w Watch) check() error {
	if w.Path != "" && !ValidPath(w.Path) {
		return fmt.Errorf("watch: path %q: must begin with a slash and hold no space", w.Path)
	}
	if w.Port < 0 || w.Port > 65535 || len(w.Text) > maxReadyText || w.Settle < 0 || w.Look < 0 {
		return fmt.Errorf("watch: port %d, text of %d bytes, settling time %s and look of %s must lie within bounds", w.Port, len(w.Text), w.Settle, w.Look)
	}
	return nil
}

// ValidPath reports whether p can be requested by HTTP as it stands.
func ValidPath(p string) bool {
	strange := func(r rune) bool { return r <= ' ' || r > '~' }
	return strings.HasPrefix(p, "/") && len(p) <= maxReadyText && !strings.ContainsFunc(p, strange)
}

// A watcher carries out a Watch while its command runs. Whatever listens in the box belongs to the command, even if it
// is in a group of its own: no other command runs at the time, and nothing outlives the one before.
type watcher struct {
	watch Watch
	text  *finder
	// egress says that the command has a way out, so that the port of the box is the guest's own.
	egress bool
	// over is closed when the command has been ready for long enough, or idle for all of its Look; nil for a command
	// without a Watch.
	over chan struct{}
	stop context.CancelFunc
	// working counts the goroutine that looks, and one for each port that is asked.
	working sync.WaitGroup

	mu sync.Mutex
	// asked holds the ports that have been asked, by number, whether they still listen or not.
	asked map[int]*Port
	// open are the ports that listened at the last look.
	open []int
	// idle says that the watch is over because nothing listened.
	idle bool
}

// observe starts to watch a command that writes through text. The caller ends the watch with report.
func observe(ctx context.Context, c Command, text *finder) *watcher {
	ctx, stop := context.WithCancel(ctx)
	o := &watcher{stop: stop, egress: c.Egress}
	if c.Watch == nil {
		return o
	}
	o.watch, o.text, o.over, o.asked = *c.Watch, text, make(chan struct{}), map[int]*Port{}
	if o.watch.Path == "" {
		o.watch.Path = "/"
	}
	if o.watch.Settle == 0 {
		o.watch.Settle = time.Second
	}
	o.working.Go(func() { o.look(ctx) })
	return o
}

// report ends the watch and returns the ports of its last look.
func (o *watcher) report() []Port {
	o.stop()
	o.working.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	var ports []Port
	for _, number := range o.open {
		if p := o.asked[number]; p != nil {
			ports = append(ports, *p)
		}
	}
	return ports
}

// settled reports whether the command has been ready for long enough. It is called after report.
func (o *watcher) settled() bool { return process.Ended(o.over) && !o.idle }

// look looks again and again until the command has settled, nothing has listened for its Look, or ctx ends.
func (o *watcher) look(ctx context.Context) {
	began := time.Now()
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	since := time.Time{} // when it became ready
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch ready := o.ready(ctx, listeners()); {
		case !ready && o.unheard(time.Since(began)):
			close(o.over)
			return
		case !ready:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= o.watch.Settle:
			close(o.over)
			return
		}
	}
}

// unheard reports whether the command has run for its Look and listens on nothing.
func (o *watcher) unheard(ran time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.idle = o.watch.Look > 0 && ran >= o.watch.Look && o.watch.Text == "" && len(o.open) == 0
	return o.idle
}

// ready records what listens now, begins to ask the ports that have not been asked, and reports whether the command is
// ready.
func (o *watcher) ready(ctx context.Context, found map[int]netip.Addr) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = o.open[:0]
	answered := true
	for _, number := range slices.Sorted(maps.Keys(found)) {
		if o.watch.Port != 0 && o.watch.Port != number || o.egress && number == egressPort {
			continue
		}
		// A port that opens again is not asked again: it belonged to the same program.
		p := o.asked[number]
		if p == nil && len(o.asked) < MaxPorts {
			p = &Port{Port: number}
			o.asked[number] = p
			if o.watch.Text == "" {
				o.working.Go(func() { o.ask(ctx, found[number], p) })
			}
		}
		if p != nil {
			o.open = append(o.open, number)
			answered = answered && p.Status != 0 && p.Status < 500
		}
	}
	if o.watch.Text != "" {
		return o.text.found.Load()
	}
	return len(o.open) > 0 && answered
}

// ask asks one port until it gives an answer that does not report an error of its own. A single question has no
// deadline but the end of the watch: a first page may take long on a busy machine.
func (o *watcher) ask(ctx context.Context, at netip.Addr, p *Port) {
	for {
		start := time.Now()
		if status := get(ctx, netip.AddrPortFrom(at, uint16(p.Port)), o.watch.Path); status != 0 {
			o.mu.Lock()
			p.Status, p.Latency = status, time.Since(start)
			o.mu.Unlock()
			if status < 500 {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(askInterval):
		}
	}
}

// get requests path by HTTP and returns the status of the answer, or 0 if there is none. It reads only the first line
// of what comes.
func get(ctx context.Context, at netip.AddrPort, path string) int {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", at.String())
	if err != nil {
		return 0
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	// Many servers in development answer only to localhost.
	request := "GET " + path + " HTTP/1.1\r\nHost: localhost:" + strconv.Itoa(int(at.Port())) +
		"\r\nUser-Agent: agent-smoke\r\nAccept: */*\r\nConnection: close\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		return 0
	}
	var line []byte
	buf := make([]byte, maxStatusLine)
	for len(line) < maxStatusLine && !bytes.ContainsRune(line, '\n') {
		n, err := conn.Read(buf[:maxStatusLine-len(line)])
		line = append(line, buf[:n]...)
		if err != nil {
			break
		}
	}
	return statusOf(string(line))
}

// statusLine is the beginning of an HTTP answer (RFC 9112, section 4).
var statusLine = lazyregexp.New(`^HTTP/1\.[01] ([1-5][0-9][0-9])[ \r\n]`)

// statusOf reads the status of an answer, or returns 0 if it is not one.
func statusOf(answer string) int {
	m := statusLine.FindStringSubmatch(answer)
	if m == nil {
		return 0
	}
	status, _ := strconv.Atoi(m[1]) // three digits
	return status
}

// A finder looks for a text in several streams, even if the text arrives in pieces.
type finder struct {
	text  []byte
	found atomic.Bool
}

// in returns a function that searches one stream. It must be given everything that is written there, in order.
func (f *finder) in() func(p []byte) {
	var rest []byte // what may be the beginning of the text
	return func(p []byte) {
		if len(f.text) == 0 || f.found.Load() {
			return
		}
		rest = append(rest, p...)
		if bytes.Contains(rest, f.text) {
			f.found.Store(true)
		}
		keep := min(len(rest), len(f.text)-1)
		rest = append(rest[:0], rest[len(rest)-keep:]...)
	}
}

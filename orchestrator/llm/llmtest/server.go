package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"agent/orchestrator/llm"
)

// A Server is a fake of a vendor. Each question takes the next step of its script; if no step is left, the answer is status 400.
type Server struct {
	http   *httptest.Server
	vendor dialect
	choose func(Request) Step
	form   bool // calls are written into texts, see Emulate

	mu       sync.Mutex
	script   []Step
	requests []Request
	open     int           // connections
	changed  chan struct{} // closed when open changes
}

// A dialect is how a vendor speaks.
type dialect interface {
	listening
	answering
}

// listening is how a vendor takes a question, and answers it in one piece.
type listening interface {
	// read returns the question of r, and what is requested: "answer", "count", "models" or something else, for which info gives
	// the answer.
	read(r *http.Request, body map[string]any) (q Request, what string)
	// header returns the name of the header with the key, and the text before the key.
	header() (name, prefix string)
	info(what string, q Request) (int, string)
	fault(status int, message string) string
}

// answering is how a vendor writes the stream of an answer.
type answering interface {
	// frame returns the type of a stream, its opening and its end, and the separator between two of its events.
	frame(q Request, s Step) (contentType, open, between, end string)
	// event returns one event with text, and with that of a second candidate.
	event(q Request, s Step, text, second string, thought bool) string
	// last returns the event that ends an answer.
	last(q Request, s Step) string
}

// calling is how a vendor writes tool calls.
type calling interface {
	// calls returns the events of the calls of s, in as many fragments as the vendor sends.
	calls(q Request, s Step) []string
}

// newServer starts a server that answers with steps, or with the result of choose if there are none.
func newServer(d dialect, steps []Step) *Server {
	s := &Server{vendor: d, script: steps, changed: make(chan struct{})}
	s.http = httptest.NewUnstartedServer(s)
	s.http.Config.ConnState = s.count
	s.http.Start()
	return s
}

// count tracks the number of open connections.
func (s *Server) count(_ net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.open++
	case http.StateClosed, http.StateHijacked: // a hijacked one is closed at once
		s.open--
	default:
		return
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// Alone waits until no client is connected. The error is that of ctx.
func (s *Server) Alone(ctx context.Context) error {
	for {
		s.mu.Lock()
		open, changed := s.open, s.changed
		s.mu.Unlock()
		if open == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d connections to end: %w", open, ctx.Err())
		}
	}
}

// Choose makes a server answer each question with the result of f, in place of a script. Call it before the first question.
func (s *Server) Choose(f func(Request) Step) *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.choose = f
	return s
}

// URL returns the address of the server, for the option of a provider.
func (s *Server) URL() string { return s.http.URL }

// Close stops the server once every answer has ended.
func (s *Server) Close() { s.http.Close() }

// Requests returns the questions so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// ServeHTTP answers one question.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has left
	}
	if len(text) > 0 && json.Unmarshal(text, &body) != nil {
		http.Error(w, "the question is not JSON", http.StatusBadRequest)
		return
	}
	q, what := s.vendor.read(r, body)
	q.Path, q.Body = r.URL.Path, body
	s.key(&q, r)
	if s.form {
		q = readForm(q)
	}
	step := Step{}
	if what == "answer" || what == "count" || what == "models" {
		step = s.next(q, what)
	}
	if status, text := s.vendor.info(what, q); text != "" && !step.withholds() {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
		return
	}
	if s.form {
		step = writeForm(step)
	}
	s.play(w, r, q, step)
}

// key records where the key of r was.
func (s *Server) key(q *Request, r *http.Request) {
	name, prefix := s.vendor.header()
	secret, ok := strings.CutPrefix(r.Header.Get(name), prefix)
	if ok {
		q.KeyID = llm.NewKey(secret).ID
	}
	q.Header = r.Header.Clone()
	q.Header.Del(name)
	q.KeyInURL = r.URL.Query().Has("key") || secret != "" && strings.Contains(r.URL.String(), secret)
}

// next records q and returns the step for it. A question for a count or a list takes a step only if that step is a fault: a script
// is about answers.
func (s *Server) next(q Request, what string) Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, q)
	if s.choose != nil {
		return s.choose(q)
	}
	if len(s.script) == 0 {
		if what == "models" {
			return Step{}
		}
		return Step{Status: http.StatusBadRequest, Message: "the script has no more steps"}
	}
	step := s.script[0]
	if what != "answer" && !step.withholds() {
		return Step{}
	}
	s.script = s.script[1:]
	return step
}

// play carries out step.
func (s *Server) play(w http.ResponseWriter, r *http.Request, q Request, step Step) {
	if step.Drop || step.Raw != "" {
		hijack(w, step.Raw)
		return
	}
	contentType, open, between, end := s.vendor.frame(q, step)
	if step.Status != 0 {
		contentType = "application/json"
	}
	w.Header().Set("Content-Type", contentType)
	for name, value := range step.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(max(step.Status, http.StatusOK))
	out := &output{to: w, split: step.Split, pause: step.Pause, between: between, leaves: r.Context().Done()}
	switch {
	case step.Body != "":
		out.write(step.Body)
		out.keep(step.Keep)
		return
	case step.Status != 0:
		out.write(s.vendor.fault(step.Status, step.Message))
		return
	}
	out.write(open)
	s.events(out, q, step)
	switch {
	case step.Endless:
		piece := "x"
		if n := len(step.Chunks); n > 0 {
			piece = step.Chunks[n-1]
		}
		for !out.gone {
			out.event(s.vendor.event(q, Step{Model: step.Model}, piece, "", false))
		}
		return
	case step.Keep != "":
		out.keep(step.Keep)
		return
	case step.Hang:
		<-r.Context().Done()
		return
	case step.Break:
		hijack(w, "")
		return
	case !step.Open:
		out.event(s.vendor.last(q, step))
	}
	out.write(end)
}

// events sends the events of step except the last.
func (s *Server) events(out *output, q Request, step Step) {
	send := func(text, second string, thought bool) {
		out.wait(step.Delay)
		out.event(s.vendor.event(q, step, text, second, thought))
	}
	if step.Thought != "" {
		send(step.Thought, "", true)
	}
	if step.Text != "" {
		send(step.Text, step.Second, false)
	}
	for range max(1, step.Repeat) {
		for _, piece := range step.Chunks {
			if !out.gone {
				send(piece, "", false)
			}
		}
	}
	if c, ok := s.vendor.(calling); ok {
		for _, e := range c.calls(q, step) {
			out.wait(step.Delay)
			out.event(e)
		}
	}
	if step.Huge > 0 {
		send(strings.Repeat("x", step.Huge), "", false)
	}
	for _, e := range step.Events {
		out.event(e)
	}
}

// hijack sends raw in place of a response and closes the connection.
func hijack(w http.ResponseWriter, raw string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, raw)
	_ = conn.Close()
}

// An output writes a stream, each event immediately, until the client is gone.
type output struct {
	to      http.ResponseWriter
	split   int
	pause   time.Duration
	between string
	events  int
	leaves  <-chan struct{}
	gone    bool
}

// event writes one event, after the separator between two events.
func (o *output) event(text string) {
	if o.events++; o.events > 1 {
		text = o.between + text
	}
	o.write(text)
}

// write writes text in pieces and flushes each.
func (o *output) write(text string) {
	for text != "" && !o.gone {
		n := len(text)
		if o.split > 0 {
			n = min(n, o.split)
		}
		if o.wait(o.pause); o.gone {
			return
		}
		_, err := io.WriteString(o.to, text[:n])
		if err == nil {
			err = http.NewResponseController(o.to).Flush()
		}
		o.gone = err != nil
		text = text[n:]
	}
}

// keep writes text again and again until the client is gone; "" is never written.
func (o *output) keep(text string) {
	for text != "" && !o.gone {
		o.write(text)
	}
}

// wait waits for d or until the client leaves.
func (o *output) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-o.leaves:
		o.gone = true
	}
}

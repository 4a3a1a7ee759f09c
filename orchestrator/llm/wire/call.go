package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"agent/orchestrator/llm"
)

const (
	// MaxBody bounds an answer. The longest answers of today's models are
	// 65,536 tokens, about 20 MiB when every token is an event of its own.
	MaxBody = 32 << 20 >> lowerBody
	// MaxEvents bounds the events of an answer: four for each of those tokens,
	// thoughts and counts among them. Reading an event costs far more than its
	// bytes do, so many small ones would keep a processor busy for a minute.
	MaxEvents = 1 << 18 >> lowerEvents
	// maxFault bounds what is read of a body that only explains an error.
	maxFault = 64 << 10
	// maxHeader bounds the header of an answer.
	maxHeader = 1 << 20
)

// errTooLong ends a body that is longer than MaxBody.
var errTooLong = fmt.Errorf("the answer is longer than %d MiB", MaxBody>>20)

// ErrEvents ends an answer of more than MaxEvents events.
var ErrEvents = fmt.Errorf("the answer has more than %d events", MaxEvents)

// NewTransport returns the transport for calls to vendors: proxies as the
// environment says, and a connection per call. A handshake is short beside an
// answer of a model, and so nothing outlives a call: no idle connection that
// the vendor has closed meanwhile, and no goroutine that waits for one.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		DisableKeepAlives:      true,
	}
}

// A Fault is what a vendor said instead of an answer.
type Fault struct {
	Kind  llm.Kind
	Text  string        // in the vendor's words
	After time.Duration // how long the vendor asks to wait, 0 when it says nothing
}

// A Call is one request to a vendor: the http.RoundTripper of a client that
// lives as long as the request. It is used by one goroutine and not reused.
type Call struct {
	Vendor, Model string
	Key           llm.Key
	Header        string                                      // the header that carries the key
	Prefix        string                                      // what stands before the key in it
	Base          http.RoundTripper                           // sends the request
	Parse         func(status int, body []byte) (Fault, bool) // reads the body of an error, false when it is not the vendor's

	status int   // of the response, 0 before there is one
	body   *body // of a success, nil before
}

// RoundTrip sends r with the key and returns a successful response whose body
// ends at MaxBody. Everything else is an *llm.Error: a status that is no
// success, a redirect, which could take the key elsewhere, and a page of HTML.
func (c *Call) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // a RoundTripper leaves the caller's request as it is
	if secret := c.Key.Secret(); secret != "" {
		r.Header.Set(c.Header, c.Prefix+secret)
	}
	resp, err := c.Base.RoundTrip(r)
	if err != nil {
		return nil, c.Error(llm.Network, broke(err), err)
	}
	c.status = resp.StatusCode
	if resp.StatusCode != http.StatusOK || isHTML(resp.Header) {
		defer resp.Body.Close()
		return nil, c.refuse(resp)
	}
	c.body = &body{rc: resp.Body, left: MaxBody}
	resp.Body = c.body
	return resp, nil
}

// broke words why there was no response: the end of a connection has no more
// to say for itself than EOF.
func broke(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection was closed before there was an answer"
	}
	return err.Error()
}

// refuse returns the error that resp is.
func (c *Call) refuse(resp *http.Response) *llm.Error {
	// A body that breaks off explains as much as was read of it.
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxFault))
	fault, known := c.Parse(resp.StatusCode, text)
	if !known {
		fault = Fault{Kind: kindOfPage(resp), Text: string(text)}
	}
	// A status alone, as of many proxies, is at least named.
	if strings.TrimSpace(fault.Text) == "" {
		fault.Text = cmp.Or(http.StatusText(resp.StatusCode), "without a word")
	}
	detail := fmt.Sprintf("status %d: %s", resp.StatusCode, fault.Text)
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode < 400 {
		detail = fmt.Sprintf("status %d: a redirect to %s is not followed", resp.StatusCode, to)
	}
	e := c.Error(fault.Kind, detail, nil)
	e.After = max(fault.After, After(resp.Header, time.Now()))
	return e
}

// Status is the status of the response, 0 when there was none.
func (c *Call) Status() int { return c.status }

// Finished says whether the body was read to its end.
func (c *Call) Finished() bool { return c.body != nil && c.body.err == io.EOF }

// Close gives the response up, when there is one.
func (c *Call) Close() {
	if c.body != nil {
		// What is given up has no result, and so no error that matters.
		_ = c.body.Close()
	}
}

// Err returns what err, which ended the call, means to a caller of a provider:
// the end of ctx as it is, an *llm.Error that was already made, a broken
// connection, or an answer that is none.
func (c *Call) Err(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// A dialler knows the deadline too and may give up a moment before ctx.
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return context.DeadlineExceeded
	}
	var known *llm.Error
	switch {
	case errors.As(err, &known):
		return known
	case c.body == nil:
		return c.Error(llm.Unknown, err.Error(), err)
	case errors.Is(c.body.err, errTooLong):
		return c.Error(llm.Malformed, errTooLong.Error(), nil)
	case c.body.err != nil && c.body.err != io.EOF:
		return c.Error(llm.Network, "the answer broke off: "+c.body.err.Error(), c.body.err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return c.Error(llm.Network, "the answer broke off", err)
	}
	return c.Error(llm.Malformed, err.Error(), nil)
}

// Error returns an error of this call. Its detail is one line of at most 300
// bytes without the key; a cause whose text holds the key is dropped.
func (c *Call) Error(kind llm.Kind, detail string, cause error) *llm.Error {
	e := llm.NewError(kind, c.Vendor, llm.Line(c.Model), detail, c.Key)
	if cause != nil && llm.Mask(cause.Error(), c.Key) == cause.Error() {
		e.Err = cause
	}
	return e
}

// isHTML says whether a response is a page, by its own word.
func isHTML(h http.Header) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(h.Get("Content-Type"))), "text/html")
}

// kindOfPage returns the kind of a response whose body is not the vendor's. A
// page of HTML, or a 404, then comes from what stands between, or from a wrong
// address, and says nothing about key, model or question.
func kindOfPage(resp *http.Response) llm.Kind {
	kind := KindOf(resp.StatusCode)
	switch kind {
	case llm.Overloaded, llm.RateLimit, llm.Network:
		return kind
	case llm.Missing:
		return llm.Malformed
	}
	if isHTML(resp.Header) {
		return llm.Malformed
	}
	return kind
}

// A body bounds what is read of an answer and remembers how it ended.
type body struct {
	rc   io.ReadCloser
	left int
	err  error
}

// Read reads until the answer, or what is left of its bound, ends.
func (b *body) Read(p []byte) (int, error) {
	if b.left == 0 {
		b.err = errTooLong
		return 0, errTooLong
	}
	n, err := b.rc.Read(p[:min(len(p), b.left)])
	b.left -= n
	if err != nil {
		b.err = err
	}
	return n, err
}

// Close closes the answer.
func (b *body) Close() error { return b.rc.Close() }

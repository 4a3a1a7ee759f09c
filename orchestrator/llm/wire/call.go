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
	// MaxBody bounds an answer. The longest answers of today's models are 65,536 tokens, about 20 MiB if every token is a separate
	// event.
	MaxBody = 32 << 20 >> lowerBody
	// MaxEvents bounds the events of an answer: four for each of those tokens, including thoughts and counts. Reading an event
	// costs far more than its bytes do, so many small ones would keep a processor busy for a minute.
	MaxEvents = 1 << 18 >> lowerEvents
	// maxFault bounds what is read from a body that only explains an error.
	maxFault = 64 << 10
	// maxHeader bounds the header of an answer.
	maxHeader = 1 << 20
)

// errTooLong ends a body that is longer than MaxBody.
var errTooLong = fmt.Errorf("the answer is longer than %d MiB", MaxBody>>20)

// ErrEvents ends an answer of more than MaxEvents events.
var ErrEvents = fmt.Errorf("the answer has more than %d events", MaxEvents)

// NewTransport returns the transport for calls to vendors: it uses the proxies of the environment, and one connection per call. A
// handshake is short compared to a model's answer, and this way nothing outlives a call: no idle connection that the vendor has
// closed meanwhile, and no goroutine that waits for one.
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

// A Fault is a vendor's message in place of an answer.
type Fault struct {
	Kind  llm.Kind
	Text  string        // in the vendor's words
	After time.Duration // how long the vendor asks to wait, 0 if it does not say
}

// A Call is one request to a vendor: the http.RoundTripper of a client that lives as long as the request. It is used by one
// goroutine and not reused.
type Call struct {
	Vendor, Model string
	Key           llm.Key
	Header        string                                      // the header that carries the key
	Prefix        string                                      // the text before the key in that header
	Base          http.RoundTripper                           // sends the request
	Parse         func(status int, body []byte) (Fault, bool) // reads the body of an error, false if it is not the vendor's

	status int   // of the response, 0 before it arrives
	body   *body // of a successful response, nil before
}

// RoundTrip sends r with the key and returns a successful response whose body ends at MaxBody. Everything else is an *llm.Error: a
// status other than success, a redirect, which could take the key elsewhere, and an HTML page.
func (c *Call) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // a RoundTripper must not change the caller's request
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

// broke describes why there was no response: a closed connection reports nothing but EOF.
func broke(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection was closed before an answer arrived"
	}
	return err.Error()
}

// refuse returns the error that resp stands for.
func (c *Call) refuse(resp *http.Response) *llm.Error {
	// A body that breaks off explains as much as was read of it.
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxFault))
	fault, known := c.Parse(resp.StatusCode, text)
	if !known {
		fault = Fault{Kind: kindOfPage(resp), Text: string(text)}
	}
	// A bare status, as from many proxies, is at least named.
	if strings.TrimSpace(fault.Text) == "" {
		fault.Text = cmp.Or(http.StatusText(resp.StatusCode), "no message")
	}
	detail := fmt.Sprintf("status %d: %s", resp.StatusCode, fault.Text)
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode < 400 {
		detail = fmt.Sprintf("status %d: a redirect to %s is not followed", resp.StatusCode, to)
	}
	e := c.Error(fault.Kind, detail, nil)
	e.After = max(fault.After, After(resp.Header, time.Now()))
	return e
}

// Status returns the status of the response, 0 if there was none.
func (c *Call) Status() int { return c.status }

// Finished reports whether the body was read to its end.
func (c *Call) Finished() bool { return c.body != nil && c.body.err == io.EOF }

// Close abandons the response, if there is one.
func (c *Call) Close() {
	if c.body != nil {
		// An abandoned response has no result, and so no error that matters.
		_ = c.body.Close()
	}
}

// Err returns the meaning of err, which ended the call, for a caller of a provider: the error of ctx unchanged, an *llm.Error that
// already exists, a broken connection, or an invalid answer.
func (c *Call) Err(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// A dialler knows the deadline too and may give up just before ctx.
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

// Error returns an error of this call. Its detail is one line of at most 300 bytes without the key. It drops a cause whose text
// holds the key.
func (c *Call) Error(kind llm.Kind, detail string, cause error) *llm.Error {
	e := llm.NewError(kind, c.Vendor, llm.Line(c.Model), detail, c.Key)
	if cause != nil && llm.Mask(cause.Error(), c.Key) == cause.Error() {
		e.Err = cause
	}
	return e
}

// isHTML reports whether a response declares itself an HTML page.
func isHTML(h http.Header) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(h.Get("Content-Type"))), "text/html")
}

// kindOfPage returns the kind of a response whose body is not the vendor's. An HTML page, or a 404, then comes from an intermediary
// or a wrong address, and says nothing about key, model or question.
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

// A body bounds what is read from an answer and remembers how it ended.
type body struct {
	rc   io.ReadCloser
	left int
	err  error
}

// Read reads until the answer, or the rest of its bound, ends.
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

// Close closes the response body.
func (b *body) Close() error { return b.rc.Close() }

// Package wire is the HTTP layer that the drivers of forges share: it shows the token to one host only, and handles
// rate limits, retries, unchanged answers and the kinds of error. It knows no forge.
package wire

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"agent/orchestrator/forge"
)

// The bounds of one request.
const (
	attempts  = 4
	pause     = time.Second // before the second attempt; doubled for each later one
	longest   = 2 * time.Minute
	maxAnswer = 32 << 20 // bytes, except for logs, of which the caller reads what it wants
	kept      = 256      // answers kept, to be asked for again by their tag
	keptBytes = 1 << 20  // of one of them
)

// A Transport sends requests to one forge. It is an http.RoundTripper.
type Transport struct {
	// Host is the only host that sees Token, with its port.
	Host, Token string
	// Next sends the request; nil means the default.
	Next http.RoundTripper
	// Sleep replaces the timer; nil uses one. It returns early, with an error, when the request's context ends.
	Sleep func(req *http.Request, d time.Duration) error
	// Now returns the time; nil means the clock.
	Now func() time.Time

	mu   sync.Mutex
	tags map[string]answer // by URL
}

// An answer is a host's answer, with the tag that the host gave it.
type answer struct {
	tag    string
	header http.Header
	body   []byte
}

// New returns a client whose requests to the API at base show the token. It does not follow a redirect that would
// repeat a writing request.
func New(base, token string) (*http.Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is not the address of a forge", base)
	}
	return &http.Client{Transport: &Transport{Host: u.Host, Token: token}, Timeout: 5 * time.Minute, CheckRedirect: redirected}, nil
}

// redirected decides whether to follow a redirect.
func redirected(req *http.Request, via []*http.Request) error {
	if len(via) >= 5 || via[0].Method != http.MethodGet {
		return http.ErrUseLastResponse
	}
	return nil
}

// RoundTrip sends a request, and sends it again if that can help. It repeats a writing request only if the host said
// that it did not carry it out.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := keepBody(req)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		resp, err := t.send(req, body)
		wait, again := t.again(req, resp, err, try)
		if !again {
			return resp, err
		}
		if resp != nil {
			resp.Body.Close()
		}
		if wait > longest {
			return nil, &forge.LimitError{Until: t.now().Add(wait)}
		}
		if err := t.sleep(req, wait); err != nil {
			return nil, err
		}
	}
}

// keepBody reads the body of a request, so that it can be sent again.
func keepBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	return io.ReadAll(req.Body)
}

// send sends the request once.
func (t *Transport) send(req *http.Request, body []byte) (*http.Response, error) {
	r := req.Clone(req.Context())
	r.Header.Del("Authorization")
	if r.URL.Host == t.Host && t.Token != "" {
		r.Header.Set("Authorization", "Bearer "+t.Token)
	}
	if req.Body != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	known, have := t.known(r)
	if have {
		r.Header.Set("If-None-Match", known.tag)
	}
	next := t.Next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if have && resp.StatusCode == http.StatusNotModified {
		resp.Body.Close()
		return known.response(r), nil
	}
	return t.bounded(r, resp)
}

// response returns the answer as it first came.
func (a answer) response(req *http.Request) *http.Response {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header.Clone(), Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: req,
	}
}

// known returns the last answer to a request that asks for JSON.
func (t *Transport) known(req *http.Request) (answer, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, ok := t.tags[req.URL.String()]
	return a, ok && req.Method == http.MethodGet
}

// bounded reads a complete answer in JSON, and keeps it if it has a tag. It leaves other content, such as a log, to the
// caller.
func (t *Transport) bounded(req *http.Request, resp *http.Response) (*http.Response, error) {
	if !strings.Contains(resp.Header.Get("Content-Type"), "json") {
		return resp, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("the answer of %s exceeds %d MiB", req.URL.Host, maxAnswer>>20)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	tag := resp.Header.Get("Etag")
	if tag == "" || req.Method != http.MethodGet || resp.StatusCode != http.StatusOK || len(body) > keptBytes {
		return resp, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tags == nil || len(t.tags) >= kept {
		t.tags = map[string]answer{}
	}
	t.tags[req.URL.String()] = answer{tag, resp.Header.Clone(), body}
	return resp, nil
}

// again says whether a request is sent once more, and after how long.
func (t *Transport) again(req *http.Request, resp *http.Response, err error, try int) (time.Duration, bool) {
	backoff := pause << (try - 1)
	reads := req.Method == http.MethodGet || req.Method == http.MethodHead
	switch {
	case req.Context().Err() != nil || try >= attempts && (resp == nil || !t.limited(resp)):
		return 0, false
	case err != nil:
		return backoff, reads
	case t.limited(resp):
		wait := cmp.Or(t.asked(resp), backoff)
		// A host that keeps asking for short pauses counts like one that asks for a long one.
		if try >= attempts {
			wait += longest
		}
		return wait, true
	case resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
		return cmp.Or(t.asked(resp), backoff), true
	}
	return backoff, reads && resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented
}

// limited reports whether the host refused a request because there were too many. GitHub also says so with 403 and
// these headers.
func (t *Transport) limited(resp *http.Response) bool {
	return resp.StatusCode == http.StatusTooManyRequests ||
		resp.StatusCode == http.StatusForbidden && (resp.Header.Get("Retry-After") != "" || resp.Header.Get("X-Ratelimit-Remaining") == "0")
}

// asked returns how long the host wants no requests, 0 if it does not say.
func (t *Transport) asked(resp *http.Response) time.Duration {
	if text := resp.Header.Get("Retry-After"); text != "" {
		if n, err := strconv.Atoi(text); err == nil {
			return time.Duration(max(n, 0)) * time.Second
		}
		if at, err := http.ParseTime(text); err == nil {
			return max(at.Sub(t.now()), 0)
		}
	}
	for _, name := range []string{"X-Ratelimit-Reset", "Ratelimit-Reset"} {
		if n, err := strconv.ParseInt(resp.Header.Get(name), 10, 64); err == nil {
			return max(time.Unix(n, 0).Sub(t.now()), 0)
		}
	}
	return 0
}

func (t *Transport) now() time.Time {
	if t.Now != nil {
		return t.Now()
	}
	return time.Now()
}

func (t *Transport) sleep(req *http.Request, d time.Duration) error {
	if t.Sleep != nil {
		return t.Sleep(req, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-req.Context().Done():
		return req.Context().Err()
	}
}

// Open requests an address and returns the body of the answer, which the caller must close. act names the purpose in an
// error, which comes from Fault.
func Open(ctx context.Context, client *http.Client, address, act string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, Fault(act, 0, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, Fault(act, 0, err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, Fault(act, resp.StatusCode, errors.New(resp.Status))
	}
	return resp.Body, nil
}

// Fault wraps err with the act that failed and the kind of error that follows from the status of the answer; status is
// 0 if there was none. It shortens the host's message to one short line.
func Fault(act string, status int, err error) error {
	if err == nil {
		return nil
	}
	var kind error
	var netErr interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled): // the caller no longer waits, which is not trouble of the forge
	case status == http.StatusNotFound, status == http.StatusGone, status == http.StatusMethodNotAllowed: // a server too old for the request
		kind = forge.ErrNotFound
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		kind = forge.ErrDenied
	case status == http.StatusConflict:
		kind = forge.ErrExists
	case errors.Is(err, forge.ErrTransient), status >= 500, status == 0 && errors.As(err, &netErr):
		kind = forge.ErrTransient
	}
	if kind == nil || errors.Is(err, kind) {
		return fmt.Errorf("%s: %w", act, err)
	}
	return fmt.Errorf("%s: %w: %s", act, kind, line(err.Error()))
}

// line returns the beginning of a text on one line.
func line(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	return text[:min(len(text), 300)]
}

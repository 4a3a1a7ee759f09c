package sandbox

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
)

// A Call records one request to the engine. It leaves out what was sent and answered: archives are large, and
// environments hold secrets.
type Call struct {
	Method string
	// Path names the object, without the API version and the query.
	Path string
	// Status is the HTTP status, 101 for a stream, or 0 when no answer came.
	Status int
	// Took is the time until the head of the answer.
	Took time.Duration
}

// A Ran records one command that a box was given.
type Ran struct {
	// Box is the engine's ID of the box.
	Box    string
	Args   []string
	Result guest.Result
	// Err is what Box.Run returned.
	Err  error
	Took time.Duration
}

// A Watcher is notified of requests and commands once they are done, from several goroutines.
type Watcher interface {
	Called(c Call)
	Ran(r Ran)
}

// watchKey is the key of a context's Watcher.
type watchKey struct{}

// Watched returns a context whose calls and commands are reported to w. A box belongs to the context that it was
// started with, a box of a pool to that of Pool.Want. Its removal is reported too, however late it comes.
func Watched(ctx context.Context, w Watcher) context.Context {
	return context.WithValue(ctx, watchKey{}, w)
}

// WatcherOf returns the Watcher of ctx, or nil.
func WatcherOf(ctx context.Context) Watcher {
	w, _ := ctx.Value(watchKey{}).(Watcher)
	return w
}

// apiVersion begins the path of a request to an engine.
var apiVersion = lazyregexp.New(`^/v[0-9]+(\.[0-9]+)*/`)

// called reports a request to the Watcher of ctx; began is when it was made.
func called(ctx context.Context, method, path string, status int, began time.Time) {
	if w := WatcherOf(ctx); w != nil {
		w.Called(Call{Method: method, Path: apiVersion.ReplaceAllString(path, "/"), Status: status, Took: time.Since(began)})
	}
}

// watching is the transport of the engine's client. All requests go through it, except streams: see hijacked.
type watching struct {
	http.RoundTripper
	patience time.Duration // until the head of an answer, except for requests that carry a stream
}

// errSilent means that an engine took a request and never answered.
var errSilent = errors.New("it accepted the request but does not answer")

// RoundTrip makes the request and reports it.
func (t watching) RoundTrip(q *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := t.patiently(q)
	status := 0
	if err == nil {
		status = resp.StatusCode
	}
	called(q.Context(), q.Method, q.URL.Path, status, began)
	return resp, err
}

// patiently makes the request. An engine that is stuck takes requests forever: that is an error, not a reason to wait.
func (t watching) patiently(q *http.Request) (*http.Response, error) {
	if q.ContentLength < 0 { // a stream of unknown length, which takes its time
		return t.RoundTripper.RoundTrip(q)
	}
	ctx, cancel := context.WithCancelCause(q.Context())
	timer := time.AfterFunc(t.patience, func() { cancel(errSilent) })
	resp, err := t.RoundTripper.RoundTrip(q.WithContext(ctx))
	timer.Stop()
	if err != nil {
		if errors.Is(context.Cause(ctx), errSilent) {
			err = errSilent
		}
		cancel(nil)
		return nil, err
	}
	resp.Body = cancelling{resp.Body, cancel}
	return resp, nil
}

// A cancelling body ends the context of its request when it is closed.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Close closes the body.
func (c cancelling) Close() error {
	defer c.cancel(nil)
	return c.ReadCloser.Close()
}

// hijacked reports a request that becomes a stream, for which the client dials a connection of its own. If it was
// refused, its status is unknown.
func hijacked[T any](ctx context.Context, path string, dial func() (T, error)) (T, error) {
	began, status := time.Now(), 0
	stream, err := dial()
	if err == nil {
		status = http.StatusSwitchingProtocols
	}
	called(ctx, http.MethodPost, path, status, began)
	return stream, err
}

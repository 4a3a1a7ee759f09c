package wire

import (
	"errors"
	"io"
	"math"
	"net/http"
	"testing"
	"time"

	"agent/orchestrator/llm"
)

func TestARetryAfterDateWithoutDateIsTakenFromNow(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := http.Header{"Retry-After": {now.Add(90 * time.Second).Format(http.TimeFormat)}}
	if got := After(h, now); got != 90*time.Second {
		t.Errorf("got %s", got)
	}
	// The vendor's clock is an hour ahead of this one; only the vendor's counts.
	h.Set("Date", now.Add(80*time.Second).Format(http.TimeFormat))
	if got := After(h, now.Add(-time.Hour)); got != 10*time.Second {
		t.Errorf("with a Date: got %s", got)
	}
}

func TestAWaitIsWithinBounds(t *testing.T) {
	for seconds, want := range map[float64]time.Duration{
		0: 0, -1: 0, 1.5: 1500 * time.Millisecond, 1e300: maxWait, math.Inf(1): maxWait, math.Inf(-1): 0,
	} {
		if got := Wait(seconds); got != want {
			t.Errorf("%v seconds: got %s, want %s", seconds, got, want)
		}
	}
	if got := Wait(math.NaN()); got != 0 {
		t.Errorf("no number: got %s", got)
	}
}

func TestACountThatMakesNoSenseIsEstimated(t *testing.T) {
	for _, n := range []float64{0, -1, maxTokens + 1, math.Inf(1), math.NaN()} {
		if got := Count(n, "12345"); got != (llm.Tokens{N: 2, Estimated: true}) {
			t.Errorf("%v: got %+v", n, got)
		}
	}
	if got := Count(maxTokens); got != (llm.Tokens{N: maxTokens}) {
		t.Errorf("got %+v", got)
	}
	whole := llm.Tokens{N: 10}
	for n, want := range map[float64]int{0: 0, -1: 0, 10: 10, 11: 0} {
		if got := Part(n, whole); got != want {
			t.Errorf("%v of 10: got %d, want %d", n, got, want)
		}
	}
}

// sends is a transport that answers every request by calling itself.
type sends func(*http.Request) (*http.Response, error)

func (f sends) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestACauseThatHoldsTheKeyIsDropped(t *testing.T) {
	call := &Call{Vendor: "v", Model: "m", Key: llm.NewKey("0123456789")}
	if e := call.Error(llm.Network, "x", errors.New("bad header 0123456789")); e.Err != nil {
		t.Errorf("kept %v", e.Err)
	}
	if e := call.Error(llm.Network, "x", io.ErrUnexpectedEOF); !errors.Is(e, io.ErrUnexpectedEOF) {
		t.Errorf("lost the cause of %v", e)
	}
}

func TestABodyEndsAtItsBound(t *testing.T) {
	for size, whole := range map[int64]bool{MaxBody - 1: true, MaxBody: false, MaxBody + 1: false} {
		call := &Call{Base: sends(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(io.LimitReader(zeros{}, size))}, nil
		})}
		r, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := call.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if call.Finished() != whole || (err == nil) != whole || n != min(size, MaxBody) {
			t.Errorf("%d bytes: read %d, %v, finished: %v", size, n, err, call.Finished())
		}
	}
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestTheCallersRequestIsLeftAsItIs(t *testing.T) {
	call := &Call{Key: llm.NewKey("secret"), Header: "X-Key", Prefix: "Bearer ", Base: sends(func(r *http.Request) (*http.Response, error) {
		if got := r.Header.Get("X-Key"); got != "Bearer secret" {
			t.Errorf("sent the key as %q", got)
		}
		return nil, io.ErrUnexpectedEOF
	})}
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/", nil)
	if err != nil {
		t.Fatal(err)
	}
	var e *llm.Error
	if _, err := call.RoundTrip(r); !errors.As(err, &e) || e.Kind != llm.Network || len(r.Header) != 0 {
		t.Errorf("got %v, and the header %v", err, r.Header)
	}
}

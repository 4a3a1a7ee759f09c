// Package gateway is the model's API as a program in a box sees it: on the loopback there, with a placeholder for a
// key. On the host's side of the box's way out, the agent inserts the real key, lets only questions pass, counts their
// tokens, holds them to the caps and has each recorded.
//
// A [Gateway] is a way out of one box for one command. Besides the API it serves the proxy of package egress on the
// same port, with the hosts that the user allows. No key ever enters the box: none is in any answer, error or header
// that goes there.
package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
	"agent/sandbox/workspace/secret"
)

// Key is the placeholder that a program in the box uses for a key.
const Key = "agent-gateway"

// The bounds of one request.
const (
	maxQuestion = 64 << 20
	maxError    = 1 << 20
)

// A Config says whose API a gateway is.
type Config struct {
	// Vendor is one of Vendors.
	Vendor string
	// Address is the address of its API, "" for the vendor's own.
	Address string
	// Keys are tried in order: when one is refused, the next is used. Empty for a vendor that needs none.
	Keys []llm.Key
	// Price returns the price of a model, nil if it is unknown.
	Price func(model string) *llm.Price
	Meter *llm.Meter
	// Run is the name under which the requests are recorded.
	Run string
	// Now is the clock; nil means the real one.
	Now func() time.Time
}

// A Gateway answers in place of a vendor. It is safe for concurrent use.
type Gateway struct {
	conf   Config
	api    api
	to     *url.URL
	mask   secret.Masker
	client http.RoundTripper

	questions atomic.Int64
	key       atomic.Int64 // the index of the key in use

	mu    sync.Mutex
	over  error // the first cap that was reached
	spent llm.Spent
	lost  error // the first request that could not be recorded
}

// New returns the gateway of a vendor.
func New(c Config) (*Gateway, error) {
	a, ok := find(c.Vendor)
	if !ok {
		return nil, fmt.Errorf("vendor %q: use %s", c.Vendor, strings.Join(Vendors(), ", "))
	}
	to, err := a.upstream(c.Address)
	if err != nil {
		return nil, err
	}
	for _, k := range c.Keys {
		if !wire.Sendable(k) {
			return nil, fmt.Errorf("key %s of %s cannot be sent in a header", k, a.title)
		}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	var known []secret.Known
	for _, k := range c.Keys {
		known = append(known, secret.Known{Text: k.Secret(), Mark: "[key " + k.ID + "]"})
	}
	// A client of its own, so that its open connections end with it.
	client := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DisableCompression: true, ResponseHeaderTimeout: 10 * time.Minute}
	return &Gateway{conf: c, api: a, to: to, mask: secret.NewMasker(known...), client: client}, nil
}

// Spent returns what went through, and the error of the cap that was reached or of a record that could not be made.
func (g *Gateway) Spent() (llm.Spent, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.spent, errors.Join(g.over, g.lost)
}

// ServeHTTP answers one request of a program.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodHead && r.URL.Path == "/": // some programs check whether the server is there
		w.WriteHeader(http.StatusOK)
	case r.Method != http.MethodPost || !g.api.asks.MatchString(r.URL.Path):
		refusal(w, http.StatusNotFound, "not_found_error", "only requests to a model of "+g.api.title+" are allowed here, not "+r.Method+" "+r.URL.Path)
	default:
		g.ask(w, r)
	}
}

// ask lets one question through, if the caps allow it.
func (g *Gateway) ask(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuestion))
	if err != nil {
		refusal(w, http.StatusRequestEntityTooLarge, "invalid_request_error", fmt.Sprintf("the question exceeds %d MiB", maxQuestion>>20))
		return
	}
	key, index := g.turn()
	rec, price, err := g.record(r.URL.Path, body, key)
	if err != nil {
		refusal(w, http.StatusInternalServerError, "api_error", "the question cannot be recorded")
		return
	}
	number, left, err := g.conf.Meter.Begin(r.Context(), rec)
	if err != nil {
		g.note(err)
		refusal(w, http.StatusBadRequest, "invalid_request_error", g.mask.Mask(err.Error()))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), left)
	defer cancel()
	x := &exchange{gateway: g, key: key, index: index, rec: rec, price: price, size: len(body)}
	out := r.Clone(ctx)
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	// The proxy exits with a panic if an answer breaks off, which costs money all the same.
	defer func() { g.settle(r.Context(), number, x.outcome(g.conf.Now().Sub(rec.Begun))) }()
	(&httputil.ReverseProxy{
		Transport: g.client, FlushInterval: -1, Rewrite: x.rewrite, ModifyResponse: x.answer, ErrorHandler: x.failed, ErrorLog: silent,
	}).ServeHTTP(w, out)
}

// settle counts and records the outcome of a question.
func (g *Gateway) settle(ctx context.Context, number int64, o llm.Outcome) {
	err := g.conf.Meter.End(ctx, number, o)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.spent.Add(o)
	g.lost = errors.Join(g.lost, err)
}

// record returns the record entered before a question is asked.
func (g *Gateway) record(path string, body []byte, key llm.Key) (llm.Record, *llm.Price, error) {
	model, bound := g.api.asked(path, body)
	text, err := sample(model, path, body, bound)
	if err != nil {
		return llm.Record{}, nil, err
	}
	sum := sha256.Sum256(body)
	rec := llm.Record{
		Run: g.conf.Run, Step: fmt.Sprintf("exec/%d", g.questions.Add(1)), Attempt: 1, Purpose: "exec", Vendor: g.api.vendor, Model: model, Key: key.ID,
		Digest: hex.EncodeToString(sum[:]), Request: text, Begun: g.conf.Now().UTC().Truncate(time.Microsecond),
	}
	rec.Usage = llm.Expected(bound, string(body))
	price := g.conf.Price(model)
	if price != nil {
		dearest := rec.Usage
		dearest.Written = dearest.In.N
		rec.Cost, rec.Priced = price.Cost(dearest), true
	}
	return rec, price, nil
}

// note keeps the first cap that was reached.
func (g *Gateway) note(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over == nil {
		g.over = err
	}
}

// turn returns the key to use, with its index, or the zero Key if none is needed.
func (g *Gateway) turn() (llm.Key, int64) {
	if len(g.conf.Keys) == 0 {
		return llm.Key{}, 0
	}
	n := g.key.Load()
	return g.conf.Keys[int(n)%len(g.conf.Keys)], n
}

// pass moves on to the next key, unless another request has done so since this key was chosen.
func (g *Gateway) pass(index int64) { g.key.CompareAndSwap(index, index+1) }

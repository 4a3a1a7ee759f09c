package gateway

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
	"agent/sandbox/workspace/lazyregexp"
)

// silent discards the proxy's own log, which may contain what a box sent.
var silent = log.New(io.Discard, "", 0)

// An exchange is one question in progress, with its answer.
type exchange struct {
	gateway *Gateway
	key     llm.Key
	index   int64
	rec     llm.Record
	price   *llm.Price
	size    int

	counter *counter
	kind    llm.Kind
	detail  string
}

// credentials are the headers in which a program sends what it takes for a key, and others that no vendor should see.
var credentials = []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key", "Cookie", "Proxy-Authorization", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Origin", "Referer"}

// rewrite addresses the question to the vendor, with the real key.
func (x *exchange) rewrite(p *httputil.ProxyRequest) {
	g := x.gateway
	u := *g.to
	u.Path = strings.TrimRight(u.Path, "/") + strings.TrimPrefix(p.In.URL.Path, g.api.prefix)
	q := p.In.URL.Query()
	q.Del("key")
	u.RawQuery = q.Encode()
	p.Out.URL, p.Out.Host = &u, u.Host
	for _, name := range credentials {
		p.Out.Header.Del(name)
	}
	if x.key.ID != "" {
		g.api.authorize(p.Out.Header, x.key.Secret())
	}
	p.Out.Header.Set("Accept-Encoding", "identity") // so that the counts are readable
}

// passed lists the headers of an answer that reach the box.
var passed = []string{"Content-Type", "Retry-After", "Request-Id", "X-Request-Id", "X-Should-Retry", "Openai-Model"}

// answer inspects the vendor's response before the box gets it.
func (x *exchange) answer(r *http.Response) error {
	kept := http.Header{}
	for _, name := range passed {
		if v := r.Header.Get(name); v != "" {
			kept.Set(name, x.gateway.mask.Mask(v))
		}
	}
	r.Header = kept
	if r.StatusCode < 300 {
		x.counter = &counter{ReadCloser: r.Body, vendor: x.rec.Vendor}
		r.Body = x.counter
		return nil
	}
	// A vendor may repeat a key in the message that it is invalid.
	text, err := io.ReadAll(io.LimitReader(r.Body, maxError))
	r.Body.Close() // only that much is wanted
	if err != nil {
		return err
	}
	masked := x.gateway.mask.Mask(string(text))
	x.kind, x.detail = wire.KindOf(r.StatusCode), llm.Line(fmt.Sprintf("status %d: %s", r.StatusCode, masked))
	if x.kind == llm.Auth || x.kind == llm.RateLimit || x.kind == llm.Balance {
		x.gateway.pass(x.index)
	}
	if x.kind == llm.Auth {
		masked = `{"type":"error","error":{"type":"authentication_error","message":"agent: the vendor does not accept the user's key"}}`
	}
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(masked)), int64(len(masked))
	r.Header.Set("Content-Length", strconv.Itoa(len(masked)))
	return nil
}

// failed answers if the vendor did not.
func (x *exchange) failed(w http.ResponseWriter, r *http.Request, err error) {
	x.kind, x.detail = llm.Network, llm.Line(x.gateway.mask.Mask(err.Error()))
	if r.Context().Err() != nil {
		x.kind = llm.Cancelled
	}
	refusal(w, http.StatusBadGateway, "api_error", "the vendor cannot be reached")
}

// outcome returns the outcome of the question.
func (x *exchange) outcome(took time.Duration) llm.Outcome {
	o := llm.Outcome{Version: x.rec.Model, Usage: x.rec.Usage, Duration: max(took, 0), Kind: x.kind, Detail: x.detail}
	switch {
	case x.counter != nil:
		said, err := x.counter.usage()
		o.Usage = llm.Believed(said, x.rec.Usage, x.size)
		if err != nil && err != io.EOF {
			o.Kind, o.Detail = llm.Network, llm.Line("the answer broke off: "+x.gateway.mask.Mask(err.Error()))
		}
	case !x.kind.Rule().Charged:
		o.Usage = llm.Usage{}
	}
	if x.price != nil {
		o.Cost, o.Priced = x.price.Cost(o.Usage), true
	}
	return o
}

// A counter reads the token counts in an answer as it passes. It keeps the largest of each, since streams repeat them.
type counter struct {
	io.ReadCloser
	vendor string
	tail   []byte
	counts map[string]int
	err    error // the error that ended the reading
}

// counts matches the names under which vendors report tokens. Within the text of an answer, a backslash precedes each
// quotation mark, so no model can forge a count.
var counts = lazyregexp.New(`"(input_tokens|prompt_tokens|promptTokenCount|output_tokens|completion_tokens|candidatesTokenCount|thoughtsTokenCount|totalTokens|` +
	`cache_read_input_tokens|cache_creation_input_tokens|cached_tokens|cachedContentTokenCount|reasoning_tokens)":\s*(\d{1,9})\b`)

// longestCount bounds the bytes of a name with its number.
const longestCount = 64

// Read inspects what passes.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.tail = append(c.tail, p[:n]...)
	if err != nil {
		c.err = err
	}
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	for _, m := range counts.FindAllSubmatch(c.tail, -1) {
		if v, err := strconv.Atoi(string(m[2])); err == nil {
			c.counts[string(m[1])] = max(c.counts[string(m[1])], v)
		}
	}
	// A number may be cut in two; the next call reads it again, whole and larger.
	c.tail = bytes.Clone(c.tail[max(0, len(c.tail)-longestCount):])
	return n, err
}

// usage returns the counts and the error that ended the answer: io.EOF for its own end, io.ErrUnexpectedEOF if not read to one.
func (c *counter) usage() (llm.Usage, error) {
	n := c.counts
	u := llm.Usage{
		In:     llm.Tokens{N: max(n["input_tokens"], n["prompt_tokens"], n["promptTokenCount"])},
		Out:    llm.Tokens{N: max(n["output_tokens"], n["completion_tokens"], n["candidatesTokenCount"]) + n["thoughtsTokenCount"]},
		Cached: max(n["cache_read_input_tokens"], n["cached_tokens"], n["cachedContentTokenCount"]),
		Reason: max(n["reasoning_tokens"], n["thoughtsTokenCount"]),
	}
	// Here the input counts only tokens that neither came from the cache nor went into it.
	if u.Written = n["cache_creation_input_tokens"]; n["cache_read_input_tokens"] > 0 || u.Written > 0 {
		u.In.N += n["cache_read_input_tokens"] + u.Written
	}
	err := c.err
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return u, err
}

package gemini

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
	"agent/sandbox/workspace/lazyregexp"
)

const (
	// leastCached is the least part of a conversation that is worth a cached content, in tokens: making one costs as much as asking
	// with that part once, and keeping it costs by the hour. The API's own minimum is lower, 1,024 to 4,096 depending on the model.
	leastCached = 16 << 10
	// cachedFor is how long the API keeps one; after cachedFresh another is made, so that none expires during a question.
	cachedFor, cachedFresh = time.Hour, 54 * time.Minute
	// maxKeeping bounds the holdings at a time. The oldest is dropped first.
	maxKeeping = 8
)

// A holding is a beginning of a conversation that the API keeps for a key, or that it would not keep.
type holding struct {
	key   llm.Key
	model string
	name  string   // "" if the API would not keep it
	upTo  int      // the number of messages
	sum   [32]byte // of the beginning
	size  int      // in tokens, as estimated
	made  time.Time
	over  bool // no longer used: the API said that it has lost it, or does not accept it
}

// holdings are what the API keeps for a provider.
type holdings struct {
	mu   sync.Mutex
	list []*holding
}

// cachedName matches the API's name of a cached content, which becomes part of a path.
var cachedName = lazyregexp.New(`^cachedContents/[A-Za-z0-9_-]{1,128}$`)

// A keeping is what the API is asked to keep: the beginning of a question. Source: CachedContent of generativelanguage v1beta.
type keeping struct {
	Model    string    `json:"model"`
	System   *content  `json:"systemInstruction,omitempty"`
	Contents []content `json:"contents"`
	Tools    []tools   `json:"tools,omitempty"`
	TTL      string    `json:"ttl"`
}

// beginning encodes the first n messages of a question with everything before them.
func (b body) beginning(model string, n int) []byte {
	text, err := json.Marshal(keeping{"models/" + model, b.System, b.Contents[:n], b.Tools, "3600s"}) // cachedFor
	if err != nil {
		return nil // cannot happen: the same data was encoded before
	}
	return text
}

// after returns the question without the part that h holds.
func (b body) after(h *holding) body {
	if h != nil {
		b.Cached, b.System, b.Tools, b.Contents = h.name, nil, nil, b.Contents[h.upTo:]
	}
	return b
}

// hold returns what the API keeps of the beginning of a question, nil for nothing, and whether that was made just now. After one
// round a long conversation is worth it; when the messages since are as long again, more of it is kept. If the API does not keep
// it, the question is asked whole: a cache error is not an error of the question.
func (p *Provider) hold(ctx context.Context, key llm.Key, req llm.Request, b body) (h *holding, made bool) {
	last := len(b.Contents) - 1
	// A question with a cached content may carry neither tools nor a choice among them.
	if last < 2 || len(req.Tools) == 0 || req.Choice != "" {
		return nil, false
	}
	h = p.held.find(key, req.Model, b, p.now())
	whole := b.beginning(req.Model, last)
	size := len(whole) / 4
	if size < leastCached || h != nil && size < 2*h.size && p.now().Sub(h.made) < cachedFresh {
		return h.usable(), false
	}
	next := &holding{key: key, model: req.Model, upTo: last, sum: sha256.Sum256(whole), size: size, made: p.now()}
	call := p.call(key, req.Model)
	defer call.Close()
	var got struct {
		Name string `json:"name"`
	}
	stream, err := call.Post(ctx, p.base+"/v1beta/cachedContents", json.RawMessage(whole))
	if err == nil {
		err = json.NewDecoder(stream).Decode(&got)
	}
	if err == nil && cachedName.MatchString(got.Name) {
		next.name = got.Name
	}
	for _, old := range p.held.put(next, h) {
		p.drop(ctx, old)
	}
	return next.usable(), next.name != ""
}

// usable returns h if the API keeps it, else nil.
func (h *holding) usable() *holding {
	if h == nil || h.name == "" {
		return nil
	}
	return h
}

// find returns the longest beginning of a question that is held for a key, or nil if there is none.
func (s *holdings) find(key llm.Key, model string, b body, now time.Time) (best *holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.list {
		if h.over || h.key.ID != key.ID || h.model != model || h.upTo >= len(b.Contents) || now.Sub(h.made) >= cachedFor || best != nil && best.upTo >= h.upTo {
			continue
		}
		if sha256.Sum256(b.beginning(model, h.upTo)) == h.sum {
			best = h
		}
	}
	return best
}

// put holds next in place of another holding, and returns the ones to drop.
func (s *holdings) put(next, before *holding) (drop []*holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(slices.DeleteFunc(s.list, func(h *holding) bool { return h == before }), next)
	if before != nil {
		drop = append(drop, before)
	}
	for len(s.list) > maxKeeping {
		drop, s.list = append(drop, s.list[0]), s.list[1:]
	}
	return drop
}

// end takes h out of use. It is dropped with the others later: a refused question with it does not prove that it is gone.
func (s *holdings) end(h *holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.over = true
}

// drop makes the API stop keeping h. It is not an error if the API has already lost h.
func (p *Provider) drop(ctx context.Context, h *holding) error {
	if h.name == "" {
		return nil
	}
	call := p.call(h.key, h.model)
	defer call.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, p.base+"/v1beta/"+h.name, nil)
	if err != nil {
		return err
	}
	if _, err = call.RoundTrip(r); err != nil && !lost(call) {
		return call.Err(ctx, err)
	}
	return nil
}

// lost reports whether a call was refused because of a cached content that does not exist or does not apply. The API returns 403
// for one that has expired.
func lost(call *wire.Call) bool {
	return slices.Contains([]int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound}, call.Status())
}

// Release makes the API drop everything that it keeps of the provider's conversations. It implements [llm.Releaser].
func (p *Provider) Release(ctx context.Context) error {
	p.held.mu.Lock()
	list := p.held.list
	p.held.list = nil
	p.held.mu.Unlock()
	var errs []error
	for _, h := range list {
		errs = append(errs, p.drop(ctx, h))
	}
	return errors.Join(errs...)
}

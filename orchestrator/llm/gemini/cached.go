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
	// leastCached is the least part of a conversation that is worth a cached content, in tokens: making one costs as much as
	// asking with that part once, and keeping it costs by the hour. The API's own least is lower, 1,024 to 4,096 by model.
	leastCached = 16 << 10
	// cachedFor is how long the API keeps one; after cachedFresh another is made, lest it end within a question.
	cachedFor, cachedFresh = time.Hour, 54 * time.Minute
	// maxKeeping bounds what is held at a time. The oldest goes first.
	maxKeeping = 8
)

// A holding is a beginning of a conversation that the API keeps for a key, or that it would not keep.
type holding struct {
	key   llm.Key
	model string
	name  string   // "" for one that it would not keep
	upTo  int      // so many messages
	sum   [32]byte // of what it begins with
	size  int      // in tokens, as estimated
	made  time.Time
	over  bool // not to be used any more: the API said that it has lost it, or does not take it
}

// holdings are what the API keeps for a provider.
type holdings struct {
	mu   sync.Mutex
	list []*holding
}

// cachedName is how the API calls a cached content. It becomes part of a path.
var cachedName = lazyregexp.New(`^cachedContents/[A-Za-z0-9_-]{1,128}$`)

// A keeping is what the API is asked to keep: the beginning of a question.
// Source: CachedContent of generativelanguage v1beta.
type keeping struct {
	Model    string    `json:"model"`
	System   *content  `json:"systemInstruction,omitempty"`
	Contents []content `json:"contents"`
	Tools    []tools   `json:"tools,omitempty"`
	TTL      string    `json:"ttl"`
}

// beginning encodes the first n messages of a question with all that stands before them.
func (b body) beginning(model string, n int) []byte {
	text, err := json.Marshal(keeping{"models/" + model, b.System, b.Contents[:n], b.Tools, "3600s"}) // cachedFor
	if err != nil {
		return nil // what was encoded before can be
	}
	return text
}

// after is the question without what h holds.
func (b body) after(h *holding) body {
	if h != nil {
		b.Cached, b.System, b.Tools, b.Contents = h.name, nil, nil, b.Contents[h.upTo:]
	}
	return b
}

// hold returns what the API keeps of the beginning of a question, nil for nothing, and whether that was made now. A conversation that
// has gone on for a round is worth it where it is long; when what came since is as long, more of it is kept. Where the API does
// not keep it, the question is asked whole: an error of a cache is none of the question.
func (p *Provider) hold(ctx context.Context, key llm.Key, req llm.Request, b body) (h *holding, made bool) {
	last := len(b.Contents) - 1
	// Beside a cached content neither tools nor a choice among them may be told.
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

// usable is h where the API keeps it, else nil.
func (h *holding) usable() *holding {
	if h == nil || h.name == "" {
		return nil
	}
	return h
}

// find returns the longest beginning of a question that is held for a key, nil for none.
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

// put holds next in the place of another, and returns what is to be dropped.
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

// end has h used no more. It is dropped with the others: that a question with it was refused does not say that it is gone.
func (s *holdings) end(h *holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.over = true
}

// drop has the API keep h no longer. What it has lost already is gone as well.
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

// lost reports whether a call was refused because of a cached content that is not there, or not for this.
// The API says 403 of one that has ended.
func lost(call *wire.Call) bool {
	return slices.Contains([]int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound}, call.Status())
}

// Release has the API keep nothing of the provider's conversations any more. It is an [llm.Releaser].
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

package llm

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// KeyStates keeps what is known about keys. It outlives the process and is shared by several, so that all of them avoid a key which
// one of them saw refused. Package journaltest tests its implementations.
type KeyStates interface {
	// Load returns the states of the vendor's keys, in any order. A key that was never saved is not among them.
	Load(ctx context.Context, vendor string) ([]KeyState, error)
	// Save merges s into the state of its key: see KeyState.Merge. Merging in any order gives the same state, so writers need not
	// know of each other.
	Save(ctx context.Context, s KeyState) error
}

// A KeyState is what is known about one key. It only ever changes in one direction; a retired key returns when a person removes its
// state.
type KeyState struct {
	Vendor  string
	Key     string    // Key.ID
	Used    time.Time // when it was last chosen, to the microsecond; zero for never
	Until   time.Time // it rests until then, to the microsecond; zero for never
	Reason  Kind      // why it rests until then, "" for never
	Retired Kind      // why it is not used again, "" while it is in use
}

// Merge returns the state that follows from both: the later use, the later end of a rest with its reason, and retired if either is.
// If only the reasons differ, the one later in the alphabet stays, so that the order of merging does not matter.
func (s KeyState) Merge(t KeyState) KeyState {
	m := s
	m.Retired = max(s.Retired, t.Retired)
	if t.Used.After(s.Used) {
		m.Used = t.Used
	}
	if c := t.Until.Compare(s.Until); c > 0 || c == 0 && t.Reason > s.Reason {
		m.Until, m.Reason = t.Until, t.Reason
	}
	return m
}

// maxRest bounds how long a key rests at a vendor's request. A longer time may well be a mistake; after maxRest the key is tried
// once.
const maxRest = 2 * time.Hour

// A ring chooses among the keys of one link. Keys take turns: the least recently used one comes next, unused ones first, in the
// order given.
type ring struct {
	vendor string
	keys   []Key // at least one: the zero Key for a vendor that needs none
	states KeyStates
	now    func() time.Time
	mu     sync.Mutex // held while a key is chosen and marked as used
}

// pick returns the key whose turn it is and marks it as used. If no key may be used it returns an Error that says why, and when the
// first one wakes: the zero time for never. Two processes that pick at the same instant may get the same key, which does no harm.
func (r *ring) pick(ctx context.Context, model string) (key Key, rest *Error, wake time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, err := r.load(ctx)
	if err != nil {
		return Key{}, nil, time.Time{}, err
	}
	now := r.now().Truncate(time.Microsecond)
	var chosen, first *KeyState // the key to use; the one that wakes first
	var last KeyState           // any state, to say why there is no key
	used := now
	for _, k := range r.keys {
		s := known[k.ID]
		last = s
		if !s.Used.Before(used) {
			used = s.Used.Add(time.Microsecond) // turns keep their order while the clock stands still
		}
		switch {
		case s.Retired != "":
			// Neither used nor waited for.
		case s.Until.After(now):
			if first == nil || s.Until.Before(first.Until) {
				first = &s
			}
		case chosen == nil || s.Used.Before(chosen.Used):
			chosen, key = &s, k
		}
	}
	switch {
	case chosen != nil:
		return key, nil, time.Time{}, r.save(ctx, KeyState{Key: key.ID, Used: used})
	case first != nil:
		detail := fmt.Sprintf("%s at rest, the first until %s", count(len(r.keys), "key"), first.Until.UTC().Format(time.RFC3339))
		return Key{}, NewError(first.Reason, r.vendor, model, detail), first.Until, nil
	}
	return Key{}, NewError(last.Retired, r.vendor, model, count(len(r.keys), "key")+" retired"), time.Time{}, nil
}

// rest makes the key rest for d, at most maxRest.
func (r *ring) rest(ctx context.Context, key Key, d time.Duration, why Kind) error {
	// Stored times have microseconds: rounding up keeps the next one from being early.
	until := r.now().Add(min(d, maxRest)).Truncate(time.Microsecond).Add(time.Microsecond)
	return r.save(ctx, KeyState{Key: key.ID, Until: until, Reason: why})
}

// retire takes the key out of use permanently.
func (r *ring) retire(ctx context.Context, key Key, why Kind) error {
	return r.save(ctx, KeyState{Key: key.ID, Retired: why})
}

// load returns the states of the vendor's keys by ID.
func (r *ring) load(ctx context.Context) (map[string]KeyState, error) {
	list, err := r.states.Load(ctx, r.vendor)
	if err != nil {
		return nil, fmt.Errorf("load the state of the keys of %s: %w", r.vendor, err)
	}
	known := make(map[string]KeyState, len(list))
	for _, s := range list {
		known[s.Key] = s
	}
	return known, nil
}

// save merges new facts about a key into what all processes know of it.
func (r *ring) save(ctx context.Context, s KeyState) error {
	s.Vendor = r.vendor
	if err := r.states.Save(ctx, s); err != nil {
		return fmt.Errorf("save the state of key %s of %s: %w", s.Key, r.vendor, err)
	}
	return nil
}

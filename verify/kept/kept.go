// Package kept stores what the checks found under keys that name everything that it depends on. Nothing in the cache becomes out
// of date, and two processes may write the same row, since they write the same content. The exception is the record that a suite
// is long, which is believed for a day.
package kept

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agent/verify/keylock"
)

// A Cache stores results that stay true: baselines by snapshot, image and gate, and the proof of each gate by image and
// gate. Load returns ok false for an unknown key.
type Cache interface {
	Load(ctx context.Context, key string) (data []byte, ok bool, err error)
	Save(ctx context.Context, key string, data []byte) error
}

// A Store keeps outcomes in a cache.
type Store struct {
	// Cache is where rows are stored; nil stores nothing.
	Cache Cache
	// Toolchain is the image ID: a rebuilt image with other tools has other keys.
	Toolchain string
	// Definitions is a digest of the gates' definitions and the configuration.
	Definitions string
	// Proof is the digest without the configuration: the planted files have none.
	Proof string
	// Making lets only one caller at a time make a row, if several judge concurrently; nil for a single caller.
	Making *keylock.Locks
}

// BaselineKey returns the key for the outcomes of one group of gates on one snapshot.
func (s *Store) BaselineKey(snapshot, group string) string {
	return strings.Join([]string{"baseline", snapshot, s.Toolchain, s.Definitions, group}, "/")
}

// ProofKey returns the key for the proof of the gates in one image. The workspace and its configuration are not part of
// it: the planted files are in an empty box.
func (s *Store) ProofKey() string {
	return strings.Join([]string{"proof", s.Toolchain, s.Proof}, "/")
}

// Load reads the row under key into v. A cache that does not answer only makes the run slower: the error is a remark.
func (s *Store) Load(ctx context.Context, key string, v any) (bool, error) {
	if s.Cache == nil {
		return false, nil
	}
	data, ok, err := s.Cache.Load(ctx, key)
	if err != nil || !ok {
		return false, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, fmt.Errorf("decode %s: %w", key, err)
	}
	return true, nil
}

// Save stores v under key. As with Load, an error costs time later and has no other effect.
func (s *Store) Save(ctx context.Context, key string, v any) error {
	if s.Cache == nil {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", key, err)
	}
	return s.Cache.Save(ctx, key, data)
}

// LongFor is how long a suite is believed not to end in time: the machine may have been busy, and suites change.
const LongFor = 24 * time.Hour

// longKey returns the key for a suite that did not end in time. It consists of the workspace's directory and the names
// at its top, since each commit has another digest.
func (s *Store) longKey(root string, paths []string, check string) string {
	tops := map[string]bool{}
	for _, p := range paths {
		top, _, _ := strings.Cut(p, "/")
		tops[top] = true
	}
	sum := sha256.Sum256([]byte(root + "\x00" + strings.Join(slices.Sorted(maps.Keys(tops)), "\x00")))
	return strings.Join([]string{"long", hex.EncodeToString(sum[:12]), s.Toolchain, s.Definitions, check}, "/")
}

// Long returns when the tests of a check, in the workspace at root with these paths, were last seen not to end in time.
// ok is false if that is unknown or at least LongFor ago.
func (s *Store) Long(ctx context.Context, root string, paths []string, check string) (since time.Time, ok bool) {
	ok, err := s.Load(ctx, s.longKey(root, paths, check), &since)
	return since, ok && err == nil && time.Since(since) < LongFor
}

// SaveLong records that they did not end in time just now.
func (s *Store) SaveLong(ctx context.Context, root string, paths []string, check string) error {
	return s.Save(ctx, s.longKey(root, paths, check), time.Now())
}

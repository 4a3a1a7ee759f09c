// Package kept keeps what the checks found out under keys that name everything it depends on: so nothing in the cache ever has to
// be thrown away for being out of date, and two processes may write the same row, since they write the same. That a suite is long is the
// exception, which a day bounds.
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

// A Cache keeps results that stay true: baselines by snapshot, image and gate, and the proof of each gate by image and
// gate. Load answers ok false for an unknown key.
type Cache interface {
	Load(ctx context.Context, key string) (data []byte, ok bool, err error)
	Save(ctx context.Context, key string, data []byte) error
}

// A Store keeps outcomes in a cache.
type Store struct {
	// Nil keeps nothing.
	Cache Cache
	// Image ID: a rebuilt image with other tools is another key.
	Toolchain string
	// Digest of the gates' definitions with the configuration.
	Definitions string
	// The same without it: the planted files have none.
	Proof string
	// Making has one at a time make a row, where several judge at the same time; nil for who judges alone.
	Making *keylock.Locks
}

// BaselineKey names the outcomes of one group of gates on one snapshot.
func (s *Store) BaselineKey(snapshot, group string) string {
	return strings.Join([]string{"baseline", snapshot, s.Toolchain, s.Definitions, group}, "/")
}

// ProofKey names the proof of the gates in one image. The workspace and its
// configuration have no part in it: planted files stand in an empty box.
func (s *Store) ProofKey() string {
	return strings.Join([]string{"proof", s.Toolchain, s.Proof}, "/")
}

// Load reads what is stored under key into v. A cache that does not answer is
// no trouble but a slower run: the error is a remark.
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

// Save stores v under key. As with Load, an error costs time later and nothing else.
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

// LongFor is how long it is believed of a suite that it does not end in time: a machine may have been busy, and suites change.
const LongFor = 24 * time.Hour

// longKey names what is remembered of a suite that did not end in time: by the directory of the workspace and what lies at its top,
// since each commit has another digest.
func (s *Store) longKey(root string, paths []string, check string) string {
	tops := map[string]bool{}
	for _, p := range paths {
		top, _, _ := strings.Cut(p, "/")
		tops[top] = true
	}
	sum := sha256.Sum256([]byte(root + "\x00" + strings.Join(slices.Sorted(maps.Keys(tops)), "\x00")))
	return strings.Join([]string{"long", hex.EncodeToString(sum[:12]), s.Toolchain, s.Definitions, check}, "/")
}

// Long says when the tests of a check, in a workspace of these paths at root, were last seen not to end in time; ok is false
// where that is not known, or LongFor ago.
func (s *Store) Long(ctx context.Context, root string, paths []string, check string) (since time.Time, ok bool) {
	ok, err := s.Load(ctx, s.longKey(root, paths, check), &since)
	return since, ok && err == nil && time.Since(since) < LongFor
}

// SaveLong remembers that they did not just now.
func (s *Store) SaveLong(ctx context.Context, root string, paths []string, check string) error {
	return s.Save(ctx, s.longKey(root, paths, check), time.Now())
}

package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/sandbox"
	"agent/sandbox/egress"
	"agent/verify/check"
	"agent/verify/keylock"
	"agent/verify/typecache"
)

// A store keeps outcomes in the cache under keys that name everything they depend on: so nothing in it ever has to be
// thrown away for being out of date, and two processes may write the same row, since they write the same.
type store struct {
	// Nil keeps nothing.
	cache Cache
	// Image ID: a rebuilt image with other tools is another key.
	toolchain string
	// Digest of the gates' definitions with the configuration.
	definitions string
	// The same without it: the planted files have none.
	proof string
	// As Verifier.Making.
	making *keylock.Locks
}

func newStore(cache Cache, toolchain string, tools check.Tools, cfg Config) *store {
	return &store{
		cache: cache, toolchain: toolchain,
		definitions: definitionDigest(tools, cfg), proof: definitionDigest(tools, Config{}),
	}
}

// baselineKey names the outcomes of one group of gates on one snapshot.
func (s *store) baselineKey(snapshot, group string) string {
	return strings.Join([]string{"baseline", snapshot, s.toolchain, s.definitions, group}, "/")
}

// proofKey names the proof of the gates in one image. The workspace and its
// configuration have no part in it: planted files stand in an empty box.
func (s *store) proofKey() string {
	return strings.Join([]string{"proof", s.toolchain, s.proof}, "/")
}

// load reads what is stored under key into v. A cache that does not answer is
// no trouble but a slower run: the error is a remark.
func (s *store) load(ctx context.Context, key string, v any) (bool, error) {
	if s.cache == nil {
		return false, nil
	}
	data, ok, err := s.cache.Load(ctx, key)
	if err != nil || !ok {
		return false, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, fmt.Errorf("decode %s: %w", key, err)
	}
	return true, nil
}

// save stores v under key. As with load, an error costs time later and nothing else.
func (s *store) save(ctx context.Context, key string, v any) error {
	if s.cache == nil {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", key, err)
	}
	return s.cache.Save(ctx, key, data)
}

// types is the row of what mypy knows of the workspace, as what is installed has it. With something
// else on each side there is none: what mypy knows goes from one to the other.
func (r Request) types(s *store, base check.View) *typecache.Row {
	if r.patched().Installed != r.Installed {
		return nil
	}
	return typecache.Of(s.cache, base, s.toolchain, standing(s.definitions, r.Installed), s.proof)
}

// standing names a workspace together with what is installed beside it, for the
// cache: a test that fails without a package says nothing about one with it.
func standing(snapshot, installed string) string {
	if installed == "" {
		return snapshot
	}
	return snapshot + "+" + installed
}

// Definitions is raised whenever a gate's command or the reading of its output changes: judgements of
// another may differ, and its baselines and proofs are made anew.
const Definitions = "26"

// definitionDigest identifies everything that shapes an outcome besides the snapshot and the image, for a cache key.
// It covers the whole configuration for every gate: configurations change rarely, and one digest is easy to trust.
func definitionDigest(tools check.Tools, cfg Config) string {
	// What a strict gate said before the patch is nobody's business: each task of a plan has another one.
	cfg.Gates = slices.DeleteFunc(slices.Clone(cfg.Gates), func(g CustomGate) bool { return g.Strict })
	data, err := json.Marshal(struct {
		Definitions string
		Tools       check.Tools
		Smoke       check.Smoke
		Limits      sandbox.Limits
		Runtime     string `json:",omitempty"`
		Timeout     time.Duration
		Gates       []CustomGate `json:",omitempty"`
		Affected    bool         `json:",omitempty"`
		Egress      egress.List  `json:",omitempty"`
	}{Definitions, tools, cfg.Smoke, cfg.Limits, cfg.Runtime, cfg.Timeout, cfg.Gates, cfg.AffectedTests, cfg.Egress})
	if err != nil {
		return "" // not possible: the struct holds plain values
	}
	sum := sha256.Sum256(data)
	// 64 bits are enough where nobody gains by a collision of their own keys.
	return hex.EncodeToString(sum[:8])
}

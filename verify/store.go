package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"agent/sandbox"
	"agent/sandbox/egress"
	"agent/verify/check"
	"agent/verify/kept"
	"agent/verify/typecache"
)

// newStore returns the store for the outcomes of checks with these tools.
func newStore(cache Cache, toolchain string, tools check.Tools, cfg Config) *kept.Store {
	return &kept.Store{
		Cache: cache, Toolchain: toolchain,
		Definitions: definitionDigest(tools, cfg), Proof: definitionDigest(tools, Config{}),
	}
}

// types returns the row of what mypy knows about the workspace with its installed packages. If these differ between the
// two sides there is none: what mypy knows passes from one side to the other.
func (r Request) types(s *kept.Store, base check.View) *typecache.Row {
	if r.patched().Installed != r.Installed {
		return nil
	}
	return typecache.Of(s.Cache, base, s.Toolchain, standing(s.Definitions, r.Installed), s.Proof)
}

// standing names a workspace together with what is installed next to it, for the cache: a test that fails without a
// package says nothing about one with it.
func standing(snapshot, installed string) string {
	if installed == "" {
		return snapshot
	}
	return snapshot + "+" + installed
}

// Definitions is raised whenever a gate's command or the reading of its output changes: judgements under another value
// may differ, so baselines and proofs are made anew.
const Definitions = "30"

// definitionDigest identifies everything that shapes an outcome besides the snapshot and the image, for a cache key.
// It covers the whole configuration for every gate: configurations change rarely, and one digest is easy to trust.
func definitionDigest(tools check.Tools, cfg Config) string {
	// The results of a strict gate before the patch do not matter: each task of a plan has another one.
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
	// 64 bits are enough, since a user gains nothing from a collision among their own keys.
	return hex.EncodeToString(sum[:8])
}

// Package typecache carries mypy's cache from one box to the next, as rows of the verifier's cache.
package typecache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"agent/verify/check"
	"agent/verify/python"
)

// A Cache stores rows; it is the verifier's cache.
type Cache interface {
	Load(ctx context.Context, key string) (data []byte, ok bool, err error)
	Save(ctx context.Context, key string, data []byte) error
}

// A Row is what mypy knows about one workspace, by image and definitions. It saves time and decides nothing, since mypy
// compares each file with the hash that it knows.
//
// Code that could write what mypy knows could make mypy blind, so a row comes only from boxes in which no code of a
// patch has run. A mypy plugin is code of the base in all of them and could make mypy blind anyway: what a plugin
// contributed to is kept only for exactly these plugins.
type Row struct {
	// Key is its name in the cache.
	Key   string
	cache Cache
	from  []string // the keys of the rows that mypy may start from, the best first
}

// Of returns the row of a workspace. It returns nil if there is no cache, or if the base's configuration asks for more
// than checks. A workspace without a row starts from what mypy learned in its proof.
func Of(cache Cache, base check.View, toolchain, definitions, proof string) *Row {
	if cache == nil || base.Base.Root == "" {
		return nil
	}
	with, ok := python.KeptTypes(base)
	if !ok {
		return nil
	}
	root := sha256.Sum256([]byte(base.Base.Root))
	key := name(hex.EncodeToString(root[:8]), toolchain, definitions+with)
	return &Row{Key: key, cache: cache, from: []string{key, name("proof", toolchain, proof)}}
}

// OfProof returns the row of the planted files, and thus of the libraries that most workspaces also use; nil if there
// is no cache. The files are in a box of the bare image without other code, and mypy starts there without a cache.
func OfProof(cache Cache, toolchain, proof string) *Row {
	if cache == nil {
		return nil
	}
	return &Row{Key: name("proof", toolchain, proof), cache: cache}
}

// name returns the key of a row, from the place of its workspace and what else it depends on.
func name(place, toolchain, definitions string) string {
	return strings.Join([]string{"types", place, toolchain, definitions}, "/")
}

// Load returns the cache that mypy starts from, or nil if there is none or the cache does not answer.
func (r *Row) Load(ctx context.Context) []byte {
	for _, key := range r.from {
		if row, ok, err := r.cache.Load(ctx, key); err == nil && ok {
			return row
		}
	}
	return nil
}

// Keep stores what a box has packed, if anything.
func (r *Row) Keep(ctx context.Context, packed []byte) error {
	if r == nil || len(packed) == 0 {
		return nil
	}
	if err := r.cache.Save(ctx, r.Key, packed); err != nil {
		return fmt.Errorf("keep the types known to mypy: %w", err)
	}
	return nil
}

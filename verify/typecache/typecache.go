// Package typecache carries what mypy knows from one box to the next, as rows of the cache.
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

// A Cache keeps rows; it is that of the verifier.
type Cache interface {
	Load(ctx context.Context, key string) (data []byte, ok bool, err error)
	Save(ctx context.Context, key string, data []byte) error
}

// A Row is what mypy knows of one workspace, by image and definitions. It saves time and
// decides nothing, since mypy compares each file with the hash of what it knows.
//
// Whoever could write what mypy knows could make it blind, so the row comes only
// from boxes in which no code of a patch has run. A plugin of mypy is code of the base in all
// of them, and could make mypy blind as it is: what it had a part in is kept for these very plugins alone.
type Row struct {
	// Key names it in the cache.
	Key   string
	cache Cache
	from  []string // the keys of what mypy may begin with, the best first
}

// Of is the row of a workspace, nil when there is nothing to keep it in or when the base's
// configuration asks for more than checks. A workspace without one begins with what mypy
// learnt at its proof.
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

// OfProof is the row of the planted files, and so of the libraries that most workspaces use too, nil when there
// is nothing to keep it in. They stand in a box of the bare image with nobody's code, and mypy begins there with nothing.
func OfProof(cache Cache, toolchain, proof string) *Row {
	if cache == nil {
		return nil
	}
	return &Row{Key: name("proof", toolchain, proof), cache: cache}
}

// name names a row by the place of its workspace and what else it depends on.
func name(place, toolchain, definitions string) string {
	return strings.Join([]string{"types", place, toolchain, definitions}, "/")
}

// Load returns what mypy begins with, nil when there is nothing or the cache does not answer.
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
		return fmt.Errorf("types known to mypy not kept: %w", err)
	}
	return nil
}

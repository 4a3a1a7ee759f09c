package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"agent/verify/check"
	"agent/verify/python"
)

// A typeCache carries what mypy knows of a workspace from one box to the next: a
// row of the cache, of one workspace, image and definition. It saves time and
// decides nothing, since mypy compares each file with the hash of what it knows.
//
// Whoever could write what mypy knows could make it blind, so the row comes only
// from boxes in which no code of a patch has run; see session.warm. A plugin of mypy is code of the base in all
// of them, and could make mypy blind as it is: what it had a part in is kept for these very plugins alone.
type typeCache struct {
	store *store
	key   string
}

// newTypeCache returns the cache of a workspace, nil when there is nothing to
// keep it in or when the base's configuration asks for more than checks.
func newTypeCache(s *store, base check.View) *typeCache {
	if s.cache == nil || base.Base.Root == "" {
		return nil
	}
	with, ok := python.KeptTypes(base)
	if !ok {
		return nil
	}
	root := sha256.Sum256([]byte(base.Base.Root))
	return &typeCache{s, strings.Join([]string{"types", hex.EncodeToString(root[:8]), s.toolchain, s.definitions + with}, "/")}
}

// Load returns the row, nil when there is none or the cache does not answer.
func (c *typeCache) Load(ctx context.Context) []byte {
	row, ok, err := c.store.cache.Load(ctx, c.key)
	if err != nil || !ok {
		return nil
	}
	return row
}

// keep stores what a box has packed, if anything.
func (c *typeCache) keep(ctx context.Context, packed []byte) error {
	if len(packed) == 0 {
		return nil
	}
	if err := c.store.cache.Save(ctx, c.key, packed); err != nil {
		return fmt.Errorf("types known to mypy not kept: %w", err)
	}
	return nil
}

// typesFor makes a types cache one of what is installed as well. With something
// else on each side there is none: what mypy knows goes from one to the other.
func (r Request) typesFor(c *typeCache) *typeCache {
	if c == nil || r.patched().Installed != r.Installed {
		return nil
	}
	c.key = standing(c.key, r.Installed)
	return c
}

package promotion

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"agent/sandbox/workspace/internal/treetest"
)

// A promotion compares the bytes themselves, whatever digest a scan reported.
func TestAPromotionBelievesNoDigestOfAScan(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"f": "a truth"})
	m := scan(t, dir)
	for i := range m.Entries {
		sum := sha256.Sum256([]byte("a lie"))
		m.Entries[i].Digest = hex.EncodeToString(sum[:])
	}
	p, err := prepareIn(t.Context(), dir, modify("f", "a lie", "ours"), "run-1", m, nil)
	var conflict *ConflictError
	if !errors.As(err, &conflict) {
		t.Errorf("a promotion believes the cache: %v, %v", p, err)
	}
}

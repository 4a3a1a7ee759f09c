package sandbox

import (
	"math"
	"path/filepath"
	"testing"

	imagescmd "agent/cmd/agent/internal/command/images"
	"agent/sandbox/workspace/promotion"
)

func TestSnapshotsOfAWorkspaceAtWorkStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if free, gone := snapshotsKept(dir), snapshotsKept(filepath.Join(dir, "gone")); free != imagescmd.KeptSnapshots || gone != 0 {
		t.Errorf("%d of one where nobody works, %d of one that is gone", free, gone)
	}
	lock, err := promotion.Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	if busy := snapshotsKept(dir); busy != math.MaxInt {
		t.Errorf("%d where a run is at work", busy)
	}
	lock.Release()
	if free := snapshotsKept(dir); free != imagescmd.KeptSnapshots {
		t.Errorf("%d where it has ended", free)
	}
}

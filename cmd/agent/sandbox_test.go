package main

import (
	"math"
	"path/filepath"
	"testing"

	"agent/sandbox/workspace/promotion"
)

func TestSnapshotsOfAWorkspaceAtWorkStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if free, gone := snapshotsKept(dir), snapshotsKept(filepath.Join(dir, "gone")); free != keptSnapshots || gone != 0 {
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
	if free := snapshotsKept(dir); free != keptSnapshots {
		t.Errorf("%d where it has ended", free)
	}
}

package verify

import (
	"testing"

	"agent/sandbox"
	"agent/sandbox/workspace"
)

func TestABoxHasRoomForTheWorkspace(t *testing.T) {
	t.Parallel()
	base := &workspace.Manifest{Entries: []workspace.Entry{
		{Path: "a", Kind: workspace.File, Size: 1},
		{Path: "big", Kind: workspace.File, Size: 300 << 20},
		{Path: "d", Kind: workspace.Dir},
	}}
	got := RoomFor(sandbox.Limits{}, base)
	want := sandbox.Limits{Work: 300<<20 + 4096 + spare, Inodes: 3 + spareInodes, MaxFile: 300 << 20}
	if got != want {
		t.Errorf("limits %+v, want %+v", got, want)
	}
}

func TestRoomKeepsWhatTheConfigurationSays(t *testing.T) {
	t.Parallel()
	tight := sandbox.Limits{Work: 1 << 20, Inodes: 10, MaxFile: 1 << 10, Memory: 64 << 20}
	if got := RoomFor(tight, &workspace.Manifest{}); got != tight {
		t.Errorf("limits %+v, want %+v", got, tight)
	}
}

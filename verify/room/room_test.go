package room

import (
	"fmt"
	"testing"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/python"
)

func TestABoxHasForTheWorkspace(t *testing.T) {
	t.Parallel()
	base := &workspace.Manifest{Entries: []workspace.Entry{
		{Path: "a", Kind: workspace.File, Size: 1},
		{Path: "big", Kind: workspace.File, Size: 300 << 20},
		{Path: "d", Kind: workspace.Dir},
	}}
	got := For(sandbox.Limits{}, base)
	want := sandbox.Limits{Tmp: Tmp, Work: 300<<20 + 4096 + spare, Inodes: 3 + spareInodes, MaxFile: 300 << 20}
	if got != want {
		t.Errorf("limits %+v, want %+v", got, want)
	}
}

// Files in /tmp count as memory. The engine has a certain amount, and the configuration may set the limit.
func TestABoxHasForWhatToolsKeepWhatTheMachineHas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set  sandbox.Limits
		want int64
	}{
		{sandbox.Limits{Programs: 1 << 30}, Tmp},
		{sandbox.Limits{Programs: 3 << 30}, 3 << 29},
		{sandbox.Limits{Programs: 3 << 30, Memory: 1 << 30}, Tmp},
	} {
		if got := For(c.set, &workspace.Manifest{}); got.Tmp != c.want {
			t.Errorf("%+v: %d bytes of /tmp, want %d", c.set, got.Tmp, c.want)
		}
	}
}

// A workspace with more Python than mypy's knowledge is kept for needs no room, since nothing is kept then.
func TestABoxHasForWhatMypyKeeps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ modules, size int64 }{
		{0, 0}, {10, 10 << 10}, {1000, 3 << 10}, {1000, 20 << 10}, {10_000, 1 << 10}, {1, 5 << 20},
	} {
		base := &workspace.Manifest{}
		for n := range c.modules {
			base.Entries = append(base.Entries, workspace.Entry{Path: fmt.Sprintf("m%d.py", n), Kind: workspace.File, Size: c.size})
		}
		kept := python.TypesKept(int(c.modules), c.modules*c.size)
		lim := For(sandbox.Limits{}, base).WithDefaults()
		if lim.Tmp < 2*kept+typesRoom {
			t.Errorf("%d modules of %d bytes: %d bytes of /tmp for twice %d", c.modules, c.size, lim.Tmp, kept)
		}
		if keeps := c.modules > 0 && c.modules*(12<<10+6*c.size) <= 40<<20; keeps != (kept > 0) {
			t.Errorf("%d modules of %d bytes: %d are kept", c.modules, c.size, kept)
		}
	}
}

func TestRoomKeepsWhatTheConfigurationSays(t *testing.T) {
	t.Parallel()
	tight := sandbox.Limits{Work: 1 << 20, Inodes: 10, Tmp: 1 << 20, MaxFile: 1 << 10, Memory: 64 << 20}
	if got := For(tight, &workspace.Manifest{}); got != tight {
		t.Errorf("limits %+v, want %+v", got, tight)
	}
}

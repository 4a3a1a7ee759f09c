package verify

import (
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/golang"
)

const (
	// pageSize is what the smallest file takes in a tmpfs.
	pageSize = 4 << 10
	// spare is what the gates and the program may write besides the
	// workspace: the size of /work for a small one.
	spare = 256 << 20
	// buildRoom is the size of /tmp where Go builds programs and tests in it.
	buildRoom = 512 << 20
	// spareInodes is the same in files.
	spareInodes = 50_000
)

// RoomFor returns the limits of the boxes that Verify asks for when they must hold
// base, so that others can start them ahead. A workspace that is larger than the
// usual /work gets a larger one, so that its size is never charged to the patch.
// What the configuration set stays as it is.
func RoomFor(lim sandbox.Limits, base *workspace.Manifest) sandbox.Limits {
	var bytes, largest int64
	for _, e := range base.Entries {
		if lim.Tmp == 0 && golang.IsSource(e.Path) {
			lim.Tmp = buildRoom
		}
		// Every file takes whole pages.
		bytes += (e.Size + pageSize - 1) / pageSize * pageSize
		largest = max(largest, e.Size)
	}
	if lim.Work == 0 {
		lim.Work = bytes + spare
	}
	if lim.Inodes == 0 {
		lim.Inodes = int64(len(base.Entries)) + spareInodes
	}
	// The largest file must be writable again by the patch or the program.
	if lim.MaxFile == 0 {
		lim.MaxFile = max(largest, 100<<20)
	}
	return lim
}

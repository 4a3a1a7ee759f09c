// Package room determines how large the boxes for a workspace must be: their limits on memory disks, files and inodes.
// It knows what the tools store there, and starts nothing.
package room

import (
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/python"
)

// Tmp is the least size of /tmp in bytes: Go builds programs and tests in it, and JavaScript runners keep compiled files there.
const Tmp = 512 << 20

const (
	// pageSize is the space that the smallest file takes in a tmpfs.
	pageSize = 4 << 10
	// spare is what the gates and the program may write in addition to the workspace: the size of /work for a small
	// one.
	spare = 256 << 20
	// typesRoom is what remains in /tmp besides mypy's cache.
	typesRoom = 32 << 20
	// spareInodes is the corresponding number of files.
	spareInodes = 50_000
)

// For returns the limits of the boxes that package verify starts for base, so that others can start them ahead. A
// workspace larger than the usual /work gets a larger one, so its size is never charged to the patch. Limits that the
// configuration sets stay as they are.
func For(lim sandbox.Limits, base *workspace.Manifest) sandbox.Limits {
	var bytes, largest, script int64
	modules := 0
	for _, e := range base.Entries {
		if check.IsPython(e.Path) {
			modules, script = modules+1, script+e.Size
		}
		// Every file takes whole pages.
		bytes += (e.Size + pageSize - 1) / pageSize * pageSize
		largest = max(largest, e.Size)
	}
	// mypy keeps separate caches for what the project itself checks and for what is checked in addition.
	if lim.Tmp == 0 {
		lim.Tmp = max(Tmp, 2*python.TypesKept(modules, script)+typesRoom)
		// Files in /tmp count as memory. If the machine decides how much memory there is, they may use half of it: for
		// a large module staticcheck alone keeps more than Tmp.
		if lim.Memory == 0 {
			lim.Tmp = max(lim.Tmp, lim.Programs/2)
		}
	}
	if lim.Work == 0 {
		lim.Work = bytes + spare
	}
	if lim.Inodes == 0 {
		lim.Inodes = int64(len(base.Entries)) + spareInodes
	}
	// The patch or the program must be able to write the largest file again.
	if lim.MaxFile == 0 {
		lim.MaxFile = max(largest, 100<<20)
	}
	return lim
}

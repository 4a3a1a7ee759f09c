// Package room says how large the boxes must be in which a workspace is judged: their limits of memory disks, files
// and inodes. It knows what the tools keep there, and starts nothing.
package room

import (
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/python"
)

// Tmp is the least size of /tmp in bytes: Go builds programs and tests in it, and runners of JavaScript keep what they compiled.
const Tmp = 512 << 20

const (
	// pageSize is what the smallest file takes in a tmpfs.
	pageSize = 4 << 10
	// spare is what the gates and the program may write besides the
	// workspace: the size of /work for a small one.
	spare = 256 << 20
	// typesRoom is left in /tmp beside what mypy keeps there.
	typesRoom = 32 << 20
	// spareInodes is the same in files.
	spareInodes = 50_000
)

// For returns the limits of the boxes that package verify asks for when they must hold
// base, so that others can start them ahead. A workspace that is larger than the
// usual /work gets a larger one, so that its size is never charged to the patch.
// What the configuration set stays as it is.
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
	// What a project checks itself and what is looked at besides are kept apart.
	if lim.Tmp == 0 {
		lim.Tmp = max(Tmp, 2*python.TypesKept(modules, script)+typesRoom)
		// Its files count as memory, of which half may be theirs where the machine decides how much there is: staticcheck alone
		// keeps more than Tmp of a large module.
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
	// The largest file must be writable again by the patch or the program.
	if lim.MaxFile == 0 {
		lim.MaxFile = max(largest, 100<<20)
	}
	return lim
}

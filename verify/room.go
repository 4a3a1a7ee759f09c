package verify

import (
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/format"
	"agent/verify/golang"
	"agent/verify/syntax"
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

// Survey finds out ahead what Verify asks of a workspace before any patch, which may
// take a look at each of its files, so that no verdict waits for it. base remembers it.
func Survey(base *workspace.Manifest, cfg Config) { BoxesFor(Request{Base: base, Config: cfg}) }

// BoxesFor returns in how many boxes Verify judges the candidate of a request, so
// that others can start them ahead: those of a baseline that is not known, of a
// proof and of repeats come on top. Where boxes are started from does not matter.
func BoxesFor(req Request) (n int) {
	s := newSession(&Verifier{}, req, nil)
	cand := check.NewView(req.Base, req.Changeset)
	groups := s.groups(cand)
	if format.Applies(req.Changeset) == "" || len(syntax.Touched(cand)) > 0 || len(groups[check.GroupStatic]) > 0 {
		n++
	}
	delete(groups, check.GroupStatic)
	for _, defs := range groups {
		n += len(defs)
	}
	return n
}

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

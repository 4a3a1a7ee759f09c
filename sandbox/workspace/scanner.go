package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"agent/sandbox/workspace/git"
	"agent/sandbox/workspace/internal/dirfd"

	"github.com/moby/patternmatcher"
	"golang.org/x/sys/unix"
)

// A scanner is one walk.
type scanner struct {
	tree    *dirfd.Tree
	lim     Limits
	m       *Manifest
	exclude *patternmatcher.PatternMatcher
	ignored git.Ignored
	// Excluded directories, which enter when something in them does.
	held map[string]Entry
	// Directories still to read.
	todo  []string
	bytes int64
	usage map[string]*Usage
	// What the entries of the directory shareOf count towards.
	share   *Usage
	shareOf string
	// File systems by number: true where a time of change is to be relied on.
	stamped map[uint64]bool
	// Files that somebody may have had open for writing while they were read.
	shared map[string]bool
	// What an earlier scan found, as far as the cache knows.
	was earlier
	// Directories that were listed ahead of the walk.
	listed map[string]listing
}

// A vanishedError names what was in a listing and is there no more.
type vanishedError struct{ path string }

// Error names the path; Scan makes a *ChangedError of it before anybody sees
// it.
func (e *vanishedError) Error() string { return e.path + " went away" }

// explain turns the error of reading rel into one that says what to do.
func explain(rel string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: make it readable (chmod u+r) or add %q to exclude in agent.toml", err, rel)
	case dirfd.Gone(err):
		return &vanishedError{path: rel}
	}
	return err
}

// excludes reports whether a pattern of the workspace covers rel or a
// directory above it.
func (s *scanner) excludes(rel string) (bool, error) {
	if s.exclude == nil {
		return false, nil
	}
	return s.exclude.MatchesOrParentMatches(rel)
}

// skip notes that rel is left out, with everything below it.
func (s *scanner) skip(rel, reason string, quiet bool) {
	s.m.Skipped = append(s.m.Skipped, Skip{Path: rel, Reason: reason, Quiet: quiet})
}

// entryOf makes the entry of rel from what the kernel says about it. The
// digest comes later.
func entryOf(rel string, kind Kind, st *unix.Stat_t) Entry {
	e := Entry{
		Path: rel, Kind: kind, Mode: fs.FileMode(st.Mode).Perm(),
		MTime: st.Mtim.Nano(), CTime: st.Ctim.Nano(), Inode: st.Ino, Device: uint64(st.Dev),
	}
	if kind == File {
		e.Size = st.Size
	}
	return e
}

// A listing is one directory as it was read, before anything is decided.
type listing struct {
	self  Entry
	names []string
	found []listed
}

// A listed is one name in a directory, and what the kernel says about it.
type listed struct {
	Entry
	name string
	// What it is when it can be no entry, "" when it can.
	special string
	err     error
}

// An earlier is what a cache file says: files alone, sorted by path.
type earlier struct {
	began   time.Time
	entries []Entry
}

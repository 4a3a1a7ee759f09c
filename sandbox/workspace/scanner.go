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
	// Excluded directories, which are added when something in them is.
	held map[string]Entry
	// Directories still to read.
	todo  []string
	bytes int64
	usage map[string]*Usage
	// The usage to which the entries of the directory shareOf count.
	share   *Usage
	shareOf string
	// File systems by number: true if their time of change is reliable.
	stamped map[uint64]bool
	// Files that a process may have had open for writing while they were read.
	shared map[string]bool
	// What an earlier scan found, as far as the cache knows.
	was earlier
	// Directories that were listed ahead of the walk.
	listed map[string]listing
}

// A vanishedError names something that was in a listing and no longer exists.
type vanishedError struct{ path string }

// Error names the path; Scan turns the error into a *ChangedError before it returns.
func (e *vanishedError) Error() string { return e.path + " disappeared" }

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

// excludes reports whether a pattern of the workspace covers rel or a directory above it.
func (s *scanner) excludes(rel string) (bool, error) {
	if s.exclude == nil {
		return false, nil
	}
	return s.exclude.MatchesOrParentMatches(rel)
}

// skip records that rel is left out, with everything below it.
func (s *scanner) skip(rel, reason string, quiet bool) {
	s.m.Skipped = append(s.m.Skipped, Skip{Path: rel, Reason: reason, Quiet: quiet})
}

// entryOf makes the entry of rel from what the kernel reports. The digest comes later.
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

// A listed is one name in a directory, with what the kernel reports about it.
type listed struct {
	Entry
	name string
	// What it is if it cannot be an entry, "" otherwise.
	special string
	err     error
}

// An earlier is the content of a cache file: only files, sorted by path.
type earlier struct {
	began   time.Time
	entries []Entry
}

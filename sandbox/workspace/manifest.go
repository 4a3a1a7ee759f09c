package workspace

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// A Kind says what an Entry is. Anything else on disk (FIFO, socket, device)
// never enters a manifest; it is listed in Manifest.Skipped.
type Kind string

// The kinds of entry that a manifest holds.
const (
	File    Kind = "file"
	Dir     Kind = "dir"
	Symlink Kind = "symlink"
)

// An Entry is one file, directory or symbolic link of a workspace.
type Entry struct {
	// Slash-separated, relative to the root, valid UTF-8.
	Path string
	// Kind says which of the fields below mean anything.
	Kind Kind
	// Permission bits only; always 0777 for a link.
	Mode fs.FileMode
	// Bytes; 0 unless Kind is File.
	Size int64
	// Nanoseconds since the epoch.
	MTime int64
	// Nanoseconds since the epoch.
	CTime int64
	Inode uint64
	// The number of the file system that it lies on.
	Device uint64
	// Lower-case hex SHA-256 of the content, of the target for a link, "" for
	// a directory.
	Digest string
	// Where a link points, as stored.
	Target string
}

// A Skip names something in the workspace that was left out, and why.
type Skip struct {
	// Its last part is quoted when it is not UTF-8.
	Path string
	// Such as "secret", "fifo", "name is not UTF-8".
	Reason string
	// True for what everyone expects to be left out (.git, ignored files,
	// caches).
	Quiet bool
}

// A Manifest is the content of a workspace at one moment.
type Manifest struct {
	// Absolute, symbolic links resolved.
	Root string
	// Sorted by Path, directories included; the root itself is not.
	Entries []Entry
	// Sorted by Path.
	Skipped []Skip
	// What git's HEAD said and the commit that it meant, one per line; "" outside a repository.
	Head string

	// The patterns that Scan was given.
	exclude []string
	// The file with the digests that a later Rescan takes over, "" if there is none.
	cache string
	// How many files the scan has read.
	read int
	// What With put in place of files on disk.
	content map[string][]byte
	memo    Memo
}

// Digest identifies the content: the hex SHA-256 of every path, kind, mode and content digest. Times and inodes do not
// count. It is computed once, so the entries must not change afterwards.
func (m *Manifest) Digest() string {
	sum, _ := Recall(m.Memo(), digestOf{}, func() (string, error) {
		h := sha256.New()
		line := []byte("manifest 1\n")
		for _, e := range m.Entries {
			h.Write(line)
			// No field but the last can hold a NUL, and neither can a path.
			line = append(append(line[:0], e.Kind...), 0)
			line = append(strconv.AppendUint(line, uint64(e.Mode.Perm()), 8), 0)
			line = append(append(append(append(line, e.Digest...), 0), e.Path...), 0)
		}
		h.Write(line)
		return hex.EncodeToString(h.Sum(nil)), nil
	})
	return sum
}

// digestOf is the key of a manifest's digest in its memo.
type digestOf struct{}

// find searches for path by binary search.
func (m *Manifest) find(path string) (int, bool) {
	return slices.BinarySearchFunc(m.Entries, path, func(e Entry, p string) int { return cmp.Compare(e.Path, p) })
}

// Lookup returns the entry at path.
func (m *Manifest) Lookup(path string) (Entry, bool) {
	i, ok := m.find(path)
	if !ok {
		return Entry{}, false
	}
	return m.Entries[i], true
}

// A ChangedError says that a file changed between the scan and now.
type ChangedError struct{ Path string }

// Error says which file it is and what to do.
func (e *ChangedError) Error() string {
	return e.Path + " changed while it was read: run again when nothing writes to the workspace"
}

// KindOf returns the kind of a regular file, directory or link, or else a name for what it is.
//
// The kernel knows more kinds than a snapshot can carry. A device or socket means something only on its own machine,
// and reading a FIFO would wait for a writer, so none of them is ever opened.
func KindOf(mode uint32) (Kind, string) {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return File, ""
	case unix.S_IFDIR:
		return Dir, ""
	case unix.S_IFLNK:
		return Symlink, ""
	case unix.S_IFIFO:
		return "", "fifo"
	case unix.S_IFSOCK:
		return "", "socket"
	}
	return "", "device"
}

// Memo returns the manifest's own memo, which lives as long as the manifest.
func (m *Manifest) Memo() *Memo { return &m.memo }

// Digest returns the hex SHA-256 of content, by which manifests and records refer to it.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

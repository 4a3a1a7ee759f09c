package workspace

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agent/sandbox/workspace/internal/dirfd"

	"golang.org/x/sys/unix"
)

// A file in the user's cache directory keeps what a scan found out by reading, for the next one: a header with the
// digest of the rest, when the scan began, the root, and one record for each file.

// cacheHeader begins each file. Its number changes with the format, and with the meaning of digests and signs of
// change.
const cacheHeader = "agent manifest 1\n"

const (
	// cacheSlots bounds the number of files. Two roots that share a slot displace each other, which only costs time.
	cacheSlots = 256
	// cacheLeast is the work (see toil) below which a scan is not worth a file. If a file exists, one part in
	// cacheShare of it is enough to write another.
	cacheLeast = 16 << 20
	cacheShare = 32
	// cacheMost is the size above which a file is not believed to be ours.
	cacheMost = 256 << 20
	// fileToil is how much content could be read in the time that it takes to open a file.
	fileToil = 16 << 10
	// recordLeast is the length of a record without its path.
	recordLeast = 8 + 8 + 2*sha256.Size + 6*8
	// youth is the age, at the start of a scan, below which a file's time of change proves nothing to the next scan. A
	// file system that counts whole seconds gives a change just before the read and one just after it the same time.
	// Git calls such files racily clean.
	youth = 2 * time.Second
)

// A cache is the file that holds what is known of one root. The zero value knows nothing and keeps nothing.
type cache struct {
	root, file string
	least      int64
	// clock lets tests advance the time.
	clock func() time.Time
}

// userCache returns the cache of root in the user's cache directory.
func userCache(root string) cache {
	dir, err := os.UserCacheDir()
	if err != nil {
		return cache{}
	}
	return cacheIn(filepath.Join(dir, "agent", "manifests"), root)
}

// cacheIn returns the cache of root in dir. It returns the zero value if dir cannot be trusted: others may read or
// write it, or it is part of the workspace, which a patch may write.
func cacheIn(dir, root string) cache {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return cache{}
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return cache{}
	}
	info, err := os.Lstat(dir)
	if err != nil || !dirfd.Private(info) || strings.HasPrefix(dir+"/", strings.TrimSuffix(root, "/")+"/") {
		return cache{}
	}
	h := fnv.New32a()
	io.WriteString(h, root)
	return cache{root: root, file: filepath.Join(dir, fmt.Sprintf("%02x", h.Sum32()%cacheSlots)), least: cacheLeast, clock: time.Now}
}

// time returns the current time, for comparison with the file system's stamps.
func (c cache) time() time.Time {
	if c.clock == nil {
		return time.Now()
	}
	return c.clock()
}

// load reads what is known of the root. That is nothing if the file is absent, not private, damaged, in another format
// or about another root. There is no error, since a scan works without the cache.
func (c cache) load() earlier {
	body := unseal(c.file)
	if body == "" {
		return earlier{}
	}
	return c.decode(body)
}

// unseal returns what seal wrote to a file, or "" if that is absent, not private, damaged or in another format.
func unseal(file string) string {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !dirfd.Private(info) || info.Size() > cacheMost {
		return ""
	}
	head := make([]byte, len(cacheHeader)+sha256.Size)
	if _, err := io.ReadFull(f, head); err != nil || !strings.HasPrefix(string(head), cacheHeader) {
		return ""
	}
	var body strings.Builder
	body.Grow(int(info.Size()))
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(&body, h), f); err != nil || string(h.Sum(nil)) != string(head[len(cacheHeader):]) {
		return ""
	}
	return body.String()
}

// save keeps what s has found for the next scan, unless toil, the cost of reading the files, is too low for that to be
// useful. It returns no error, since a failure only costs that time again.
func (c cache) save(s *scanner, began time.Time, toil int64) {
	least := c.least
	if len(s.was.entries) > 0 {
		least /= cacheShare
	}
	if c.file == "" || toil == 0 || toil < least {
		return
	}
	seal(c.file, c.encode(s, began))
}

// seal writes a file that unseal reads. A failure only costs time later.
func seal(file string, body []byte) {
	sum := sha256.Sum256(body)
	// The name is fixed, so that a process that dies here leaves at most one such file. Two simultaneous writers spoil
	// it, and its digest reveals that.
	next := file + ".new"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return
	}
	_, err = f.WriteString(cacheHeader + string(sum[:]))
	if err == nil {
		_, err = f.Write(body)
	}
	if f.Close() == nil && err == nil {
		os.Rename(next, file)
	}
}

// encode writes the files of a scan whose digests the next one may take over.
func (c cache) encode(s *scanner, began time.Time) []byte {
	b := make([]byte, 0, len(s.m.Entries)*2*recordLeast)
	number := func(n uint64) { b = binary.BigEndian.AppendUint64(b, n) }
	text := func(t string) { number(uint64(len(t))); b = append(b, t...) }
	number(uint64(began.UnixNano()))
	text(c.root)
	for _, e := range s.m.Entries {
		if e.Kind != File || !s.stamped[e.Device] || s.shared[e.Path] {
			continue
		}
		text(e.Path)
		text(e.Digest)
		for _, n := range [...]uint64{uint64(e.Mode), uint64(e.Size), uint64(e.MTime), uint64(e.CTime), e.Inode, e.Device} {
			number(n)
		}
	}
	return b
}

// decode is the inverse of encode.
func (c cache) decode(body string) earlier {
	number := func() (n uint64) {
		if len(body) < 8 {
			body = ""
			return 0
		}
		n, body = binary.BigEndian.Uint64([]byte(body[:8])), body[8:]
		return n
	}
	text := func() (t string) {
		n := int(min(number(), uint64(len(body))))
		t, body = body[:n], body[n:]
		return t
	}
	was := earlier{began: time.Unix(0, int64(number())), entries: make([]Entry, 0, len(body)/recordLeast)}
	if text() != c.root {
		return earlier{}
	}
	for body != "" {
		e := Entry{
			Kind: File, Path: text(), Digest: text(), Mode: fs.FileMode(number()), Size: int64(number()),
			MTime: int64(number()), CTime: int64(number()), Inode: number(), Device: number(),
		}
		was.entries = append(was.entries, e)
	}
	return was
}

// unread lists the files, by index, that must be read, and gives all others the digest that they had in an earlier
// scan.
func (s *scanner) unread(began time.Time) []int {
	// If the clock was set back in between, files that lie in its future count as young.
	was := s.was
	old := min(was.began.UnixNano(), began.UnixNano()) - youth.Nanoseconds()
	var todo []int
	for n := range s.m.Entries {
		e := &s.m.Entries[n]
		if e.Kind != File {
			continue
		}
		// Both are sorted.
		for len(was.entries) > 0 && was.entries[0].Path < e.Path {
			was.entries = was.entries[1:]
		}
		if len(was.entries) > 0 && e.CTime < old && s.stamped[e.Device] && !maySecret(e.Path) {
			known := was.entries[0]
			e.Digest = known.Digest
			if *e == known {
				continue
			}
			e.Digest = ""
		}
		todo = append(todo, n)
	}
	s.m.read = len(todo)
	return todo
}

// toil returns the cost of reading some files, in bytes.
func (s *scanner) toil(files []int) (bytes int64) {
	for _, n := range files {
		bytes += s.m.Entries[n].Size + fileToil
	}
	return bytes
}

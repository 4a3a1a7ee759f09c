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

// What a scan found out by reading is kept for the next one in a file of the
// user's cache directory: a header with the digest of the rest, when the scan
// began, the root, and one record for each file.

// cacheHeader begins each file. Its number changes with the form, and with
// what digests and signs of change mean.
const cacheHeader = "agent manifest 1\n"

const (
	// cacheSlots bounds how many files there may be. Two roots that meet in one
	// slot take turns, which costs time and nothing else.
	cacheSlots = 256
	// cacheLeast is the work, see toil, below which a scan is not worth a file,
	// and cacheShare the part of it from which on it is worth another.
	cacheLeast = 16 << 20
	cacheShare = 32
	// cacheMost is the size of a file that is not believed to be ours.
	cacheMost = 256 << 20
	// fileToil is the content that could be read in the time that it takes to
	// open a file.
	fileToil = 16 << 10
	// recordLeast is the length of a record without its path.
	recordLeast = 8 + 8 + 2*sha256.Size + 6*8
	// youth is the age, at the start of a scan, below which a file's time of
	// change proves nothing to the next one: a file system that counts whole
	// seconds gives a change just before the reading and one just after it the
	// same time. Git calls such files racily clean.
	youth = 2 * time.Second
)

// A cache is the file that holds what is known of one root. The zero value
// knows nothing and keeps nothing.
type cache struct {
	root, file string
	least      int64
	// Tests let time pass with it.
	clock func() time.Time
}

// userCache is the cache of root in the user's cache directory.
func userCache(root string) cache {
	dir, err := os.UserCacheDir()
	if err != nil {
		return cache{}
	}
	return cacheIn(filepath.Join(dir, "agent", "manifests"), root)
}

// cacheIn is the cache of root in dir, the zero value where dir is not to be
// trusted: others may write to it or read it, or it is part of the workspace,
// which a patch may write.
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

// time is the time of day, which the file system's stamps are compared with.
func (c cache) time() time.Time {
	if c.clock == nil {
		return time.Now()
	}
	return c.clock()
}

// load reads what is known of the root: nothing where the file is absent, not
// private, damaged, of another form or about another root. A scan does
// without, so there is no error.
func (c cache) load() earlier {
	body := unseal(c.file)
	if body == "" {
		return earlier{}
	}
	return c.decode(body)
}

// unseal returns what seal wrote to a file, "" where that is absent, not
// private, damaged or of another form.
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

// save keeps what s has found for the next scan, unless toil, what it cost to
// read files, is too little for that to be of use. An error costs that one time,
// so there is none.
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

// seal writes a file that unseal reads. What goes wrong costs time later and
// nothing else.
func seal(file string, body []byte) {
	sum := sha256.Sum256(body)
	// The name is fixed, so that a process that dies here leaves one such file
	// at most. Two that write at once spoil it, and the digest tells.
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

// encode writes the files of a scan whose digest the next one may take over.
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

// decode is the reverse of encode.
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

// unread lists the files, by their index, that are to be read, and gives all
// others the digest that they had in an earlier scan.
func (s *scanner) unread(began time.Time) []int {
	// A clock that was set back in between makes young what lies in its future.
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

// toil is what it costs to read some files, in bytes.
func (s *scanner) toil(files []int) (bytes int64) {
	for _, n := range files {
		bytes += s.m.Entries[n].Size + fileToil
	}
	return bytes
}

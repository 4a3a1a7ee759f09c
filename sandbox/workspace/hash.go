package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"agent/sandbox/workspace/git"
	"agent/sandbox/workspace/internal/dirfd"
	"agent/sandbox/workspace/lang"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// rereads is how many times hashFile tries a file that changes under the reader.
const rereads = 8

// hash fills in the digests of the files todo, and removes those whose content turns out to be a secret.
func (s *scanner) hash(ctx context.Context, todo []int) error {
	seen := make([]reading, len(todo))
	var next atomic.Int64
	group, working := errgroup.WithContext(ctx)
	// At least two: while one waits for the disk, another can compute.
	for range min(len(todo), max(2, runtime.GOMAXPROCS(0))) {
		group.Go(func() error {
			buf := make([]byte, 128<<10)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(todo) {
					return nil
				}
				if err := working.Err(); err != nil {
					return err
				}
				var err error
				if seen[i], err = hashFile(working, s.tree, &s.m.Entries[todo[i]], buf); err != nil {
					return err
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	secret := map[string]bool{}
	for i, r := range seen {
		name := s.m.Entries[todo[i]].Path
		if r.shared {
			s.shared[name] = true
		}
		// What turns out to be a secret leaves no trace but its name.
		if r.secret {
			secret[name] = true
		}
	}
	for _, name := range s.fixtures(ctx, secret) {
		delete(secret, name)
	}
	for name := range secret {
		s.skip(name, "secret", false)
	}
	if len(secret) > 0 {
		s.m.Entries = slices.DeleteFunc(s.m.Entries, func(e Entry) bool { return secret[e.Path] })
	}
	s.m.Entries = slices.Clip(s.m.Entries)
	return nil
}

// fixtures returns those of the named files with keys that are among tests and that git has with the same content: they
// are the repository's own, and its tests cannot run without them. If git gives no answer there are none.
func (s *scanner) fixtures(ctx context.Context, names map[string]bool) []string {
	list := slices.DeleteFunc(slices.Collect(maps.Keys(names)), func(name string) bool { return !lang.BesideTests(name) })
	repo, ok := git.Find(s.m.Root)
	if len(list) == 0 || !ok {
		return nil
	}
	under, err := repo.Under(s.m.Root)
	if err != nil {
		return nil
	}
	objects, err := repo.OnDisk(ctx)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(name string) bool { return objects[path.Join(under, name)] == "" })
}

// A reading is the result of reading a file, besides its digest.
type reading struct {
	// All of it was one state of the file.
	whole bool
	// The content is a secret.
	secret bool
	// Some process may have had it open for writing.
	shared bool
}

// hashFile digests one file, and updates the entry to what was true both before and after the read. A file that a
// process may have open for writing is read twice.
func hashFile(ctx context.Context, t *dirfd.Tree, e *Entry, buf []byte) (reading, error) {
	var last string
	for range rereads {
		f, err := t.Open(e.Path, unix.O_RDONLY, 0)
		if err != nil {
			return reading{}, explain(e.Path, err)
		}
		r, err := hashOpen(ctx, f, e, buf)
		f.Close()
		// A slow disk may hold up a writer in the middle of a call for longer than stall. What it adds a moment later
		// reveals it.
		if r.whole && r.shared && e.Digest != last {
			last = e.Digest
			r.whole, err = false, pause(ctx, tick)
		}
		if r.whole || err != nil {
			return r, err
		}
	}
	return reading{}, &ChangedError{Path: e.Path}
}

// hashOpen reads an open file once.
func hashOpen(ctx context.Context, f *os.File, e *Entry, buf []byte) (r reading, err error) {
	var before, after unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &before); err != nil {
		return r, explain(e.Path, err)
	}
	if before.Mode&unix.S_IFMT != unix.S_IFREG {
		return r, &ChangedError{Path: e.Path}
	}
	// This is asked between the stamp and the read: without a writer now, any later change of the file gives it a new
	// stamp.
	r.shared = !dirfd.Unwritten(f)
	if wait := unrest(&before, r.shared, time.Now()); wait > 0 {
		return r, pause(ctx, wait)
	}
	h := sha256.New()
	var head bytes.Buffer
	var sink io.Writer = h
	if maySecret(e.Path) {
		sink = io.MultiWriter(h, &head)
	}
	// The context is checked at each step, so that one huge file does not outlive a Ctrl-C.
	source := readFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return f.Read(p)
	})
	// One byte more than the size reveals growth without following it forever.
	n, err := io.CopyBuffer(sink, io.LimitReader(source, before.Size+1), buf)
	if err != nil {
		return r, explain(e.Path, err)
	}
	if err := unix.Fstat(int(f.Fd()), &after); err != nil {
		return r, explain(e.Path, err)
	}
	// A writer that restores the time of modification cannot restore the time of status change.
	r.whole = n == before.Size && before.Size == after.Size && before.Ino == after.Ino &&
		before.Mtim == after.Mtim && before.Ctim == after.Ctim
	if r.whole {
		*e = entryOf(e.Path, File, &before)
		e.Digest = hex.EncodeToString(h.Sum(nil))
	}
	r.secret = maySecret(e.Path) && holdsSecret(e.Path, head.Bytes())
	return r, nil
}

// The kernel stamps a file before it copies what is written, and its clock stands still for up to 10 ms at a time. So a
// file may be half of one state and half of another, and look the same before and after it is read.
const (
	// tick is the age from which a change does not belong to the current tick.
	tick = 20 * time.Millisecond
	// stall is the same for a file that a process may have open for writing: the call that made the stamp may still be
	// at work.
	stall = 200 * time.Millisecond
)

// unrest returns how long to wait before a file can be read as one state, 0 if it has rested. A stamp in the future of
// our clock was not made by it, and is not waited for.
func unrest(st *unix.Stat_t, shared bool, now time.Time) time.Duration {
	need := tick
	if shared {
		need = stall
	}
	if age := now.Sub(time.Unix(0, st.Ctim.Nano())); age >= 0 && age < need {
		return need - age
	}
	return 0
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, wait time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
		return nil
	}
}

// A readFunc is a reader made from one function.
type readFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readFunc) Read(p []byte) (int, error) { return f(p) }

package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// rereads is how often a file that changes under the reader is read again.
const rereads = 5

// digest is the hex SHA-256 of content.
func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// hash fills in the digests of all files and takes those out again whose
// content turns out to be a secret.
func (s *scanner) hash(ctx context.Context) error {
	secret := make([]bool, len(s.m.Entries))
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	// Two at least: while one waits for the disk another can compute.
	for range max(2, runtime.GOMAXPROCS(0)) {
		group.Go(func() error {
			buf := make([]byte, 128<<10)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(s.m.Entries) {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if s.m.Entries[i].Kind != File {
					continue
				}
				var err error
				if secret[i], err = hashFile(ctx, s.tree, &s.m.Entries[i], buf); err != nil {
					return err
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	// What turned out to be a secret leaves without a trace but its name.
	kept := s.m.Entries[:0]
	for i, e := range s.m.Entries {
		if secret[i] {
			s.skip(e.Path, "secret", false)
			continue
		}
		kept = append(kept, e)
	}
	s.m.Entries = slices.Clip(kept)
	return nil
}

// hashFile digests one file and sets what the entry says about it to what was
// true before and after. It reports whether the content is a secret.
func hashFile(ctx context.Context, t *tree, e *Entry, buf []byte) (secret bool, err error) {
	for range rereads {
		f, err := t.open(e.Path, unix.O_RDONLY, 0)
		if err != nil {
			return false, explain(e.Path, err)
		}
		same, secret, err := hashOpen(ctx, f, e, buf)
		f.Close()
		if same || err != nil {
			return secret, err
		}
	}
	return false, &ChangedError{Path: e.Path}
}

// hashOpen is one reading of an open file; same is false when it changed
// meanwhile.
func hashOpen(ctx context.Context, f *os.File, e *Entry, buf []byte) (same, secret bool, err error) {
	var before, after unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &before); err != nil {
		return false, false, explain(e.Path, err)
	}
	if before.Mode&unix.S_IFMT != unix.S_IFREG {
		return false, false, &ChangedError{Path: e.Path}
	}
	h := sha256.New()
	var head bytes.Buffer
	var sink io.Writer = h
	if maySecret(e.Path) {
		sink = io.MultiWriter(h, &head)
	}
	// The context is asked at each step, so that one huge file does not
	// outlive a Ctrl-C.
	source := readFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return f.Read(p)
	})
	// One byte more than the size shows growth without following it for ever.
	n, err := io.CopyBuffer(sink, io.LimitReader(source, before.Size+1), buf)
	if err != nil {
		return false, false, explain(e.Path, err)
	}
	if err := unix.Fstat(int(f.Fd()), &after); err != nil {
		return false, false, explain(e.Path, err)
	}
	// A writer that restores the time of modification cannot restore that of
	// the status change.
	same = n == before.Size && before.Size == after.Size && before.Ino == after.Ino &&
		before.Mtim == after.Mtim && before.Ctim == after.Ctim
	if same {
		*e = entryOf(e.Path, File, &before)
		e.Digest = hex.EncodeToString(h.Sum(nil))
	}
	return same, maySecret(e.Path) && holdsSecret(e.Path, head.Bytes()), nil
}

// A readFunc is a reader made of one function.
type readFunc func(p []byte) (int, error)

// Read is io.Reader.
func (f readFunc) Read(p []byte) (int, error) { return f(p) }

package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"agent/sandbox/workspace/internal/dirfd"

	"agent/sandbox/workspace/internal/treetest"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// TestNoReadingMixesTheStatesOfAFile has a writer change a whole file while it is read, in each way in which programs
// write. AGENT_RACE_ROUNDS=10000 sets the number of readings.
func TestNoReadingMixesTheStatesOfAFile(t *testing.T) {
	t.Parallel()
	rounds := 320
	if n, err := strconv.Atoi(os.Getenv("AGENT_RACE_ROUNDS")); err == nil {
		rounds = n
	}
	open := func(name string) *os.File {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
		}
		return f
	}
	inPlace := func(name string, text []byte) error {
		f := open(name)
		_, err := f.WriteAt(text, 0)
		return errors.Join(err, f.Close())
	}
	ways := []func(name string, text []byte) error{
		inPlace,
		func(name string, text []byte) error {
			return errors.Join(inPlace(name, text), os.Chtimes(name, time.Unix(1, 0), time.Unix(1, 0)))
		},
		func(name string, text []byte) error { return os.WriteFile(name, text, 0o644) },
		func(name string, text []byte) error {
			return errors.Join(os.WriteFile(name+".new", text, 0o644), os.Rename(name+".new", name))
		},
	}
	// Many run at once, since they spend most of the time waiting.
	const lanes = 32
	var group errgroup.Group
	for lane := range lanes {
		dir := treetest.New(t, treetest.Files{"f": ""})
		group.Go(func() error {
			tr, err := dirfd.Open(dir)
			for round := range rounds / lanes {
				err = errors.Join(err, readAndWrite(tr, ways[lane%len(ways)], round))
			}
			return errors.Join(err, tr.Close())
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// coldCopy maps a file that holds text, with none of its pages in memory.
func coldCopy(name string, text []byte) ([]byte, error) {
	if err := os.WriteFile(name, text, 0o644); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)); err != nil {
		return nil, err
	}
	cold, err := unix.Mmap(int(f.Fd()), 0, len(text), unix.PROT_READ, unix.MAP_SHARED)
	return cold, errors.Join(err, unix.Madvise(cold, unix.MADV_RANDOM))
}

// readAndWrite reads a file while it is written. The digest must be that of a whole state.
func readAndWrite(t *dirfd.Tree, write func(name string, text []byte) error, round int) error {
	const size = 256 << 10
	name := filepath.Join(t.Root, "f")
	states := [][]byte{bytes.Repeat([]byte("A"), size), bytes.Repeat([]byte("B"), size), nil}
	was, is := states[round%2], states[1-round%2]
	if err := os.WriteFile(name, was, 0o644); err != nil {
		return err
	}
	// The kernel stamps the file first, and then waits for the disk at each page of the data to write.
	cold, err := coldCopy(name+".source", is)
	if err != nil {
		return err
	}
	defer unix.Munmap(cold)
	written := make(chan error)
	go func() { written <- write(name, cold) }()
	time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
	e := Entry{Path: "f", Kind: File}
	_, err = hashFile(context.Background(), t, &e, make([]byte, 32<<10))
	var changed *ChangedError
	if errors.As(err, &changed) {
		err = nil
	}
	if err := errors.Join(err, <-written); err != nil {
		return err
	}
	for _, state := range states {
		if e.Digest == "" || e.Digest == Digest(state) {
			return nil
		}
	}
	return fmt.Errorf("round %d: a state that never was, of %d bytes", round, e.Size)
}

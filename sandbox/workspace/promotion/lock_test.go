package promotion

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"agent/sandbox/workspace/internal/treetest"
)

// C32.
func TestOneLockAtATime(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"f": ""})
	before := treetest.OnDisk(t, dir)
	first, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(dir); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("a second lock in this process: %v", err)
	}
	treetest.Same(t, "a locked workspace", before, treetest.OnDisk(t, dir))
	if err := errors.Join(first.Release(), first.Release()); err != nil {
		t.Error(err)
	}
	second, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Release(); err != nil {
		t.Error(err)
	}
	if _, err := Acquire(filepath.Join(dir, "f")); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("the lock of a file: %v", err)
	}
}

// A process that is being forked has every opening of its parent for a moment. It does not keep a lock that was released.
func TestAForkedChildKeepsNoReleasedLock(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, nil)
	first, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := unix.FcntlInt(uintptr(first.tree.FD), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	if err := first.Release(); err != nil {
		t.Error(err)
	}
	second, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Release(); err != nil {
		t.Error(err)
	}
}

func TestTheLockOfADeadProcessIsFree(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, nil)
	cmd := second(t, "lock", dir, 0)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("second process: %q, %v", line, err)
	}
	if _, err := Acquire(dir); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), strconv.Itoa(cmd.Process.Pid)) {
		t.Errorf("while it lives: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the second process was not killed")
	}
	l, err := Acquire(dir)
	if err != nil {
		t.Fatalf("after its death: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

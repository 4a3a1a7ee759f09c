package process

import (
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lastSignal is the highest signal number of Linux.
const lastSignal = 64

// spareThreads is how many threads the guest starts with. A fork bomb may take every process ID of the box; a Go
// program that then needs a new thread dies.
const spareThreads = 16

// Harden protects this process from the others in the box. It must be called before the first child starts, and works
// only for the first process of a PID namespace.
func Harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make the guest undumpable: %w", err)
	}
	for sig := 1; sig <= lastSignal; sig++ {
		if err := defaultSignal(unix.Signal(sig)); err != nil {
			return err
		}
	}
	return startThreads()
}

// defaultSignal gives sig its default disposition behind the back of the Go runtime, whose handlers would end the
// program. The kernel never delivers such a signal to the first process of a PID namespace, whichever process of the
// box sends it. The guest catches no signal, so the runtime misses nothing. SIGURG stays, since the runtime sends it to
// itself to preempt a goroutine, and its handler ignores those of others. SIGPIPE stays, since the runtime turns it
// into the error of a write: gVisor does deliver signals, and a program that does not read its input would end the box.
func defaultSignal(sig unix.Signal) error {
	switch sig {
	case unix.SIGKILL, unix.SIGSTOP, unix.SIGURG, unix.SIGPIPE:
		return nil
	}
	// The kernel's struct sigaction is at most 32 bytes on the 64-bit ports: all zero is SIG_DFL without flags. The
	// fourth argument is the size of its signal mask.
	var action [32]byte
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(&action[0])), 0, lastSignal/8, 0, 0)
	if errno != 0 {
		return fmt.Errorf("reset signal %d: %w", sig, errno)
	}
	return nil
}

// startThreads makes the runtime create threads now and keep them: each of these goroutines holds one in a blocking
// read until all of them do.
func startThreads() error {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	var started, done sync.WaitGroup
	for range spareThreads {
		started.Add(1)
		done.Go(func() {
			started.Done()
			var b [1]byte
			_, _ = unix.Read(fds[0], b[:]) // returns when the other end is closed
		})
	}
	started.Wait()
	err := unix.Close(fds[1])
	done.Wait()
	if closeErr := unix.Close(fds[0]); err == nil {
		err = closeErr
	}
	return err
}

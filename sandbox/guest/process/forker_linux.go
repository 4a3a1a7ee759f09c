package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Forker starts programs: confined, and such that the kernel kills them before the guest when memory runs out. One
// thread, confined permanently, forks them all, so that starting a program needs no new thread: when a program has
// taken every process ID, there is none to be had.
type Forker struct {
	score *os.File // this process's own OOM score
	forks chan func()
}

// OpenForker must be called before Harden: the OOM score belongs to root once the process is undumpable. The error is
// that of the system.
func OpenForker() (*Forker, error) {
	score, err := os.OpenFile("/proc/self/oom_score_adj", os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("open the OOM score: %w", err)
	}
	f := &Forker{score: score, forks: make(chan func())}
	confined := make(chan error)
	go f.work(confined)
	if err := <-confined; err != nil {
		return nil, errors.Join(fmt.Errorf("confine the programs: %w", err), score.Close())
	}
	return f, nil
}

// work forks on a thread of its own. The thread is never unlocked, so it ends with this goroutine.
func (f *Forker) work(confined chan<- error) {
	runtime.LockOSThread()
	err := confine()
	confined <- err
	if err != nil {
		return
	}
	for fork := range f.forks {
		fork()
	}
}

// Close releases what OpenForker opened. Started programs go on.
func (f *Forker) Close() error {
	close(f.forks)
	return f.score.Close()
}

// Start starts a program and returns its process ID. The program's OOM score is 1000 from its first instruction on,
// because this process has that score for the moment of the fork. Only one call may be in progress.
func (f *Forker) Start(name string, args []string, attr *syscall.ProcAttr) (pid int, err error) {
	if err := f.set("1000"); err != nil {
		return 0, err
	}
	forked := make(chan struct{})
	f.forks <- func() {
		pid, err = syscall.ForkExec(name, args, attr)
		close(forked)
	}
	<-forked
	// With a score like the program's, the guest could be killed in its place, and the box would be lost with the
	// result.
	if scoreErr := f.set("0"); err == nil && scoreErr != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, nil, 0, nil)
		err = scoreErr
	}
	return pid, err
}

// set changes this process's score: 1000 makes it, and what it forks meanwhile, the first that the kernel kills for
// memory.
func (f *Forker) set(score string) error {
	if _, err := f.score.WriteAt([]byte(score), 0); err != nil {
		return fmt.Errorf("set the OOM score to %s: %w", score, err)
	}
	return nil
}

package process

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// settleTime is how long helpers of a program, such as one that waits for the end of a pipe, may take to end by
// themselves after it. Only what is still there then counts as left behind.
const settleTime = 100 * time.Millisecond

// killInterval is how often the kill is repeated while a process is left, such as one in a slow system call.
const killInterval = 50 * time.Millisecond

// restInterval is how often processes that may be at rest are examined. restShare bounds what they may do meanwhile and
// still be at rest: one hundredth of that time. A waiting process checks now and then whether it may go on.
const (
	restInterval = 200 * time.Millisecond
	restShare    = 100
)

// A Group is all processes of the box but this one, while a command runs. Orphans become children of the first process,
// so waiting for any child sees every end, and when there are no children nothing is left.
type Group struct {
	main int
	// closed when main has been waited for
	mainEnded chan struct{}
	// closed when there is no child left
	none chan struct{}

	// Status is how the command ended, at EndedAt, once Run or End has reported it.
	Status  unix.WaitStatus
	EndedAt time.Time
	// CPU is the processor time that all of them have used, once End has returned.
	CPU time.Duration
	// Waited is how long all of them had waited for a processor when End stopped them.
	Waited time.Duration
	// look sets these: the processor time that they have had and wanted so far, when that was read, and since when it
	// has not grown.
	spent             time.Duration
	looked, restSince time.Time
}

// Watch starts to wait for every process; main is the command's own. Its goroutine ends when no process is left, for
// which End waits.
func Watch(main int) *Group {
	p := &Group{main: main, mainEnded: make(chan struct{}), none: make(chan struct{})}
	go p.reap()
	return p
}

// reap waits for children until there are none. The usage of each includes that of its own children that it waited for,
// so the sum counts everything once.
func (p *Group) reap() {
	defer close(p.none)
	for {
		var status unix.WaitStatus
		var usage unix.Rusage
		pid, err := unix.Wait4(-1, &status, unix.WALL, &usage)
		if err == unix.EINTR {
			continue
		}
		if err != nil { // ECHILD
			return
		}
		p.CPU += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		if pid == p.main {
			p.Status, p.EndedAt = status, time.Now()
			close(p.mainEnded)
		}
	}
}

// Run lets the command run until it ends, or timeout has passed, or settled is closed, or ctx ends, and reports whether
// it ended by itself. With watched it examines the processes meanwhile.
func (p *Group) Run(ctx context.Context, settled <-chan struct{}, timeout time.Duration, watched bool) (ended bool) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	tick := time.NewTicker(restInterval)
	defer tick.Stop()
	for looking := true; looking; {
		select {
		case <-tick.C:
			if watched {
				p.look()
			}
			continue
		case <-p.mainEnded:
		case <-settled:
		case <-timer.C:
		case <-ctx.Done():
		}
		looking = false
	}
	// The command may have ended at the moment when it was found ready.
	return Ended(p.mainEnded)
}

// End waits for what an ended command has left to end by itself, or asks a command that still runs to stop. After that
// it kills everything, and returns when no process is left. Survivors are those that outlived the command. The end of
// ctx kills everything at once.
func (p *Group) End(ctx context.Context, ended bool, grace time.Duration) (survivors int) {
	if ended {
		within(ctx, p.none, settleTime)
	} else {
		p.Waited = p.delay()
		_ = unix.Kill(-p.main, unix.SIGTERM)
		within(ctx, p.none, grace)
	}
	if Ended(p.none) {
		return 0
	}
	survivors = p.others()
	p.killAll()
	return survivors
}

// within waits until done is closed, for at most d.
func within(ctx context.Context, done <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// killAll kills every process that the guest can see, in any session or group, and waits until they are gone. If the
// kernel cannot end one, the host's own deadline applies.
func (p *Group) killAll() {
	tick := time.NewTicker(killInterval)
	defer tick.Stop()
	for {
		// This is safe only because Main refuses to run except as the first process of a PID namespace.
		_ = unix.Kill(-1, unix.SIGKILL)
		select {
		case <-p.none:
			return
		case <-tick.C:
		}
	}
}

// others counts the living processes besides this one and the command's own.
func (p *Group) others() int {
	count := 0
	for _, pid := range visible() {
		if pid == strconv.Itoa(p.main) {
			continue
		}
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err == nil && alive(string(stat)) {
			count++
		}
	}
	return count
}

// visible lists the processes besides this one, by their numbers.
func visible() []string {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []string
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != os.Getpid() {
			pids = append(pids, entry.Name())
		}
	}
	return pids
}

// delay returns how long the threads of all processes besides this one have waited for a processor, in sum.
func (p *Group) delay() time.Duration {
	var sum time.Duration
	for _, task := range threads() {
		_, wanted, _ := readSchedule(task + "/schedstat")
		sum += wanted
	}
	return sum
}

// look records whether the processes have done, or wanted to do, anything since its last call. A process that waits for
// a disk is at work.
func (p *Group) look() {
	now, spent, disk, exact := time.Now(), time.Duration(0), false, time.Duration(0)
	for _, task := range threads() {
		stat, err := os.ReadFile(task + "/stat")
		if err != nil {
			continue // it has ended
		}
		disk = disk || stateOf(string(stat)) == 'D'
		had, wanted, told := readSchedule(task + "/schedstat")
		if !told {
			had, exact = ticksOf(string(stat)), clockTick
		}
		spent += had + wanted
	}
	if disk || p.looked.IsZero() || (spent-p.spent).Abs() > max(exact, now.Sub(p.looked)/restShare) {
		p.restSince = now
	}
	p.spent, p.looked = spent, now
}

// Rested returns how long they had been at rest when look last examined them.
func (p *Group) Rested() time.Duration { return p.looked.Sub(p.restSince) }

// threads lists the directories in /proc of all threads of the visible processes.
func threads() (tasks []string) {
	for _, pid := range visible() {
		of, _ := filepath.Glob("/proc/" + pid + "/task/*") // none for a process that has just ended
		tasks = append(tasks, of...)
	}
	return tasks
}

// readSchedule reads how long a thread has had a processor and waited for one: the first two figures of schedstat, in
// nanoseconds (see the kernel's Documentation/scheduler/sched-stats.rst). Some kernels do not report it, such as
// gVisor's.
func readSchedule(file string) (had, wanted time.Duration, told bool) {
	text, err := os.ReadFile(file)
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0, 0, false
	}
	figure := func(text string) time.Duration {
		ns, _ := strconv.ParseInt(text, 10, 64) // what is not a number counts as zero
		return time.Duration(max(ns, 0))
	}
	return figure(fields[0]), figure(fields[1]), true
}

// clockTick is the unit of the times in /proc/PID/stat: USER_HZ is 100 on every
// architecture that the guest is built for (see proc_pid_stat(5)).
const clockTick = 10 * time.Millisecond

// ticksOf returns how long a thread has had a processor, from the content of its stat: utime and stime, the eleventh
// and twelfth figure after the state.
func ticksOf(stat string) time.Duration {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11]) // what is not a number counts as zero
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(max(user, 0)+max(system, 0)) * clockTick
}

// alive reports, from the content of /proc/PID/stat, whether a process is more than a zombie. The state follows the
// name, which may itself contain a parenthesis.
func alive(stat string) bool {
	state := stateOf(stat)
	return state != 0 && state != 'Z' && state != 'X'
}

// stateOf returns the letter for the state of a process or a thread, or 0 if there is none.
func stateOf(stat string) byte {
	_, rest, found := strings.Cut(stat[strings.LastIndexByte(stat, ')')+1:], " ")
	if !found || rest == "" {
		return 0
	}
	return rest[0]
}

package guest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"agent/sandbox/guest/process"
)

// defaultPath is used if the image sets no PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// drainTime is how long the output pipes are read after the last process has gone. They have ended by then, unless a
// descriptor lies in the queue of some socket.
const drainTime = time.Second

// run runs one command and returns when no process but this one is left in the box. An error means that the command was
// not run. passed receives what it writes, nil if that is not streamed; keys is what is typed on its terminal, nil if
// it has none.
func run(ctx context.Context, c Command, forker *process.Forker, passed func(byte, []byte), keys *keyboard) (Result, error) {
	if err := c.Check(); err != nil {
		return Result{}, err
	}
	// Kills are counted for the whole box, so the difference is those of this command.
	before, forks := readMemory(), readForks()
	started := time.Now()
	ch, err := start(c, forker, passed, keys)
	if err != nil {
		return Result{}, err
	}
	// From here on the child may end at any moment. Nothing below may return before everything that it left behind is
	// gone, or the next command would meet it.
	procs := process.Watch(ch.pid)
	seen := observe(ctx, c, ch.finder)
	ended := procs.Run(ctx, seen.over, c.Timeout, c.Watch != nil)
	// This comes before anything is told to end, which would close ports that were open.
	ports := seen.report()
	met := reached(readForks()-forks, ended && procs.Status.Signal() == unix.SIGXFSZ)
	survivors := procs.End(ctx, ended, c.Grace)
	ch.drain()
	after := readMemory()
	// The guest ended a program that was seen to be ready, which is neither a timeout nor a result of its own.
	settled := !ended && seen.settled()
	res := Result{
		TimedOut:  !ended && !settled,
		Settled:   settled,
		Ports:     ports,
		OOM:       after.kills > before.kills,
		Stdout:    ch.stdout.output(),
		Stderr:    ch.stderr.output(),
		Files:     collect(c.Collect),
		Wall:      procs.EndedAt.Sub(started),
		CPU:       procs.CPU,
		Waited:    procs.Waited,
		Rested:    procs.Rested(),
		PeakBytes: after.peak,
		Survivors: survivors,
		Reached:   met,
	}
	res.Exit, res.Signal = ending(procs.Status)
	return res, nil
}

// ending translates a wait status. A signal has no exit status, so it is -1, with which no program can end.
func ending(status unix.WaitStatus) (exit int, signal string) {
	if !status.Signaled() {
		return status.ExitStatus(), ""
	}
	if name := unix.SignalName(status.Signal()); name != "" {
		return -1, name
	}
	return -1, fmt.Sprintf("SIG%d", int(status.Signal())) // a real-time signal
}

// A child is the command's own process, with what it writes.
type child struct {
	pid            int
	stdout, stderr *capture
	// finder looks for the text of a Watch in both streams
	finder *finder
	// pipes are this side's ends
	pipes   []*os.File
	copying sync.WaitGroup
}

// start forks the command in a session of its own.
func start(c Command, forker *process.Forker, passed func(byte, []byte), keys *keyboard) (*child, error) {
	ch := &child{stdout: newCapture(c.MaxOutput), stderr: newCapture(c.MaxOutput), finder: &finder{}}
	if passed != nil {
		ch.stdout.passed = func(p []byte) { passed(1, p) }
		ch.stderr.passed = func(p []byte) { passed(2, p) }
	}
	if keys != nil {
		return ch, ch.startOnTerminal(c, forker, keys)
	}
	if c.Watch != nil {
		ch.finder.text = []byte(c.Watch.Text)
	}
	ch.stdout.also, ch.stderr.also = ch.finder.in(), ch.finder.in()
	// This side always closes the child's ends: as long as one is open here, the output never ends.
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	stdin, feed, err := openStdin(c.Stdin)
	if err != nil {
		return nil, err
	}
	theirs = append(theirs, stdin)
	if feed != nil {
		ch.pipes = append(ch.pipes, feed)
	}
	for range 2 {
		r, w, err := os.Pipe()
		if err != nil {
			ch.close()
			return nil, fmt.Errorf("make a pipe: %w", err)
		}
		theirs, ch.pipes = append(theirs, w), append(ch.pipes, r)
	}
	if ch.pid, err = fork(c, theirs, forker, &syscall.SysProcAttr{Setsid: true}); err != nil {
		ch.close()
		return nil, err
	}
	readers := ch.pipes[len(ch.pipes)-2:]
	ch.copying.Go(func() { ch.stdout.readFrom(readers[0]) })
	ch.copying.Go(func() { ch.stderr.readFrom(readers[1]) })
	if feed != nil {
		ch.copying.Go(func() {
			_, _ = feed.Write(c.Stdin) // a program need not read its input
			feed.Close()
		})
	}
	return ch, nil
}

// openStdin returns what the child reads, and the end of a pipe for feeding it if there is content.
//
// Nil and empty content differ: for nil the program reads /dev/null, and for empty content a pipe that ends at once.
func openStdin(content []byte) (stdin, feed *os.File, err error) {
	if content == nil {
		stdin, err = os.Open(os.DevNull)
	} else {
		stdin, feed, err = os.Pipe()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open standard input: %w", err)
	}
	return stdin, feed, nil
}

// fork starts the program with these files as its descriptors.
func fork(c Command, files []*os.File, forker *process.Forker, attr *syscall.SysProcAttr) (int, error) {
	fds := make([]uintptr, len(files))
	for i, f := range files {
		fds[i] = f.Fd() // Fd also makes the child's end blocking, as programs expect
	}
	env, err := environment(c)
	if err != nil {
		return 0, err
	}
	pid, err := forker.Start(c.Args[0], c.Args, &syscall.ProcAttr{Dir: c.Dir, Env: env, Files: fds, Sys: attr})
	if err != nil {
		return 0, fmt.Errorf("start %s in %s: %w", c.Args[0], c.Dir, err)
	}
	return pid, nil
}

// environment returns exactly PATH, HOME, HOSTNAME, LANG, TERM on a terminal, the variables of the way out or those for
// its absence, and what the command declares.
//
// Except for PATH, it passes on nothing that the guest was started with: a test must not depend on how the box was
// made.
func environment(c Command) ([]string, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("read the host name: %w", err)
	}
	vars := map[string]string{"PATH": os.Getenv("PATH"), "HOME": "/tmp", "HOSTNAME": host, "LANG": "C.UTF-8"}
	if vars["PATH"] == "" {
		vars["PATH"] = defaultPath
	}
	if c.Terminal != nil {
		vars["TERM"] = "xterm-256color"
	}
	if c.Egress {
		maps.Copy(vars, egressEnv)
	} else {
		maps.Copy(vars, offlineEnv)
	}
	maps.Copy(vars, c.Env)
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	return env, nil
}

// drain waits until all output is read. It is called when no process is left.
func (ch *child) drain() {
	for _, f := range ch.pipes {
		_ = f.SetDeadline(time.Now().Add(drainTime)) // a feed may be closed already
	}
	ch.copying.Wait()
	ch.close()
}

// close closes this side's ends. A feed may have closed its own already; closing twice does no harm.
func (ch *child) close() {
	for _, f := range ch.pipes {
		f.Close()
	}
}

// Command agent is the gate between a coding model and a working tree: it proves a patch inside a throwaway container
// and writes back only a patch that passed.
//
// This package orders arguments, completes words and lists the commands, which live in internal/command. Results go to
// stdout, with --json as one JSON document; progress, questions and errors go to stderr. The package decides nothing
// about a patch: package run determines the order of a run, and package verify judges.
package main

import (
	"cmp"
	"context"
	"embed"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/run"
)

// main exits once, with the exit code of the command.
func main() { os.Exit(program()) }

// gcPercent is the GOGC of this program. The file lists of a workspace of 100,000 files take up most of its memory, and
// there is time for a collection while the boxes work.
const gcPercent = 50

// program runs the command line of this process.
func program() int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	// With a handler installed, a write to a closed pipe is an error that the writer sees. Without one, a signal would
	// end a run half-way.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	// This is the only context that is not derived from another.
	notices := term.NewNotices(os.Stderr)
	interrupts := &term.Interrupts{}
	ctx, stop := cancelOnSignal(context.Background(), notices, interrupts)
	defer stop()
	// Everything below gets its streams and environment from here.
	c := cmdline.New(os.Getenv, os.Stdin, os.Stdout, os.Stderr)
	c.Notices, c.Interrupts = notices, interrupts
	// If the patch comes through standard input, the program asks the user at the terminal of the process.
	c.TTY = "/dev/tty"
	return command(ctx, c, os.Args[1:])
}

// cancelOnSignal returns a context that the first SIGINT, SIGTERM or SIGHUP cancels, which ends a run cleanly. A second
// signal exits at once, and the next command settles what was left behind. A SIGINT that interrupts takes does not
// count.
func cancelOnSignal(parent context.Context, notices *term.Notices, interrupts *term.Interrupts) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	// Room for two, so that the second one is not lost while the first is being printed.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case s := <-signals:
				if s == syscall.SIGINT && interrupts.Take() {
					n--
					continue
				}
			}
			// Nothing is tidied up on this way out: the kernel drops the workspace's lock, the guests die with their
			// streams, and recovery does the rest.
			if n > 0 {
				os.Exit(run.ExitCancelled)
			}
			notices.Say("agent: cancelling; interrupt again to exit at once")
			cancel()
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		watching.Wait()
		cancel()
	}
}

// command runs one command on a command line and returns its exit code.
func command(ctx context.Context, c *cmdline.Line, args []string) int {
	c.Programs = guestFiles
	app := newApp(c)
	if len(args) > 0 && args[0] == completeCommand {
		complete(ctx, c.Stdout, app, c.Getenv, args[1:])
		return run.ExitDone
	}
	// The shells' hidden word was handled above; everything from here on is a command that a user may type.
	ordered, err := reorder(app, args)
	if path, asked := asksHelp(app, ordered); err == nil && asked {
		name, cmd := walkTo(app, path)
		err = showPage(ctx, c, commandPage(cmp.Or(name, app.Name), cmd, app))
	} else if err == nil {
		err = app.RunContext(ctx, append([]string{app.Name}, ordered...))
	}
	return c.Finish(ctx, c.Exit(ctx, err, asksJSON(args, c.Getenv)))
}

// guestFiles holds the guest program, which the Makefile builds before this one.
//
//go:embed all:guestbin
var guestFiles embed.FS

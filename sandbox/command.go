package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"golang.org/x/sys/unix"

	"agent/sandbox/guest"
	"agent/sandbox/guest/wire"
	"agent/sandbox/workbench"
)

// Run runs one command in the box to its end. It kills all processes that the command leaves behind before it returns.
// Result reports whatever the command did (timeout, signal, out of memory, killed box). An error means that the engine
// or the guest did not answer as it should, never something that the command did. When ctx ends, the box is killed and
// the error wraps that of ctx.
//
// Two clocks keep the deadline: the guest can stop the command gently, and shortly after that this process kills the
// whole box.
func (b *Box) Run(ctx context.Context, cmd guest.Command) (guest.Result, error) {
	return b.RunAt(ctx, cmd, workbench.Console{})
}

// RunAt is like Run, with a console that shows what the command writes while it runs.
func (b *Box) RunAt(ctx context.Context, cmd guest.Command, at workbench.Console) (guest.Result, error) {
	began := time.Now()
	result, err := b.run(ctx, cmd, at)
	if w := WatcherOf(ctx); w != nil {
		w.Ran(Ran{Box: b.id, Args: cmd.Args, Result: result, Err: err, Took: time.Since(began)})
	}
	return result, err
}

// run is like RunAt but does not report to the Watcher.
func (b *Box) run(ctx context.Context, cmd guest.Command, at workbench.Console) (guest.Result, error) {
	if b.broken != nil {
		return guest.Result{}, b.broken
	}
	cmd = cmd.WithDefaults()
	if err := cmd.Check(); err != nil {
		return guest.Result{}, err
	}
	cmd.Egress, cmd.Stream = b.way != nil, at.Stdout != nil
	var answer guest.Answer
	deadline := time.Now().Add(cmd.Timeout + cmd.Grace + slack)
	err := b.stream.exchange(ctx, deadline, func() error {
		if err := wire.WriteJSON(b.stream, wire.KindRun, cmd); err != nil {
			return err
		}
		defer at.Typing(ctx, b.stream)()
		return b.answer(ctx, guest.AnswerLimit(cmd), &answer, at)
	})
	if err != nil {
		return b.died(ctx, cmd, err)
	}
	if answer.Problem != "" {
		return guest.Result{}, fmt.Errorf("box %s: %.500s", short(b.id), answer.Problem)
	}
	if err := answer.Check(cmd); err != nil {
		return guest.Result{}, b.breaks("run "+cmd.Args[0], err)
	}
	if b.way != nil && b.way.spent.Load() {
		answer.Result.Reached = append(answer.Result.Reached, ReachedEgress)
	}
	if !b.ready.SeesOOM {
		if answer.Result.OOM, err = b.oomKilled(ctx); err != nil {
			return guest.Result{}, err
		}
	}
	b.peak = max(b.peak, answer.Result.PeakBytes)
	return answer.Result, nil
}

// Extract returns how /work differs from the known files; see workbench.Take.
func (b *Box) Extract(ctx context.Context, rules guest.Rules, known []guest.Known) (got workbench.Extract, err error) {
	if b.broken != nil {
		return got, b.broken
	}
	err = b.stream.exchange(ctx, time.Now().Add(2*applyTime), func() error {
		got, err = workbench.Take(b.stream, rules, known)
		return err
	})
	if err != nil && !errors.As(err, new(*workbench.ExtractError)) {
		return workbench.Extract{}, b.breaks("take out what changed", err)
	}
	return got, err
}

// died handles an exchange that broke. It returns a result if the box ended, or was killed at the deadline, because of
// the command; otherwise an error.
func (b *Box) died(ctx context.Context, cmd guest.Command, err error) (guest.Result, error) {
	act := "run " + cmd.Args[0]
	late := errors.Is(err, os.ErrDeadlineExceeded)
	if ctx.Err() != nil || b.revoked.Load() != nil || !late && !brokenStream(err) {
		return guest.Result{}, b.breaks(act, err)
	}
	if late {
		if killErr := b.kill(); killErr != nil {
			return guest.Result{}, b.breaks(act, errors.Join(err, killErr))
		}
	}
	state, stateErr := b.ended()
	if stateErr != nil {
		return guest.Result{}, b.breaks(act, errors.Join(err, stateErr))
	}
	if state.ExitCode == 0 {
		// The guest exits with 0 only when the stream to it ends, so the engine cut the connection.
		return guest.Result{}, b.breaks(act, err)
	}
	b.broken = fmt.Errorf("box %s died while it ran %s", short(b.id), cmd.Args[0])
	b.lost = !late && !state.OOMKilled
	res := guest.Result{Exit: state.ExitCode, Killed: true, TimedOut: late, OOM: state.OOMKilled}
	if state.ExitCode == 128+9 {
		res.Exit, res.Signal = -1, "SIGKILL"
	}
	res.Stderr.Head = b.stream.stderr // the guest's last words, if any
	return res, nil
}

// brokenStream reports whether err says that the other end of the stream has gone.
func brokenStream(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET)
}

// ended waits until the engine says that the box has ended, and returns how. If the box still runs or the engine does
// not answer, the stream broke for another reason, and ended returns an error.
func (b *Box) ended() (*container.State, error) {
	var state *container.State
	err := b.detached(func(ctx context.Context) error {
		over, failed := b.engine.api.ContainerWait(ctx, b.id, container.WaitConditionNotRunning)
		select {
		case <-over:
		case err := <-failed:
			return b.engine.wrap("wait for the end of the box", err)
		}
		got, err := b.engine.api.ContainerInspect(ctx, b.id)
		if err != nil {
			return b.engine.wrap("inspect the ended box", err)
		}
		if state = got.State; state == nil || state.Running {
			return fmt.Errorf("the stream to the box broke while the box was running")
		}
		return nil
	})
	return state, err
}

// oomKilled asks the engine whether the kernel has killed something in the box for memory.
func (b *Box) oomKilled(ctx context.Context) (bool, error) {
	got, err := b.engine.api.ContainerInspect(ctx, b.id)
	if err != nil {
		return false, b.engine.wrap("inspect the box", err)
	}
	return got.State != nil && got.State.OOMKilled, nil
}

// isStopped reports whether the engine refused to kill a container because it no longer runs.
func isStopped(err error) bool { return errdefs.IsNotFound(err) || errdefs.IsConflict(err) }

package sandbox

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"

	"agent/sandbox/guest"
	"agent/sandbox/guest/sealed"
	"agent/sandbox/guest/wire"
	"agent/sandbox/workspace"
)

// Time limits for everything but commands.
const (
	// createTime bounds the engine's part of a start.
	createTime = 30 * time.Second
	// fillTime runs from the start of the guest until /work is filled.
	fillTime = 60 * time.Second
	// applyTime bounds the application of a changeset.
	applyTime = 60 * time.Second
	// closeTime bounds one attempt to kill or remove a box.
	closeTime = 10 * time.Second
	// slack is the time for the guest's answer beyond a command's timeout and grace. A box that has not answered by
	// then is killed whole.
	slack = 3 * time.Second
)

// closeAttempts is how many times Close tries to remove a box.
const closeAttempts = 3

// A Spec describes the box to start.
type Spec struct {
	// Image is the ID of an image with a guest at /agent/guest and a sealed tree at /snapshot. The image's label
	// sealed.Label holds the key of that tree; without the label /work is empty.
	Image string
	// Delta is applied to /work before the caller gets the box; nil applies nothing. Boxes of a Pool can stand in for
	// each other if they have the same Delta pointer, so what it points to must not change.
	Delta *workspace.Changeset
	// Run is the run that the box belongs to: label agent.run.
	Run string
	// Purpose tells people what the box is for, such as "static" or "smoke": label agent.purpose.
	Purpose string
	// Lease is the time until which the box is certainly wanted: label agent.lease. After that any process may reap the
	// box.
	Lease time.Time
	// Limits bound what the box may use.
	Limits Limits
	// Keep is the workspace of a box that may be kept, see [Box.Keep]: label agent.keep. It is "" for a box that ends
	// with its process.
	Keep string
	// Runtime is one of Info.Runtimes, such as "runsc"; "" means the engine's default.
	Runtime string
}

// A Box is one throwaway container. One goroutine uses it and then closes it; nothing in it survives Close.
type Box struct {
	engine *Engine
	id     string
	stream *stream
	ready  guest.Ready
	// way is the way out of the box, nil for none.
	way *way
	// broken says why no further request is possible; lost says that no command is the reason.
	broken error
	lost   bool
	// pool removes the box when it is released; nil for a box that belongs to no pool.
	pool *Pool
	// peak is the highest memory use of the box that a command reported, in bytes.
	peak int64

	// detached runs a cleanup action with the values of Start's context but without its cancellation.
	detached func(act func(context.Context) error) error

	// Close closes closing to let the watcher go. The watcher waits for the end of Start's context and stores in
	// revoked why it ended.
	closing chan struct{}
	watcher sync.WaitGroup
	revoked atomic.Pointer[error]

	// mu guards the state of Close: closed means that closing is closed, removed that the container is gone.
	mu      sync.Mutex
	closed  bool
	removed bool
}

// Start creates a box and returns once its guest has filled /work, answered and applied the Delta of spec. When ctx
// ends, at any time, the box is killed.
func (e *Engine) Start(ctx context.Context, spec Spec) (*Box, error) {
	spec.Limits = spec.Limits.WithDefaults()
	if err := spec.Limits.check(); err != nil {
		return nil, fmt.Errorf("start box: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start box: %w", err)
	}
	config := containerConfig(spec, Owner())
	host := hostConfig(spec.Limits, spec.Runtime, e.seccomp, config.User)
	if err := e.leaveNetworking(ctx, config, host); err != nil {
		return nil, fmt.Errorf("start box: %w", err)
	}
	b, err := e.create(ctx, config, host)
	if err != nil {
		return nil, err
	}
	err = b.begin(ctx, config, host)
	if err == nil && spec.Delta != nil {
		err = b.Apply(ctx, *spec.Delta)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
		return nil, errors.Join(fmt.Errorf("start box %s: %w", short(b.id), err), b.Close())
	}
	return b, nil
}

// detach returns a function that runs a cleanup action with the values of ctx but without its cancellation.
func detach(ctx context.Context) func(act func(context.Context) error) error {
	return func(act func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		return act(ctx)
	}
}

// create makes the container. It does not stop halfway when ctx ends: the engine would not stop either, and the ID of
// the container to remove would be unknown.
func (e *Engine) create(ctx context.Context, config *container.Config, host *container.HostConfig) (*Box, error) {
	detached := detach(ctx)
	name := newName(config.Labels[labelKeep] != "")
	during, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTime)
	defer cancel()
	created, err := e.api.ContainerCreate(during, config, host, nil, nil, name)
	if err != nil {
		// Perhaps only the answer was lost.
		_ = detached(func(ctx context.Context) error { _, err := e.remove(ctx, name); return err })
		return nil, e.wrap("create a box from image "+config.Image, err)
	}
	return e.hold(ctx, created.ID, detached), nil
}

// hold returns a box that is killed when ctx ends.
func (e *Engine) hold(ctx context.Context, id string, detached func(func(context.Context) error) error) *Box {
	b := &Box{engine: e, id: id, detached: detached, closing: make(chan struct{})}
	b.watcher.Go(func() {
		select {
		case <-ctx.Done():
			cause := context.Cause(ctx)
			b.revoked.Store(&cause)
			_ = b.kill() // Close removes it in any case
		case <-b.closing:
		}
	})
	return b
}

// begin attaches to the container, checks that it is what was asked for, starts it, and waits for the guest.
func (b *Box) begin(ctx context.Context, config *container.Config, host *container.HostConfig) error {
	api := b.engine.api
	if err := b.attach(ctx); err != nil {
		return err
	}
	got, err := api.ContainerInspect(ctx, b.id)
	if err != nil {
		return b.engine.wrap("inspect", err)
	}
	diffs, err := deviations(config, host, got)
	if err != nil {
		return err
	}
	if len(diffs) > 0 {
		return fmt.Errorf("the engine did not apply the box's limits, so it is not safe to run: %s", strings.Join(diffs, "; "))
	}
	if err := api.ContainerStart(ctx, b.id, container.StartOptions{}); err != nil {
		return b.engine.wrap("start", err)
	}
	err = b.stream.exchange(ctx, time.Now().Add(fillTime), func() error {
		// A container has the labels of its image.
		if err := wire.WriteFrame(b.stream, wire.KindKey, []byte(got.Config.Labels[sealed.Label])); err != nil {
			return err
		}
		return wire.ReadJSON(b.stream, wire.KindReady, guest.MaxReady, &b.ready)
	})
	if err != nil {
		return fmt.Errorf("wait for the guest: %w%s", err, b.lastWords())
	}
	return b.ready.Check()
}

// attach connects to the streams of the guest.
func (b *Box) attach(ctx context.Context) error {
	conn, err := hijacked(ctx, "/containers/"+b.id+"/attach", func() (types.HijackedResponse, error) {
		return b.engine.api.ContainerAttach(ctx, b.id, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	})
	if err != nil {
		return b.engine.wrap("attach", err)
	}
	b.stream = &stream{conn: conn}
	return nil
}

// lastWords returns what the guest wrote on its standard error, for an error message.
func (b *Box) lastWords() string {
	if text := strings.TrimSpace(string(b.stream.stderr)); text != "" {
		return ": " + text
	}
	return ""
}

// ID returns the engine's ID of the container.
func (b *Box) ID() string { return b.id }

// Ready returns what the guest reported once it had filled /work.
func (b *Box) Ready() guest.Ready { return b.ready }

// Apply writes cs over /work. After an error the box is no longer usable.
func (b *Box) Apply(ctx context.Context, cs workspace.Changeset) error {
	if b.broken != nil {
		return b.broken
	}
	var applied guest.Applied
	err := b.stream.exchange(ctx, time.Now().Add(applyTime), func() error {
		if err := sendChangeset(b.stream, cs); err != nil {
			return err
		}
		return wire.ReadJSON(b.stream, wire.KindApplied, guest.MaxReady, &applied)
	})
	if err == nil && applied.Problem != "" {
		err = fmt.Errorf("%.500s", applied.Problem)
	}
	if err == nil {
		return nil
	}
	if brokenStream(err) {
		_, stateErr := b.ended()
		err = errors.Join(err, stateErr)
	}
	return b.breaks("apply the changeset", err)
}

// sendChangeset writes cs in the form that the guest expects: paths to delete, then a tar of the files to write.
func sendChangeset(s *stream, cs workspace.Changeset) error {
	var patch guest.Patch
	for _, c := range cs.Changes {
		switch c.Op {
		case workspace.Delete:
			patch.Delete = append(patch.Delete, c.Path)
		case workspace.Rename:
			patch.Delete = append(patch.Delete, c.From)
		}
	}
	if err := wire.WriteJSON(s, wire.KindApply, patch); err != nil {
		return err
	}
	data := wire.NewDataWriter(s)
	archive := tar.NewWriter(data)
	for _, c := range cs.Changes {
		if c.Op == workspace.Delete {
			continue
		}
		head := &tar.Header{Typeflag: tar.TypeReg, Name: c.Path, Mode: int64(c.Mode & fs.ModePerm), Size: int64(len(c.After))}
		if err := archive.WriteHeader(head); err != nil {
			return fmt.Errorf("send %s: %w", c.Path, err)
		}
		if _, err := archive.Write(c.After); err != nil {
			return fmt.Errorf("send %s: %w", c.Path, err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("send the changeset: %w", err)
	}
	return data.Close()
}

// Close kills and removes the container, even after the ctx of Start has ended. It may be called twice.
func (b *Box) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed = true
		close(b.closing)
	}
	b.watcher.Wait()
	if b.removed {
		return nil
	}
	if b.stream != nil {
		b.stream.conn.Close()
	}
	var err error
	for range closeAttempts {
		err = b.detached(func(ctx context.Context) error {
			_, err := b.engine.remove(ctx, b.id)
			return err
		})
		if err == nil {
			b.removed = true
			return nil
		}
	}
	return err
}

// kill ends every process of the box, whatever it is doing.
func (b *Box) kill() error {
	return b.detached(func(ctx context.Context) error {
		err := b.engine.api.ContainerKill(ctx, b.id, "KILL")
		if isStopped(err) {
			return nil
		}
		return b.engine.wrap("kill box "+short(b.id), err)
	})
}

// Lost reports whether something other than its commands and the context of Start ended the box, or the connection to
// it, before it was closed: the engine or a third party.
func (b *Box) Lost() bool { return b.lost }

// breaks records that no further request is possible, kills what may still run, and returns the error. If the end of
// Start's context was the reason, breaks adds it to the error.
func (b *Box) breaks(act string, err error) error {
	if cause := b.revoked.Load(); cause != nil {
		err = errors.Join(*cause, err)
	}
	b.broken, b.lost = fmt.Errorf("box %s: %s: %w", short(b.id), act, err), b.revoked.Load() == nil
	return errors.Join(b.broken, b.kill())
}

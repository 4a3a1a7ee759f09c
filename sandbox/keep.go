package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
)

// labelKeep marks a box that may be kept, and holds its workspace. Labels cannot change, so the container's name says
// who has the box: a process, by its owner in hexadecimal, or nobody, once a run has left it. A rename is atomic, so a
// process that is killed leaves either a kept box or one that will be reaped.
const (
	labelKeep = "agent.keep"
	keptName  = "agent-kept-"
	usedName  = "agent-used-"
)

// newName draws a random name for a box of this process.
func newName(mayBeKept bool) string {
	random := strings.ToLower(rand.Text())
	if mayBeKept {
		return usedName + random + "-" + hex.EncodeToString([]byte(Owner()))
	}
	return "agent-box-" + random
}

// ErrTaken means that a kept box no longer exists, or that another process has it.
var ErrTaken = errors.New("the box is gone, or another process has it")

// named sets who has a box that may be kept, which its name says.
func (l *Leftover) named(name string) {
	if run, kept := strings.CutPrefix(name, keptName); kept {
		l.Kept = run
	} else if rest, used := strings.CutPrefix(name, usedName); used {
		_, text, _ := strings.Cut(rest, "-")
		owner, err := hex.DecodeString(text)
		if l.Owner = string(owner); err != nil {
			l.Owner = ""
		}
	}
}

// Keep leaves a box that has a Spec.Keep as it is, until its lease ends or it is reopened; run is the run that leaves
// it. Afterwards the Box is no longer usable. After an error it must be closed like any other.
func (b *Box) Keep(ctx context.Context, run string) error {
	if b.broken != nil {
		return b.broken
	}
	if err := b.engine.api.ContainerRename(ctx, b.id, keptName+run); err != nil {
		return b.engine.wrap("keep box "+short(b.id), err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = fmt.Errorf("box %s is kept", short(b.id))
	b.closed, b.removed = true, true
	close(b.closing)
	b.watcher.Wait()
	b.stream.conn.Close()
	return nil
}

// Reopen opens a box that was kept. Only one process gets it; any other gets ErrTaken. Its lease stays the same.
func (e *Engine) Reopen(ctx context.Context, kept Leftover) (*Box, error) {
	// The box has this name until a process opens it.
	if err := e.api.ContainerRename(ctx, keptName+kept.Kept, newName(true)); err != nil {
		if errdefs.IsNotFound(err) {
			err = ErrTaken
		}
		return nil, e.wrap("open box "+short(kept.ID), err)
	}
	b := e.hold(ctx, kept.ID, detach(ctx))
	if err := b.attach(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

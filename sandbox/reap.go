package sandbox

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"agent/sandbox/owner"
)

// The labels of a box. Other programs rely on the first three.
const (
	labelRun   = "agent.run"
	labelOwner = "agent.owner"
	// labelLease holds seconds since the epoch.
	labelLease   = "agent.lease"
	labelPurpose = "agent.purpose"
)

// reapersAtOnce bounds how many removals the engine gets at the same
// time.
const reapersAtOnce = 4

// A Leftover is a labelled container that the agent made.
type Leftover struct {
	// ID is the engine's.
	ID string
	// Run, Purpose, Owner and Lease are what the labels say.
	Run     string
	Purpose string
	Owner   string
	Lease   time.Time
	// State is the engine's word: created, running, exited, dead, paused.
	State string
	// Keep is the workspace of a box that may be kept, "" for any other, and Kept the run that left it: whatever
	// became of its owner then, it waits for [Engine.Reopen].
	Keep, Kept string
	// Live says that the lease has not run out, and that the owner is
	// alive or cannot be told to be dead, or that it is kept.
	Live bool
}

// Boxes lists every box on the engine, of any run and any process.
func (e *Engine) Boxes(ctx context.Context) ([]Leftover, error) {
	// A box has all three labels from its creation on; what has only
	// one of them is not a box.
	list, err := e.api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(
		filters.Arg("label", labelRun), filters.Arg("label", labelOwner), filters.Arg("label", labelLease),
	)})
	if err != nil {
		return nil, e.wrap("list boxes", err)
	}
	boxes := make([]Leftover, len(list))
	now := time.Now()
	for i, c := range list {
		boxes[i] = leftover(c, now)
	}
	return boxes, nil
}

// leftover reads the labels of a container. A lease that is no number
// has run out.
func leftover(c container.Summary, now time.Time) Leftover {
	l := Leftover{
		ID: c.ID, State: string(c.State),
		Run: c.Labels[labelRun], Purpose: c.Labels[labelPurpose], Owner: c.Labels[labelOwner],
	}
	if seconds, err := strconv.ParseInt(c.Labels[labelLease], 10, 64); err == nil {
		l.Lease = time.Unix(seconds, 0)
	}
	if l.Keep = c.Labels[labelKeep]; l.Keep != "" {
		l.named(nameOf(c))
	}
	alive, known := Alive(l.Owner)
	if l.Kept != "" {
		alive = c.State == container.StateRunning
	}
	l.Live = (alive || !known) && now.Before(l.Lease)
	return l
}

// Reap removes the boxes that nobody owns: the owner process is dead or
// the lease has run out. It returns those that it removed, and not before
// those are gone that others remove at the same time, unless that takes the engine
// longer than closeTime: several processes may reap at once, and the engine may tell
// two of them that they removed the same box. When one box cannot be removed the
// others still are.
func (e *Engine) Reap(ctx context.Context) ([]Leftover, error) {
	boxes, err := e.Boxes(ctx)
	if err != nil {
		return nil, err
	}
	var (
		wait    sync.WaitGroup
		slots   = make(chan struct{}, reapersAtOnce)
		mu      sync.Mutex
		removed []Leftover
		errs    []error
	)
	for _, box := range boxes {
		if box.Live {
			continue
		}
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			gone, err := e.remove(ctx, box.ID)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
			} else if gone {
				removed = append(removed, box)
			}
		})
	}
	wait.Wait()
	return removed, errors.Join(errs...)
}

// remove kills and removes a container in whatever state, and returns when it is
// gone. It reports whether this call did it as far as the engine tells: of two at
// the same time it may say so to both, never to neither.
func (e *Engine) remove(ctx context.Context, id string) (bool, error) {
	for end := time.Now().Add(closeTime); ; {
		err := e.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil:
			return true, nil
		case errdefs.IsNotFound(err):
			return false, nil
		case !errdefs.IsConflict(err):
			return false, e.wrap("remove box "+short(id), err)
		// Somebody's removal is in progress. Should that one come to nothing, this one does
		// it. However long it takes the engine, that is nobody's trouble.
		case e.awaitRemoval(ctx, id) || ctx.Err() != nil || time.Now().After(end):
			return false, nil
		}
	}
}

// awaitRemoval waits a moment for a container that somebody else removes, and reports
// whether it is gone.
func (e *Engine) awaitRemoval(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	over, failed := e.api.ContainerWait(ctx, id, container.WaitConditionRemoved)
	select {
	case <-over:
		return true
	case err := <-failed:
		return errdefs.IsNotFound(err)
	}
}

// short returns the part of an ID that people read.
func short(id string) string { return id[:min(len(id), 12)] }

// Owner names this process: see package owner.
func Owner() string { return owner.Name() }

// Alive reports whether the process that Owner named still runs; known is
// false for one that cannot be told of here.
func Alive(name string) (alive, known bool) { return owner.Alive(name) }

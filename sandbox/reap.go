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

// reapersAtOnce bounds how many boxes are removed at the same time.
const reapersAtOnce = 4

// A Leftover is a labelled container that the agent made.
type Leftover struct {
	// ID is the engine's ID.
	ID string
	// Run, Purpose, Owner and Lease are the values of the labels.
	Run     string
	Purpose string
	Owner   string
	Lease   time.Time
	// State is the engine's term: created, running, exited, dead, paused.
	State string
	// Keep is the workspace of a box that may be kept, "" for any other. Kept is the run that left it: the box then
	// waits for [Engine.Reopen], whatever became of its owner.
	Keep, Kept string
	// Live says that the lease has not run out, and that the owner is alive, cannot be known to be dead, or is not
	// needed because the box is kept.
	Live bool
}

// Boxes lists every box on the engine, of any run and any process.
func (e *Engine) Boxes(ctx context.Context) ([]Leftover, error) {
	// A box has all three labels from its creation on; a container with only some of them is not a box.
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

// leftover reads the labels of a container. A lease that is not a number counts as run out.
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
		alive, known = c.State == container.StateRunning, true
	}
	l.Live = (alive || !known) && now.Before(l.Lease)
	return l
}

// Reap removes the boxes whose owner process is dead or whose lease has run out, and returns those that it removed. It
// also waits for boxes that other processes are removing, unless that takes the engine longer than closeTime. Several
// processes may reap at once, and the engine may tell two of them that they removed the same box. If one box cannot be
// removed, the others still are.
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

// remove kills and removes a container in any state, and returns when it is gone. It reports whether this call did it,
// according to the engine: of two simultaneous calls, both may report true, but never neither.
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
		// Another removal is in progress. If it fails, this loop removes the box. A removal that merely takes the
		// engine long is not an error.
		case e.awaitRemoval(ctx, id) || ctx.Err() != nil || time.Now().After(end):
			return false, nil
		}
	}
}

// awaitRemoval waits briefly for a container that another removal is removing, and reports whether it is gone.
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

// short returns the abbreviation of an ID that people read.
func short(id string) string { return id[:min(len(id), 12)] }

// Owner returns the name of this process: see package owner.
func Owner() string { return owner.Name() }

// Alive reports whether the process that Owner named still runs; known is false if that cannot be determined here.
func Alive(name string) (alive, known bool) { return owner.Alive(name) }

package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
)

// Marks are the labels by which things on an engine are known to be the agent's. Nothing
// is ever found by its name.
type Marks struct{ Containers, Images, Volumes, Networks []string }

// OwnMarks are those of everything that this package makes; images have labels of those
// who build them.
func OwnMarks() Marks {
	return Marks{
		Containers: []string{labelRun, errandLabel, serviceLabel, successorLabel},
		Volumes:    []string{serviceLabel}, Networks: []string{serviceLabel},
	}
}

// The kinds of what an engine keeps, in the order in which it can be removed.
const (
	KeptContainer = "container"
	KeptImage     = "image"
	KeptVolume    = "volume"
	KeptNetwork   = "network"
)

// A Kept is one thing on the engine that the agent made.
type Kept struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name"`
	// Bytes is the size of an image with the layers that it shares; 0 for the rest.
	Bytes int64 `json:"bytes,omitempty"`
	// Record says that it belongs to the agent's own Postgres.
	Record bool `json:"record,omitempty"`
	// Live says that something is at work in it for the agent, for all that is known.
	Live bool `json:"live,omitempty"`
}

// Kept lists what carries any of the marks, each thing once.
func (e *Engine) Kept(ctx context.Context, marks Marks) (list []Kept, err error) {
	seen := map[string]bool{}
	add := func(k Kept) {
		if !seen[k.Kind+k.ID] {
			seen[k.Kind+k.ID] = true
			list = append(list, k)
		}
	}
	now := time.Now()
	for _, label := range marks.Containers {
		found, err := e.api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label))})
		if err != nil {
			return nil, e.wrap("list containers", err)
		}
		for _, c := range found {
			add(Kept{Kind: KeptContainer, ID: c.ID, Name: nameOf(c), Record: c.Labels[serviceLabel] == pgService, Live: atWork(c, now)})
		}
	}
	for _, label := range marks.Images {
		found, err := e.api.ImageList(ctx, image.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label))})
		if err != nil {
			return nil, e.wrap("list images", err)
		}
		// The newest first: it may stand on an older one.
		slices.SortStableFunc(found, func(a, b image.Summary) int { return cmp.Compare(b.Created, a.Created) })
		for _, img := range found {
			name := fmt.Sprintf("%.19s", img.ID)
			if len(img.RepoTags) > 0 {
				name = img.RepoTags[0]
			}
			add(Kept{Kind: KeptImage, ID: img.ID, Name: name, Bytes: img.Size})
		}
	}
	for _, label := range marks.Volumes {
		found, err := e.api.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
		if err != nil {
			return nil, e.wrap("list volumes", err)
		}
		for _, v := range found.Volumes {
			add(Kept{Kind: KeptVolume, ID: v.Name, Name: v.Name, Record: v.Labels[serviceLabel] == pgService})
		}
	}
	for _, label := range marks.Networks {
		found, err := e.api.NetworkList(ctx, network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
		if err != nil {
			return nil, e.wrap("list networks", err)
		}
		for _, n := range found {
			add(Kept{Kind: KeptNetwork, ID: n.ID, Name: n.Name, Record: n.Labels[serviceLabel] == pgService})
		}
	}
	return list, nil
}

// nameOf is a container's name, or the beginning of its ID.
func nameOf(c container.Summary) string {
	if len(c.Names) > 0 && len(c.Names[0]) > 1 {
		return c.Names[0][1:]
	}
	return fmt.Sprintf("%.12s", c.ID)
}

// atWork reports whether a container is a box or an errand whose owner lives, for all that
// is known, and no box that is kept, or one that is about to take another's place.
func atWork(c container.Summary, now time.Time) bool {
	if c.Labels[labelRun] != "" {
		l := leftover(c, now)
		return l.Live && l.Kept == ""
	}
	if owner, errand := c.Labels[errandLabel]; errand {
		alive, known := Alive(owner)
		return alive || !known && c.State == container.StateRunning
	}
	return c.Labels[successorLabel] != ""
}

// Drop removes one thing for good. What is gone is no error; an image or a network that
// something else uses is one.
func (e *Engine) Drop(ctx context.Context, k Kept) error {
	var err error
	switch k.Kind {
	case KeptContainer:
		if k.Record {
			// The server writes its last checkpoint: whoever keeps the volume has all of it.
			timeout := int(pgStopTimeout.Seconds())
			_ = e.api.ContainerStop(ctx, k.ID, container.StopOptions{Timeout: &timeout})
		}
		_, err = e.remove(ctx, k.ID)
	case KeptImage:
		if err := e.RemoveImage(ctx, k.ID); err != nil {
			return err
		}
		if _, gone := e.inspectImage(ctx, k.ID); gone == nil {
			return fmt.Errorf("remove image %s: another image or a container uses it", k.Name)
		}
		return nil
	case KeptVolume:
		err = e.api.VolumeRemove(ctx, k.ID, false)
	case KeptNetwork:
		err = e.api.NetworkRemove(ctx, k.ID)
	}
	if err == nil || errdefs.IsNotFound(err) {
		return nil
	}
	return e.wrap("remove "+k.Kind+" "+k.Name, err)
}

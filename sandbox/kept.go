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

// Marks are the labels by which the agent recognises its own things on an engine. Nothing is ever found by its name.
type Marks struct{ Containers, Images, Volumes, Networks []string }

// OwnMarks returns the marks of everything that this package makes. Images carry labels of the code that builds them.
func OwnMarks() Marks {
	return Marks{
		Containers: []string{labelRun, errandLabel, serviceLabel, successorLabel},
		Volumes:    []string{serviceLabel}, Networks: []string{serviceLabel},
	}
}

// The kinds of things that an engine keeps, in the order in which they can be removed.
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
	// Bytes is the size of an image, including the layers that it shares; 0 for other kinds.
	Bytes int64 `json:"bytes,omitempty"`
	// Record says that it belongs to the agent's own Postgres.
	Record bool `json:"record,omitempty"`
	// Live says that, as far as is known, the agent has something at work in it.
	Live bool `json:"live,omitempty"`
}

// Kept lists everything that carries any of the marks, each thing once.
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
		// The newest first: an image may be built on an older one.
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

// nameOf returns a container's name, or the beginning of its ID.
func nameOf(c container.Summary) string {
	if len(c.Names) > 0 && len(c.Names[0]) > 1 {
		return c.Names[0][1:]
	}
	return fmt.Sprintf("%.12s", c.ID)
}

// atWork reports whether a container is in use: a box or an errand whose owner, as far as is known, is alive, or a
// container that is about to take another's place. A box that is kept is not.
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

// Drop removes one thing permanently. A thing that has already gone is not an error, but an image or a network that is
// used elsewhere is.
func (e *Engine) Drop(ctx context.Context, k Kept) error {
	var err error
	switch k.Kind {
	case KeptContainer:
		if k.Record {
			// The server writes its last checkpoint, so that a volume that is kept has all data.
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

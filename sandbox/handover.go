package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
)

// roleLabel marks the containers in which the agent works for a long time, as in a loop. It is set by whatever starts them, such
// as compose.yaml. A container without it is a person's command and is left alone.
const roleLabel = "agent.role"

// handOverTime is how long a container may take to end after it is asked to. Within that time its run settles and gives
// its boxes back. Otherwise the engine kills the container, and the next agent settles the run.
const handOverTime = 2 * time.Minute

// successorLabel names the container whose place another is about to take. The label stays, but means nothing once the successor
// has the name of the old container.
const successorLabel = "agent.successor"

// nextSuffix ends the name of a successor until the old container has gone.
const nextSuffix = "-next"

// startTime bounds the time that the engine needs to start, remove and rename containers.
const startTime = time.Minute

// HandOver moves every running container that has the label agent.role and was made from the tag ref to the image that ref names
// now. It asks the old container to end, as Ctrl-C would, which leaves its run settled and its loop ready to continue. Then a
// container with the same settings takes its place, with the arguments that again returns. If the new one does not start, the old
// one is started again. Containers that already have that image are left alone.
//
// HandOver selects containers by the tag that they were made from and the image that they have: one that was started from an ID
// was not meant to follow. A tag that names nothing is not an error. The first container that cannot be handed over ends
// HandOver. It first settles what a killed process left halfway. When ctx ends, no further container is asked to end, and none is
// stopped halfway.
func (e *Engine) HandOver(ctx context.Context, ref string, again func(args []string) []string) error {
	wanted, _, err := e.ImageLabels(ctx, ref)
	if err != nil {
		return err
	}
	// This runs even if the tag no longer names an image: the old container may have been stopped.
	if err := e.settleHandOver(ctx, ref); err != nil || wanted == "" {
		return err
	}
	list, err := e.api.ContainerList(ctx, container.ListOptions{Filters: filters.NewArgs(filters.Arg("label", roleLabel))})
	if err != nil {
		return e.wrap("list the containers of the agent", err)
	}
	for _, c := range list {
		old, err := e.api.ContainerInspect(ctx, c.ID)
		// A container that has gone since it was listed needs nothing.
		if moot(err) != nil {
			return e.wrap("inspect a container of the agent", err)
		}
		if err != nil || old.Config.Image != ref || old.Image == wanted {
			continue
		}
		if err := e.replace(ctx, old, again(old.Config.Cmd)); err != nil {
			return fmt.Errorf("hand container %s over: %w", old.Name, err)
		}
	}
	return nil
}

// settleHandOver completes what a killed process left of HandOver: forward if the successor has worked, back otherwise.
func (e *Engine) settleHandOver(ctx context.Context, ref string) error {
	list, err := e.api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", successorLabel))})
	if err != nil {
		return e.wrap("list the successors of containers", err)
	}
	for _, c := range list {
		next, err := e.api.ContainerInspect(ctx, c.ID)
		if moot(err) != nil {
			return e.wrap("inspect a successor", err)
		}
		// One without the suffix is settled: its final name is the last thing that it gets.
		if err != nil || next.Config.Image != ref || !strings.HasSuffix(next.Name, nextSuffix) {
			continue
		}
		old := next.Config.Labels[successorLabel]
		if next.State.Status != container.StateCreated {
			err = e.succeed(ctx, old, next.ID, strings.TrimSuffix(strings.TrimPrefix(next.Name, "/"), nextSuffix))
		} else {
			err = e.revive(ctx, old, next.ID)
		}
		if err != nil {
			return fmt.Errorf("settle the hand-over to %s: %w", next.Name, err)
		}
	}
	return nil
}

// succeed removes the old container and gives its name to a successor that works.
func (e *Engine) succeed(ctx context.Context, old, next, name string) error {
	if err := moot(e.api.ContainerRemove(ctx, old, container.RemoveOptions{Force: true})); err != nil {
		return e.wrap("remove the old container", err)
	}
	return e.wrap("rename its successor", e.api.ContainerRename(ctx, next, name))
}

// revive starts the old container again, and removes the successor that does not work. The successor is removed last, because its
// presence is what reveals a killed process.
func (e *Engine) revive(ctx context.Context, old, next string) error {
	if err := moot(e.api.ContainerStart(ctx, old, container.StartOptions{})); err != nil {
		return e.wrap("start the old container again", err)
	}
	return e.wrap("remove its successor", moot(e.api.ContainerRemove(ctx, next, container.RemoveOptions{Force: true})))
}

// inherited removes from a container's settings those that come from its image, since the successor gets its own from the new
// image. If someone removed the old image, it cannot be asked, and all settings are kept.
func (e *Engine) inherited(ctx context.Context, config *container.Config, image string) error {
	img, err := e.inspectImage(ctx, image)
	if err != nil || img.Config == nil {
		return moot(err)
	}
	config.Env = slices.DeleteFunc(slices.Clone(config.Env), func(v string) bool { return slices.Contains(img.Config.Env, v) })
	config.Labels = maps.Clone(config.Labels)
	maps.DeleteFunc(config.Labels, func(k, v string) bool { was, ok := img.Config.Labels[k]; return ok && was == v })
	if slices.Equal(config.Entrypoint, img.Config.Entrypoint) {
		config.Entrypoint = nil
	}
	return nil
}

// replace puts a container with the same settings, made from the image that its tag names now, in the place of an old one.
//
// The successor is created first, while the old one still works, so a setting that the engine refuses costs nothing. Only one of
// them works at a time, since both would continue the same loop. The successor keeps the old one's mounts, limits and networks
// with their aliases, but no address, which the old one still has.
func (e *Engine) replace(ctx context.Context, old container.InspectResponse, args []string) error {
	config := *old.Config
	config.Cmd = args
	if strings.HasPrefix(old.ID, config.Hostname) {
		config.Hostname = "" // the engine's choice, as before
	}
	if err := e.inherited(ctx, &config, old.Image); err != nil {
		return e.wrap("inspect its image", err)
	}
	if config.Labels == nil {
		config.Labels = map[string]string{}
	}
	config.Labels[successorLabel] = old.ID
	name := strings.TrimPrefix(old.Name, "/")
	networks := &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{}}
	for n, s := range old.NetworkSettings.Networks {
		networks.EndpointsConfig[n] = &network.EndpointSettings{Aliases: s.Aliases}
	}
	// These modes have no networks to join by name.
	if mode := old.HostConfig.NetworkMode; mode.IsHost() || mode.IsNone() || mode.IsDefault() {
		networks = nil
	}
	next, err := e.api.ContainerCreate(ctx, &config, old.HostConfig, networks, nil, name+nextSuffix)
	if err != nil {
		return e.wrap("create its successor", err)
	}
	// Once the old container is asked to end, the hand-over cannot stop halfway: the engine goes on even if ctx is cancelled.
	steady, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOverTime+startTime)
	defer cancel()
	grace := int(handOverTime.Seconds())
	err = e.api.ContainerStop(steady, old.ID, container.StopOptions{Timeout: &grace})
	if err == nil {
		err = e.api.ContainerStart(steady, next.ID, container.StartOptions{})
	}
	// The rest has time of its own, as the first deadline may have passed by now.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
	defer cancel()
	if err != nil {
		return errors.Join(e.wrap("start its successor", err), e.revive(last, old.ID, next.ID))
	}
	// From here on the successor works; it gets its name once the old one has gone.
	return e.succeed(last, old.ID, next.ID, name)
}

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

// roleLabel marks the containers in which the agent works for long, as in a loop.
// Whoever starts one sets it, as in compose.yaml: a container without it is a person's command and is left alone.
const roleLabel = "agent.role"

// handOverTime is how long a container may take to end what it is at, once it was asked to.
// What it is at is a run, which settles and gives its boxes back. After that the engine kills it, and the next agent
// settles it.
const handOverTime = 2 * time.Minute

// successorLabel names the container whose place another is about to take.
// It stays, and is of no account once the successor has the name of the old one.
const successorLabel = "agent.successor"

// nextSuffix ends the name of a successor until the old one has gone.
const nextSuffix = "-next"

// startTime bounds what the engine needs to start, remove and name containers.
const startTime = time.Minute

// HandOver has every running container with the label agent.role that was made from the tag ref go on with the image
// that ref names now. The old one is asked to end, as by Ctrl-C, which leaves its run settled and its loop ready to be
// carried on; then one of the same settings takes its place, its arguments as again gives them. Where the new one does
// not start the old one is started again. Nothing happens to containers that have that image already.
//
// Containers are compared by the tag they were made from and the image they have: one that was started from an ID was
// not meant to follow. A tag that names nothing is no error. The first container that cannot be handed over ends it.
// What a killed process left halfway is settled first. The end of ctx keeps the next container from being asked, and
// stops none halfway.
func (e *Engine) HandOver(ctx context.Context, ref string, again func(args []string) []string) error {
	wanted, _, err := e.ImageLabels(ctx, ref)
	if err != nil {
		return err
	}
	// Also where the tag names nothing by now: the old one may have been stopped.
	if err := e.settleHandOver(ctx, ref); err != nil || wanted == "" {
		return err
	}
	list, err := e.api.ContainerList(ctx, container.ListOptions{Filters: filters.NewArgs(filters.Arg("label", roleLabel))})
	if err != nil {
		return e.wrap("list the containers of the agent", err)
	}
	for _, c := range list {
		old, err := e.api.ContainerInspect(ctx, c.ID)
		// One that has gone since it was listed needs nothing.
		if moot(err) != nil {
			return e.wrap("look at a container of the agent", err)
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

// settleHandOver ends what a killed process left of HandOver: forward where the successor has worked, else back.
func (e *Engine) settleHandOver(ctx context.Context, ref string) error {
	list, err := e.api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", successorLabel))})
	if err != nil {
		return e.wrap("list the successors of containers", err)
	}
	for _, c := range list {
		next, err := e.api.ContainerInspect(ctx, c.ID)
		if moot(err) != nil {
			return e.wrap("look at a successor", err)
		}
		// One without the suffix has settled: its name is the last thing that it gets.
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

// succeed gives a successor that works the name of the old container, which goes.
func (e *Engine) succeed(ctx context.Context, old, next, name string) error {
	if err := moot(e.api.ContainerRemove(ctx, old, container.RemoveOptions{Force: true})); err != nil {
		return e.wrap("remove the old one", err)
	}
	return e.wrap("name its successor", e.api.ContainerRename(ctx, next, name))
}

// revive starts the old container again, and removes the successor that does not work.
// The successor goes last: by it a killed process is found out.
func (e *Engine) revive(ctx context.Context, old, next string) error {
	if err := moot(e.api.ContainerStart(ctx, old, container.StartOptions{})); err != nil {
		return e.wrap("start the old one again", err)
	}
	return e.wrap("remove its successor", moot(e.api.ContainerRemove(ctx, next, container.RemoveOptions{Force: true})))
}

// inherited takes from a container's settings those that it has of its image, which the successor has of its own.
// An image that somebody removed cannot be asked: all is kept then.
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

// replace puts a container of the same settings, and of the image that its tag names now, in the place of an old one.
//
// The successor is created first, while the old one still works: what the engine refuses of its settings costs nothing
// then. Only one of them works at a time, since both would carry the same loop on. Mounts and limits are the old
// one's, and its networks with their aliases, but no address, which the old one still has.
func (e *Engine) replace(ctx context.Context, old container.InspectResponse, args []string) error {
	config := *old.Config
	config.Cmd = args
	if strings.HasPrefix(old.ID, config.Hostname) {
		config.Hostname = "" // the engine's choice, as before
	}
	if err := e.inherited(ctx, &config, old.Image); err != nil {
		return e.wrap("look at its image", err)
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
	// In those modes there is nothing to join by name.
	if mode := old.HostConfig.NetworkMode; mode.IsHost() || mode.IsNone() || mode.IsDefault() {
		networks = nil
	}
	next, err := e.api.ContainerCreate(ctx, &config, old.HostConfig, networks, nil, name+nextSuffix)
	if err != nil {
		return e.wrap("create its successor", err)
	}
	// Once the old one is asked to end there is no stopping halfway, for the engine goes on with that whoever cancels.
	steady, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOverTime+startTime)
	defer cancel()
	grace := int(handOverTime.Seconds())
	err = e.api.ContainerStop(steady, old.ID, container.StopOptions{Timeout: &grace})
	if err == nil {
		err = e.api.ContainerStart(steady, next.ID, container.StartOptions{})
	}
	// For the rest there is time of its own: the first may be used up by now.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
	defer cancel()
	if err != nil {
		return errors.Join(e.wrap("start its successor", err), e.revive(last, old.ID, next.ID))
	}
	// From here on the successor works; it has its name when the old one has gone.
	return e.succeed(last, old.ID, next.ID, name)
}

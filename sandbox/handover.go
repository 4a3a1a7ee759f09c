package sandbox

import (
	"context"
	"errors"
	"fmt"
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

// HandOver has every running container with the label agent.role that was made from the tag ref go on with the image
// that ref names now. The old one is asked to end, as by Ctrl-C, which leaves its run settled and its loop ready to be
// carried on; then one of the same settings takes its place, its arguments as again gives them. Where the new one does
// not start the old one is started again. Nothing happens to containers that have that image already.
//
// Containers are compared by the tag they were made from and the image they have: one that was started from an ID was
// not meant to follow. A tag that names nothing is no error. The first container that cannot be handed over ends it.
func (e *Engine) HandOver(ctx context.Context, ref string, again func(args []string) []string) error {
	wanted, _, err := e.ImageLabels(ctx, ref)
	if err != nil || wanted == "" {
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
	name := strings.TrimPrefix(old.Name, "/")
	networks := &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{}}
	for n, s := range old.NetworkSettings.Networks {
		networks.EndpointsConfig[n] = &network.EndpointSettings{Aliases: s.Aliases}
	}
	// In those modes there is nothing to join by name.
	if mode := old.HostConfig.NetworkMode; mode.IsHost() || mode.IsNone() || mode.IsDefault() {
		networks = nil
	}
	next, err := e.api.ContainerCreate(ctx, &config, old.HostConfig, networks, nil, name+"-next")
	if err != nil {
		return e.wrap("create its successor", err)
	}
	grace := int(handOverTime.Seconds())
	err = e.api.ContainerStop(ctx, old.ID, container.StopOptions{Timeout: &grace})
	if err == nil {
		err = e.api.ContainerStart(ctx, next.ID, container.StartOptions{})
	}
	if err != nil {
		return errors.Join(e.wrap("start its successor", err), e.api.ContainerStart(ctx, old.ID, container.StartOptions{}),
			e.api.ContainerRemove(ctx, next.ID, container.RemoveOptions{Force: true}))
	}
	// From here on the successor works; it has its name when the old one has gone.
	if err := moot(e.api.ContainerRemove(ctx, old.ID, container.RemoveOptions{Force: true})); err != nil {
		return e.wrap("remove the old one", err)
	}
	return e.wrap("name its successor", e.api.ContainerRename(ctx, next.ID, name))
}

package sandbox

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/pkg/stdcopy"
)

// errandLabel marks the containers of errands. Its value is the owner (see Owner), by which ReapErrands recognises
// those that no process waits for any more.
const errandLabel = "agent.errand"

// agentSocket is where a container of the agent finds the engine's socket.
const agentSocket = "/var/run/docker.sock"

// The bounds of an errand.
const (
	// These keep a bad image from taking the machine down with it. The errand's boxes run next to the container and
	// have limits of their own.
	errandMemory = 2 << 30
	errandPIDs   = 1024
	errandOutput = 4 << 20 // bytes; both streams together keep up to twice that
	errandClean  = 30 * time.Second
)

// An Errand is one command of an image of the agent, in a container that has the engine's socket and the machine's
// network, as the agent itself has. It is not a box: only an image that passed the gate may run this way.
//
// The socket is as good as root on the machine: capabilities are dropped to catch mistakes, not an attacker.
type Errand struct {
	// Image is an ID or a tag. Args follow its entrypoint, and Env is added to its own environment. Neither may hold a
	// secret: the engine shows both to anyone who may inspect the container.
	Image string
	Args  []string
	Env   []string
	// Files are put into the container before it starts, by absolute path. They belong to User.
	Files map[string][]byte
	// User owns the files: one number for user and group, as in the image.
	User int
}

// An ErrandEnd says how an Errand ended. Exit is 137 if the container was killed, for its memory or by hand.
type ErrandEnd struct {
	Exit           int
	Stdout, Stderr []byte
}

// Errand runs an errand to its end and removes its container. The engine must be on this machine. When ctx ends, the
// container is killed. A nonzero exit code is not an error. Only ctx bounds the time.
func (e *Engine) Errand(ctx context.Context, x Errand) (end ErrandEnd, err error) {
	// A container can be given a socket of the machine that it runs on, and no other.
	host, err := url.Parse(e.api.DaemonHost())
	if err != nil || host.Scheme != "unix" {
		return end, fmt.Errorf("the engine %s has no socket on this machine, which a container of the agent needs", e.api.DaemonHost())
	}
	info, err := os.Stat(host.Path)
	if err != nil {
		return end, fmt.Errorf("look at the engine's socket: %w", err)
	}
	config, limits := x.config(host.Path, info)
	c, err := e.api.ContainerCreate(ctx, config, limits, nil, nil, "")
	if err != nil {
		return end, e.wrap("create a container of "+x.Image, err)
	}
	defer func() {
		// This happens even if ctx has ended: removing the container kills it.
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), errandClean)
		defer cancel()
		err = errors.Join(err, moot(e.api.ContainerRemove(clean, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})))
	}()
	if len(x.Files) > 0 {
		files, err := x.archive()
		if err == nil {
			err = e.api.CopyToContainer(ctx, c.ID, "/", files, container.CopyToContainerOptions{})
		}
		if err != nil {
			return end, e.wrap("copy files into a container of "+x.Image, err)
		}
	}
	return e.attend(ctx, c.ID, x.Image)
}

// config returns the container's settings for the engine. The container sees the machine's processes, since the agent
// uses them to tell which boxes have a living owner. The image's user is not root, so the group of the socket is added
// to let it open the socket.
func (x Errand) config(socket string, info os.FileInfo) (*container.Config, *container.HostConfig) {
	pids := int64(errandPIDs)
	var groups []string
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		groups = []string{strconv.Itoa(int(st.Gid))}
	}
	return &container.Config{Image: x.Image, Cmd: x.Args, Env: x.Env, Labels: map[string]string{errandLabel: Owner()}},
		&container.HostConfig{
			// If the engine uses user namespaces, a container in one cannot share the machine's other namespaces.
			NetworkMode: "host", PidMode: "host", UsernsMode: "host", GroupAdd: groups, Binds: []string{socket + ":" + agentSocket},
			CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"},
			Resources: container.Resources{Memory: errandMemory, MemorySwap: errandMemory, PidsLimit: &pids},
			LogConfig: container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "8m", "max-file": "1"}},
		}
}

// archive returns the files as a tar for the engine. The image already has their directories. The engine unpacks the
// tar as root: without the owner the agent could not change its own workspace. The time is fixed, as nothing should
// depend on it.
func (x Errand) archive() (io.Reader, error) {
	var all bytes.Buffer
	w := tar.NewWriter(&all)
	for _, name := range slices.Sorted(maps.Keys(x.Files)) {
		content := x.Files[name]
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Uid: x.User, Gid: x.User, ModTime: time.Unix(1, 0)}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	return &all, w.Close()
}

// attend starts a container, waits for its end and reads what it wrote. The wait begins before the start, or a short
// command could end unseen. The output comes from the engine's log, which keeps the last bytes of a long output.
func (e *Engine) attend(ctx context.Context, id, image string) (end ErrandEnd, err error) {
	done, errs := e.api.ContainerWait(ctx, id, container.WaitConditionNextExit)
	if err := e.api.ContainerStart(ctx, id, container.StartOptions{}); err != nil {
		return end, e.wrap("start a container of "+image, err)
	}
	select {
	case status := <-done:
		// The engine lost the container and has no exit code for it.
		if status.Error != nil {
			return end, fmt.Errorf("wait for a container of %s: %s", image, status.Error.Message)
		}
		end.Exit = int(status.StatusCode)
	case err := <-errs:
		return end, e.wrap("wait for a container of "+image, err)
	}
	logs, err := e.api.ContainerLogs(ctx, id, container.LogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		return end, e.wrap("read what a container of "+image+" wrote", err)
	}
	defer logs.Close()
	var out, trouble bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, &trouble, io.LimitReader(logs, 2*errandOutput)); err != nil {
		return end, e.wrap("read what a container of "+image+" wrote", err)
	}
	end.Stdout, end.Stderr = out.Bytes(), trouble.Bytes()
	return end, nil
}

// ReapErrands removes the containers of errands whose process is dead. An owner whose state cannot be determined, such
// as one on another machine, counts as alive.
func (e *Engine) ReapErrands(ctx context.Context) error {
	list, err := e.api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", errandLabel))})
	if err != nil {
		return e.wrap("list the containers of the agent", err)
	}
	for _, c := range list {
		if alive, known := Alive(c.Labels[errandLabel]); alive || !known {
			continue
		}
		if err := moot(e.api.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})); err != nil {
			return e.wrap("remove a container of the agent", err)
		}
	}
	return nil
}

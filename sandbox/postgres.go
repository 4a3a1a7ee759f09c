package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"
	"github.com/docker/go-connections/nat"
	"github.com/jackc/pgx/v5/pgconn"
)

// What the Postgres image promises; see its entrypoint.
const (
	pgHome     = "/var/lib/postgresql"                // the volume
	pgPassword = "/var/lib/postgresql/agent-password" // made at the first start, 0600
	pgName     = "agent"                              // the role and the database
	pgUser     = "10002"                              // user and group
)

const (
	pgPort   = nat.Port("5432/tcp")
	pgMemory = 512 << 20 // bytes
	pgPIDs   = 256
	// pgStartTimeout bounds a start, including the creation of the first cluster on a slow disk.
	pgStartTimeout = 2 * time.Minute
	// pgStopTimeout is how long Postgres may take to write its last checkpoint.
	pgStopTimeout = 20 * time.Second
	// pgStarts is how often one call starts a server that ends by itself.
	pgStarts = 2
	// pgPause is the pause between two checks of a server that is starting.
	pgPause = 50 * time.Millisecond
)

const (
	serviceLabel = "agent.service" // "postgres" on everything here
	imageLabel   = "agent.image"   // the image ID that a container was made from
	pgService    = "postgres"
)

// A PostgresError means that the agent's own Postgres cannot be used although the engine answers. Its text never holds
// the password.
type PostgresError struct {
	Hint string // what to do next
	Err  error
}

// Error says what happened and what to do next.
func (e *PostgresError) Error() string {
	return fmt.Sprintf("the agent's own Postgres: %v; %s", e.Err, e.Hint)
}

// Unwrap returns the cause.
func (e *PostgresError) Unwrap() error { return e.Err }

// A postgres is the agent's own database on an engine: one container on one volume. A caller that needs it calls
// ensure. Several processes may do so at once, since the engine gives a container's name away only once. All names are
// fields, so that a test can have a database of its own.
//
// None of its objects carries the label agent.run, so no reaper ever takes it for a box. There is no restart policy
// either: after a restart of the machine it stays down until a command needs it, and then has another port.
type postgres struct {
	api       *client.Client
	container string
	volume    string
	network   string // the engine's default bridge may be switched off
}

// Postgres ensures that the agent's own Postgres runs from image (an ID or a tag) and returns its URL, with the
// password, once it answers. A container of another image is created anew on the same volume. Its port is on this
// machine's loopback only. The error is a *PostgresError, or an *UnavailableError when the engine is gone.
func (e *Engine) Postgres(ctx context.Context, image string) (string, error) {
	return e.postgres().ensure(ctx, image)
}

// PostgresRunning returns the URL of the agent's own Postgres if it runs and answers, and "" otherwise. It starts
// nothing.
func (e *Engine) PostgresRunning(ctx context.Context) (string, error) {
	p := e.postgres()
	c, err := p.api.ContainerInspect(ctx, p.container)
	if err != nil || c.Config.Labels[serviceLabel] != pgService || !c.State.Running {
		return "", moot(err)
	}
	return p.answering(ctx, c)
}

// PostgresStop stops the agent's own Postgres. With remove it also removes the container, the network and the volume:
// the whole history. It is not an error if any of them does not exist.
func (e *Engine) PostgresStop(ctx context.Context, remove bool) error {
	return e.postgres().stop(ctx, remove)
}

// postgres returns the one database that the agent keeps on this engine.
func (e *Engine) postgres() postgres {
	return postgres{api: e.api, container: "agent-postgres", volume: "agent-postgres", network: "agent"}
}

// ensure brings the server up and returns its URL. It looks, takes one step, and looks again, until the server answers.
// Every state in which another process, a crash or the user may have left the server is the start of some step.
func (p postgres) ensure(ctx context.Context, image string) (string, error) {
	if err := p.reachable(); err != nil {
		return "", err
	}
	found, err := p.api.ImageInspect(ctx, image)
	if err != nil {
		return "", p.trouble("find its image "+image, err, "build it: agent images build")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pgStartTimeout, errors.New("it did not answer in time"))
	defer cancel()
	for starts := 0; ; {
		dsn, started, err := p.step(ctx, found.ID, starts < pgStarts)
		if err != nil || dsn != "" {
			return dsn, err
		}
		if started {
			starts++
		}
		timer := time.NewTimer(pgPause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return "", p.trouble("wait for it", context.Cause(ctx), "see `docker logs "+p.container+"`, then run the command again")
		case <-timer.C:
		}
	}
}

// step inspects the container and takes it one step nearer to a server that answers. Another process may be doing the
// same; the next step sees whatever has come or gone meanwhile.
func (p postgres) step(ctx context.Context, image string, mayStart bool) (dsn string, started bool, err error) {
	c, err := p.api.ContainerInspect(ctx, p.container)
	switch {
	case errdefs.IsNotFound(err):
		return "", false, p.trouble("create it", p.create(ctx, image), "see `agent doctor`")
	case err != nil:
		return "", false, p.trouble("inspect it", err, "see `agent doctor`")
	case c.Config.Labels[serviceLabel] != pgService:
		return "", false, &PostgresError{
			Err:  fmt.Errorf("the container %s does not belong to the agent", p.container),
			Hint: "rename that container, or set AGENT_DATABASE_URL",
		}
	case c.Config.Labels[imageLabel] != image, c.State.Dead:
		return "", false, p.trouble("replace it", p.discard(ctx, c.ID), "see `agent doctor`")
	case c.State.Paused:
		return "", false, p.trouble("unpause it", moot(p.api.ContainerUnpause(ctx, c.ID)), "see `agent doctor`")
	case c.State.Running:
		dsn, err := p.answering(ctx, c)
		return dsn, false, err
	case !mayStart:
		return "", false, &PostgresError{
			Err:  fmt.Errorf("it exits with status %d: %s", c.State.ExitCode, p.lastWords(ctx, c.ID)),
			Hint: "fix that, or set AGENT_DATABASE_URL",
		}
	}
	return "", true, p.trouble("start it", p.start(ctx, c.ID), "see `docker logs "+p.container+"`, or set AGENT_DATABASE_URL")
}

// create makes the container and its volume, hardened like a box as far as a server allows. It is not an error if
// another process was faster: the name is the mutex, and the engine gives it away once. The network is not needed yet.
func (p postgres) create(ctx context.Context, image string) error {
	pids := int64(pgPIDs)
	labels := map[string]string{serviceLabel: pgService, imageLabel: image}
	// No password here: anyone who may inspect the container can read what the engine knows of it.
	config := &container.Config{Image: image, Labels: labels, Hostname: "postgres", ExposedPorts: nat.PortSet{pgPort: {}}}
	host := &container.HostConfig{
		NetworkMode:    container.NetworkMode(p.network),
		PortBindings:   nat.PortMap{pgPort: {{HostIP: "127.0.0.1"}}}, // the engine chooses the port
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges"},
		ReadonlyRootfs: true,
		Tmpfs: map[string]string{
			"/tmp":            "rw,nosuid,nodev,noexec,size=64m,mode=0700,uid=" + pgUser + ",gid=" + pgUser,
			"/run/postgresql": "rw,nosuid,nodev,noexec,size=1m,mode=0700,uid=" + pgUser + ",gid=" + pgUser,
		},
		Mounts: []mount.Mount{{
			Type: mount.TypeVolume, Source: p.volume, Target: pgHome,
			VolumeOptions: &mount.VolumeOptions{Labels: map[string]string{serviceLabel: pgService}},
		}},
		Resources:     container.Resources{Memory: pgMemory, MemorySwap: pgMemory, PidsLimit: &pids},
		ShmSize:       64 << 20,
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled}, // the next command that needs it starts it
		LogConfig:     container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "1m", "max-file": "1"}},
	}
	_, err := p.api.ContainerCreate(ctx, config, host, nil, nil, p.container)
	return moot(err)
}

// start starts the container. If its network was pruned, the container can no longer start: start removes it, and the
// next step creates it anew.
func (p postgres) start(ctx context.Context, id string) error {
	if err := p.connectable(ctx); err != nil {
		return err
	}
	err := p.api.ContainerStart(ctx, id, container.StartOptions{})
	if errdefs.IsNotFound(err) {
		return p.discard(ctx, id)
	}
	return moot(err)
}

// networkPatience bounds the wait for a network that another process creates.
const networkPatience = 2 * time.Second

// connectable ensures that the network exists. An engine may have several networks of one name, but the name of a
// bridge is unique, so two processes cannot create it twice.
func (p postgres) connectable(ctx context.Context) error {
	_, err := p.api.NetworkInspect(ctx, p.network, network.InspectOptions{})
	if !errdefs.IsNotFound(err) {
		return err
	}
	_, err = p.api.NetworkCreate(ctx, p.network, network.CreateOptions{
		Driver: "bridge",
		Labels: map[string]string{serviceLabel: pgService},
		Options: map[string]string{
			"com.docker.network.bridge.name": fmt.Sprintf("agent-%x", sha256.Sum256([]byte(p.network)))[:14],
			// The database answers this machine and never calls out.
			"com.docker.network.bridge.enable_ip_masquerade": "false",
		},
	})
	if err == nil {
		return nil
	}
	// Another process may have been faster: the bridge's name is taken a moment before the network can be found.
	deadline := time.Now().Add(networkPatience)
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		if _, again := p.api.NetworkInspect(ctx, p.network, network.InspectOptions{}); again == nil {
			return nil
		}
		if ctx.Err() != nil || time.Now().Add(wait).After(deadline) {
			return fmt.Errorf("create network %s: %w", p.network, cmp.Or(ctx.Err(), err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// answering returns the URL of a running server, or "" while it does not answer yet. A running process is not yet a
// server that answers, and neither is an open port, since the engine's proxy accepts connections before the server
// does. Therefore answering logs in.
func (p postgres) answering(ctx context.Context, c container.InspectResponse) (string, error) {
	bindings := c.NetworkSettings.Ports[pgPort]
	if len(bindings) == 0 {
		return "", nil // between the start of the process and that of its port
	}
	password, err := p.password(ctx, c.ID)
	if err != nil || password == "" {
		return "", p.trouble("read its password", err, "see `agent doctor`")
	}
	dsn := url.URL{
		Scheme: "postgres", User: url.UserPassword(pgName, password),
		Host: net.JoinHostPort("127.0.0.1", bindings[0].HostPort), Path: "/" + pgName, RawQuery: "sslmode=disable",
	}
	conn, err := pgconn.Connect(ctx, dsn.String())
	if err == nil {
		return dsn.String(), conn.Close(ctx)
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && strings.HasPrefix(pg.Code, "28") {
		return "", &PostgresError{Err: errors.New(pg.Message), Hint: "its password was changed by hand: set AGENT_DATABASE_URL"}
	}
	return "", nil // still starting; the error's text would hold only the address
}

// password reads the password from the container, or returns "" if it does not exist yet. Anyone who may talk to the
// engine can read it anyway, so it is kept nowhere else. A command reads it, because the agent never uses the engine's
// archive call on a running container.
func (p postgres) password(ctx context.Context, id string) (string, error) {
	cmd, err := p.api.ContainerExecCreate(ctx, id, container.ExecOptions{Cmd: []string{"cat", pgPassword}, AttachStdout: true, AttachStderr: true})
	if err != nil {
		return "", moot(err)
	}
	stream, err := p.api.ContainerExecAttach(ctx, cmd.ID, container.ExecAttachOptions{})
	if err != nil {
		return "", moot(err)
	}
	defer stream.Close()
	stop := context.AfterFunc(ctx, func() { _ = stream.Conn.Close() }) // ends the read below
	defer stop()
	var out bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, io.Discard, io.LimitReader(stream.Reader, 4096)); err != nil {
		return "", err
	}
	return out.String(), nil
}

// discard stops and removes a container, but not its volume. It takes an ID, because by now the name may belong to the
// next container, which another process made.
func (p postgres) discard(ctx context.Context, id string) error {
	grace := int(pgStopTimeout.Seconds())
	if err := moot(p.api.ContainerStop(ctx, id, container.StopOptions{Timeout: &grace})); err != nil {
		return err
	}
	return moot(p.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true}))
}

// stop stops the server, and with remove removes everything that belongs to it. It only removes what carries our label,
// for a volume or network of that name may be the user's own.
func (p postgres) stop(ctx context.Context, remove bool) error {
	c, err := p.api.ContainerInspect(ctx, p.container)
	switch {
	case err == nil && c.Config.Labels[serviceLabel] != pgService:
		return &PostgresError{Err: fmt.Errorf("the container %s does not belong to the agent", p.container), Hint: "stop it by hand if you mean it"}
	case err == nil && remove:
		err = p.discard(ctx, c.ID)
	case err == nil:
		grace := int(pgStopTimeout.Seconds())
		err = p.api.ContainerStop(ctx, c.ID, container.StopOptions{Timeout: &grace})
	}
	if moot(err) != nil || !remove {
		return p.trouble("stop it", moot(err), "see `agent doctor`")
	}
	volume, err := p.api.VolumeInspect(ctx, p.volume)
	if err == nil && volume.Labels[serviceLabel] == pgService {
		err = p.api.VolumeRemove(ctx, p.volume, false)
	}
	if moot(err) != nil {
		return p.trouble("remove its volume "+p.volume, err, "remove the container that uses it, then run the command again")
	}
	link, err := p.api.NetworkInspect(ctx, p.network, network.InspectOptions{})
	if err == nil && link.Labels[serviceLabel] == pgService {
		err = p.api.NetworkRemove(ctx, p.network)
	}
	return p.trouble("remove its network "+p.network, moot(err), "disconnect the container that uses it, then run the command again")
}

// reachable refuses an engine on another machine: the port would be on the loopback there, and the agent must not make
// a database that is open to a network.
func (p postgres) reachable() error {
	host, err := url.Parse(p.api.DaemonHost())
	if err == nil {
		ip := net.ParseIP(host.Hostname())
		if host.Scheme == "unix" || host.Scheme == "npipe" || host.Hostname() == "localhost" || ip.IsLoopback() {
			return nil
		}
	}
	return &PostgresError{
		Err:  fmt.Errorf("the engine %s is on another machine, where its port cannot be reached", p.api.DaemonHost()),
		Hint: "set AGENT_DATABASE_URL to a Postgres that this machine can reach",
	}
}

// lastWords returns the end of a container's output on one line, for an error that would otherwise only say that it
// ended.
func (p postgres) lastWords(ctx context.Context, id string) string {
	logs, err := p.api.ContainerLogs(ctx, id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: "3"})
	if err != nil {
		return "its log is gone"
	}
	defer logs.Close()
	var out bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, &out, io.LimitReader(logs, 4096)); err != nil && out.Len() == 0 {
		return "its log cannot be read"
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// trouble wraps the error of act, and returns nil for nil. An engine that is gone becomes an *UnavailableError; a
// *PostgresError stays as it is.
func (p postgres) trouble(act string, err error, hint string) error {
	if err == nil {
		return nil
	}
	if engineGone(err) {
		return &UnavailableError{Host: p.api.DaemonHost(), Hint: startHint, Err: err}
	}
	if _, ok := errors.AsType[*PostgresError](err); ok {
		return err
	}
	return &PostgresError{Err: fmt.Errorf("%s: %w", act, err), Hint: hint}
}

// moot drops the errors by which the engine says that another process has just done the same, or has undone what this
// one works on.
func moot(err error) error {
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil
	}
	return err
}

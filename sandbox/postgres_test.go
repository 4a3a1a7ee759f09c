package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/sandbox/enginetest"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"
	"github.com/jackc/pgx/v5"
)

// newPostgres returns a database with names of its own and the ID of the newest Postgres image. Everything with those
// names is removed after the test.
func newPostgres(t *testing.T) (postgres, string) {
	t.Helper()
	enginetest.Need(t)
	engine, err := Connect(t.Context())
	if err != nil {
		t.Fatalf("these tests need a container engine, see `make setup`: %v", err)
	}
	name := "agent-test-" + strings.ToLower(rand.Text()[:8])
	p := postgres{api: engine.api, container: name, volume: name, network: name}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := p.stop(ctx, true); err != nil {
			t.Errorf("clean up: %v", err)
		}
		if err := engine.Close(); err != nil {
			t.Errorf("close the engine: %v", err)
		}
	})
	list, err := p.api.ImageList(t.Context(), image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", "agent.image=postgres"))})
	if err != nil || len(list) == 0 {
		t.Fatalf("these tests need the Postgres image, see `make setup`: found %d, %v", len(list), err)
	}
	newest := list[0]
	for _, i := range list {
		if i.Created > newest.Created {
			newest = i
		}
	}
	return p, newest.ID
}

// up ensures the server and returns its URL.
func up(t *testing.T, p postgres, image string) string {
	t.Helper()
	dsn, err := p.ensure(t.Context(), image)
	if err != nil {
		t.Fatalf("ensure: %v", err)
	}
	return dsn
}

// sql runs one statement and returns its first value as text.
func sql(t *testing.T, dsn, statement string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return strings.Join(values, " ")
}

// inspect returns what the engine reports about the container.
func (p postgres) inspect(t *testing.T) container.InspectResponse {
	t.Helper()
	c, err := p.api.ContainerInspect(t.Context(), p.container)
	if err != nil {
		t.Fatalf("inspect: %v", err)
	}
	return c
}

// The cases follow one server through its life, since creating a cluster takes seconds.
func TestPostgresLife(t *testing.T) {
	p, image := newPostgres(t)
	dsn := up(t, p, image)
	first := p.inspect(t)

	t.Run("a running server is found, not made again", func(t *testing.T) {
		start := time.Now()
		if again := up(t, p, image); again != dsn {
			t.Errorf("the second URL %q differs from the first", again)
		}
		t.Logf("found the running server in %v", time.Since(start))
		if p.inspect(t).ID != first.ID {
			t.Error("the container was made again")
		}
	})
	t.Run("it is hardened and reachable on the loopback only", func(t *testing.T) { checkHardened(t, first) })
	t.Run("the password is nowhere but in the volume", func(t *testing.T) {
		address, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		password, _ := address.User.Password()
		if len(password) < 32 {
			t.Fatalf("the password has %d characters", len(password))
		}
		data, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), password) {
			t.Error("the inspected container shows the password")
		}
		if logs := p.lastWords(t.Context(), first.ID); strings.Contains(logs, password) {
			t.Error("the log shows the password")
		}
	})
	t.Run("a stopped server is started again with its data", func(t *testing.T) {
		sql(t, dsn, `create table kept as select 'still here' as word`)
		stop(t, p)
		if word := sql(t, up(t, p, image), `select word from kept`); word != "still here" {
			t.Errorf("read %q", word)
		}
		if p.inspect(t).ID != first.ID {
			t.Error("the container was made again")
		}
	})
	t.Run("a network that was pruned is made again", func(t *testing.T) {
		stop(t, p)
		if err := p.api.NetworkRemove(t.Context(), p.network); err != nil {
			t.Fatal(err)
		}
		if word := sql(t, up(t, p, image), `select word from kept`); word != "still here" {
			t.Errorf("read %q", word)
		}
	})
	t.Run("another image is used on the same volume", func(t *testing.T) {
		before := p.inspect(t).ID
		other, err := p.api.ContainerCommit(t.Context(), before, container.CommitOptions{Comment: "another image"})
		if err != nil {
			t.Fatal(err)
		}
		word := sql(t, up(t, p, other.ID), `select word from kept`)
		after := p.inspect(t)
		if word != "still here" || after.ID == before || after.Image != other.ID {
			t.Errorf("read %q from container %.12s of image %s", word, after.ID, after.Image)
		}
		up(t, p, image)
		removeImage(t, p, other.ID)
	})
	t.Run("a server that ends by itself says why", func(t *testing.T) {
		spoil(t, p)
		_, err := p.ensure(t.Context(), image)
		refused, ok := errors.AsType[*PostgresError](err)
		if !ok || refused.Hint == "" || !strings.Contains(err.Error(), "PG_VERSION") {
			t.Errorf("got %v, want the server's own words and a hint", err)
		}
	})
	t.Run("remove leaves nothing", func(t *testing.T) {
		if err := p.stop(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		checkGone(t, p)
		if err := p.stop(t.Context(), true); err != nil {
			t.Errorf("removing nothing: %v", err)
		}
	})
}

// checkHardened compares the container with the promises of its documentation.
func checkHardened(t *testing.T, c container.InspectResponse) {
	t.Helper()
	h := c.HostConfig
	for what, ok := range map[string]bool{
		"drops every capability":   len(h.CapDrop) == 1 && h.CapDrop[0] == "ALL" && len(h.CapAdd) == 0 && !h.Privileged,
		"gains no privileges":      strings.Join(h.SecurityOpt, " ") == "no-new-privileges",
		"has a read-only root":     h.ReadonlyRootfs,
		"has bounded memory":       h.Memory == pgMemory && h.MemorySwap == pgMemory,
		"has bounded processes":    h.PidsLimit != nil && *h.PidsLimit == pgPIDs,
		"has a bounded log":        h.LogConfig.Type == "json-file" && h.LogConfig.Config["max-size"] == "1m" && h.LogConfig.Config["max-file"] == "1",
		"is started on demand":     h.RestartPolicy.Name == container.RestartPolicyDisabled && !h.AutoRemove,
		"mounts only its volume":   len(c.Mounts) == 1 && c.Mounts[0].Name == strings.TrimPrefix(c.Name, "/") && len(h.Binds) == 0,
		"belongs to no run":        c.Config.Labels["agent.run"] == "" && c.Config.Labels[serviceLabel] == pgService,
		"publishes one port":       len(c.NetworkSettings.Ports) == 1 && len(c.NetworkSettings.Ports[pgPort]) == 1,
		"listens on the loopback":  c.NetworkSettings.Ports[pgPort][0].HostIP == "127.0.0.1",
		"does not run as root":     c.Config.User != "" && !strings.HasPrefix(c.Config.User, "0") && c.Config.User != "root",
		"has no secret in its env": !strings.Contains(strings.Join(c.Config.Env, " "), "PASSWORD"),
	} {
		if !ok {
			t.Errorf("the container should be one that %s", what)
		}
	}
}

// checkGone checks that nothing with p's names is left.
func checkGone(t *testing.T, p postgres) {
	t.Helper()
	if _, err := p.api.ContainerInspect(t.Context(), p.container); !errdefs.IsNotFound(err) {
		t.Errorf("the container is still there: %v", err)
	}
	if _, err := p.api.VolumeInspect(t.Context(), p.volume); !errdefs.IsNotFound(err) {
		t.Errorf("the volume is still there: %v", err)
	}
	if _, err := p.api.NetworkInspect(t.Context(), p.network, network.InspectOptions{}); !errdefs.IsNotFound(err) {
		t.Errorf("the network is still there: %v", err)
	}
}

// stop stops the server and keeps the rest.
func stop(t *testing.T, p postgres) {
	t.Helper()
	if err := p.stop(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if p.inspect(t).State.Running {
		t.Fatal("the container still runs")
	}
}

// spoil damages the cluster so that no server starts on it, and stops the server.
func spoil(t *testing.T, p postgres) {
	t.Helper()
	cmd, err := p.api.ContainerExecCreate(t.Context(), p.container, container.ExecOptions{
		Cmd: []string{"sh", "-c", "echo ruined >" + pgHome + "/data/PG_VERSION"}, AttachStdout: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := p.api.ContainerExecAttach(t.Context(), cmd.ID, container.ExecAttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if _, err := io.Copy(io.Discard, stream.Reader); err != nil {
		t.Fatal(err)
	}
	stop(t, p)
}

// removeImage removes an image that the test made.
func removeImage(t *testing.T, p postgres, id string) {
	t.Helper()
	if _, err := p.api.ImageRemove(t.Context(), id, image.RemoveOptions{}); err != nil {
		t.Errorf("remove image: %v", err)
	}
}

func TestPostgresIsStartedOnceByManyAtOnce(t *testing.T) {
	p, image := newPostgres(t)
	const callers = 6
	answers := make([]string, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			engine, err := Connect(t.Context()) // each has its own connection, as separate processes have
			if err != nil {
				t.Error(err)
				return
			}
			defer engine.Close()
			mine := p
			mine.api = engine.api
			if answers[i], err = mine.ensure(t.Context(), image); err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	all.Wait()
	for i, a := range answers {
		if a == "" || a != answers[0] {
			t.Errorf("caller %d was sent to another server", i)
		}
	}
	links, err := p.api.NetworkList(t.Context(), network.ListOptions{Filters: filters.NewArgs(filters.Arg("name", p.network))})
	if err != nil || len(links) != 1 {
		t.Errorf("there are %d networks of the name, want 1 (%v)", len(links), err)
	}
}

func TestPostgresLeavesAnotherContainerOfItsNameAlone(t *testing.T) {
	p, image := newPostgres(t)
	made, err := p.api.ContainerCreate(t.Context(), &container.Config{Image: image}, nil, nil, nil, p.container)
	if err != nil {
		t.Fatal(err)
	}
	defer p.api.ContainerRemove(context.WithoutCancel(t.Context()), made.ID, container.RemoveOptions{Force: true})
	_, err = p.ensure(t.Context(), image)
	if refused, ok := errors.AsType[*PostgresError](err); !ok || !strings.Contains(refused.Hint, "AGENT_DATABASE_URL") {
		t.Errorf("ensure: got %v, want a *PostgresError with a way out", err)
	}
	if _, ok := errors.AsType[*PostgresError](p.stop(t.Context(), true)); !ok {
		t.Error("stop should refuse it too")
	}
	if p.inspect(t).ID != made.ID {
		t.Error("the other container was replaced")
	}
}

func TestPostgresSaysWhatIsMissing(t *testing.T) {
	p, _ := newPostgres(t)
	_, err := p.ensure(t.Context(), "agent-postgres:no-such-tag")
	if refused, ok := errors.AsType[*PostgresError](err); !ok || !strings.Contains(refused.Hint, "images build") {
		t.Errorf("absent image: got %v", err)
	}

	for host, want := range map[string]bool{
		"tcp://192.0.2.7:2375": false, "ssh://box.example": false, "tcp://127.0.0.1:2375": true,
		"tcp://localhost:2375": true, "unix:///var/run/docker.sock": true,
	} {
		p.api, err = client.NewClientWithOpts(client.WithHost(host))
		if err != nil {
			t.Fatal(err)
		}
		err := p.reachable()
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "set AGENT_DATABASE_URL") {
			t.Errorf("engine %s: got %v, want reachable %v", host, err, want)
		}
	}

	p.api, err = client.NewClientWithOpts(client.WithHost("unix:///nonexistent/docker.sock"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.ensure(t.Context(), "agent-postgres:dev")
	if gone, ok := errors.AsType[*UnavailableError](err); !ok || gone.Hint == "" {
		t.Errorf("no engine: got %v, want an *UnavailableError with a hint", err)
	}
}

func TestPostgresStopsWaitingWhenCancelled(t *testing.T) {
	p, image := newPostgres(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("the user has gone")
	started, trouble := p.api.Events(ctx, events.ListOptions{Filters: filters.NewArgs(
		filters.Arg("container", p.container), filters.Arg("event", "start"))})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-started:
			cancel(why)
		case err := <-trouble:
			cancel(err)
		}
	})
	_, err := p.ensure(ctx, image)
	watching.Wait()
	if err == nil || !errors.Is(context.Cause(ctx), why) {
		t.Errorf("ensure gave %v; the watcher saw %v", err, context.Cause(ctx))
	}
}

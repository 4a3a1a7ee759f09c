package images

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/pkg/stdcopy"
)

// A database is the Postgres image on a volume of the test's own.
type database struct {
	t      *testing.T
	engine *testEngine
	image  string
	volume string
	// The volume at /run/postgresql, "" for a tmpfs.
	socket string
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	e := newEngine(t)
	img, err := New(e, nil, nil).Ensure(t.Context(), Postgres)
	if err != nil {
		t.Fatal(err)
	}
	return &database{t: t, engine: e, image: img.ID, volume: newVolume(t, e, nil)}
}

// newVolume makes a volume for this test and returns its name.
func newVolume(t *testing.T, e *testEngine, options map[string]string) string {
	t.Helper()
	v, err := e.VolumeCreate(t.Context(), volume.CreateOptions{DriverOpts: options, Labels: map[string]string{"agent.test": t.Name()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.VolumeRemove(context.WithoutCancel(t.Context()), v.Name, true); err != nil {
			t.Error(err)
		}
	})
	return v.Name
}

// start starts a container on the volume without capabilities and with a read-only root, as strictly as the agent does.
// A script runs in place of the entry point.
func (d *database) start(script string, env ...string) string {
	d.t.Helper()
	config := &container.Config{Image: d.image, Env: env, NetworkDisabled: true}
	if script != "" {
		config.Entrypoint = []string{"/bin/sh", "-euc", script}
	}
	host := &container.HostConfig{
		CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"}, ReadonlyRootfs: true,
		Tmpfs:  map[string]string{"/tmp": "", "/run/postgresql": "uid=10002,gid=10002"},
		Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: d.volume, Target: "/var/lib/postgresql"}},
	}
	if d.socket != "" {
		delete(host.Tmpfs, "/run/postgresql")
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeVolume, Source: d.socket, Target: "/run/postgresql"})
	}
	id := d.engine.create(d.t, config, host)
	if err := d.engine.ContainerStart(d.t.Context(), id, container.StartOptions{}); err != nil {
		d.t.Fatal(err)
	}
	return id
}

// logged waits for a line with text in the container's log, at most until the container ends.
func (d *database) logged(id, text string) {
	d.t.Helper()
	stream, err := d.engine.ContainerLogs(d.t.Context(), id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Follow: true})
	if err != nil {
		d.t.Fatal(err)
	}
	defer stream.Close()
	r, w := io.Pipe()
	defer r.Close()
	go func() {
		_, err := stdcopy.StdCopy(w, w, stream)
		w.CloseWithError(err)
	}()
	var all strings.Builder
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if strings.Contains(lines.Text(), text) {
			return
		}
		all.WriteString(lines.Text() + "\n")
	}
	d.t.Fatalf("the container's log ends without %q:\n%s", text, all.String())
}

// ended waits for the container and returns its exit code.
func (d *database) ended(id string) int64 {
	d.t.Helper()
	done, errs := d.engine.ContainerWait(d.t.Context(), id, container.WaitConditionNotRunning)
	select {
	case end := <-done:
		return end.StatusCode
	case err := <-errs:
		d.t.Fatal(err)
		return 0
	}
}

// run runs a command in the container and returns its output and its exit code.
func (d *database) run(id string, argv ...string) (string, int) {
	d.t.Helper()
	ctx := d.t.Context()
	x, err := d.engine.ContainerExecCreate(ctx, id, container.ExecOptions{Cmd: argv, AttachStdout: true, AttachStderr: true})
	if err != nil {
		d.t.Fatal(err)
	}
	stream, err := d.engine.ContainerExecAttach(ctx, x.ID, container.ExecAttachOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	defer stream.Close()
	var out strings.Builder
	if _, err := stdcopy.StdCopy(&out, &out, stream.Reader); err != nil {
		d.t.Fatal(err)
	}
	state, err := d.engine.ContainerExecInspect(ctx, x.ID)
	if err != nil {
		d.t.Fatal(err)
	}
	return strings.TrimSpace(out.String()), state.ExitCode
}

const ready = "database system is ready to accept connections"

func TestPostgresStartsStrictAndKeepsPasswordAndDataInItsVolume(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	first := d.start("")
	d.logged(first, ready)
	query := `PGPASSWORD=$(cat /var/lib/postgresql/agent-password) psql -h 127.0.0.1 -U agent -d agent -XAtc "$1"`
	out, code := d.run(first, "sh", "-c", query, "sh",
		"select current_setting('data_checksums'), current_setting('server_encoding'), rolsuper from pg_roles where rolname = 'agent'")
	if code != 0 || out != "on|UTF8|t" {
		t.Errorf("over TCP with the password: %q, exit %d", out, code)
	}
	if out, code := d.run(first, "sh", "-c", "psql -w -h 127.0.0.1 -U agent -d agent -Xc 'select 1'"); code == 0 {
		t.Errorf("over TCP without a password: %q", out)
	}
	out, _ = d.run(first, "sh", "-c", "stat -c '%a %U' /var/lib/postgresql/agent-password; wc -c </var/lib/postgresql/agent-password")
	if out != "600 postgres\n64" {
		t.Errorf("the password file is %q", out)
	}
	// Every process of the user could read the environment.
	if out, _ := d.run(first, "sh", "-c", "tr '\\0' '\\n' </proc/1/environ | grep -c PASSWORD"); out != "0" {
		t.Errorf("the environment of process 1 names a password: %s", out)
	}
	if _, code := d.run(first, "psql", "-U", "agent", "-Xc", "create table kept (n int)"); code != 0 {
		t.Error("the socket asks for a password")
	}
	before, _ := d.run(first, "cat", "/var/lib/postgresql/agent-password")
	// A kill is the worst possible end; the next container continues with the volume.
	if err := d.engine.ContainerKill(t.Context(), first, "KILL"); err != nil {
		t.Fatal(err)
	}
	second := d.start("")
	d.logged(second, ready)
	if out, code := d.run(second, "psql", "-U", "agent", "-XAtc", "select count(*) from kept"); code != 0 || out != "0" {
		t.Errorf("after a kill: %q, exit %d", out, code)
	}
	if after, _ := d.run(second, "cat", "/var/lib/postgresql/agent-password"); after != before {
		t.Error("the password changed")
	}
	if err := d.engine.ContainerStop(t.Context(), second, container.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	if code := d.ended(second); code != 0 {
		t.Errorf("asked to stop, it ends with %d", code)
	}
}

func TestPostgresStartsAfterAKilledFirstStartWithTheGivenPassword(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	// This is what a first start leaves when it is killed at its worst moments.
	half := d.start("cd /var/lib/postgresql; mkdir -m 0700 data.new; echo 17 >data.new/PG_VERSION; echo half >agent-password.new")
	if code := d.ended(half); code != 0 {
		t.Fatalf("exit %d", code)
	}
	id := d.start("", "AGENT_POSTGRES_PASSWORD=a pass'word")
	d.logged(id, ready)
	if out, code := d.run(id, "env", "PGPASSWORD=a pass'word", "psql", "-h", "127.0.0.1", "-U", "agent", "-XAtc", "select 1"); code != 0 || out != "1" {
		t.Errorf("with the given password: %q, exit %d", out, code)
	}
	if out, _ := d.run(id, "sh", "-c", "tr '\\0' '\\n' </proc/1/environ | grep -c PASSWORD"); out != "0" {
		t.Errorf("the password stays in the environment of process 1: %s", out)
	}
}

// The setup is that of compose.yaml: the agent beside the server runs as another user and needs no password.
func TestPostgresIsReachedByASharedSocket(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	options := map[string]string{}
	for _, name := range []string{"type", "device", "o"} {
		found := regexp.MustCompile(`(?m)^      ` + name + `: (\S+)$`).FindStringSubmatch(string(text))
		if found == nil {
			t.Fatalf("compose.yaml has no option %s of a volume", name)
		}
		options[name] = found[1]
	}
	d := newDatabase(t)
	d.socket = newVolume(t, d.engine, options)
	for range 2 { // the remains of a killed server do not stop the next one
		id := d.start("")
		d.logged(id, ready)
		client := d.engine.create(t, &container.Config{
			Image: d.image, User: "10003:10003", NetworkDisabled: true,
			Entrypoint: []string{"psql", "--no-password", "-XAtc", "select current_user", "postgres://agent@/agent?host=/run/postgresql"},
		}, &container.HostConfig{
			CapDrop: []string{"ALL"}, ReadonlyRootfs: true,
			Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: d.socket, Target: "/run/postgresql", ReadOnly: true}},
		})
		if err := d.engine.ContainerStart(t.Context(), client, container.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		d.logged(client, "agent")
		if code := d.ended(client); code != 0 {
			t.Errorf("psql ends with %d", code)
		}
		password, _ := d.run(id, "cat", "/var/lib/postgresql/agent-password")
		_, told, err := d.engine.ContainerInspectWithRaw(t.Context(), id, false)
		if err != nil || len(password) != 64 || bytes.Contains(told, []byte(password)) {
			t.Errorf("the engine tells the password of %d bytes (%v)", len(password), err)
		}
		if err := d.engine.ContainerKill(t.Context(), id, "KILL"); err != nil {
			t.Fatal(err)
		}
		d.ended(id)
	}
}

func TestTwoPostgresNeverShareAVolume(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	// Only the lock decides, so it is enough that the first container holds it.
	holder := d.start("exec 9>/var/lib/postgresql/agent-lock; flock 9; echo held; exec sleep 600")
	d.logged(holder, "held")
	second := d.start("")
	d.logged(second, "another Postgres uses this volume")
	if code := d.ended(second); code != 1 {
		t.Errorf("the second ends with %d", code)
	}
}

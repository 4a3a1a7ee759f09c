package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"agent/sandbox"
	"agent/sandbox/boxtest"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
)

// mustBeGone fails the test when the engine still knows the container.
func mustBeGone(t *testing.T, engine *sandbox.Engine, id string) {
	t.Helper()
	if _, err := engine.Raw().ContainerInspect(t.Context(), id); !errdefs.IsNotFound(err) {
		t.Errorf("container %.12s is still there: %v", id, err)
	}
}

// waitUntilStopped waits for the end of the container's first process.
func waitUntilStopped(t *testing.T, engine *sandbox.Engine, id string) {
	t.Helper()
	over, failed := engine.Raw().ContainerWait(t.Context(), id, container.WaitConditionNotRunning)
	select {
	case <-over:
	case err := <-failed:
		t.Fatalf("wait for container %.12s: %v", id, err)
	}
}

func TestBoxAppliesAChangesetThenRuns(t *testing.T) {
	t.Parallel()
	box := boxtest.Start(t, boxtest.Engine(t), boxtest.Spec(t))
	err := box.Apply(t.Context(), workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Create, Path: "new/sub/file.bin", After: []byte("\x00\xff\r\n"), Mode: 0o755},
		{Op: workspace.Modify, Path: "main.py", After: []byte(strings.Repeat("x", 3<<20)), Mode: 0o600},
		{Op: workspace.Delete, Path: "run.sh"},
		{Op: workspace.Modify, Path: "shop/deep/old.txt", After: []byte("in a read-only directory"), Mode: 0o644},
		{Op: workspace.Rename, From: "shop/stock.py", Path: "shop/store.py", After: []byte("store = 2\n"), Mode: fs.ModeSetuid | 0o640},
	}})
	if err != nil {
		t.Fatal(err)
	}
	tree := string(boxtest.RunCommand(t, box, guest.Command{
		Args: []string{boxtest.Probe, "tree", "/work"}, MaxOutput: 8 << 20,
	}).Stdout.Head)
	for _, want := range []string{
		"/work/new/sub/file.bin -rwxr-xr-x \"\\x00\\xff\\r\\n\"\n", "/work/main.py -rw------- \"xxxx",
		"/work/shop/store.py -rw-r----- \"store = 2\\n\"\n", "/work/shop/deep/old.txt -rw-r--r-- \"in a",
		"/work/read-only.txt -r--r--r-- \"keep",
	} {
		if !strings.Contains(tree, want) {
			t.Errorf("%q is not in the workspace", want)
		}
	}
	for _, gone := range []string{"/work/run.sh", "/work/shop/stock.py"} {
		if strings.Contains(tree, gone+" ") {
			t.Errorf("%s is still in the workspace", gone)
		}
	}
}

// C01, C02.
func TestBoxRefusesAChangesetThatDoesNotFit(t *testing.T) {
	t.Parallel()
	engine, spec := boxtest.Engine(t), boxtest.Spec(t)
	for want, change := range map[string]workspace.Change{
		"below the workspace": {Op: workspace.Create, Path: "../etc/x"},
		"symbolic link":       {Op: workspace.Create, Path: "link/x"},
		"no such file":        {Op: workspace.Delete, Path: "absent"},
		"no space left":       {Op: workspace.Create, Path: "large", After: make([]byte, 9<<20)},
	} {
		spec.Limits.Work = 4 << 20
		box := boxtest.Start(t, engine, spec)
		err := box.Apply(t.Context(), workspace.Changeset{Changes: []workspace.Change{change}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", change.Path, err, want)
		}
		// Half a changeset may be in the box, so nothing may run there any more.
		if _, err := box.Run(t.Context(), guest.Command{Args: []string{boxtest.Probe, "exit", "0"}}); err == nil {
			t.Errorf("%s: the box went on", change.Path)
		}
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	for want, change := range map[string]func(*sandbox.Spec){
		"No such image":    func(s *sandbox.Spec) { s.Image = "agent-boxtest:absent" },
		"memory limit":     func(s *sandbox.Spec) { s.Limits.Memory = 1 },
		"limit of -1 proc": func(s *sandbox.Spec) { s.Limits.PIDs = -1 },
		"above 0":          func(s *sandbox.Spec) { s.Limits.Tmp = -1 },
		"fill /work":       func(s *sandbox.Spec) { s.Limits.Inodes = 4 },
		"nknown runtime":   func(s *sandbox.Spec) { s.Runtime = "no-such-runtime" },
		"no such file": func(s *sandbox.Spec) {
			s.Delta = &workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Delete, Path: "absent"}}}
		},
		"0.001 processors":     func(s *sandbox.Spec) { s.Limits.CPUs = 0.001 },
		"no space left on dev": func(s *sandbox.Spec) { s.Limits.Work = 4096 },
	} {
		spec := boxtest.Spec(t)
		spec.Run = "says-" + strings.ToLower(t.Name()) + want
		change(&spec)
		box, err := engine.Start(t.Context(), spec)
		if err == nil {
			box.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
		mustLeaveNothing(t, engine, spec.Run)
	}
}

func TestStartRepeatsTheLastWordsOfAGuest(t *testing.T) {
	t.Parallel()
	engine, spec := boxtest.Engine(t), boxtest.Spec(t)
	spec.Run, spec.Image = "last-words", boxtest.BrokenImage(t)
	box, err := engine.Start(t.Context(), spec)
	if err == nil {
		box.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "wait for the guest") || !strings.Contains(err.Error(), "no act at all") {
		t.Errorf("got error %v", err)
	}
	mustLeaveNothing(t, engine, spec.Run)
}

// mustLeaveNothing fails the test when a box of this run exists.
func mustLeaveNothing(t *testing.T, engine *sandbox.Engine, run string) {
	t.Helper()
	boxes, err := engine.Boxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, box := range boxes {
		if box.Run == run {
			t.Errorf("run %s left %+v", run, box)
		}
	}
}

func TestBoxIsKilledWhenTheContextOfStartEnds(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	box, err := engine.Start(ctx, boxtest.Spec(t))
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("the user has had enough")
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	// Run has another context, which does not end.
	result, err := box.Run(t.Context(), guest.Command{Args: []string{boxtest.Probe, "stubborn"}})
	if !errors.Is(err, why) {
		t.Errorf("result %+v, error %v: the command is not to blame", result, err)
	}
	for range 2 {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	}
	mustBeGone(t, engine, box.ID())
}

// B13.
func TestBoxIsKilledWhenTheContextOfRunEnds(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	box := boxtest.Start(t, engine, boxtest.Spec(t))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := box.Run(ctx, guest.Command{Args: []string{boxtest.Probe, "escape", "1"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v", err)
	}
	waitUntilStopped(t, engine, box.ID())
	if _, err := box.Run(t.Context(), guest.Command{Args: []string{boxtest.Probe, "exit", "0"}}); err == nil {
		t.Error("the box went on")
	}
}

func TestStartLeavesNothingWhereverItIsCancelled(t *testing.T) {
	t.Parallel()
	engine, spec := boxtest.Engine(t), boxtest.Spec(t)
	spec.Run = "cancelled-start"
	for i := range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*20*time.Millisecond)
		box, err := engine.Start(ctx, spec)
		switch {
		case err == nil:
			if err := box.Close(); err != nil {
				t.Error(err)
			}
		case !errors.Is(err, context.DeadlineExceeded):
			t.Errorf("cancelled after %d ms: %v", i*20, err)
		}
		cancel()
	}
	mustLeaveNothing(t, engine, spec.Run)
}

func TestCloseWorksAfterSomebodyElseRemovedTheBox(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	box := boxtest.Start(t, engine, boxtest.Spec(t))
	if err := engine.Raw().ContainerRemove(t.Context(), box.ID(), container.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := box.Run(t.Context(), guest.Command{Args: []string{boxtest.Probe, "exit", "0"}}); err == nil {
		t.Error("a box that is gone ran a command")
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
}

func TestCloseMayBeCalledFromTwoGoroutines(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	box := boxtest.Start(t, engine, boxtest.Spec(t))
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := box.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	mustBeGone(t, engine, box.ID())
}

func TestRunTellsThatTheBoxDied(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	box := boxtest.Start(t, engine, boxtest.Spec(t))
	time.AfterFunc(100*time.Millisecond, func() {
		if err := engine.Raw().ContainerKill(t.Context(), box.ID(), "KILL"); err != nil {
			t.Error(err)
		}
	})
	r := boxtest.Run(t, box, "stubborn")
	if !r.Killed || r.OOM || r.TimedOut || r.Signal != "SIGKILL" {
		t.Errorf("a box killed from outside: %+v", r)
	}
}

// B17, B18: the clocks in the box stand still, and the host's clock decides.
func TestRunKillsABoxWhoseGuestDoesNotAnswer(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	box := boxtest.Start(t, engine, boxtest.Spec(t))
	act := []string{boxtest.Probe, "exit", "0"}
	if boxtest.OwnKernel() {
		// Under gVisor the engine cannot kill a paused box. But there a program may stop the guest.
		act = []string{boxtest.Probe, "signals", "19"}
	} else if err := engine.Raw().ContainerPause(t.Context(), box.ID()); err != nil {
		t.Fatal(err)
	}
	// A paused box has no running clock: the host's clock decides.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := box.Run(ctx, guest.Command{Args: act, Timeout: time.Second, Grace: time.Millisecond})
	if err != nil || !r.Killed || !r.TimedOut || r.OOM {
		t.Errorf("a paused box: %+v, error %v", r, err)
	}
}

func TestABoxIsKilledWhenItsStreamBreaks(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	box := boxtest.Start(t, engine, boxtest.Spec(t))
	time.AfterFunc(100*time.Millisecond, func() { box.Socket().Close() })
	if _, err := box.Run(t.Context(), guest.Command{Args: []string{boxtest.Probe, "escape", "2"}}); err == nil {
		t.Error("a result came over a closed connection")
	}
	waitUntilStopped(t, engine, box.ID())
}

func TestAnEngineThatGoesAwayIsToldApart(t *testing.T) {
	direct := boxtest.Engine(t)
	spec := boxtest.Spec(t)
	proxy := newProxy(t, direct.Raw().DaemonHost())
	t.Setenv("DOCKER_HOST", "unix://"+proxy.path)
	engine := boxtest.Engine(t)
	box, err := engine.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, proxy.cut)
	_, err = box.Run(t.Context(), guest.Command{Args: []string{boxtest.Probe, "stubborn"}})
	var unavailable *sandbox.UnavailableError
	if !errors.As(err, &unavailable) {
		t.Errorf("got error %v, want an UnavailableError", err)
	}
	if err := box.Close(); !errors.As(err, &unavailable) {
		t.Errorf("close without an engine: %v", err)
	}
	waitUntilStopped(t, direct, box.ID())
	if got, err := direct.Raw().ContainerInspect(t.Context(), box.ID()); err != nil || got.State.ExitCode != 0 {
		t.Errorf("the guest did not end by itself with its stream: %+v, error %v", got.State, err)
	}
	if err := direct.Raw().ContainerRemove(t.Context(), box.ID(), container.RemoveOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := engine.Boxes(t.Context()); !errors.As(err, &unavailable) {
		t.Errorf("list boxes without an engine: %v", err)
	}
}

// A proxy passes connections on to the engine's socket until it is cut.
type proxy struct {
	path     string
	listener net.Listener

	mu    sync.Mutex
	conns []net.Conn
	done  sync.WaitGroup
}

// newProxy starts a proxy to the engine at host, which must be on this machine.
func newProxy(t *testing.T, host string) *proxy {
	t.Helper()
	socket, local := strings.CutPrefix(host, "unix://")
	if !local {
		t.Fatalf("this test needs an engine behind a socket file, not %s", host)
	}
	p := &proxy{path: filepath.Join(t.TempDir(), "s")}
	var err error
	if p.listener, err = net.Listen("unix", p.path); err != nil {
		t.Fatal(err)
	}
	p.done.Go(func() {
		for {
			near, err := p.listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", socket)
			if err != nil {
				near.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, near, far)
			p.mu.Unlock()
			p.done.Go(func() { pass(near, far) })
			p.done.Go(func() { pass(far, near) })
		}
	})
	t.Cleanup(func() { p.cut(); p.done.Wait() })
	return p
}

// pass copies from one connection to the other, and passes on the end of the stream too.
func pass(from, to net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if _, writeErr := to.Write(buf[:n]); writeErr != nil || err != nil {
			_ = to.(*net.UnixConn).CloseWrite()
			return
		}
	}
}

// cut ends the proxy and all its connections.
func (p *proxy) cut() {
	p.listener.Close()
	os.Remove(p.path)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
}

func ExampleUnavailableError() {
	err := error(&sandbox.UnavailableError{
		Host: "unix:///var/run/docker.sock", Err: errors.New("connection refused"), Hint: "start Docker",
	})
	fmt.Println(err)
	// Output: no Docker engine at unix:///var/run/docker.sock: connection refused: start Docker
}

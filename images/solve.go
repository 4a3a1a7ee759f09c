package images

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"strings"
	"sync"
	"time"

	bk "github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/exporter/containerimage/exptypes"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/util/entitlements"
	"github.com/moby/buildkit/util/progress/progressui"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/tonistiigi/fsutil"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// enginePatience is how long a build waits for an engine that went away.
const enginePatience = 30 * time.Second

// A plan says what an image consists of, once the client that solves it is known.
//
// BuildKit calls it in the middle of a build: only then is it known what the engine can do, and for which processor it
// builds.
type plan func(ctx context.Context, c gateway.Client) (llb.State, ocispecs.ImageConfig, error)

// solve builds the image that p describes inside the engine and tags it ref, all or nothing: the engine sets the tag after
// the last layer is in place. mounts are the local sources that the plan may name. No frontend is involved: Go makes the
// plan here, and the engine gets nothing but LLB.
//
// When ctx ends, the build ends at once, and the error is the cause of ctx. The error of a broken step carries the end of
// that step's output. If an engine goes away, as it does when it restarts, solve waits for it.
func (b *Builder) solve(ctx context.Context, ref string, mounts map[string]fsutil.FS, p plan) error {
	err := b.build(ctx, ref, mounts, p)
	for wait := time.Second; wait <= enginePatience/2 && ctx.Err() == nil && status.Code(err) == codes.Unavailable; wait *= 2 {
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			err = b.build(ctx, ref, mounts, p)
		}
	}
	return err
}

// build is solve for an engine that stays.
func (b *Builder) build(ctx context.Context, ref string, mounts map[string]fsutil.FS, p plan) error {
	client, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	// The host's network is allowed for the build as a whole; the plan decides which steps use it.
	opt := bk.SolveOpt{
		Exports:             []bk.ExportEntry{{Type: "moby", Attrs: map[string]string{"name": ref}}},
		LocalMounts:         mounts,
		AllowedEntitlements: []string{string(entitlements.EntitlementNetworkHost)},
	}
	steps := func(ctx context.Context, c gateway.Client) (*gateway.Result, error) {
		state, config, err := p(ctx, c)
		if err != nil {
			return nil, err
		}
		res, err := evaluate(ctx, c, state)
		if err != nil {
			return nil, err
		}
		text, err := imageJSON(c, config)
		if err != nil {
			return nil, err
		}
		// An engine this old ignores the configuration as an attribute of its exporter.
		res.AddMeta(exptypes.ExporterImageConfigKey, text)
		return res, nil
	}
	// Both goroutines end with the build: the client closes the status when it is done, and the display follows it to the
	// end.
	tail := &logTail{}
	updates := make(chan *bk.SolveStatus)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		_, err := client.Build(gctx, opt, "agent", steps, updates)
		return err
	})
	group.Go(func() error { return b.show(ctx, b.watched(updates, stop), tail) })
	if err := group.Wait(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("build image %s: %w", ref, context.Cause(ctx))
		}
		return fmt.Errorf("build image %s: %w%s", ref, err, tail)
	}
	return nil
}

// idleFor is how long a build may go on while none of its steps is at work: the first one begins within seconds.
const idleFor = 2 * time.Minute

// watched passes on the messages from in. It stops the build if nothing is at work in it for too long: an engine that waits
// for itself still answers everything else, but never builds again.
func (b *Builder) watched(in <-chan *bk.SolveStatus, stop context.CancelCauseFunc) iter.Seq[*bk.SolveStatus] {
	return func(yield func(*bk.SolveStatus) bool) {
		atWork := map[digest.Digest]bool{}
		patience := cmp.Or(b.idle, idleFor)
		idle := time.NewTimer(patience)
		defer idle.Stop()
		for {
			select {
			case s, ok := <-in:
				if !ok {
					return
				}
				for _, v := range s.Vertexes {
					if delete(atWork, v.Digest); v.Started != nil && v.Completed == nil {
						atWork[v.Digest] = true
					}
				}
				idle.Reset(patience)
				if !yield(s) {
					return
				}
			case <-idle.C:
				if len(atWork) == 0 {
					stop(fmt.Errorf("the engine did nothing for %s, and may never build again: restart it (`systemctl restart docker`, or end dockerd and run `make setup`)", patience))
				}
				idle.Reset(patience)
			}
		}
	}
}

// dial opens BuildKit's API as the engine embeds it: no second daemon runs.
//
// The connection belongs to one build and is dialed with its context, which says for whom it is. The engine's own client
// carries it, so BuildKit is reached by the same route as the engine.
func (b *Builder) dial(ctx context.Context) (*bk.Client, error) {
	c, err := bk.New(ctx, "",
		bk.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			return b.engine.DialHijack(ctx, "/grpc", "h2c", nil)
		}),
		bk.WithSessionDialer(func(_ context.Context, proto string, meta map[string][]string) (net.Conn, error) {
			return b.engine.DialHijack(ctx, "/session", proto, meta)
		}))
	if err != nil {
		return nil, fmt.Errorf("dial BuildKit in the engine: %w", err)
	}
	return c, nil
}

// evaluate solves one state completely.
//
// Without Evaluate, BuildKit would defer the work until the export, and report a broken step as trouble with the export.
func evaluate(ctx context.Context, c gateway.Client, state llb.State) (*gateway.Result, error) {
	p, err := platform(c)
	if err != nil {
		return nil, err
	}
	def, err := state.Marshal(ctx, llb.Platform(p))
	if err != nil {
		return nil, fmt.Errorf("marshal build steps: %w", err)
	}
	return c.Solve(ctx, gateway.SolveRequest{Definition: def.ToPB(), Evaluate: true})
}

// platform returns the platform of the engine, which need not be that of this machine: the engine may be on another one. Its
// workers name the native platform first.
func platform(c gateway.Client) (ocispecs.Platform, error) {
	for _, w := range c.BuildOpts().Workers {
		if len(w.Platforms) > 0 {
			return w.Platforms[0], nil
		}
	}
	return ocispecs.Platform{}, errors.New("the engine's BuildKit names no platform to build for: use Docker 20.10 or newer")
}

// imageJSON returns the image's configuration in the form that the exporter expects; the exporter adds the layers itself.
func imageJSON(c gateway.Client, config ocispecs.ImageConfig) ([]byte, error) {
	p, err := platform(c)
	if err != nil {
		return nil, err
	}
	img := ocispecs.Image{Platform: p, Config: config, RootFS: ocispecs.RootFS{Type: "layers"}}
	return json.Marshal(img)
}

// show displays the progress from in until that is closed, and remembers the end of the log. It reads to the end even if ctx
// is done, since the sender waits for it.
func (b *Builder) show(ctx context.Context, in iter.Seq[*bk.SolveStatus], tail *logTail) error {
	ctx = context.WithoutCancel(ctx)
	out := make(chan *bk.SolveStatus)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return b.display(ctx, out) })
	for s := range in {
		tail.add(s)
		send(ctx, out, s) // or not, if the display has ended, as when its terminal is gone
	}
	close(out)
	if err := group.Wait(); err != nil {
		return fmt.Errorf("show build progress: %w", err)
	}
	return nil
}

// display draws the messages from ch as progressui always does: moving on a terminal, line by line elsewhere. Without a
// writer it only consumes them.
func (b *Builder) display(ctx context.Context, ch chan *bk.SolveStatus) error {
	if b.Progress == nil {
		for range ch { //nolint:revive // nobody wants to see it
		}
		return nil
	}
	held, going := hold(ch, b.quiet)
	if !going {
		return nil
	}
	d, err := progressui.NewDisplay(b.Progress, progressui.AutoMode)
	if err != nil {
		// Lines may go to a log to which other builds of this process are writing as well.
		d, err = progressui.NewDisplay(&lockedWriter{mu: &b.showing, w: b.Progress}, progressui.PlainMode)
	}
	if err != nil {
		return err
	}
	// The display takes one channel, so the messages that were held back go through it too, the oldest first.
	all := make(chan *bk.SolveStatus)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		_, err := d.UpdateFrom(ctx, all)
		return err
	})
	group.Go(func() error {
		defer close(all)
		for _, s := range held {
			if !send(ctx, all, s) {
				return nil
			}
		}
		for s := range ch {
			if !send(ctx, all, s) {
				return nil
			}
		}
		return nil
	})
	return group.Wait()
}

// quietFor is how long a build goes on before any of it is shown. The snapshot of a small workspace takes a fraction of
// that, before every run: a page of steps about it would push what matters off the screen.
const quietFor = 2 * time.Second

// hold takes messages from ch for that long. going is false if the build ended meanwhile; otherwise held is what to show
// first.
func hold(ch <-chan *bk.SolveStatus, d time.Duration) (held []*bk.SolveStatus, going bool) {
	// Without patience, everything is shown from the first step on.
	if d <= 0 {
		return nil, true
	}
	patience := time.NewTimer(d)
	defer patience.Stop()
	for {
		select {
		case s, ok := <-ch:
			if !ok {
				return nil, false
			}
			held = append(held, s)
		case <-patience.C:
			return held, true
		}
	}
}

// send passes s on, unless the display has ended.
func send(ctx context.Context, to chan<- *bk.SolveStatus, s *bk.SolveStatus) bool {
	select {
	case to <- s:
		return true
	case <-ctx.Done():
		return false
	}
}

// A lockedWriter lets concurrent builds share one writer. Lines of two builds may alternate, but a line is never broken up.
type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// tailBytes is how much of a broken step's output an error carries: some 20 lines.
const tailBytes = 2000

// A logTail keeps the end of each step's output, for the error of a step that breaks. The goroutine that reads the status
// writes it, and it is read after that goroutine has ended.
type logTail struct {
	logs   map[digest.Digest][]byte
	broken digest.Digest
}

// add takes in one status message. A broken step is recognized by its error, which comes after its last line.
func (t *logTail) add(s *bk.SolveStatus) {
	if t.logs == nil {
		t.logs = make(map[digest.Digest][]byte)
	}
	for _, l := range s.Logs {
		log := append(t.logs[l.Vertex], l.Data...)
		t.logs[l.Vertex] = log[max(0, len(log)-tailBytes):]
	}
	for _, v := range s.Vertexes {
		if v.Error != "" && len(t.logs[v.Digest]) > 0 {
			t.broken = v.Digest
		}
	}
}

// String returns "" if no step with output broke.
func (t *logTail) String() string {
	if t.broken == "" {
		return ""
	}
	return "\n" + strings.TrimSpace(string(t.logs[t.broken]))
}

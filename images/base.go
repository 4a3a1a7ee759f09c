package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

// pullTime bounds the question to a registry: where one answers it does so at once, and where none does nobody
// wants to wait.
const pullTime = 5 * time.Second

// ensureBase sees to it that the engine has the base: what is there already,
// else the registry's, else one made from Debian's packages. Why the registry is not there is said on
// progress, since a person may prefer to fix that.
//
// The caller holds the build lock: two bases made at once would differ, and one would be left over.
func (b *Builder) ensureBase(ctx context.Context, spec base) error {
	id, _, err := b.engine.ImageLabels(ctx, spec.ref())
	if err != nil {
		return fmt.Errorf("look for the base image: %w", err)
	}
	if id != "" {
		return nil
	}
	pullErr := b.pullBase(ctx, spec)
	if pullErr == nil || ctx.Err() != nil {
		return pullErr
	}
	b.sayf("no registry gave %s (%v); making the base from Debian's packages", spec.Image, pullErr)
	return b.bootstrapBase(ctx, spec)
}

// pullBase takes the registry's image and tags it as ours. The tag is set by a build of no steps, which
// shares the layers, because the specification's digest has to come with it.
func (b *Builder) pullBase(ctx context.Context, spec base) error {
	pctx, cancel := context.WithTimeout(ctx, pullTime)
	defer cancel()
	if err := b.engine.PullImage(pctx, spec.Image); err != nil {
		return err
	}
	return b.solve(ctx, spec.ref(), nil, func(context.Context, gateway.Client) (llb.State, ocispecs.ImageConfig, error) {
		return llb.Image(spec.Image, llb.ResolveModePreferLocal), ocispecs.ImageConfig{Labels: map[string]string{
			labelImage: "base", labelSpec: spec.digest,
		}}, nil
	})
}

// bootstrapBase makes the base with mmdebstrap, from the mirror that it takes by itself: which one is near is
// the machine's business. It needs no container and some 15 seconds. As root it works with chroot, for
// others it tries user namespaces. The smallest variant has what apt needs and no more.
func (b *Builder) bootstrapBase(ctx context.Context, spec base) error {
	program, err := exec.LookPath("mmdebstrap")
	if err != nil {
		return errors.New("no registry answers and mmdebstrap is not installed: run `apt-get install mmdebstrap` as root, " +
			"or pull " + spec.Image + " where there is a network")
	}
	// Through a file: a stream that breaks off could leave the engine with half an image.
	rootfs, err := os.CreateTemp("", "agent-base-*.tar")
	if err != nil {
		return fmt.Errorf("make a place for the base: %w", err)
	}
	defer rootfs.Close()
	// Without a name from now on: whatever ends this process, nothing is left.
	if err := os.Remove(rootfs.Name()); err != nil {
		return err
	}
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "--variant=minbase", "--format=tar",
		"--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/doc/*",
		"--dpkgopt=path-exclude=/usr/share/locale/*", spec.Suite, "-")
	// It takes its own temporary directory, with what it mounted there, away when it is interrupted; a kill would
	// leave both.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stdout = rootfs
	cmd.Stderr = io.MultiWriter(&log, b.progress())
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("make the base with mmdebstrap: %w", context.Cause(ctx))
		}
		return fmt.Errorf("make the base with mmdebstrap (it wants root and a network): %w\n%s", err, lastLines(log.String(), 8))
	}
	if _, err := rootfs.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := b.engine.ImportImage(ctx, rootfs, spec.ref()); err != nil {
		return fmt.Errorf("import the base: %w", err)
	}
	return nil
}

// progress is where to write lines that do not come from BuildKit; it is never nil.
func (b *Builder) progress() io.Writer {
	if b.Progress == nil {
		return io.Discard
	}
	return &lockedWriter{mu: &b.showing, w: b.Progress}
}

// sayf writes one line of progress. What becomes of it is of no consequence for
// the build.
func (b *Builder) sayf(format string, args ...any) {
	fmt.Fprintf(b.progress(), format+"\n", args...)
}

// lastLines returns the last n lines of s: where a program says why it ended.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

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

// pullTime bounds the request to a registry: one that answers does so at once, and otherwise waiting is pointless.
const pullTime = 5 * time.Second

// ensureBase makes sure that the engine has the base: the one that is there already, else the registry's, else one made from
// Debian's packages. It reports on progress why no registry gave it, since a person may prefer to fix that.
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
	b.sayf("no registry served %s (%v); building the base from Debian packages", spec.Image, pullErr)
	return b.bootstrapBase(ctx, spec)
}

// pullBase pulls the registry's image and tags it as the agent's base. A build without steps, which shares the layers, sets
// the tag, because the specification's digest must come with it.
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

// bootstrapBase makes the base with mmdebstrap, from the mirror that mmdebstrap selects: which one is near is the machine's
// business. It needs no container and some 15 seconds. As root it works with chroot; otherwise it tries user namespaces. The
// smallest variant has what apt needs and no more.
func (b *Builder) bootstrapBase(ctx context.Context, spec base) error {
	program, err := exec.LookPath("mmdebstrap")
	if err != nil {
		return errors.New("no registry answers and mmdebstrap is not installed: run `apt-get install mmdebstrap` as root, " +
			"or pull " + spec.Image + " where there is a network")
	}
	// It goes through a file: a stream that breaks off could leave the engine with half an image.
	rootfs, err := os.CreateTemp("", "agent-base-*.tar")
	if err != nil {
		return fmt.Errorf("create a file for the base: %w", err)
	}
	defer rootfs.Close()
	// The file has no name from now on: whatever ends this process, nothing is left.
	if err := os.Remove(rootfs.Name()); err != nil {
		return err
	}
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "--variant=minbase", "--format=tar",
		"--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/doc/*",
		"--dpkgopt=path-exclude=/usr/share/locale/*", spec.Suite, "-")
	// On an interrupt, mmdebstrap removes its temporary directory and what it mounted there; a kill would leave both.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stdout = rootfs
	cmd.Stderr = io.MultiWriter(&log, b.progress())
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("make the base with mmdebstrap: %w", context.Cause(ctx))
		}
		return fmt.Errorf("make the base with mmdebstrap (it needs root and a network): %w\n%s", err, lastLines(log.String(), 8))
	}
	if _, err := rootfs.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := b.engine.ImportImage(ctx, rootfs, spec.ref()); err != nil {
		return fmt.Errorf("import the base: %w", err)
	}
	return nil
}

// progress returns the writer for lines that do not come from BuildKit; it is never nil.
func (b *Builder) progress() io.Writer {
	if b.Progress == nil {
		return io.Discard
	}
	return &lockedWriter{mu: &b.showing, w: b.Progress}
}

// sayf writes one line of progress. Errors are ignored, since they do not matter to the build.
func (b *Builder) sayf(format string, args ...any) {
	fmt.Fprintf(b.progress(), format+"\n", args...)
}

// lastLines returns the last n lines of s, where a program says why it ended.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

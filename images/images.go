package images

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"agent/images/registries"
)

// Engine is what this package needs from a container engine. *sandbox.Engine implements it.
type Engine interface {
	// PruneBuildCache removes the records of the build cache whose IDs match a regular expression and which nothing uses.
	// Unless all is set, it leaves what an image shares.
	PruneBuildCache(ctx context.Context, ids string, all bool) error
	// DialHijack opens BuildKit's streams, as the Docker client's method does.
	DialHijack(ctx context.Context, url, proto string, meta map[string][]string) (net.Conn, error)
	Images
	// UserNamespaces reports whether containers have user namespaces of their own.
	UserNamespaces(ctx context.Context) (bool, error)
}

// Images is what this package asks an engine about images.
type Images interface {
	// ImageLabels returns the ID and labels of ref; id is "" when there is no such image.
	ImageLabels(ctx context.Context, ref string) (id string, labels map[string]string, err error)
	// ImagesLabelled returns the IDs of the images with this label ("key" or "key=value"), newest first.
	ImagesLabelled(ctx context.Context, label string) ([]string, error)
	// ImportImage makes an image of one layer from a tar of a root file system, with labels as "key=value".
	ImportImage(ctx context.Context, rootfs io.Reader, ref string, labels ...string) error
	// PullImage fetches ref from its registry; the context bounds how long.
	PullImage(ctx context.Context, ref string) error
	// RemoveImage removes an image by ID or tag; an image that is absent or in use is not an error.
	RemoveImage(ctx context.Context, ref string) error
}

// A Builder makes and finds the agent's images on one engine. It is safe for concurrent use.
type Builder struct {
	// Guest is the static guest program that goes into the toolchain image as /agent/guest.
	Guest []byte
	// Progress receives BuildKit's progress; nil discards it. A terminal gets
	// the moving display, anything else plain lines.
	Progress io.Writer

	engine  Engine
	host    registries.Host // whose settings say where packages come from
	showing sync.Mutex      // held while writing to Progress
	quiet   time.Duration   // how long a build goes on without display; see quietFor
	idle    time.Duration   // how long a build may do nothing, 0 for idleFor

	failures failureLog // of Install
}

// New returns a Builder on engine.
//
// guest may be nil if no toolchain is requested.
func New(engine Engine, guest []byte, progress io.Writer) *Builder {
	return &Builder{Guest: guest, Progress: progress, engine: engine, host: registries.Host{Getenv: os.Getenv, ReadFile: os.ReadFile}, quiet: quietFor}
}

// An Image is one built image.
type Image struct {
	ID       string            // sha256:…
	Ref      string            // the tag
	Versions map[string]string // tool to version, as recorded when it was built
	// Installed names what was installed on the toolchain, "" for nothing; see Install.
	Installed string
	// Report is what the installer could not do at once; see dependencies.Set.Told.
	Report string

	// links are the links that every snapshot on this image has, by path in the workspace.
	links map[string]string
}

// These are the names of the images that Ensure makes, besides Runtime.
const (
	Toolchain = "toolchain"
	Postgres  = "postgres"
)

// Ensure returns the image of that name. It builds the image, and what that stands on, if it is absent or older than its
// specification. With nothing to do it costs one inspect.
//
// When ctx ends, the build ends at once and leaves no tag. The error of a broken step carries the end of the step's output;
// if a program is missing on the host, the error says which one to install.
func (b *Builder) Ensure(ctx context.Context, name string) (Image, error) {
	r, err := load(name, b.Guest)
	if err != nil {
		return Image{}, err
	}
	return b.ensure(ctx, r)
}

// Find returns the image of that name without building. If none matches the specification, the error wraps ErrAbsent.
func (b *Builder) Find(ctx context.Context, name string) (Image, error) {
	r, err := load(name, b.Guest)
	if err != nil {
		return Image{}, err
	}
	return b.find(ctx, r)
}

// ErrAbsent means that an image has not been built yet.
var ErrAbsent = errors.New("image is absent")

// A File is one entry of a Tree.
type File struct {
	Path   string      // slash-separated, relative
	Mode   fs.FileMode // type (dir, symlink or regular) and permission bits
	Size   int64       // bytes
	Digest string      // hex SHA-256 of the content
	Target string      // of a symbolic link
}

// A Tree is the content of a snapshot.
type Tree interface {
	// Digest identifies the whole content.
	Digest() string
	// Files lists the entries sorted by path, parents before children.
	Files() []File
	// Open returns the content of a regular file; its reader returns an error if the bytes do not match the Digest.
	Open(path string) (io.ReadCloser, error)
}

// Snapshot returns an image of the toolchain, or of what Install made of it, with tree at /snapshot, owned by root and
// read-only for others. It is content-addressed: the same tree on the same toolchain is found, not built. workspace is a
// label (the absolute path) by which older snapshots are pruned.
//
// If a reader of tree fails, as when a file changed meanwhile, its error is wrapped, and nothing is tagged. If the
// toolchain's tag no longer names the image toolchain, the error wraps ErrAbsent: call Ensure again.
func (b *Builder) Snapshot(ctx context.Context, toolchain Image, tree Tree, workspace string) (Image, error) {
	return b.snapshot(ctx, toolchain, tree, workspace)
}

// Prune removes all but the newest keep snapshots of each workspace, dependencies, compiled packages and equipment without a
// snapshot on them, and toolchain and Postgres images that no specification names any more. It returns the IDs of what it
// removed. An image that a container uses, or that has a second tag, stays. What these images and workspaces left in the
// engine's build cache goes too.
func (b *Builder) Prune(ctx context.Context, keep int) ([]string, error) {
	return b.prune(ctx, keep)
}

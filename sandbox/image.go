package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
)

// An image that another process may be removing is inspected again: how many times, and with what pause between two tries.
const (
	inspectTries = 10
	inspectPause = 100 * time.Millisecond
)

// DialHijack opens a stream to the engine, such as BuildKit's /grpc and /session.
func (e *Engine) DialHijack(ctx context.Context, url, proto string, meta map[string][]string) (net.Conn, error) {
	conn, err := hijacked(ctx, url, func() (net.Conn, error) { return e.api.DialHijack(ctx, url, proto, meta) })
	if err != nil {
		return nil, e.wrap("open stream "+url, err)
	}
	return conn, nil
}

// ImageLabels returns the ID and labels of ref; id is "" when there is no such image.
func (e *Engine) ImageLabels(ctx context.Context, ref string) (id string, labels map[string]string, err error) {
	img, err := e.inspectImage(ctx, ref)
	if errdefs.IsNotFound(err) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, e.wrap("inspect image "+ref, err)
	}
	if img.Config != nil {
		labels = img.Config.Labels
	}
	return img.ID, labels, nil
}

// inspectImage asks again when the engine reports an internal error. While another process removes an image, the engine says that
// a layer does not exist; a moment later it says that there is no such image.
func (e *Engine) inspectImage(ctx context.Context, ref string) (img image.InspectResponse, err error) {
	for range inspectTries {
		if img, err = e.api.ImageInspect(ctx, ref); !errdefs.IsInternal(err) {
			return img, err
		}
		select {
		case <-ctx.Done():
			return img, ctx.Err()
		case <-time.After(inspectPause):
		}
	}
	return img, err
}

// ImagesLabelled returns the IDs of the images with this label ("key" or "key=value"), newest first.
func (e *Engine) ImagesLabelled(ctx context.Context, label string) ([]string, error) {
	// All includes images that have lost their tag and images that others are built on.
	list, err := e.api.ImageList(ctx, image.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label))})
	if err != nil {
		return nil, e.wrap("list images labelled "+label, err)
	}
	slices.SortStableFunc(list, func(a, b image.Summary) int { return cmp.Compare(b.Created, a.Created) })
	ids := make([]string, len(list))
	for i, img := range list {
		ids[i] = img.ID
	}
	return ids, nil
}

// PruneBuildCache removes the unused records of the build cache whose IDs match a regular expression. Unless all is set, it keeps
// what an image shares.
func (e *Engine) PruneBuildCache(ctx context.Context, ids string, all bool) error {
	// The engine matches the value of one such filter and accepts no second one.
	_, err := e.api.BuildCachePrune(ctx, build.CachePruneOptions{All: all, Filters: filters.NewArgs(filters.Arg("id", strconv.Quote(ids)))})
	if err != nil {
		return e.wrap("prune the build cache", err)
	}
	return nil
}

// ImportImage makes an image of one layer from a tar of a root file system, with labels as "key=value", and tags it ref.
func (e *Engine) ImportImage(ctx context.Context, rootfs io.Reader, ref string, labels ...string) error {
	source := image.ImportSource{Source: rootfs, SourceName: "-"}
	var options image.ImportOptions
	for _, l := range labels {
		options.Changes = append(options.Changes, "LABEL "+l)
	}
	progress, err := e.api.ImageImport(ctx, source, ref, options)
	if err != nil {
		return e.wrap("import image "+ref, err)
	}
	return e.wrap("import image "+ref, drain(progress))
}

// PullImage fetches ref from its registry; only ctx bounds the time.
func (e *Engine) PullImage(ctx context.Context, ref string) error {
	progress, err := e.api.ImagePull(ctx, ref, image.PullOptions{})
	if err != nil {
		return e.wrap("pull image "+ref, err)
	}
	return e.wrap("pull image "+ref, drain(progress))
}

// UserNamespaces reports whether the engine gives containers users of their own, as with userns-remap. It is false for an engine
// that as a whole runs without root.
func (e *Engine) UserNamespaces(ctx context.Context) (bool, error) {
	sys, err := e.api.Info(ctx)
	if err != nil {
		return false, e.wrap("ask the engine about itself", err)
	}
	return slices.Contains(sys.SecurityOptions, "name=userns"), nil
}

// TagImage tags an image with ref, taking the tag from the image that had it.
func (e *Engine) TagImage(ctx context.Context, image, ref string) error {
	return e.wrap("tag image "+ref, e.api.ImageTag(ctx, image, ref))
}

// RemoveImage removes an image by ID or tag. An image that is absent or in use is not an error. An ID loses all its tags.
func (e *Engine) RemoveImage(ctx context.Context, ref string) error {
	_, err := e.api.ImageRemove(ctx, ref, image.RemoveOptions{PruneChildren: true})
	if errdefs.IsConflict(err) {
		err = e.removeTags(ctx, ref)
	}
	if err == nil || errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil
	}
	// Of two simultaneous removals, the engine tells one that the ID is unrecognized, which is a different error.
	if _, gone := e.inspectImage(ctx, ref); errdefs.IsNotFound(gone) {
		return nil
	}
	return e.wrap("remove image "+ref, err)
}

// removeTags removes an image that is named by ID and has several tags. The engine wants the tags removed one by one, unless
// forced, and force would also remove the image of a stopped container.
func (e *Engine) removeTags(ctx context.Context, id string) error {
	img, err := e.inspectImage(ctx, id)
	if err != nil || img.ID != id || len(img.RepoTags) < 2 {
		return err
	}
	for _, tag := range img.RepoTags {
		if _, err := e.api.ImageRemove(ctx, tag, image.RemoveOptions{PruneChildren: true}); err != nil {
			return err
		}
	}
	return nil
}

// drain reads the engine's progress messages to the end and returns the error among them. The HTTP status does not show it: it
// was sent long before a pull goes wrong.
func drain(progress io.ReadCloser) error {
	defer progress.Close()
	messages := json.NewDecoder(progress)
	for {
		var message struct {
			Error string `json:"error"`
		}
		if err := messages.Decode(&message); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the engine's progress: %w", err)
		}
		if message.Error != "" {
			return errors.New(message.Error)
		}
	}
}

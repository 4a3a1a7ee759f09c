package images

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/tonistiigi/fsutil"

	"agent/sandbox/guest/sealed"
)

// These are the labels of a snapshot.
const (
	labelSnapshot  = "agent.snapshot"  // digest of the tree
	labelWorkspace = "agent.workspace" // where it was taken
	labelTaken     = "agent.taken"     // when, in RFC 3339 with nanoseconds
)

// keepSnapshots is how many snapshots of one workspace Snapshot keeps: the new one, and the one before, on which boxes of a
// run may still be starting.
const keepSnapshots = 2

// snapshotRef returns the tag of a snapshot. The tag depends on the toolchain as well as the tree, so that nothing is ever
// proved with yesterday's tools, and on what the tree links to. It also depends on the workspace, so that what is cleared
// away for one is not in use for another with the same files.
func snapshotRef(toolchain Image, tree Tree, workspace string) string {
	return "agent-snapshot:" + hash([]byte(toolchain.ID + "\n" + toolchain.Installed + "\n" + tree.Digest() + "\n" + workspace))[:24]
}

// snapshot finds the snapshot of tree or builds it, and then removes what it has replaced. Finding costs one inspect.
// Building costs some 0.2 s for a small workspace and reads all of a large one, whatever has changed: under a new key, every
// byte differs. Small changes need no build; see Near.
func (b *Builder) snapshot(ctx context.Context, toolchain Image, tree Tree, workspace string) (Image, error) {
	ref := snapshotRef(toolchain, tree, workspace)
	img, err := b.findSnapshot(ctx, toolchain, tree, workspace)
	if !errors.Is(err, ErrAbsent) {
		return img, err
	}
	// One build at a time for a workspace: the second of two equal ones finds the image of the first. A few locks serve all
	// workspaces, so that temporary directories do not leave one each.
	unlock, err := lock(ctx, "snapshot-"+hash([]byte(workspace))[:1])
	if err != nil {
		return Image{}, err
	}
	defer unlock()
	img, err = b.findSnapshot(ctx, toolchain, tree, workspace)
	if !errors.Is(err, ErrAbsent) {
		return img, err
	}
	labels, err := b.toolchainLabels(ctx, toolchain)
	if err != nil {
		return Image{}, err
	}
	labels[labelSnapshot] = tree.Digest()
	labels[labelWorkspace] = workspace
	labels[labelTaken] = time.Now().UTC().Format(time.RFC3339Nano)
	labels[sealed.Label] = sealed.NewKey()
	packs, err := seal(withLinks(tree, toolchain.links), labels[sealed.Label])
	if err != nil {
		return Image{}, fmt.Errorf("take the snapshot of %s: %w", workspace, err)
	}
	source := workspaceSource(workspace)
	if err := b.freeze(ctx, ref, source, packs, snapshotPlan(toolchain, labels, source)); err != nil {
		return Image{}, fmt.Errorf("take the snapshot of %s: %w", workspace, err)
	}
	img, err = b.findSnapshot(ctx, toolchain, tree, workspace)
	if err != nil {
		return Image{}, err
	}
	if _, err := b.pruneSnapshots(ctx, labelWorkspace+"="+workspace, keepSnapshots, img.ID); err != nil {
		return Image{}, err
	}
	return img, b.dropTransfer(ctx, source)
}

// freeze builds the snapshot, and ends with the first error of the tree's readers, which BuildKit would pass on as mere
// text, if at all.
func (b *Builder) freeze(ctx context.Context, ref, source string, packs Tree, p plan) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	files := newTreeFS(packs)
	files.broke = cancel
	err := b.solve(ctx, ref, map[string]fsutil.FS{source: files}, p)
	if readErr := files.firstError(); readErr != nil && err == nil {
		return readErr // cannot happen: an error ends the transfer before the copy
	}
	return err
}

// findSnapshot returns the snapshot of tree, if there is one. The snapshot has the versions of the toolchain below it, which
// the tag also identifies.
func (b *Builder) findSnapshot(ctx context.Context, toolchain Image, tree Tree, workspace string) (Image, error) {
	ref := snapshotRef(toolchain, tree, workspace)
	id, labels, err := b.engine.ImageLabels(ctx, ref)
	if err != nil {
		return Image{}, fmt.Errorf("look for the snapshot: %w", err)
	}
	if id == "" || labels[labelSnapshot] != tree.Digest() {
		return Image{}, fmt.Errorf("snapshot %s: %w", ref, ErrAbsent)
	}
	return Image{ID: id, Ref: ref, Versions: toolchain.Versions, Installed: toolchain.Installed}, nil
}

// toolchainLabels returns the labels that a snapshot takes over. It first checks that the toolchain's tag, by which BuildKit
// finds it, still names the image that the caller means.
func (b *Builder) toolchainLabels(ctx context.Context, toolchain Image) (map[string]string, error) {
	id, labels, err := b.engine.ImageLabels(ctx, toolchain.Ref)
	if err != nil {
		return nil, fmt.Errorf("look for the toolchain image: %w", err)
	}
	if id == "" || id != toolchain.ID {
		return nil, fmt.Errorf("toolchain image %s is not the one that was found before: %w: run `agent images build`", toolchain.Ref, ErrAbsent)
	}
	labels = maps.Clone(labels)
	// These mark an image as one of the agent's own; a snapshot is not one, and other rules prune it.
	delete(labels, labelImage)
	delete(labels, labelSpec)
	if labels == nil {
		labels = make(map[string]string)
	}
	return labels, nil
}

// snapshotPlan puts the local source of the workspace at /snapshot. No frontend takes part: whatever the workspace contains,
// even a Dockerfile or a .dockerignore, is content and nothing else.
func snapshotPlan(toolchain Image, labels map[string]string, source string) plan {
	return func(context.Context, gateway.Client) (llb.State, ocispecs.ImageConfig, error) {
		root := llb.Image(toolchain.Ref, llb.ResolveModePreferLocal,
			llb.WithCustomName("[snapshot] take "+toolchain.Ref))
		root = copyIn(root, source, "/snapshot", copyMark(source), "[snapshot] freeze the workspace")
		return root, ocispecs.ImageConfig{
			User: installer, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, WorkingDir: "/work", Labels: labels,
		}, nil
	}
}

// workspaceSource names the local source of a workspace. The engine keeps the name, not the path.
func workspaceSource(workspace string) string {
	return sourcePrefix + hash([]byte(workspace))[:24]
}

// sourcePrefix starts the name of every workspace's local source, and of nothing else on the engine.
const sourcePrefix = "agent-workspace-"

// copyMark returns the word that identifies the copies of a source in the engine's cache.
func copyMark(source string) string { return "copy-of-" + source }

// A shot is one snapshot on the engine, as pruning sees it.
type shot struct{ id, workspace, taken string }

// snapshots lists the snapshots on the engine, newest first by their own labels: the engine's creation time of an image has
// whole seconds and may be that of a cached layer.
func (b *Builder) snapshots(ctx context.Context, label string) ([]shot, error) {
	ids, err := b.engine.ImagesLabelled(ctx, label)
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	var shots []shot
	for _, id := range ids {
		got, labels, err := b.engine.ImageLabels(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("inspect snapshot %.19s: %w", id, err)
		}
		if got != "" && labels[labelSnapshot] != "" {
			shots = append(shots, shot{id, labels[labelWorkspace], labels[labelTaken]})
		}
	}
	slices.SortStableFunc(shots, func(a, b shot) int { return strings.Compare(b.taken, a.taken) })
	return shots, nil
}

// pruneSnapshots removes all but the newest keep snapshots of each workspace among those with this label. It never removes
// the image spare, the one just made, which must survive a clock that was set back. It returns those that are really gone.
func (b *Builder) pruneSnapshots(ctx context.Context, label string, keep int, spare string) ([]string, error) {
	return b.dropSnapshots(ctx, label, func(s shot, newer int) bool { return newer >= keep && s.id != spare })
}

// PruneSnapshots removes all but the newest snapshots of each workspace; keep, called with the absolute path, says how many
// stay. Unlike Prune it leaves the toolchain and Postgres images alone, which another installation on this engine may need.
// It returns what it removed. A snapshot that a box uses stays.
func (b *Builder) PruneSnapshots(ctx context.Context, keep func(workspace string) int) ([]string, error) {
	return b.dropSnapshots(ctx, labelSnapshot, func(s shot, newer int) bool { return newer >= keep(s.workspace) })
}

// dropSnapshots removes the snapshots for which drop returns true; newer is how many of the same workspace are newer.
func (b *Builder) dropSnapshots(ctx context.Context, label string, drop func(s shot, newer int) bool) ([]string, error) {
	shots, err := b.snapshots(ctx, label)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]int)
	var removed []string
	for _, s := range shots {
		newer := seen[s.workspace]
		seen[s.workspace]++
		if !drop(s, newer) {
			continue
		}
		gone, err := b.remove(ctx, s.id)
		if err != nil {
			return removed, err
		}
		removed = append(removed, gone...)
	}
	return removed, nil
}

// prune does the work of Prune. The order matters: a toolchain cannot go while a snapshot stands on it, and only when both
// are gone is their part of the engine's cache free.
func (b *Builder) prune(ctx context.Context, keep int) ([]string, error) {
	removed, err := b.pruneSnapshots(ctx, labelSnapshot, max(keep, 0), "")
	if err != nil {
		return removed, err
	}
	for _, label := range []string{labelEquipment, labelCompiled, labelDependencies} {
		gone, err := b.pruneUnused(ctx, label)
		removed = append(removed, gone...)
		if err != nil {
			return removed, err
		}
	}
	for _, name := range []string{Toolchain, Postgres} {
		gone, err := b.pruneOutdated(ctx, name)
		removed = append(removed, gone...)
		if err != nil {
			return removed, err
		}
	}
	left, err := b.snapshots(ctx, labelSnapshot)
	if err != nil {
		return removed, err
	}
	live := make(map[string]bool)
	for _, s := range left {
		live[workspaceSource(s.workspace)] = true
	}
	return removed, b.dropLeftovers(ctx, live)
}

// pruneOutdated removes the images of that name that were made from another specification, such as those of an older agent,
// or with another guest. If the newest of them is wanted again, it is rebuilt from the cache in seconds.
func (b *Builder) pruneOutdated(ctx context.Context, name string) ([]string, error) {
	r, err := load(name, b.Guest)
	if err != nil {
		return nil, err
	}
	ids, err := b.engine.ImagesLabelled(ctx, labelImage+"="+name)
	if err != nil {
		return nil, fmt.Errorf("list %s images: %w", name, err)
	}
	var removed []string
	for _, id := range ids {
		_, labels, err := b.engine.ImageLabels(ctx, id)
		if err != nil {
			return removed, fmt.Errorf("inspect image %.19s: %w", id, err)
		}
		if labels[labelSpec] == r.digest {
			continue
		}
		gone, err := b.remove(ctx, id)
		if err != nil {
			return removed, err
		}
		removed = append(removed, gone...)
	}
	return removed, nil
}

// remove removes an image and returns its ID if it is gone: one that a container uses stays.
func (b *Builder) remove(ctx context.Context, id string) ([]string, error) {
	if err := b.engine.RemoveImage(ctx, id); err != nil {
		return nil, fmt.Errorf("remove image %.19s: %w", id, err)
	}
	left, _, err := b.engine.ImageLabels(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("check that image %.19s is gone: %w", id, err)
	}
	if left != "" {
		return nil, nil
	}
	return []string{id}, nil
}

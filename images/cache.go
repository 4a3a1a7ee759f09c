package images

import (
	"context"
	"fmt"
	"slices"
	"strings"

	bk "github.com/moby/buildkit/client"
)

// dropTransfer removes what the transfer of this source left in the engine's build cache: what was sent, and the copies of
// it. Nothing would use it again: under another key every byte differs, and an equal tree is found by its tag. But an engine
// this old never cleans its cache, so every snapshot would stay on disk forever.
func (b *Builder) dropTransfer(ctx context.Context, source string) error {
	client, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	// The mark of the source's copies contains its name too. All includes records that an image shares. The image keeps its
	// layers.
	return b.pruneCache(ctx, client, source, true)
}

// dropLeftovers removes from the engine's build cache what is left of the agent's own images that are gone, and of
// workspaces that are not in live, which holds the names of sources. It does not touch records of the user's builds: it
// selects records by names that only this package gives (sourcePrefix, copyMark, stepMark).
//
// A workspace whose first snapshot is being taken right now has no snapshot yet, but its source is in use, and what is in
// use stays.
func (b *Builder) dropLeftovers(ctx context.Context, live map[string]bool) error {
	client, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	usage, err := client.DiskUsage(ctx, bk.WithFilter([]string{"description~=" + sourcePrefix}))
	if err != nil {
		return fmt.Errorf("list the engine's build cache: %w", err)
	}
	for _, u := range usage {
		_, source, ok := strings.Cut(u.Description, "local source for ")
		if !ok || !strings.HasPrefix(source, sourcePrefix) || live[source] {
			continue
		}
		// The mark of the source's copies contains its name too.
		if err := b.pruneCache(ctx, client, source, true); err != nil {
			return err
		}
	}
	// Without All, the steps of existing images stay.
	return b.pruneCache(ctx, client, stepMark, false)
}

// mostPruned bounds how many records one request prunes, since its address contains their IDs.
const mostPruned = 100

// pruneCache removes the records of the engine's build cache whose description contains word and which nothing uses now. Unless
// all is set, it leaves what an image shares.
//
// It lists the records first, because the engine knows descriptions when it lists but only IDs when it prunes: there it accepts a
// filter on anything else, which matches nothing.
//
// BuildKit's own call is not used. If an engine before 23 loses its caller, as when the agent is killed, that call waits forever
// while it holds the lock of the cache, and nothing builds on that engine again. The engine's call reads everything by itself.
func (b *Builder) pruneCache(ctx context.Context, client *bk.Client, word string, all bool) error {
	usage, err := client.DiskUsage(ctx, bk.WithFilter([]string{"description~=" + word}))
	if err != nil {
		return fmt.Errorf("list the engine's build cache: %w", err)
	}
	for some := range slices.Chunk(usage, mostPruned) {
		var ids []string
		for _, u := range some {
			ids = append(ids, u.ID)
		}
		if err := b.engine.PruneBuildCache(ctx, "^(?:"+strings.Join(ids, "|")+")$", all); err != nil {
			return fmt.Errorf("prune the engine's build cache: %w", err)
		}
	}
	return nil
}

// Marks returns the labels of all images that this package makes.
func Marks() []string {
	return []string{labelSnapshot, labelDependencies, labelEquipment, labelCompiled, labelProgram, labelImage}
}

// Forget removes from the engine's build cache what the agent's own images and workspaces, which are gone, left there.
func (b *Builder) Forget(ctx context.Context) error {
	if err := b.dropLeftovers(ctx, nil); err != nil {
		return err
	}
	client, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	return b.pruneCache(ctx, client, stepMark, true)
}

package images

import (
	"context"
	"fmt"
	"slices"
	"strings"

	bk "github.com/moby/buildkit/client"
)

// dropTransfer takes away what the transfer of this source left in the engine's build cache: what was sent, and
// the copies of it. Nothing would use it again: under another key every byte is another, and an equal tree is found by
// its tag. But an engine of this age never cleans its cache, so every snapshot would stay on disk for ever.
func (b *Builder) dropTransfer(ctx context.Context, source string) error {
	client, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	// The source's name is in the mark of its copies too. All means those that an image
	// shares as well. The image keeps its layers.
	return b.pruneCache(ctx, client, source, true)
}

// dropLeftovers takes away what the agent's own images that are gone, and workspaces that are not in live,
// left in the engine's build cache. What the user's builds have there is not touched: records are selected by
// the names that only this package gives (sourcePrefix, copyMark, stepMark). live has the names of sources.
//
// A workspace whose first snapshot is being taken at this moment has no
// snapshot yet, but its source is in use, and what is in use stays.
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
		// The source's name is in the mark of its copies too.
		if err := b.pruneCache(ctx, client, source, true); err != nil {
			return err
		}
	}
	// Without All the steps of the images that are there stay.
	return b.pruneCache(ctx, client, stepMark, false)
}

// mostPruned is how many records one request prunes: their IDs stand in its address.
const mostPruned = 100

// pruneCache removes the records of the engine's build cache whose description has word in it and that nothing
// uses now. Without all what an image shares is left.
//
// It asks for them first, because the engine knows descriptions when it lists but only IDs when it prunes: a
// filter on anything else is accepted there and matches nothing.
//
// BuildKit's own call is not used: where an engine before 23 loses who called it, as when we are killed, it waits
// for ever with the lock of its cache held, and nobody builds on it again. The engine's call reads all by itself.
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

// Marks are the labels of all images that this package makes.
func Marks() []string {
	return []string{labelSnapshot, labelDependencies, labelEquipment, labelCompiled, labelProgram, labelImage}
}

// Forget takes away what the agent's own images and workspaces, which are gone, left in the engine's build cache.
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

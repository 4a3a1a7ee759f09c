package images

import (
	"context"
	"fmt"
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
	return pruneCache(ctx, client, source, bk.PruneAll)
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
		if err := pruneCache(ctx, client, source, bk.PruneAll); err != nil {
			return err
		}
	}
	// Without All the steps of the images that are there stay.
	return pruneCache(ctx, client, stepMark)
}

// pruneCache removes the records of the engine's build cache whose description has word in it and that nothing
// uses now. Without bk.PruneAll what an image shares is left.
//
// It asks for them first, because the engine knows descriptions when it lists but only IDs when it prunes: a
// filter on anything else is accepted there and matches nothing.
func pruneCache(ctx context.Context, client *bk.Client, word string, opts ...bk.PruneOption) error {
	usage, err := client.DiskUsage(ctx, bk.WithFilter([]string{"description~=" + word}))
	if err != nil {
		return fmt.Errorf("list the engine's build cache: %w", err)
	}
	var ids []string
	for _, u := range usage {
		ids = append(ids, "id=="+u.ID)
	}
	if len(ids) == 0 {
		return nil
	}
	if err := client.Prune(ctx, nil, append(opts, bk.WithFilter(ids))...); err != nil {
		return fmt.Errorf("prune the engine's build cache: %w", err)
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
	return pruneCache(ctx, client, stepMark, bk.PruneAll)
}

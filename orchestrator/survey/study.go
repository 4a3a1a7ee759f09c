package survey

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"agent/orchestrator/ledger"
	"agent/sandbox/workspace"
)

// Study brings the ledger of a workspace up to date with base and returns it. If nothing has changed, it needs no
// engine.
//
// found, which may be nil, receives the ripples of the changes before they are recorded: if it returns an error, or the
// process dies, the next study finds the same ripples again. A file of which nothing was known concerns nobody, so a
// first study finds none; it is recorded part by part, and continues where it was interrupted.
//
// A file that changes while it is read keeps its known state. Errors come from the engine, the store and found.
func (a *Analyst) Study(ctx context.Context, base *workspace.Manifest, found func([]ledger.Ripple) error) (*ledger.Ledger, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	scanner, sums, err := a.sums(ctx, base.Root)
	if err != nil {
		return nil, err
	}
	fresh, changed, gone := differences(base, sums)
	// A process that has just started reads its record while the box starts.
	var book *ledger.Ledger
	var lost error
	var recalling sync.WaitGroup
	recalling.Go(func() { book, lost = a.recall(ctx, base.Root, scanner, sums) })
	s := &scan{Analyst: a, base: base, scanner: scanner, total: len(fresh) + len(changed)}
	files, again, err := s.all(ctx, fresh, changed)
	a.closing.Go(func() {
		if err := s.close(); err != nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.left = append(a.left, err)
		}
	})
	recalling.Wait()
	if err = cmp.Or(err, lost); err != nil {
		return nil, err
	}
	if len(files)+len(again)+len(gone) == 0 {
		return book, nil
	}
	// One update for everything, or a function that moved would look deleted.
	ripples := book.Update(append(files, again...), gone)
	if len(ripples) > 0 && found != nil {
		if err := found(ripples); err != nil {
			return nil, err
		}
	}
	return book, a.save(ctx, base.Root, scanner, again, gone)
}

// differences compares the regular files of base with the digests of the record: which files are new, which changed and
// which are gone.
func differences(base *workspace.Manifest, sums map[string]string) (fresh, changed []workspace.Entry, gone []string) {
	left := maps.Clone(sums)
	for _, e := range base.Entries {
		if e.Kind != workspace.File {
			continue
		}
		sum, known := sums[e.Path]
		delete(left, e.Path)
		switch {
		case !known:
			fresh = append(fresh, e)
		case sum != e.Digest:
			changed = append(changed, e)
		}
	}
	return fresh, changed, slices.Sorted(maps.Keys(left))
}

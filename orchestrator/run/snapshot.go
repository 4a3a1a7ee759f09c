package run

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"agent/images"
	"agent/sandbox/workspace"
)

// When a snapshot is made anew behind a run, though boxes could still be started
// from the earlier one: a run that has to wait for it is then the exception.
const (
	// renewFiles and renewBytes are how far a workspace may be from its snapshot
	// before, a quarter of what images.Near allows.
	renewFiles = 64
	renewBytes = 2 << 20
	// renewFor bounds how long that may take, and so how long a process may stay
	// that has nothing else to do.
	renewFor = 10 * time.Second
	// renewEntries is the size of a workspace, in entries, from which on that
	// would not be enough.
	renewEntries = 20_000
)

// A stage is the frozen workspace that the candidates of a run are judged on.
type stage struct {
	base *workspace.Manifest
	// image holds the base, or an earlier state that delta makes the base of.
	image, installed, tools images.Image
	delta                   *workspace.Changeset
	dependencies            images.Dependencies
}

// snapshot finds the snapshot of the base, or that of an earlier state from which
// the base differs by little, or makes it.
func (st *stage) snapshot(ctx context.Context, builder Snapshotter) error {
	image, d, err := builder.Near(ctx, st.installed, tree{st.base}, func() images.Tree {
		if earlier := workspace.Frozen(st.base.Root); earlier != nil {
			return tree{earlier}
		}
		return nil
	})
	if err == nil {
		st.image = image
		st.delta, err = overlay(st.base, d)
	}
	if errors.Is(err, images.ErrAbsent) {
		err = st.freeze(ctx, builder)
	}
	return err
}

// freeze makes the snapshot of the base, and has it known to later runs.
func (st *stage) freeze(ctx context.Context, builder Snapshotter) (err error) {
	st.image, err = builder.Snapshot(ctx, st.installed, tree{st.base}, st.base.Root)
	if err == nil {
		st.base.KeepFrozen()
	}
	return err
}

// overlay reads what a difference brings, nil for nothing. The bytes come from the
// host's own files, and are those of the manifest.
func overlay(base *workspace.Manifest, d images.Delta) (*workspace.Changeset, error) {
	if len(d.Delete)+len(d.Write) == 0 {
		return nil, nil
	}
	cs := &workspace.Changeset{}
	for _, name := range d.Delete {
		// What is there still was left out of the scan, as a secret may be: the
		// boxes must not find it in the earlier snapshot.
		if _, err := os.Lstat(filepath.Join(base.Root, name)); !errors.Is(err, fs.ErrNotExist) {
			return nil, images.ErrAbsent
		}
		cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Delete, Path: name})
	}
	for _, f := range d.Write {
		content, err := base.ReadFile(f.Path)
		if err != nil {
			return nil, err
		}
		cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Create, Path: f.Path, After: content, Mode: f.Mode.Perm()})
	}
	return cs, nil
}

// outgrown reports whether the next run should find another snapshot.
func (st *stage) outgrown() bool {
	if st.delta == nil || len(st.base.Entries) > renewEntries {
		return false
	}
	size := 0
	for _, c := range st.delta.Changes {
		size += len(c.After)
	}
	return len(st.delta.Changes) > renewFiles || size > renewBytes
}

// renew makes the snapshot of the workspace as it is by now, on what is installed
// already. It saves the next run time: what goes wrong is tried again then.
func (st *stage) renew(ctx context.Context, builder Snapshotter, req Request) {
	now, err := workspace.Rescan(ctx, st.base.Root, req.Exclude, workspace.Limits{})
	if err != nil {
		return
	}
	next := stage{base: now, installed: st.installed}
	if wanted, err := DependenciesOf(now, req); err != nil || !wanted.Equal(st.dependencies) {
		return
	}
	_ = next.freeze(ctx, builder)
}

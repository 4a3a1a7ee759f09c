package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agent/images"
	"agent/images/dependencies"
	"agent/sandbox/workspace"
	"agent/verify"
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
	dependencies            dependencies.Set
}

// manyFiles is the size of a workspace, in entries, from which on its snapshot
// takes long enough to be announced.
const manyFiles = 5000

// freeze scans the workspace and makes the snapshot. A workspace that changes
// while it is read is scanned again. scanned, when not nil, is called with
// every scan, since what it makes of one must come from the same bytes; it
// may end the run before anything is built.
func (f *flight) freeze(ctx context.Context, req Request, scanned func(*workspace.Manifest) *Ending) (stage, *Ending) {
	stop := func(e Ending) (stage, *Ending) { return stage{}, &e }
	// An editor that saves while the scan reads is common; one that never stops
	// is not. After the last try the change is reported as it is.
	for try := 1; ; try++ {
		base, err := f.scan(ctx, req)
		if err != nil {
			return stop(f.unread(ctx, "scan the workspace", err))
		}
		if text := leftOut(base.Skipped); text != "" && try == 1 {
			f.emit(Event{Note: text})
		}
		if scanned != nil {
			if end := scanned(base); end != nil {
				return stop(*end)
			}
		}
		tools, err := f.Images.Ensure(ctx, images.Toolchain)
		if err != nil {
			return stop(endWith(Failed, f.trouble(ctx, "build the toolchain image", err)))
		}
		if n := len(base.Entries); n > manyFiles {
			f.emit(Event{Note: fmt.Sprintf("freeze %d files; an unchanged workspace is found again", n)})
		}
		f.beside.Go(func() { verify.Survey(base, req.Config) })
		st := stage{base: base, tools: tools}
		act, err := st.build(ctx, f.Images, req, func(note string) { f.emit(Event{Note: note}) })
		var changed *workspace.ChangedError
		if errors.As(err, &changed) && try < rescans {
			f.emit(Event{Note: changed.Error() + "; scanning again"})
			continue
		}
		if err != nil {
			return stop(endWith(Failed, f.trouble(ctx, act, err)))
		}
		if st.outgrown() {
			f.renew = func(ctx context.Context) { st.renew(ctx, f.Images, req) }
		}
		f.recording = func(ctx context.Context) error { return f.keep(ctx, req, st) }
		return st, nil
	}
}

// leftOut says what of the workspace no gate will see, unless everybody
// expects that of it; "" for nothing.
func leftOut(skipped []workspace.Skip) string {
	const most = 5
	var named []string
	n := 0
	for _, s := range skipped {
		if s.Quiet {
			continue
		}
		if n++; n <= most {
			named = append(named, s.Path+" ("+s.Reason+")")
		}
	}
	if n == 0 {
		return ""
	}
	text := "left out of the snapshot: " + strings.Join(named, ", ")
	if n > most {
		text += fmt.Sprintf(" and %d more", n-most)
	}
	return text
}

// snapshot finds the snapshot of the base, or that of an earlier state from which
// the base differs by little, or makes it.
func (st *stage) snapshot(ctx context.Context, builder Snapshotter) error {
	image, d, err := builder.Near(ctx, st.installed, tree{st.base}, st.base.Root, func() images.Tree {
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

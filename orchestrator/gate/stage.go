package gate

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
)

// These bounds decide when a snapshot is made anew behind a run although boxes could still be started from the earlier one. It then
// rarely happens that a run has to wait for it.
const (
	// renewFiles and renewBytes are how far a workspace may be from its snapshot before that: a quarter of what images.Near allows.
	renewFiles = 64
	renewBytes = 2 << 20
	// renewFor bounds how long that may take, and so how long a process stays that has nothing else to do.
	renewFor = 10 * time.Second
	// renewEntries is the number of entries above which a workspace would need longer than that.
	renewEntries = 20_000
)

// A Stage is a frozen workspace on which candidates are judged.
type Stage struct {
	Base *workspace.Manifest
	// Tools is the image with the tools. Image holds the base, or an earlier state that Delta turns into the base; Delta is nil if
	// there is no difference.
	Tools, Image images.Image
	Delta        *workspace.Changeset

	// Dependencies is what was installed of the base's dependencies.
	Dependencies Installed

	installed    images.Image
	dependencies dependencies.Set
}

// A StepError says at which step of freezing something went wrong.
type StepError struct {
	// Act is the step: "make the snapshot".
	Act string
	Err error
}

// Error returns the error, prefixed with the step.
func (e *StepError) Error() string { return e.Act + ": " + e.Err.Error() }

// Unwrap returns the error without the step.
func (e *StepError) Unwrap() error { return e.Err }

// Freeze installs the dependencies of base on the image with the tools, and makes the snapshot on that. It uses the snapshot of an
// earlier state if the base differs little from it. The error is a *StepError.
func (g *Gate) Freeze(ctx context.Context, tools images.Image, base *workspace.Manifest) (Stage, error) {
	st, err := g.install(ctx, tools, base)
	if err == nil {
		if err = st.snapshot(ctx, g.Images); err != nil {
			err = &StepError{"make the snapshot", err}
		}
	}
	return st, err
}

// FreezeWhole is like Freeze for a workspace that is seen only once: it looks for no earlier state, and does not offer this one to
// later calls.
func (g *Gate) FreezeWhole(ctx context.Context, tools images.Image, base *workspace.Manifest) (Stage, error) {
	st, err := g.install(ctx, tools, base)
	if err == nil {
		if st.Image, err = g.Images.Snapshot(ctx, st.installed, tree{base}, base.Root); err != nil {
			err = &StepError{"make the snapshot", err}
		}
	}
	return st, err
}

// Equip returns the snapshot of a stage on the image that equip makes from its image with the dependencies. It is for a workbench, in
// which nothing is judged.
func (g *Gate) Equip(ctx context.Context, st Stage, equip func(ctx context.Context, on images.Image) (images.Image, error)) (images.Image, error) {
	on, err := equip(ctx, st.installed)
	if err != nil {
		return images.Image{}, err
	}
	// The name is its own, so that it does not displace the snapshot on which boxes are started.
	return g.Images.Snapshot(ctx, on, tree{st.Base}, st.Base.Root+"/.agent/exec")
}

// install returns the stage of base without its snapshot.
func (g *Gate) install(ctx context.Context, tools images.Image, base *workspace.Manifest) (st Stage, err error) {
	st = Stage{Base: base, Tools: tools}
	if st.dependencies, err = DependenciesOf(base, g.Rules); err != nil {
		return st, &StepError{"read the workspace's dependencies", err}
	}
	// Announced before it begins: the first time may take minutes.
	g.announce(ctx, tools, st.dependencies)
	anything := func(dependencies.Part) bool { return true }
	if st.Dependencies, err = g.installMost(ctx, tools, st.dependencies, anything); err != nil {
		return st, &StepError{"install the workspace's dependencies", err}
	}
	st.installed = st.Dependencies.image
	return st, nil
}

// snapshot finds the snapshot of the base, or that of an earlier state from which the base differs little, or makes it.
func (st *Stage) snapshot(ctx context.Context, builder Snapshotter) error {
	image, d, err := builder.Near(ctx, st.installed, tree{st.Base}, st.Base.Root, func() images.Tree {
		if earlier := workspace.Frozen(st.Base.Root); earlier != nil {
			return tree{earlier}
		}
		return nil
	})
	if err == nil {
		st.Image = image
		st.Delta, err = overlay(st.Base, d)
	}
	if errors.Is(err, images.ErrAbsent) {
		err = st.freeze(ctx, builder)
	}
	return err
}

// freeze makes the snapshot of the base, and makes it known to later runs.
func (st *Stage) freeze(ctx context.Context, builder Snapshotter) (err error) {
	st.Image, err = builder.Snapshot(ctx, st.installed, tree{st.Base}, st.Base.Root)
	if err == nil {
		st.Base.KeepFrozen()
	}
	return err
}

// overlay reads what a difference brings, nil for nothing. The bytes come from the host's own files, and are those of the manifest.
func overlay(base *workspace.Manifest, d images.Delta) (*workspace.Changeset, error) {
	if len(d.Delete)+len(d.Write) == 0 {
		return nil, nil
	}
	cs := &workspace.Changeset{}
	for _, name := range d.Delete {
		// A file that still exists was left out of the scan, as a secret may be: the boxes must not find it in the earlier snapshot.
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

// Outgrown reports whether the next run should find another snapshot; see Renew.
func (st *Stage) Outgrown() bool {
	if st.Delta == nil || len(st.Base.Entries) > renewEntries {
		return false
	}
	size := 0
	for _, c := range st.Delta.Changes {
		size += len(c.After)
	}
	return len(st.Delta.Changes) > renewFiles || size > renewBytes
}

// Renew makes the snapshot of the workspace as it is now, on what is already installed. It leaves out what the patterns in exclude
// name. It saves time for the next run and takes 10 seconds at most; the next run retries what fails.
func (g *Gate) Renew(ctx context.Context, st Stage, exclude []string) {
	ctx, cancel := context.WithTimeout(ctx, renewFor)
	defer cancel()
	now, err := workspace.Rescan(ctx, st.Base.Root, exclude, workspace.Limits{})
	if err != nil {
		return
	}
	next := Stage{Base: now, installed: st.installed}
	if wanted, err := DependenciesOf(now, g.Rules); err != nil || !wanted.Equal(st.dependencies) {
		return
	}
	_ = next.freeze(ctx, g.Images)
}

// LeftOut says what no gate will see of the workspace, except what everybody expects to be left out; "" for nothing.
func LeftOut(skipped []workspace.Skip) string {
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

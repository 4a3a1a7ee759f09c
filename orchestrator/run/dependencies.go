package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent/images"
	"agent/images/dependencies"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// touchesDependencies reports whether one of the holds is of that kind.
func touchesDependencies(holds []policy.Hold) bool {
	return slices.ContainsFunc(holds, func(h policy.Hold) bool { return h.Kind == policy.Dependencies })
}

// DependenciesOf reads what a workspace wants to have installed; of req only what says whether and how counts.
func DependenciesOf(base *workspace.Manifest, req Request) (dependencies.Set, error) {
	// By the manifest, so that what is installed is what the snapshot says: a
	// lock file that changes meanwhile is an error, and the scan made again.
	files := map[string][]byte{}
	var notes []string
	for _, e := range base.Entries {
		if e.Kind != workspace.File || !dependencies.Concerns(e.Path) {
			continue
		}
		if e.Size > dependencies.MaxFile {
			notes = append(notes, fmt.Sprintf("nothing is installed of %s: it is larger than %d MiB", e.Path, dependencies.MaxFile>>20))
			continue
		}
		content, err := base.ReadFile(e.Path)
		if err != nil {
			return dependencies.Set{}, err
		}
		files[e.Path] = content
	}
	d := dependencies.Read(files)
	if req.NoInstall {
		return d.Uninstalled(), nil
	}
	d.Scripts, d.Notes = req.InstallScripts, append(notes, d.Notes...)
	return d, nil
}

// build installs what the workspace depends on and makes the snapshot on it.
// act says what an error is about; tell is for people, of what takes long.
func (st *stage) build(ctx context.Context, builder Snapshotter, req Request, tell func(note string)) (act string, err error) {
	if st.dependencies, err = DependenciesOf(st.base, req); err != nil {
		return "read what the workspace depends on", err
	}
	// Before it begins: the first time may take minutes.
	announce(st.dependencies, tell)
	installed, err := builder.Install(ctx, st.tools, st.dependencies)
	if err != nil {
		return "install what the workspace depends on", err
	}
	st.installed = installed
	return "make the snapshot", st.snapshot(ctx, builder)
}

// reinstall returns what the candidate's boxes stand on, zero for the base's
// own image. A change of the dependencies is installed only when it was
// approved in advance; a patch that holds up is judged without. What cannot be
// installed is the patch's fault, when its registry answers: ok is then false, and
// the candidate judged.
func (f *flight) reinstall(ctx context.Context, req Request, st stage, cand *Candidate) (layer verify.Layer, ok bool, err error) {
	if !touchesDependencies(cand.Holds) || !slices.Contains(req.Allow, policy.Dependencies) {
		return layer, true, nil
	}
	// Most patches to a manifest leave what is installed as it is: scripts,
	// settings of tools, a version of one's own.
	wanted, err := DependenciesOf(st.base.With(cand.Changeset), req)
	if err != nil || wanted.Equal(st.dependencies) {
		return layer, true, err
	}
	announce(wanted, func(note string) { f.emit(Event{Note: note}) })
	installed, err := f.Images.Install(ctx, st.tools, wanted)
	var failure *images.InstallError
	// The base was installed a moment ago, or this would not have been reached:
	// what is different now is the patch.
	if errors.As(err, &failure) && failure.Registry == "" {
		cand.Verdict = verify.Fail
		cand.Gates = []verify.Gate{{Name: "edit", Verdict: verify.Fail, Detail: "what the patch depends on cannot be installed", Output: failure.Error()}}
		return layer, false, nil
	}
	if err != nil {
		return layer, false, err
	}
	// Under a name of its own, so that the snapshots of candidates do not
	// displace that of the base, on which boxes are still to be started.
	image, err := f.Images.Snapshot(ctx, installed, tree{st.base}, f.rec.Workspace+"/.agent/candidate")
	return verify.Layer{Snapshot: image.ID, Installed: image.Installed}, true, err
}

// announce says what is installed, and what is not.
func announce(d dependencies.Set, tell func(note string)) {
	if !d.Empty() {
		tell("install the dependencies by " + strings.Join(d.Managers(), ", ") + "; the same ones are found again")
	}
	for _, note := range d.Notes {
		tell(note)
	}
}

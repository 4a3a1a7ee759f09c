package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent/images"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// TouchesDependencies reports whether the candidate changes what is to be installed.
func (c Candidate) TouchesDependencies() bool {
	return slices.ContainsFunc(c.Holds, func(h policy.Hold) bool { return h.Kind == policy.Dependencies })
}

// DependenciesOf reads what a workspace wants to have installed; rules say whether and how. The error comes
// from reading the workspace.
func DependenciesOf(base *workspace.Manifest, rules Rules) (images.Dependencies, error) {
	// By the manifest, so that what is installed is what the snapshot says: a
	// lock file that changes meanwhile is an error, and the scan made again.
	files := map[string][]byte{}
	var notes []string
	for _, e := range base.Entries {
		if e.Kind != workspace.File || !images.DependencyFile(e.Path) {
			continue
		}
		if e.Size > images.MaxDependencyFile {
			notes = append(notes, fmt.Sprintf("nothing is installed of %s: it is larger than %d MiB", e.Path, images.MaxDependencyFile>>20))
			continue
		}
		content, err := base.ReadFile(e.Path)
		if err != nil {
			return images.Dependencies{}, err
		}
		files[e.Path] = content
	}
	d := images.ReadDependencies(files)
	if rules.NoInstall {
		return d.Uninstalled(), nil
	}
	d.Scripts, d.Notes = rules.InstallScripts, append(notes, d.Notes...)
	return d, nil
}

// reinstall returns what the candidate's boxes stand on, zero for the base's
// own image. A change of the dependencies is installed only when it was
// approved in advance; a patch that holds up is judged without. What cannot be
// installed is the patch's fault, when its registry answers: ok is then false, and
// the candidate judged.
func (g *Gate) reinstall(ctx context.Context, st Stage, cand *Candidate) (layer verify.Layer, ok bool, err error) {
	if !cand.TouchesDependencies() || !slices.Contains(g.Rules.Allow, policy.Dependencies) {
		return layer, true, nil
	}
	// Most patches to a manifest leave what is installed as it is: scripts,
	// settings of tools, a version of one's own.
	wanted, err := DependenciesOf(st.Base.With(cand.Changeset), g.Rules)
	if err != nil || wanted.Equal(st.dependencies) {
		return layer, true, err
	}
	g.announce(wanted)
	installed, err := g.Images.Install(ctx, st.Tools, wanted)
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
	image, err := g.Images.Snapshot(ctx, installed, tree{st.Base}, st.Base.Root+"/.agent/candidate")
	return verify.Layer{Snapshot: image.ID, Installed: image.Installed}, true, err
}

// announce says what is installed, and what is not.
func (g *Gate) announce(d images.Dependencies) {
	if !d.Empty() {
		g.note("install the dependencies by " + strings.Join(d.Managers(), ", ") + "; the same ones are found again")
	}
	for _, note := range d.Notes {
		g.note(note)
	}
}

package gate

import (
	"fmt"
	"slices"
	"strings"

	"agent/images/dependencies"
	"agent/sandbox/workspace"
	"agent/verify/policy"
)

// TouchesDependencies reports whether the candidate changes what is to be installed.
func (c Candidate) TouchesDependencies() bool {
	return slices.ContainsFunc(c.Holds, func(h policy.Hold) bool { return h.Kind == policy.Dependencies })
}

// DependenciesOf reads what a workspace wants to have installed; rules say whether and how. The error comes
// from reading the workspace.
func DependenciesOf(base *workspace.Manifest, rules Rules) (dependencies.Set, error) {
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
	if rules.NoInstall {
		return d.Uninstalled(), nil
	}
	d.Scripts, d.Notes = rules.InstallScripts, append(notes, d.Notes...)
	return d, nil
}

// announce says what is installed, and what is not.
func (g *Gate) announce(d dependencies.Set) {
	if !d.Empty() {
		g.note("install the dependencies by " + strings.Join(d.Managers(), ", ") + "; the same ones are found again")
	}
	for _, note := range d.Notes {
		g.note(note)
	}
}

package gate

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/images"
	"agent/images/dependencies"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// TouchesDependencies reports whether the candidate changes what is to be installed.
func (c Candidate) TouchesDependencies() bool {
	return slices.ContainsFunc(c.Holds, func(h policy.Hold) bool { return h.Kind == policy.Dependencies })
}

// DependenciesOf reads what a workspace wants to have installed; rules say whether and how. The error comes from reading the workspace.
func DependenciesOf(base *workspace.Manifest, rules Rules) (dependencies.Set, error) {
	// Files are read by the manifest, so that what is installed is what the snapshot holds. A lock file that changes meanwhile is an
	// error, and the scan is made again.
	files := map[string][]byte{}
	var notes, sources []string
	for _, e := range base.Entries {
		if e.Kind == workspace.File && path.Ext(e.Path) == ".go" && e.Size <= dependencies.MaxFile {
			sources = append(sources, e.Path)
		}
		if e.Kind != workspace.File || !dependencies.Concerns(e.Path) {
			continue
		}
		if e.Size > dependencies.MaxFile {
			notes = append(notes, fmt.Sprintf("nothing is installed from %s: it is larger than %d MiB", e.Path, dependencies.MaxFile>>20))
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
	d = d.WithDebian(rules.Packages)
	d.Scripts, d.Notes = rules.InstallScripts, append(notes, d.Notes...)
	return d.Importing(sources, base.ReadFile), nil
}

// announce says what is installed and what is not.
func (g *Gate) announce(ctx context.Context, tools images.Image, d dependencies.Set) {
	for _, note := range d.Notes {
		g.note(note)
	}
	if d.Empty() {
		return
	}
	by := strings.Join(d.Managers(), ", ")
	// If the engine does not answer, the installation says so.
	if has, err := g.Images.Has(ctx, tools, d); has && err == nil {
		g.note("reuse the dependencies installed earlier by " + by)
		return
	}
	g.note("install the dependencies by " + by + ", which may take minutes the first time")
}

// An Installed is the part of a workspace's dependencies that was installed.
type Installed struct {
	// Told says in sentences which of the workspace's settings were followed, and what was done when a package manager refused at
	// first.
	Told []string
	// Lacking says what could not be installed, why, and how it can be: a sentence for each part.
	Lacking []string

	image  images.Image
	failed []dependencies.Part
}

// unproven returns the sentences of Lacking in the form that the result has.
func (i Installed) unproven() (list []verify.Unproven) {
	for _, text := range i.Lacking {
		list = append(list, verify.Unproven{Gate: "tests", Kind: verify.NoDependencies, Reason: text, Part: true})
	}
	return list
}

// installMost installs what it can of d, and says what it could not install. excused says which parts may be missing. The error is an
// *images.InstallError for a part that may not be missing, or trouble with the machine.
func (g *Gate) installMost(ctx context.Context, tools images.Image, d dependencies.Set, excused func(dependencies.Part) bool) (i Installed, err error) {
	i.Told = slices.Clone(d.Notes)
	for {
		var lacking *images.InstallError
		i.image, err = g.Images.Install(ctx, tools, d)
		if !errors.As(err, &lacking) || d.Empty() {
			break
		}
		// An error that names no step is about all of them.
		steps := []int{lacking.Step}
		if lacking.Step < 0 {
			steps = make([]int, len(d.Steps())/2)
		}
		for _, step := range steps {
			// A stand-in for something else may be missing as well.
			if _, at := d.OnStandby(); at == step {
				d = d.Without(step)
				continue
			}
			if step >= len(d.Steps())/2 || g.Rules.InstallAll || !excused(d.Part(step)) {
				return i, err
			}
			part := d.Part(step)
			i.failed = append(i.failed, part)
			i.lack(g, fmt.Sprintf("without the packages of %s, which %s could not install: %s; %s", part, part.Manager, oneLine(lacking.Error()), lacking.Next()))
			if other, ok := d.Standby(step); ok && lacking.Step >= 0 && lacking.Registry != "" {
				g.note("look for Debian packages instead, which may take a minute the first time")
				d = other
				continue
			}
			d = d.Without(step)
		}
	}
	if err != nil {
		return i, err
	}
	done, lacking := d.Told(i.image.Report)
	for _, text := range done {
		g.note(text)
	}
	i.Told = append(i.Told, done...)
	for _, text := range lacking {
		if g.Rules.InstallAll {
			return i, &images.InstallError{Step: -1, Said: text, Err: errors.New(text)}
		}
		i.lack(g, "without a package: "+text)
	}
	return i, nil
}

// lack notes what is judged without, and reports it.
func (i *Installed) lack(g *Gate, text string) {
	i.Lacking = append(i.Lacking, "judged "+text)
	g.note("continue " + text)
}

// oneLine joins the lines of a message, without the blank ones.
func oneLine(text string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" }), "; ")
}

package tournament

import (
	"fmt"
	"slices"

	"agent/orchestrator/agent"
	"agent/orchestrator/gate"
	"agent/sandbox/workspace"
	"agent/verify"
)

// notInstalled tells a model what a missing package means for its change. uninstalled says which of the workspace's dependencies could
// not be installed, "" for none.
func notInstalled(name, uninstalled string) string {
	if uninstalled != "" {
		return fmt.Sprintf("The package %s is not installed where the change is run, since what the workspace depends on could not be: no change of the code installs it.\n", name)
	}
	return fmt.Sprintf("The package %s is not installed where the change is run, and may not be installed: do without it, with what is there.\n", name)
}

// culprit returns the file to fix: the one that a finding names, or that a traceback leads to, or the task's own target. downstream
// says that the change did not touch it.
//
// A check that reads files gives the place in its finding. A gate that runs code gives the path that led there: the frame that counts
// is the innermost among the files that the change touched, since everything else worked without the change; failing that, the
// innermost in the workspace. A failing test is itself the place of its finding, and seldom at fault.
func (c *tournament) culprit(k *entrant, now *workspace.Manifest, touched map[string]bool) (file string, downstream bool) {
	g := k.cand.Failed()
	has := func(p string) bool {
		e, ok := now.Lookup(p)
		return ok && e.Kind == workspace.File
	}
	changed := func(p string) bool { return touched[p] && has(p) }
	named := func(among func(string) bool) (string, bool) {
		i := slices.IndexFunc(g.Findings, func(f verify.Finding) bool { return among(f.File) })
		if i < 0 || g.Name == "edit" { // what does not apply is at fault, not where it should go
			return "", false
		}
		return g.Findings[i].File, true
	}
	traced := func(among func(string) bool) (string, bool) {
		p, _, ok := agent.Culprit(g.Output, boxRoot, among)
		return p, ok
	}
	type guess struct {
		by    func(func(string) bool) (string, bool)
		among func(string) bool
	}
	guesses := []guess{{named, has}, {traced, has}}
	if gate.RunsCode(g) {
		guesses = []guess{{traced, changed}, {named, changed}, {traced, has}, {named, has}}
	}
	for _, g := range guesses {
		if p, ok := g.by(g.among); ok {
			return p, !touched[p]
		}
	}
	return c.plan.Task.Brief.Target, false
}

// Bounds of the files that a change broke and that are shown with it.
const (
	maxBroken     = 3
	maxBrokenSize = 16 << 10 // bytes of each
)

// broken lists the files that the findings of a gate name, at most a few small ones: a failing test is the best description of what it
// wants.
func broken(g verify.Gate, now *workspace.Manifest) []string {
	var files []string
	for _, f := range g.Findings {
		e, ok := now.Lookup(f.File)
		if ok && e.Kind == workspace.File && e.Size <= maxBrokenSize && !slices.Contains(files, f.File) && len(files) < maxBroken {
			files = append(files, f.File)
		}
	}
	return files
}

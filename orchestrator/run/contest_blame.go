package run

import (
	"fmt"
	"regexp"
	"slices"

	"agent/orchestrator/agent"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// ran reports whether a gate runs the workspace's code, and so has a log and a
// traceback of it to show.
func ran(g verify.Gate) bool { return g.Name == "smoke" || g.Name == "tests" }

// packageName is what a package's name looks like. The name comes out of a log
// that untrusted code wrote, and goes into the sentence that a person reads.
var packageName = regexp.MustCompile(`^(?:@[\w.-]{1,100}/)?[\w.-]{1,100}$`)

// absent returns the package that a candidate's program or tests could not
// load because it is not installed, "" for none. now is the workspace with the
// candidate: a module of its own that is not found is misspelt, not missing.
func absent(cand Candidate, now *workspace.Manifest) string {
	for _, g := range cand.Gates {
		if g.Verdict == verify.Pass || !ran(g) {
			continue
		}
		texts := []string{g.Output, g.Detail}
		for _, f := range g.Findings {
			texts = append(texts, f.Message)
		}
		for _, text := range texts {
			if name := agent.MissingPackage(text); packageName.MatchString(name) && !ours(name, now) {
				return name
			}
		}
	}
	return ""
}

// ours reports whether the workspace holds a package or module of that name, at
// its root or below src.
func ours(name string, now *workspace.Manifest) bool {
	for _, p := range []string{name, name + ".py", name + ".js", name + ".ts"} {
		for _, dir := range []string{"", "src/"} {
			if _, ok := now.Lookup(dir + p); ok {
				return true
			}
		}
	}
	return false
}

// notInstalled says to a model what a missing package means for its change.
func notInstalled(name string) string {
	return fmt.Sprintf("The package %s is not installed where the change is run, and may not be installed: do without it, with what is there.\n", name)
}

// lacking adds to the ending of a candidate that failed for want of a package
// which one it is.
func lacking(end Ending, name string, holds []policy.Hold) Ending {
	if name == "" || end.Error == nil {
		return end
	}
	end.Error.Message += "; the package " + name + " is not installed in the box"
	// A patch that asks for packages was judged without those, as long as nobody
	// approved them.
	if touchesDependencies(holds) {
		end.Error.Next = "run again with --allow dependencies, if what it installs is welcome, or do without " + name + "; " + end.Error.Next
		return end
	}
	end.Error.Next = "do without " + name + ", or put the code that is needed into the workspace; " + end.Error.Next
	return end
}

// culprit returns the file to mend: the one that a finding names, or that a
// traceback leads to, or the task's own target. downstream says that the change
// did not touch it.
//
// What a check reads has its place in the finding. What was run has a way that
// led there: of its frames that one counts which is innermost among the files
// that the change touched, since everything else worked without it; else the
// innermost in the workspace. A test that fails is itself the place of its
// finding, and seldom at fault.
func (c *contest) culprit(k *contender, now *workspace.Manifest, touched map[string]bool) (file string, downstream bool) {
	g := failed(k.cand)
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
	if ran(g) {
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

// broken lists the files that the findings of a gate name, at most a few small
// ones: a test that fails says best what it wants.
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

package gate

import (
	"fmt"

	"agent/orchestrator/agent"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify"
)

// packageName matches the form of a package's name. The name comes from a log that untrusted code wrote, and goes into a sentence that
// a person reads.
var packageName = lazyregexp.New(`^(?:@[\w.-]{1,100}/)?[\w.-]{1,100}$`)

// Absent returns the package that the candidate's program or tests could not load because it is not installed, "" for none. now is the
// workspace with the candidate: a module of its own that is not found is misspelt, not missing.
func (c Candidate) Absent(now *workspace.Manifest) string {
	for _, g := range c.Gates {
		if g.Verdict == verify.Pass || !RunsCode(g) {
			continue
		}
		// A package that was missing before too is not why the candidate fails.
		before := map[string]bool{}
		for _, f := range g.OldFindings {
			before[agent.MissingPackage(f.Message)] = true
		}
		for _, text := range causes(g) {
			if name := agent.MissingPackage(text); packageName.MatchString(name) && !ours(name, now) && !before[name] {
				return name
			}
		}
	}
	return ""
}

// assertion matches the message of a test that ran and found something other than it expected.
var assertion = lazyregexp.New(`(?i)\bassert|\bexpect(ed)?\b`)

// causes returns the texts of a gate that may say why it failed: its findings, and its log unless every finding says enough by itself.
// A log has the complaints of everything that was run.
func causes(g verify.Gate) (texts []string) {
	told := len(g.Findings) > 0
	for _, f := range g.Findings {
		texts = append(texts, f.Message)
		told = told && assertion.MatchString(f.Message)
	}
	if !told {
		texts = append(texts, g.Output, g.Detail)
	}
	return texts
}

// Uninstalled says which of the workspace's dependencies could not be installed where the candidate was judged, "" for none.
func (c Candidate) Uninstalled() string {
	for _, u := range c.Unproven {
		if u.Kind == verify.NoDependencies {
			return u.Reason
		}
	}
	return ""
}

// ours reports whether the workspace holds a package or module of that name, at its root or below src.
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

// RunsCode reports whether a gate runs the workspace's code, and so has a log and a traceback to show.
func RunsCode(g verify.Gate) bool { return g.Name == "smoke" || g.Name == "tests" }

// Because names the gates that gave verdict v, with what they said.
func (c Candidate) Because(v verify.Verdict) string {
	text := ""
	for _, g := range c.Gates {
		if g.Verdict != v {
			continue
		}
		if text != "" {
			text += "; "
		}
		text += g.Name
		switch {
		case len(g.Findings) == 1:
			text += ": " + g.Findings[0].Message
		case len(g.Findings) > 1:
			text += fmt.Sprintf(": %d findings", len(g.Findings))
		case g.Detail != "":
			text += ": " + g.Detail
		}
	}
	return text
}

// Failed returns the first gate that the candidate did not pass, the zero Gate for none. It is the one to repair: later gates often
// fail only because of it.
func (c Candidate) Failed() verify.Gate {
	for _, g := range c.Gates {
		if g.Verdict != verify.Pass {
			return g
		}
	}
	return verify.Gate{}
}

// Findings counts the new findings of the gates in the candidate.
func (c Candidate) Findings() int {
	n := 0
	for _, g := range c.Gates {
		n += len(g.Findings)
	}
	return n
}

package gate

import (
	"fmt"
	"regexp"

	"agent/orchestrator/agent"
	"agent/sandbox/workspace"
	"agent/verify"
)

// packageName is what a package's name looks like. The name comes out of a log
// that untrusted code wrote, and goes into the sentence that a person reads.
var packageName = regexp.MustCompile(`^(?:@[\w.-]{1,100}/)?[\w.-]{1,100}$`)

// Absent returns the package that the candidate's program or tests could not
// load because it is not installed, "" for none. now is the workspace with the
// candidate: a module of its own that is not found is misspelt, not missing.
func (c Candidate) Absent(now *workspace.Manifest) string {
	for _, g := range c.Gates {
		if g.Verdict == verify.Pass || !RunsCode(g) {
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

// RunsCode reports whether a gate runs the workspace's code, and so has a log and a
// traceback of it to show.
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

// Failed returns the first gate that the candidate did not pass, the zero Gate for
// none. It is the one to repair: those after it often fail only because of it.
func (c Candidate) Failed() verify.Gate {
	for _, g := range c.Gates {
		if g.Verdict != verify.Pass {
			return g
		}
	}
	return verify.Gate{}
}

// Findings counts what the gates found new in the candidate.
func (c Candidate) Findings() int {
	n := 0
	for _, g := range c.Gates {
		n += len(g.Findings)
	}
	return n
}

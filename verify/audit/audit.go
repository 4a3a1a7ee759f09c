// Package audit says of a candidate what was not judged, and whether anything has executed it.
//
// It runs nothing and gives no verdict: it reads what the checks of package verify found
// out. Unproven lists tests that were found and not run, tools that could not judge what
// the patch touches, and languages that no gate reads. Hold is for a candidate that passed and of which
// nothing that ran has executed the change.
package audit

import (
	"maps"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/verify/check"
)

// Evidence is what became of the checks of one candidate, when all are through.
type Evidence struct {
	Base  *workspace.Manifest
	Final workspace.Changeset
	// All checks that there are, those of the workspace's own gates included.
	Checks []check.Check
	// The outcomes by check, of the candidate and of the base.
	Candidate, Before map[string]check.Outcome
	// The judgements by check, and why a check does not apply or could not judge.
	Judged  map[string]check.Gate
	Skipped map[string]string
	// The commands of the workspace's own gates, by their names.
	Own map[string][]string
	// What is said of the checks of tests of which a part was run, since all came to no end in time; "" where none was.
	Near map[string]string
}

// Part returns the evidence about a part of what was judged. without are the workspace's own gates, by name, that are about the
// rest: what they executed says nothing of it.
func (e *Evidence) Part(final workspace.Changeset, without map[string]bool) *Evidence {
	part := *e
	part.Final, part.Own, part.Judged = final, maps.Clone(e.Own), maps.Clone(e.Judged)
	for name := range without {
		delete(part.Own, name)
		delete(part.Judged, name)
	}
	part.Checks = slices.DeleteFunc(slices.Clone(e.Checks), func(c check.Check) bool { return without[c.Name] })
	return &part
}

// SyntaxStops is why programs are not run.
const SyntaxStops = "not run: a touched file has a syntax error"

// checksOf lists the checks of a gate.
func (e *Evidence) checksOf(gate string) []check.Check {
	return slices.DeleteFunc(slices.Clone(e.Checks), func(c check.Check) bool { return c.Gate != gate })
}

// Tested reports whether a test ran that counts, and came to something: where all fail, as before the
// patch, none can tell what it does.
func (e *Evidence) Tested() bool { return slices.ContainsFunc(e.checksOf(check.GateTests), e.testedBy) }

// testedBy reports whether a check ran a test that counts. Of a root that could not be judged
// before the patch none does.
func (e *Evidence) testedBy(c check.Check) bool {
	g, judged := e.Judged[c.Name]
	roots := e.Before[c.Name].Roots
	return judged && slices.ContainsFunc(e.Candidate[c.Name].Tests, func(t check.TestResult) bool {
		file, _, _ := strings.Cut(t.ID, "::")
		return counts(g, t) && (len(roots) == 0 || roots[check.Nearest(roots, file)] == "")
	})
}

// counts reports whether a test says something of the patch that a gate judged: one that passes, or that fails because of it.
func counts(g check.Gate, t check.TestResult) bool {
	return t.Ran() && (!t.Bad() || g.Verdict == check.Fail)
}

// An Unproven is something that the gates of a candidate did not judge. It changes no
// verdict: a candidate in which no test ran may pass, and this is what says so.
type Unproven struct {
	// The gate that would have judged it; for a language that no gate reads, syntax.
	Gate string `json:"gate"`
	// Why, for programs.
	Kind Kind `json:"kind"`
	// Why, a sentence for people. Where no test ran at all it begins with that.
	Reason string `json:"reason"`
	// The gate judged something else. Without it the gate judged nothing.
	Part bool `json:"part,omitempty"`
}

// An Kind says why something was not judged.
type Kind string

// The kinds.
const (
	NoTests      Kind = "no-tests"      // the workspace has none
	NoRunner     Kind = "no-runner"     // there are test files, and nothing here runs them
	TestScript   Kind = "script"        // a script would run the tests, in a way that is not understood here
	NotInstalled Kind = "not-installed" // the tool is named and not there
	NotCollected Kind = "not-collected" // the test files do not load
	NoneFound    Kind = "none-found"    // the runner ran, and found none in the test files
	AllSkipped   Kind = "all-skipped"   // every test was skipped
	NotJudged    Kind = "not-judged"    // the tool ran, and its result could not be compared
	NotRun       Kind = "not-run"       // another gate ended the judgement before
	NoGate       Kind = "no-gate"       // no gate reads the language of a changed file
	// A part of what the workspace depends on could not be installed, and everything was judged without it.
	NoDependencies Kind = "no-dependencies"
	// It was measured, and no changed line of the file was executed.
	NotExecuted Kind = "not-executed"
	// Tests of the language ran, and of no line of the file it could be measured whether they executed it.
	NotMeasured Kind = "not-measured"
	Unknown     Kind = "unknown" // it was not recorded
)

// NothingRan reports whether a gate judged nothing, whatever its verdict.
func NothingRan(list []Unproven, gate string) bool {
	return slices.ContainsFunc(list, func(u Unproven) bool { return u.Gate == gate && !u.Part })
}

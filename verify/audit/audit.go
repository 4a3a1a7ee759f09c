// Package audit reports what was not judged in a candidate, and whether anything has executed it.
//
// It runs nothing and gives no verdict: it reads what the checks of package verify found. Unproven lists tests that
// were found and not run, tools that could not judge what the patch touches, and languages that no gate reads. Hold
// applies to a candidate that passed although nothing that ran has executed the change.
package audit

import (
	"maps"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/verify/check"
)

// Evidence holds the results of the checks of one candidate, after all have finished.
type Evidence struct {
	Base  *workspace.Manifest
	Final workspace.Changeset
	// Checks has all checks, including those of the workspace's own gates.
	Checks []check.Check
	// Candidate and Before are the outcomes by check, of the candidate and of the base.
	Candidate, Before map[string]check.Outcome
	// Judged has the judgements by check; Skipped says why a check does not apply or could not judge.
	Judged  map[string]check.Gate
	Skipped map[string]string
	// Own has the commands of the workspace's own gates, by name.
	Own map[string][]string
	// Near describes, by check of tests, the part that was run because a run of all does not end in time; "" if no part was run.
	Near map[string]string
}

// Part returns the evidence about a part of what was judged. without names the workspace's own gates that are about the
// rest: what they executed says nothing about this part.
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

// SyntaxStops is the reason why programs are not run.
const SyntaxStops = "not run: a touched file has a syntax error"

// checksOf lists the checks of a gate.
func (e *Evidence) checksOf(gate string) []check.Check {
	return slices.DeleteFunc(slices.Clone(e.Checks), func(c check.Check) bool { return c.Gate != gate })
}

// Tested reports whether a test ran that counts and says something. If all tests fail as they did before the patch,
// they show nothing about it.
func (e *Evidence) Tested() bool { return slices.ContainsFunc(e.checksOf(check.GateTests), e.testedBy) }

// testedBy reports whether a check ran a test that counts. No test counts in a root that could not be judged before the
// patch.
func (e *Evidence) testedBy(c check.Check) bool {
	g, judged := e.Judged[c.Name]
	roots := e.Before[c.Name].Roots
	return judged && slices.ContainsFunc(e.Candidate[c.Name].Tests, func(t check.TestResult) bool {
		file, _, _ := strings.Cut(t.ID, "::")
		return counts(g, t) && (len(roots) == 0 || roots[check.Nearest(roots, file)] == "")
	})
}

// counts reports whether a test says something about the patch, given its gate: it passes, or it fails because of the patch.
func counts(g check.Gate, t check.TestResult) bool {
	return t.Ran() && (!t.Bad() || g.Verdict == check.Fail)
}

// An Unproven is something that the gates of a candidate did not judge. It changes no verdict: a candidate in which no
// test ran may pass, and an Unproven says so.
type Unproven struct {
	// Gate is the gate that would have judged it; syntax for a language that no gate reads.
	Gate string `json:"gate"`
	// Kind is the reason, for programs.
	Kind Kind `json:"kind"`
	// Reason is a sentence for people. If no test ran at all, it begins with that.
	Reason string `json:"reason"`
	// Part says that the gate judged something else. If it is false, the gate judged nothing.
	Part bool `json:"part,omitempty"`
}

// A Kind says why something was not judged.
type Kind string

// The kinds.
const (
	NoTests      Kind = "no-tests"      // the workspace has none
	NoRunner     Kind = "no-runner"     // there are test files, and no check runs them
	TestScript   Kind = "script"        // a script would run the tests, in a way that the gate does not understand
	NotInstalled Kind = "not-installed" // the tool is named but not installed
	NotCollected Kind = "not-collected" // the test files do not load
	NoneFound    Kind = "none-found"    // the runner ran and found no tests in the test files
	AllSkipped   Kind = "all-skipped"   // every test was skipped
	NotJudged    Kind = "not-judged"    // the tool ran, and its result could not be compared
	NotRun       Kind = "not-run"       // another gate ended the judgement earlier
	NoGate       Kind = "no-gate"       // no gate reads the language of a changed file
	// NoDependencies: some dependencies of the workspace could not be installed, and everything was judged without them.
	NoDependencies Kind = "no-dependencies"
	// NotExecuted: it was measured that no changed line of the file was executed.
	NotExecuted Kind = "not-executed"
	// NotMeasured: tests of the language ran, but it could not be measured whether they executed any line of the file.
	NotMeasured Kind = "not-measured"
	Unknown     Kind = "unknown" // it was not recorded
)

// NothingRan reports whether a gate judged nothing, whatever its verdict.
func NothingRan(list []Unproven, gate string) bool {
	return slices.ContainsFunc(list, func(u Unproven) bool { return u.Gate == gate && !u.Part })
}

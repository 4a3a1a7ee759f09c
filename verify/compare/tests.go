package compare

import (
	"fmt"
	"path"
	"strings"

	"agent/verify/check"
)

// The rules of the tests gate. Those in TestPolicy are no proof that the code
// is worse, but that less is proved than before: a person decides.
const (
	RuleTestFailed  = "test-failed"
	RuleTestError   = "test-error"
	RuleTestLost    = "test-lost"    // passed before, not run now, and the patch did not touch its file
	RuleTestRemoved = "test-removed" // the patch deleted or rewrote it
	RuleTestSkipped = "test-skipped" // ran before, skipped now
	RuleSession     = "test-session"
	RuleForged      = "forged-results" // the results are not those of the tests
)

// RuleTestHelper is the rule of a test that needs the patch's own helpers.
const RuleTestHelper = "test-helper"

// RuleAltered is the rule of what runs the tests and is the workspace's own since the patch.
const RuleAltered = "runner-altered"

// TestPolicy holds the rules whose verdict is Policy.
var TestPolicy = map[string]bool{RuleTestRemoved: true, RuleTestSkipped: true, RuleTestHelper: true, RuleAltered: true}

// JudgeTests compares the two sides test by test, by node ID: a failure that was
// there before is old, however its message reads. A module that could not even be
// imported must at least fail to be for the same reason.
func JudgeTests(base, cand check.Outcome, d check.Diff) check.Gate {
	g := check.GateOf(check.GateTests, cand)
	if g.Verdict != "" {
		return g
	}
	before := map[string]check.TestResult{}
	for _, r := range base.Tests {
		// Under the name that the test would have now.
		before[d.NewID(r.ID)] = r
	}
	env := newSurroundings(d, base.Tests)
	after := map[string]check.TestResult{}
	for _, r := range cand.Tests {
		after[r.ID] = r
		old, known := before[r.ID]
		switch {
		case r.Bad() && known && old.Bad() && (old.Outcome != "error" || check.SameMessage(old.Message, r.Message)):
			g.Old++
			g.OldFindings = oldTest(d, g.OldFindings, r)
		case !known && env.lack(r):
			// A test that is new and cannot begin here proves nothing, and nothing against the patch.
			g.Old++
			g.OldFindings = oldTest(d, g.OldFindings, r)
		case r.Bad() && r.Within:
			// A test in it fails that did not fail before either.
		case r.Bad():
			g.Findings = append(g.Findings, testFinding(d, r))
		case known && old.Bad() && r.Outcome == "passed":
			g.Fixed++
		case known && old.Ran() && r.Skipped():
			// A failing test that is switched off proves nothing any more either.
			f := testFinding(d, r)
			f.Rule, f.Message = RuleTestSkipped, fmt.Sprintf("%s ran before the patch and is %s now: %s", check.Shorten(r.ID), r.Outcome, r.Message)
			g.Findings = append(g.Findings, f)
		}
	}
	g.Findings = append(g.Findings, lostTests(d, env, before, base.Tests, cand.Tests, after)...)
	// Even when every test passed: nobody knows which ones did not get to run.
	if cand.Blocked != "" {
		g.Findings = append(g.Findings, check.Finding{Rule: RuleSession, Message: cand.Blocked})
	}
	witnessed(&g, base, cand, d)
	g.Findings = append(g.Findings, altered(base, cand, d)...)
	g.Verdict = check.Pass
	for _, f := range g.Findings {
		if !TestPolicy[f.Rule] {
			g.Verdict = check.Fail
			return g
		}
		g.Verdict = check.Policy
	}
	return g
}

// lostTests reports the tests of the baseline that have no result now. Those
// of a module that could not be collected, or of a package that does not build, are
// lost with it: its own error tells.
//
// A test that has another number or another parameter now is not lost, as long as its group
// has as many. Nor are tests that the patch removed where the files that it wrote have as many
// others that pass: they were renamed, moved or split. Whether they assert as much is read off
// the text (package policy), and those that were there run on the patched program too. One that
// could not begin here may have a successor that cannot either.
func lostTests(d check.Diff, env surroundings, before map[string]check.TestResult, base, cand []check.TestResult, after map[string]check.TestResult) []check.Finding {
	var removed, lost []check.Finding
	others := newFresh(d, env, before, cand)
	for _, old := range base {
		id := d.NewID(old.ID)
		file, _, isTest := strings.Cut(id, "::") // or a module that was not collected
		if _, there := after[id]; there || !isTest || after[file].Outcome == "error" || after[path.Dir(file)].Outcome == "error" || others.replaced(d, id) || env.lack(old) && others.unable(file) {
			continue
		}
		// A person who deletes a test means it; one that vanishes from a file that
		// nobody touched is broken.
		if d.Deleted[file] || d.Touched[file] || after[file].Outcome == "skipped" {
			removed = append(removed, check.Finding{File: file, Rule: RuleTestRemoved, Message: Removed(id)})
		} else if old.Outcome == "passed" {
			lost = append(lost, check.Finding{File: file, Rule: RuleTestLost, Message: check.Shorten(id) + " passed before the patch and does not run any more"})
		}
	}
	if len(removed) <= others.written {
		return lost
	}
	return append(removed, lost...)
}

// Removed is what is told of a test that the patch removed.
func Removed(id string) string { return check.Shorten(id) + " was there before the patch and is gone" }

// oldTest appends a test that failed before to list, unless that is full.
func oldTest(d check.Diff, list []check.Finding, r check.TestResult) []check.Finding {
	if len(list) == MaxOld {
		return list
	}
	f := testFinding(d, r)
	f.Old = true
	return append(list, f)
}

// testFinding tells of one failing test, at the place where it failed.
func testFinding(d check.Diff, r check.TestResult) check.Finding {
	rule := RuleTestFailed
	if r.Outcome == "error" {
		rule = RuleTestError
	}
	f := check.Finding{File: r.File, Line: r.Line, Rule: rule, Message: check.Shorten(r.ID) + ": " + r.Message}
	if f.File == "" {
		f.File, _, _ = strings.Cut(r.ID, "::")
	}
	f.Source = d.Sources.Line(f.File, f.Line)
	return f
}

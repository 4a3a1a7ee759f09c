package compare

import (
	"fmt"
	"path"
	"strings"

	"agent/verify/check"
)

// The rules of the tests gate. Those in TestPolicy do not prove that the code is worse, only that less is proved than
// before: a person decides.
const (
	RuleTestFailed  = "test-failed"
	RuleTestError   = "test-error"
	RuleTestLost    = "test-lost"    // passed before, does not run now, and the patch did not touch its file
	RuleTestRemoved = "test-removed" // the patch deleted or rewrote it
	RuleTestSkipped = "test-skipped" // ran before, skipped now
	RuleSession     = "test-session"
	RuleForged      = "forged-results" // the results are not from the tests
)

// RuleTestHelper is the rule for a test that passes only with the patch's own helpers.
const RuleTestHelper = "test-helper"

// RuleAltered is the rule for a part of the test runner that the workspace has replaced since the patch.
const RuleAltered = "runner-altered"

// TestPolicy holds the rules whose verdict is Policy.
var TestPolicy = map[string]bool{RuleTestRemoved: true, RuleTestSkipped: true, RuleTestHelper: true, RuleAltered: true}

// JudgeTests compares the two sides test by test, by node ID. A failure that was there before is old, whatever its
// message. A module that could not even be imported is old only if it still fails for the same reason.
func JudgeTests(base, cand check.Outcome, d check.Diff) check.Gate {
	g := check.GateOf(check.GateTests, cand)
	if g.Verdict != "" {
		return g
	}
	before := map[string]check.TestResult{}
	for _, r := range base.Tests {
		// By the name that the test has now.
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
			// A new test that cannot begin in the box proves nothing, and nothing against the patch either.
			g.Old++
			g.OldFindings = oldTest(d, g.OldFindings, r)
		case r.Bad() && r.Within:
			// A test in it fails that did not fail before.
		case r.Bad():
			g.Findings = append(g.Findings, testFinding(d, r))
		case known && old.Bad() && r.Outcome == "passed":
			g.Fixed++
		case known && old.Ran() && r.Skipped():
			// A failing test that is switched off no longer proves anything either.
			f := testFinding(d, r)
			f.Rule, f.Message = RuleTestSkipped, fmt.Sprintf("%s ran before the patch and is %s now: %s", check.Shorten(r.ID), r.Outcome, r.Message)
			g.Findings = append(g.Findings, f)
		}
	}
	g.Findings = append(g.Findings, lostTests(d, env, before, base.Tests, cand.Tests, after)...)
	// This holds even if every test passed: it is unknown which ones did not run.
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

// lostTests reports the tests of the baseline that have no result now. The tests of a module that could not be
// collected, or of a package that does not build, are lost with it: its own error reports that.
//
// A test that has another number or parameter now is not lost, as long as its group has as many. Nor are tests that the
// patch removed, if the files that it wrote have as many others that pass: they were renamed, moved or split. Whether
// these assert as much is determined from the text (package policy), and the earlier tests run on the patched program
// too. A test that could not begin in the box may have a successor that cannot either.
func lostTests(d check.Diff, env surroundings, before map[string]check.TestResult, base, cand []check.TestResult, after map[string]check.TestResult) []check.Finding {
	var removed, lost []check.Finding
	others := newFresh(d, env, before, cand)
	for _, old := range base {
		id := d.NewID(old.ID)
		file, _, isTest := strings.Cut(id, "::") // or a module that was not collected
		if _, there := after[id]; there || !isTest || after[file].Outcome == "error" || after[path.Dir(file)].Outcome == "error" || others.replaced(d, id) || env.lack(old) && others.unable(file) {
			continue
		}
		// Deleting a test is deliberate; a test that vanishes from an untouched file is broken.
		if d.Deleted[file] || d.Touched[file] || after[file].Outcome == "skipped" {
			removed = append(removed, check.Finding{File: file, Rule: RuleTestRemoved, Message: Removed(id)})
		} else if old.Outcome == "passed" {
			lost = append(lost, check.Finding{File: file, Rule: RuleTestLost, Message: check.Shorten(id) + " passed before the patch and no longer runs"})
		}
	}
	if len(removed) <= others.written {
		return lost
	}
	return append(removed, lost...)
}

// Removed returns the message about a test that the patch removed.
func Removed(id string) string { return check.Shorten(id) + " existed before the patch and is gone" }

// oldTest appends a test that failed before to list, unless list is full.
func oldTest(d check.Diff, list []check.Finding, r check.TestResult) []check.Finding {
	if len(list) == MaxOld {
		return list
	}
	f := testFinding(d, r)
	f.Old = true
	return append(list, f)
}

// testFinding returns the finding for one failing test, at the place where it failed.
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

package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A TestResult is how one test, or one module that could not be collected, ended.
type TestResult struct {
	// The node ID of pytest, "tests/test_a.py::test_b[1]".
	ID string `json:"id"`
	// One of passed, failed, error, skipped, xfailed; no other is accepted.
	Outcome string `json:"outcome"`
	// Where it failed, which may lie in the code under test.
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message,omitempty"`
	// It fails because of the tests in it, which tell why themselves.
	Within bool `json:"within,omitempty"`
}

// Bad reports whether the test counts as failing.
func (t TestResult) Bad() bool { return t.Outcome == "failed" || t.Outcome == "error" }

// Skipped reports whether the test's assertions did not count, be it that it was
// not run or that it was expected to fail.
func (t TestResult) Skipped() bool { return t.Outcome == "skipped" || t.Outcome == "xfailed" }

// Ran reports whether the assertions of a test counted, whatever came of them. A
// module that was not collected has none.
func (t TestResult) Ran() bool { return !t.Skipped() && strings.Contains(t.ID, "::") }

// A TestRun is what the recorder wrote of one run of pytest. Until it is checked
// by trouble it is only a claim.
type TestRun struct {
	// In the order of the record.
	Results []TestResult
	// How many tests pytest announced, and how many have a result.
	Collected, Ran int
	// The last record is there, with the status that the session ended with.
	Finished bool
	Status   int
}

// outcomes are the ends that each kind of record may tell. Another word would be
// neither a failure nor a pass, and so hide that a test is gone.
var outcomes = map[string][]string{
	"collect": {"error", "skipped"},
	"test":    {"passed", "failed", "error", "skipped", "xfailed"},
}

// ParseRecord reads the recorder's lines. Test code shares the recorder's
// process, so nothing here is trusted beyond its form. An incomplete last line
// is what a killed session leaves, and no error.
func ParseRecord(data []byte) (TestRun, error) {
	var s TestRun
	for line := range bytes.Lines(data) {
		var r struct {
			TestResult
			Kind   string   `json:"kind"`
			IDs    []string `json:"ids"`
			Status int      `json:"status"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			if !bytes.HasSuffix(line, []byte("\n")) {
				break
			}
			return s, fmt.Errorf("line %q: %w", Shorten(string(line)), err)
		}
		// pytest is done with everything then: who writes now is somebody else.
		if s.Finished {
			return s, fmt.Errorf("something follows its end")
		}
		switch r.Kind {
		case "collected":
			s.Collected += len(r.IDs)
		case "collect", "test":
			if !slices.Contains(outcomes[r.Kind], r.Outcome) {
				return s, fmt.Errorf("a %s record ends as %q", r.Kind, Shorten(r.Outcome))
			}
			if r.Kind == "test" {
				s.Ran++
			}
			r.Message, r.File = Shorten(r.Message), Relative(r.File, Work)
			s.Results = append(s.Results, r.TestResult)
		case "finished":
			s.Finished, s.Status = true, r.Status
		default:
			return s, fmt.Errorf("a record of the kind %q", Shorten(r.Kind))
		}
	}
	return s, nil
}

// Summary counts the results for people.
func (s TestRun) Summary() string {
	count := map[string]int{}
	for _, r := range s.Results {
		count[r.Outcome]++
	}
	parts := []string{fmt.Sprintf("%d passed", count["passed"])}
	for _, outcome := range []string{"failed", "error", "skipped", "xfailed"} {
		if count[outcome] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[outcome], outcome))
		}
	}
	return strings.Join(parts, ", ")
}

// The rules of the tests gate. Those in TestPolicy are no proof that the code
// is worse, but that less is proved than before: a person decides.
const (
	RuleTestFailed  = "test-failed"
	RuleTestError   = "test-error"
	RuleTestLost    = "test-lost"    // passed before, not run now, and the patch did not touch its file
	RuleTestRemoved = "test-removed" // the patch deleted or rewrote it
	RuleTestSkipped = "test-skipped" // ran before, skipped now
	RuleSession     = "test-session"
)

// TestPolicy holds the rules whose verdict is Policy.
var TestPolicy = map[string]bool{RuleTestRemoved: true, RuleTestSkipped: true, RuleTestHelper: true}

// JudgeTests compares the two sides test by test, by node ID: a failure that was
// there before is old, however its message reads. A module that could not even be
// imported must at least fail to be for the same reason.
func JudgeTests(base, cand Outcome, d Diff) Gate {
	g := GateOf(GateTests, cand)
	if g.Verdict != "" {
		return g
	}
	before := map[string]TestResult{}
	for _, r := range base.Tests {
		// Under the name that the test would have now.
		before[d.NewID(r.ID)] = r
	}
	after := map[string]TestResult{}
	for _, r := range cand.Tests {
		after[r.ID] = r
		old, known := before[r.ID]
		switch {
		case r.Bad() && known && old.Bad() && (old.Outcome != "error" || SameMessage(old.Message, r.Message)):
			g.Old++
			g.OldFindings = d.oldTest(g.OldFindings, r)
		case r.Bad() && r.Within:
			// A test in it fails that did not fail before either.
		case r.Bad():
			g.Findings = append(g.Findings, d.testFinding(r))
		case known && old.Bad() && r.Outcome == "passed":
			g.Fixed++
		case known && old.Ran() && r.Skipped():
			// A failing test that is switched off proves nothing any more either.
			f := d.testFinding(r)
			f.Rule, f.Message = RuleTestSkipped, fmt.Sprintf("%s ran before the patch and is %s now: %s", Shorten(r.ID), r.Outcome, r.Message)
			g.Findings = append(g.Findings, f)
		}
	}
	g.Findings = append(g.Findings, d.lostTests(base.Tests, after)...)
	// Even when every test passed: nobody knows which ones did not get to run.
	if cand.Blocked != "" {
		g.Findings = append(g.Findings, Finding{Rule: RuleSession, Message: cand.Blocked})
	}
	g.Verdict = Pass
	for _, f := range g.Findings {
		if !TestPolicy[f.Rule] {
			g.Verdict = Fail
			return g
		}
		g.Verdict = Policy
	}
	return g
}

// lostTests reports the tests of the baseline that have no result now. Those
// of a module that could not be collected, or of a package that does not build, are
// lost with it: its own error tells.
func (d Diff) lostTests(base []TestResult, after map[string]TestResult) []Finding {
	var found []Finding
	for _, old := range base {
		id := d.NewID(old.ID)
		file, _, isTest := strings.Cut(id, "::") // or a module that was not collected
		if _, there := after[id]; there || !isTest || after[file].Outcome == "error" || after[path.Dir(file)].Outcome == "error" {
			continue
		}
		// A person who deletes a test means it; one that vanishes from a file that
		// nobody touched is broken.
		if d.Deleted[file] || d.Touched[file] || after[file].Outcome == "skipped" {
			found = append(found, Finding{File: file, Rule: RuleTestRemoved, Message: Shorten(id) + " was there before the patch and is gone"})
		} else if old.Outcome == "passed" {
			found = append(found, Finding{File: file, Rule: RuleTestLost, Message: Shorten(id) + " passed before the patch and does not run any more"})
		}
	}
	return found
}

// oldTest appends a test that failed before to list, unless that is full.
func (d Diff) oldTest(list []Finding, r TestResult) []Finding {
	if len(list) == MaxOld {
		return list
	}
	f := d.testFinding(r)
	f.Old = true
	return append(list, f)
}

// testFinding tells of one failing test, at the place where it failed.
func (d Diff) testFinding(r TestResult) Finding {
	rule := RuleTestFailed
	if r.Outcome == "error" {
		rule = RuleTestError
	}
	f := Finding{File: r.File, Line: r.Line, Rule: rule, Message: Shorten(r.ID) + ": " + r.Message}
	if f.File == "" {
		f.File, _, _ = strings.Cut(r.ID, "::")
	}
	f.Source = d.Sources.Line(f.File, f.Line)
	return f
}

// NewID follows renames of test files.
func (d Diff) NewID(id string) string {
	file, rest, cut := strings.Cut(id, "::")
	if to, ok := d.Moved[file]; ok {
		file = to
	}
	if !cut {
		return file
	}
	return file + "::" + rest
}

// RuleTestHelper is the rule of a test that needs the patch's own helpers.
const RuleTestHelper = "test-helper"

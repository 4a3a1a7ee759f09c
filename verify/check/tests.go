package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
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

// A Witness is what came of the tests of the gate's own that ran among those of one place, a file
// or a package: how many of them had to fail and how many to pass, and what they were told as.
type Witness struct {
	Place string `json:"place"`
	// Use tells the runs of one place by several commands apart; "" for the first.
	Use     string `json:"use,omitempty"`
	Failing int    `json:"failing"`
	Passing int    `json:"passing"`
	// Of Failing, those that are told as passed; of Passing, those that are told as failed.
	Passed int `json:"passed,omitempty"`
	Failed int `json:"failed,omitempty"`
	// Of both, those that did not run, or whose assertions did not count.
	Missing int `json:"missing,omitempty"`
}

// AsDrawn reports whether all of them ran and ended as they had to.
func (w Witness) AsDrawn() bool { return w.Passed == 0 && w.Failed == 0 && w.Missing == 0 }

// Absent reports whether none of them ran.
func (w Witness) Absent() bool { return w.Missing == w.Failing+w.Passing }

// Unlike reports whether they ended as the tests of an honest runner do not: one that had to fail is
// told as passed, or all that had to pass as failed. A single one may be marked by its name.
func (w Witness) Unlike() bool { return w.Passed > 0 || w.Failed > 0 && w.Failed == w.Passing }

// A TestRun is what the recorder wrote of one run of pytest. Until it is checked
// by trouble it is only a claim.
type TestRun struct {
	// In the order of the record.
	Results []TestResult
	// How many tests pytest announced, and how many have a result.
	Collected, Ran int
	// What runs the tests and was the workspace's own, as the recorder names it.
	Altered []string
	// The test that began and has no result, "" for none.
	Running string
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
	started := ""
	for line := range bytes.Lines(data) {
		var r struct {
			TestResult
			Kind   string   `json:"kind"`
			IDs    []string `json:"ids"`
			Names  []string `json:"names"`
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
		case "start":
			s.Running, started = Shorten(r.ID), r.ID
		case "collect", "test":
			if !slices.Contains(outcomes[r.Kind], r.Outcome) {
				return s, fmt.Errorf("a %s record ends as %q", r.Kind, Shorten(r.Outcome))
			}
			if r.Kind == "test" {
				r.ID = cmp.Or(r.ID, started)
				s.Ran, s.Running, started = s.Ran+1, "", ""
			}
			r.Message, r.File = Shorten(r.Message), Relative(r.File, Work)
			s.Results = append(s.Results, r.TestResult)
		case "altered":
			for _, name := range r.Names {
				s.Altered = append(s.Altered, Shorten(name))
			}
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

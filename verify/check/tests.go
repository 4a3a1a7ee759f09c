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
	// ID is the node ID of pytest, "tests/test_a.py::test_b[1]".
	ID string `json:"id"`
	// Outcome is passed, failed, error, skipped or xfailed; no other value is accepted.
	Outcome string `json:"outcome"`
	// File and Line are where it failed, possibly in the code under test.
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message,omitempty"`
	// Within says that it fails because of the tests in it, which report the reason themselves.
	Within bool `json:"within,omitempty"`
}

// Bad reports whether the test counts as failing.
func (t TestResult) Bad() bool { return t.Outcome == "failed" || t.Outcome == "error" }

// Skipped reports whether the test's assertions did not count because it was not run or was expected to fail.
func (t TestResult) Skipped() bool { return t.Outcome == "skipped" || t.Outcome == "xfailed" }

// Ran reports whether a test's assertions counted, whatever their result. A module that was not collected has none.
func (t TestResult) Ran() bool { return !t.Skipped() && strings.Contains(t.ID, "::") }

// A Witness says how the gate's own tests ended that ran among the tests of one place, a file or a package: how many
// had to fail and how many had to pass, and how they were reported.
type Witness struct {
	Place string `json:"place"`
	// Use tells apart runs of one place by several commands; "" for the first.
	Use     string `json:"use,omitempty"`
	Failing int    `json:"failing"`
	Passing int    `json:"passing"`
	// Passed counts those of Failing that are reported as passed; Failed those of Passing that are reported as failed.
	Passed int `json:"passed,omitempty"`
	Failed int `json:"failed,omitempty"`
	// Missing counts those of both that did not run or whose assertions did not count.
	Missing int `json:"missing,omitempty"`
}

// AsDrawn reports whether all of them ran and ended as they had to.
func (w Witness) AsDrawn() bool { return w.Passed == 0 && w.Failed == 0 && w.Missing == 0 }

// Absent reports whether none of them ran.
func (w Witness) Absent() bool { return w.Missing == w.Failing+w.Passing }

// Unlike reports whether they ended as they do not in an honest runner: a test that had to fail is reported as passed,
// or all that had to pass as failed. A single one may have been marked because of its name.
func (w Witness) Unlike() bool { return w.Passed > 0 || w.Failed > 0 && w.Failed == w.Passing }

// A TestRun is what the recorder wrote about one run of pytest. It is only a claim until trouble in package python has
// checked it.
type TestRun struct {
	// Results is in the order of the record.
	Results []TestResult
	// Collected is how many tests pytest announced, and Ran how many have a result.
	Collected, Ran int
	// Altered has what runs the tests and came from the workspace, as the recorder names it.
	Altered []string
	// Running is the test that began and has no result, "" for none.
	Running string
	// Finished says that the last record is present, with the session's exit status in Status.
	Finished bool
	Status   int
}

// outcomes are the endings that each kind of record may report. Any other word would be neither a failure nor a pass,
// and would hide that a test is gone.
var outcomes = map[string][]string{
	"collect": {"error", "skipped"},
	"test":    {"passed", "failed", "error", "skipped", "xfailed"},
}

// ParseRecord reads the recorder's lines. Test code shares the recorder's process, so nothing here is trusted beyond
// its form. An incomplete last line is what a killed session leaves and is not an error.
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
		// pytest has finished everything at that point: any further record comes from other code.
		if s.Finished {
			return s, fmt.Errorf("it continues after its end")
		}
		switch r.Kind {
		case "collected":
			s.Collected += len(r.IDs)
		case "start":
			s.Running, started = Shorten(r.ID), r.ID
		case "collect", "test":
			if !slices.Contains(outcomes[r.Kind], r.Outcome) {
				return s, fmt.Errorf("a %s record has the outcome %q", r.Kind, Shorten(r.Outcome))
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
			return s, fmt.Errorf("unknown kind of record %q", Shorten(r.Kind))
		}
	}
	return s, nil
}

// Summary returns the counts of the results for display.
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

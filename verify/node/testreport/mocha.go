package testreport

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// A mochaReport is what mocha's reporter json writes, limited to the fields used here.
type mochaReport struct {
	Stats *struct {
		Passes   int `json:"passes"`
		Pending  int `json:"pending"`
		Failures int `json:"failures"`
	} `json:"stats"`
	Passes   []mochaTest `json:"passes"`
	Pending  []mochaTest `json:"pending"`
	Failures []mochaTest `json:"failures"`
}

// A mochaTest is one of its tests, or a hook that failed.
type mochaTest struct {
	Title string `json:"title"`
	// Full is the title with those of the enclosing suites in front, separated by spaces.
	Full  string `json:"fullTitle"`
	File  string `json:"file"`
	Error struct {
		Message string `json:"message"`
		Stack   string `json:"stack"`
	} `json:"err"`
}

// mochaHook matches the title of a hook.
var mochaHook = lazyregexp.New(`^"(?:before|after) (?:all|each)" hook`)

// Mocha reads the JSON report of mocha: the tests, and files whose hooks failed. Its counts must match its lists.
func Mocha(data []byte, by Reading) ([]check.TestResult, error) {
	var report mochaReport
	if err := json.Unmarshal(data, &report); err != nil {
		return nil, err
	}
	s := report.Stats
	if s == nil || s.Passes != len(report.Passes) || s.Pending != len(report.Pending) || s.Failures != len(report.Failures) {
		return nil, fmt.Errorf("its counts do not match its %d tests", len(report.Passes)+len(report.Pending)+len(report.Failures))
	}
	var l List
	add := func(list []mochaTest, end string) {
		for _, t := range list {
			file := by.Place(t.File)
			names := slices.DeleteFunc([]string{strings.TrimSpace(strings.TrimSuffix(t.Full, t.Title)), t.Title}, func(s string) bool { return s == "" })
			r := check.TestResult{ID: file + "::" + strings.Join(names, " > "), Outcome: end}
			if end == "failed" {
				r.File, r.Message = file, "failed"
				r = Told(r, cmp.Or(t.Error.Stack, t.Error.Message), by.Place)
			}
			// The tests that the hook is for did not run: its failure stands for the file.
			if end == "failed" && mochaHook.MatchString(t.Title) {
				r.ID, r.Outcome, r.Message = file, "error", check.Shorten(t.Full+": "+r.Message)
			}
			l.Add(r)
		}
	}
	add(report.Passes, "passed")
	add(report.Pending, "skipped")
	add(report.Failures, "failed")
	return l.Results, nil
}

package testreport

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"agent/verify/check"
)

// jestBroken begins jest's message about a fault of a file outside of its tests.
const jestBroken = "● Test suite failed to run"

// A title is the title of a test or of a suite in JSON: a string, or the JSON form of whatever else a suite gave for it.
type title string

func (t *title) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	*t = title(text)
	return nil
}

// titles returns a list of titles as strings.
func titles(list []title) (texts []string) {
	for _, t := range list {
		texts = append(texts, string(t))
	}
	return texts
}

// A jestReport is the JSON that jest and vitest write, limited to the fields used here.
type jestReport struct {
	Total  *int `json:"numTotalTests"`
	Failed *int `json:"numFailedTests"`
	Files  []struct {
		// Name is absolute.
		Name string `json:"name"`
		// Status is "failed" also for a file that does not load, or whose hooks fail.
		Status  string `json:"status"`
		Message string `json:"message"`
		Tests   []struct {
			// Ancestors are the enclosing suites.
			Ancestors []title  `json:"ancestorTitles"`
			Title     title    `json:"title"`
			Status    string   `json:"status"`
			Messages  []string `json:"failureMessages"`
			Location  *struct {
				Line int `json:"line"`
			} `json:"location"`
		} `json:"assertionResults"`
	} `json:"testResults"`
}

// jestOutcomes maps jest's words for how a test ended; any other word makes a report invalid.
var jestOutcomes = map[string]string{
	"passed": "passed", "failed": "failed", "pending": "skipped", "skipped": "skipped", "todo": "skipped", "disabled": "skipped",
}

// Jest reads the JSON report of jest or vitest: the tests, and the files that failed outside of them. Its counts must match
// its list.
func Jest(data []byte, r Reading) ([]check.TestResult, error) {
	var report jestReport
	if err := json.Unmarshal(data, &report); err != nil {
		return nil, err
	}
	var l List
	tests, failed := 0, 0
	for _, f := range report.Files {
		file, bad, ours := r.Place(f.Name), false, false
		for _, t := range f.Tests {
			end, ok := jestOutcomes[t.Status]
			if !ok {
				return nil, fmt.Errorf("a test has the status %q", check.Shorten(t.Status))
			}
			tests++
			one := check.TestResult{ID: file + "::" + strings.Join(append(titles(t.Ancestors), string(t.Title)), " > "), Outcome: end}
			if end == "failed" {
				failed++
				bad, ours = bad || !r.Ours(string(t.Title)), ours || r.Ours(string(t.Title))
				one.Message, one.File = "failed", file
				if t.Location != nil {
					one.Line = max(t.Location.Line, 0)
				}
				one = Told(one, strings.Join(t.Messages, "\n"), r.Place)
			}
			l.Add(one)
		}
		message, broken := f.Message, true
		// A witness that fails makes a file fail as well.
		if ours {
			fault, said := r.Faults[f.Name]
			_, behind, found := strings.Cut(f.Message, jestBroken)
			message, broken = cmp.Or(fault, behind), said || found
		}
		// The fault belongs to no test in the file.
		if f.Status == "failed" && !bad && broken {
			one := check.TestResult{ID: file, Outcome: "error", File: file, Message: "the file failed"}
			l.Add(Told(one, strings.Replace(message, jestBroken, "", 1), r.Place))
		}
	}
	if report.Total == nil || report.Failed == nil || *report.Total != tests || *report.Failed != failed {
		return nil, fmt.Errorf("its counts do not match its %d tests, of which %d failed", tests, failed)
	}
	return l.Results, nil
}

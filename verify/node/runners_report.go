package node

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/node/listing"
	"agent/verify/witness"
)

// A reading is what a report is read with.
type reading struct {
	// The file of a test in the workspace.
	place func(file string) string
	// What vitest_faults.mjs says of files, by their own names; nil where it was not asked.
	faults map[string]string
	// Reports whether a title is that of a witness.
	ours func(title string) bool
}

// newReading is that of a report of a package; set are the witnesses among its tests.
func newReading(root string, faults []byte, set *witness.Set) reading {
	r := reading{ours: set.Titles, place: func(file string) string {
		if !path.IsAbs(file) {
			file = path.Join(check.Work, root, file)
		}
		rel := check.Relative(file, check.Work)
		if rel == root {
			rel = ""
		}
		return cmp.Or(rel, path.Join(root, "package.json"))
	}}
	var f vitestFaults
	if json.Unmarshal(faults, &f) == nil {
		r.faults = f.Files
	}
	return r
}

// jestBroken is how jest begins what it says of a file outside of its tests.
const jestBroken = "● Test suite failed to run"

// jestRunner matches where jest is given another runner of files or of tests than its own.
var jestRunner = lazyregexp.New(`\b(?:r|testR)unner["']?\s*:`)

// jestUnlike reports whether a use has one: what that makes of a failure nobody here knows.
func jestUnlike(v check.View, u packageUse) bool {
	return slices.ContainsFunc(append([]string{"package.json"}, listing.Files(JestName)...), func(name string) bool {
		return jestRunner.MatchString(v.Text(path.Join(u.root, name)))
	})
}

// jestAlone wants that jest has nothing against the snapshots either.
func jestAlone(res guest.Result, report string) bool {
	var said struct {
		Snapshot struct {
			Failure bool `json:"failure"`
		} `json:"snapshot"`
	}
	return json.Unmarshal(res.Files[report], &said) == nil && !said.Snapshot.Failure
}

// A jestReport is what jest and vitest write as JSON, the fields that are used here.
type jestReport struct {
	Total  *int `json:"numTotalTests"`
	Failed *int `json:"numFailedTests"`
	Files  []struct {
		// Absolute.
		Name string `json:"name"`
		// "failed" also for a file that does not load, or whose hooks fail.
		Status  string `json:"status"`
		Message string `json:"message"`
		Tests   []struct {
			// The suites around it.
			Ancestors []string `json:"ancestorTitles"`
			Title     string   `json:"title"`
			Status    string   `json:"status"`
			Messages  []string `json:"failureMessages"`
			Location  *struct {
				Line int `json:"line"`
			} `json:"location"`
		} `json:"assertionResults"`
	} `json:"testResults"`
}

// jestOutcomes are its words for how a test ended; another one is no report.
var jestOutcomes = map[string]string{
	"passed": "passed", "failed": "failed", "pending": "skipped", "skipped": "skipped", "todo": "skipped", "disabled": "skipped",
}

// parseJest reads a report of jest or vitest. Its counts must be those of its list.
func parseJest(data []byte, r reading) ([]check.TestResult, error) {
	var report jestReport
	if err := json.Unmarshal(data, &report); err != nil {
		return nil, err
	}
	var l testList
	tests, failed := 0, 0
	for _, f := range report.Files {
		file, bad, ours := r.place(f.Name), false, false
		for _, t := range f.Tests {
			end, ok := jestOutcomes[t.Status]
			if !ok {
				return nil, fmt.Errorf("a test ends as %q", check.Shorten(t.Status))
			}
			tests++
			one := check.TestResult{ID: file + "::" + strings.Join(append(t.Ancestors, t.Title), " > "), Outcome: end}
			if end == "failed" {
				failed++
				bad, ours = bad || !r.ours(t.Title), ours || r.ours(t.Title)
				one.Message, one.File = "failed", file
				if t.Location != nil {
					one.Line = max(t.Location.Line, 0)
				}
				one = told(one, strings.Join(t.Messages, "\n"), r.place)
			}
			l.add(one)
		}
		message, broken := f.Message, true
		// A witness that fails makes a file fail as well.
		if ours {
			fault, said := r.faults[f.Name]
			_, behind, found := strings.Cut(f.Message, jestBroken)
			message, broken = cmp.Or(fault, behind), said || found
		}
		// The fault of no test in it.
		if f.Status == "failed" && !bad && broken {
			one := check.TestResult{ID: file, Outcome: "error", File: file, Message: "the file failed"}
			l.add(told(one, strings.Replace(message, jestBroken, "", 1), r.place))
		}
	}
	if report.Total == nil || report.Failed == nil || *report.Total != tests || *report.Failed != failed {
		return nil, fmt.Errorf("its counts do not fit its %d tests, of which %d failed", tests, failed)
	}
	return l.results, nil
}

// A mochaReport is what mocha's reporter json writes, the fields that are used here.
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
	// With the suites around it in front, by spaces.
	Full  string `json:"fullTitle"`
	File  string `json:"file"`
	Error struct {
		Message string `json:"message"`
		Stack   string `json:"stack"`
	} `json:"err"`
}

// mochaHook matches the title of a hook.
var mochaHook = lazyregexp.New(`^"(?:before|after) (?:all|each)" hook`)

// parseMocha reads a report of mocha. Its counts must be those of its lists.
func parseMocha(data []byte, by reading) ([]check.TestResult, error) {
	var report mochaReport
	if err := json.Unmarshal(data, &report); err != nil {
		return nil, err
	}
	s := report.Stats
	if s == nil || s.Passes != len(report.Passes) || s.Pending != len(report.Pending) || s.Failures != len(report.Failures) {
		return nil, fmt.Errorf("its counts do not fit its %d tests", len(report.Passes)+len(report.Pending)+len(report.Failures))
	}
	var l testList
	add := func(list []mochaTest, end string) {
		for _, t := range list {
			file := by.place(t.File)
			names := slices.DeleteFunc([]string{strings.TrimSpace(strings.TrimSuffix(t.Full, t.Title)), t.Title}, func(s string) bool { return s == "" })
			r := check.TestResult{ID: file + "::" + strings.Join(names, " > "), Outcome: end}
			if end == "failed" {
				r.File, r.Message = file, "failed"
				r = told(r, cmp.Or(t.Error.Stack, t.Error.Message), by.place)
			}
			// The tests that it is for did not run: it speaks for the file.
			if end == "failed" && mochaHook.MatchString(t.Title) {
				r.ID, r.Outcome, r.Message = file, "error", check.Shorten(t.Full+": "+r.Message)
			}
			l.add(r)
		}
	}
	add(report.Passes, "passed")
	add(report.Pending, "skipped")
	add(report.Failures, "failed")
	return l.results, nil
}

// A testList gathers results under IDs of their own: titles need not be unique.
type testList struct {
	results []check.TestResult
	used    map[string]int
}

// add appends one, with a number behind the second of a name.
func (l *testList) add(r check.TestResult) {
	if l.used == nil {
		l.used = map[string]int{}
	}
	l.used[r.ID]++
	if n := l.used[r.ID]; n > 1 {
		r.ID += " #" + strconv.Itoa(n)
	}
	l.results = append(l.results, r)
}

// workFrame matches a place in the workspace, as a stack names it.
var workFrame = lazyregexp.New(`(/work/[^\s():]+):(\d+)`)

// stackLine matches where a stack begins behind a message.
var stackLine = lazyregexp.New(`\n\s+at `)

// told gives a failing test what it says up to the stack, and the first place in
// it that lies in the workspace itself.
func told(r check.TestResult, text string, place func(file string) string) check.TestResult {
	text = check.Clean([]byte(text))
	for _, m := range workFrame.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(m[2]); err == nil && !strings.Contains(m[1], "/node_modules/") {
			r.File, r.Line = place(m[1]), n
			break
		}
	}
	r.Message = cmp.Or(check.Shorten(stackLine.Split(text, 2)[0]), r.Message)
	return r
}

// The reports of the planted packages: see packageRunner.
const (
	plantedJest = `{"numTotalTests": 2, "numFailedTests": 1, "testResults": [{"name": "/work/planted.test.js", "status": "failed", "assertionResults": [
{"ancestorTitles": ["suite"], "title": "true", "status": "passed"}, {"ancestorTitles": ["suite"], "title": "false", "status": "failed"}]}]}
`
	plantedMocha = `{"stats": {"passes": 1, "pending": 0, "failures": 1}, "passes": [{"title": "true", "fullTitle": "suite true", "file": "/work/planted.test.js"}],
"pending": [], "failures": [{"title": "false", "fullTitle": "suite false", "file": "/work/planted.test.js", "err": {"message": "planted"}}]}
`
)

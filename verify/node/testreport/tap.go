package testreport

import (
	"cmp"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	tapreport "agent/verify/node/tap"
)

// TAP reads the tests of a report in the Test Anything Protocol. A subtest at the top that is named like a file holds the
// tests of that file; the others are reported for the package.
func TAP(data []byte, by Reading) ([]check.TestResult, error) {
	tests, err := tapreport.Read(data)
	return resultsOf(tests, by), err
}

// Ava reads the tests of a report of ava. A file that crashed is an error of that file, with what was thrown before.
func Ava(data []byte, by Reading) ([]check.TestResult, error) {
	tests, err := tapreport.ReadPoints(data)
	var crashed List
	said := ""
	tests = slices.DeleteFunc(tests, func(t tapreport.Test) bool {
		m := crash.FindStringSubmatch(t.Name)
		if t.Outcome != "failed" || m == nil {
			said = t.Message
			return false
		}
		file := by.Place(m[1] + m[2])
		crashed.Add(Told(check.TestResult{ID: file, Outcome: "error", File: file}, cmp.Or(thrown.FindString(said), t.Message), by.Place))
		said = ""
		return true
	})
	return append(resultsOf(tests, by), crashed.Results...), err
}

// crash matches what ava says of a file as a whole: "a.test.js exited with a non-zero exit code: 1".
var crash = lazyregexp.New(`^(?:No tests found in ([^\s,]+\.\w+)(?:,.*)?|([^\s,]+\.\w+) exited (?:with|due to) .+)$`)

// thrown matches the message of an error that no test caught.
var thrown = lazyregexp.New(`(?s)^\w*(?:Error|Exception)\b.*`)

// resultsOf returns the tests of a report one by one.
func resultsOf(tests []tapreport.Test, by Reading) []check.TestResult {
	var l List
	var add func(file string, names []string, t tapreport.Test)
	add = func(file string, names []string, t tapreport.Test) {
		failed := false
		for _, in := range t.Inner {
			// Assertions of a subtest have no names that identify them.
			if len(in.Inner) > 0 || t.Name == "" {
				add(file, append(names[:len(names):len(names)], t.Name), in)
				failed = failed || in.Outcome == "failed"
			} else if in.Outcome == "failed" {
				t.Message = cmp.Or(in.Message, t.Message)
			}
		}
		if t.Outcome == "" {
			return
		}
		r := check.TestResult{ID: file + "::" + strings.Join(append(names[:len(names):len(names)], t.Name), " > "), Outcome: t.Outcome, Within: failed && t.Outcome == "failed"}
		if t.Outcome == "failed" {
			r.File, r.Message = file, "failed"
			r = Told(r, t.Message, by.Place)
		}
		l.Add(r)
	}
	for _, t := range tests {
		if !ScriptFile.MatchString(t.Name) || strings.Contains(t.Name, " ") {
			add(by.Place(""), nil, t)
			continue
		}
		file := by.Place(t.Name)
		for _, in := range t.Inner {
			add(file, nil, in)
		}
		if t.Outcome == "failed" && !failedWithin(t) || len(t.Inner) == 0 {
			r := check.TestResult{ID: file + "::script", Outcome: t.Outcome}
			if t.Outcome == "failed" {
				r.ID, r.Outcome, r.File, r.Message = file, "error", file, "the file failed"
				r = Told(r, t.Message, by.Place)
			}
			l.Add(r)
		}
	}
	return l.Results
}

// ScriptFile matches the names of JavaScript and TypeScript files.
var ScriptFile = lazyregexp.New(`\.(?:[cm]?[jt]s|[jt]sx)$`)

// failedWithin reports whether something in a test failed.
func failedWithin(t tapreport.Test) bool {
	for _, in := range t.Inner {
		if in.Outcome == "failed" {
			return true
		}
	}
	return false
}

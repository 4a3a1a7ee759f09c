package testreport

import (
	"fmt"
	"strconv"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

var (
	uvuCount = lazyregexp.New(`\((\d+) / (\d+)\)\s*$`)
	uvuFail  = lazyregexp.New(`^\s*FAIL\s+(.*)$`)
	uvuTotal = lazyregexp.New(`^\s*(Total|Passed|Skipped):\s+(\d+)`)
)

// Uvu reads what uvu wrote: after the name of each file, a line for each suite in it that says how many tests passed out of
// how many. Their sums must match those at the end.
func Uvu(data []byte, by Reading) (results []check.TestResult, err error) {
	file, sums, totals := "", map[string]int{}, map[string]int{}
	var fault []string // the lines of the first failure in the file
	end := func() {
		if len(results) > 0 && len(fault) > 0 {
			last := &results[len(results)-1]
			last.File = by.Place("")
			*last = Told(*last, strings.Join(fault, "\n"), by.Place)
		}
		fault = nil
	}
	for line := range strings.Lines(check.Clean(data)) {
		line = strings.TrimRight(line, "\n ")
		name := strings.TrimSpace(line)
		m := uvuCount.FindStringSubmatch(line)
		switch {
		case name != "" && ScriptFile.MatchString(name) && name == line && !strings.Contains(name, " "):
			end()
			file = name
		case m != nil:
			passed, _ := strconv.Atoi(m[1])
			all, _ := strconv.Atoi(m[2])
			sums["Passed"], sums["Total"] = sums["Passed"]+passed, sums["Total"]+all
			id := by.Place("") + "::" + file
			if file == "" {
				id += "tests"
			}
			if n := len(results); n == 0 || results[n-1].ID != id {
				results = append(results, check.TestResult{ID: id, Outcome: "passed"})
			}
			if passed != all {
				results[len(results)-1].Outcome, results[len(results)-1].Message = "failed", "failed"
			}
		case uvuTotal.MatchString(line):
			end()
			t := uvuTotal.FindStringSubmatch(line)
			totals[t[1]], _ = strconv.Atoi(t[2])
		case uvuFail.MatchString(line) || len(fault) > 0:
			fault = append(fault, name)
		}
	}
	// The files do not report what is skipped.
	if len(totals) != 3 || sums["Passed"] != totals["Passed"] || sums["Total"] != totals["Total"] && sums["Total"] != totals["Total"]-totals["Skipped"] {
		return nil, fmt.Errorf("its sums %v do not match the counts of its files, %v", totals, sums)
	}
	return results, nil
}

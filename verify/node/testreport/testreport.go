// Package testreport reads the reports of the test runners that npm packages bring into a workspace. A report whose counts
// do not match its lists is an error: part of a report is never taken for the whole.
package testreport

import (
	"cmp"
	"strconv"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// A Reading is what is needed to read a report.
type Reading struct {
	// Place returns the file of a test in the workspace, given the name that a report has for it; for "", the file of the package.
	Place func(file string) string
	// Faults maps files, by their own names, to what vitest_faults.mjs says of them; nil if it was not asked.
	Faults map[string]string
	// Ours reports whether a title is that of a witness.
	Ours func(title string) bool
}

// A List gathers results under unique IDs, since titles need not be unique.
type List struct {
	// Results holds the results added so far.
	Results []check.TestResult
	used    map[string]int
}

// Add appends a result. From the second one with the same ID on, it appends a number to the ID.
func (l *List) Add(r check.TestResult) {
	if l.used == nil {
		l.used = map[string]int{}
	}
	l.used[r.ID]++
	if n := l.used[r.ID]; n > 1 {
		r.ID += " #" + strconv.Itoa(n)
	}
	l.Results = append(l.Results, r)
}

// workFrame matches a place in the workspace as a stack trace names it.
var workFrame = lazyregexp.New(`(/work/[^\s():]+):(\d+)`)

// stackLine matches the start of a stack trace after a message.
var stackLine = lazyregexp.New(`\n\s+at `)

// Told gives a failing test its message, up to the stack trace, and the first place in the text that is in the workspace
// itself.
func Told(r check.TestResult, text string, place func(file string) string) check.TestResult {
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

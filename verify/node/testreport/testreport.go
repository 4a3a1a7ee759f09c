// Package testreport reads what the runners of tests that packages of node bring write of a run. A report whose counts do
// not fit its lists is an error: a part of one is never taken for the whole.
package testreport

import (
	"cmp"
	"strconv"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// A Reading is what a report is read with.
type Reading struct {
	// Place is the file of a test in the workspace, by the name that a report has for it; that of the package for "".
	Place func(file string) string
	// Faults is what vitest_faults.mjs says of files, by their own names; nil where it was not asked.
	Faults map[string]string
	// Ours reports whether a title is that of a witness.
	Ours func(title string) bool
}

// A List gathers results under IDs of their own: titles need not be unique.
type List struct {
	// Results are those added so far.
	Results []check.TestResult
	used    map[string]int
}

// Add appends one, with a number behind the second of a name.
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

// workFrame matches a place in the workspace, as a stack names it.
var workFrame = lazyregexp.New(`(/work/[^\s():]+):(\d+)`)

// stackLine matches where a stack begins behind a message.
var stackLine = lazyregexp.New(`\n\s+at `)

// Told gives a failing test what it says up to the stack, and the first place in
// it that lies in the workspace itself.
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

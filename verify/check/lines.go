package check

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
)

// Lines maps a path to line numbers of that file, counted from 1, ascending and without duplicates.
type Lines map[string][]int

// A Trace is what a run reports about the lines that it was asked about. A file that is not in Code was not measured:
// nothing is known about it.
type Trace struct {
	// Code has the lines on which something can be executed. An empty list means that only comments, types or data of
	// that file were asked about.
	Code Lines `json:"code,omitempty"`
	// Ran has the lines of Code that were executed. Execution by merely loading a file counts only for lines that do
	// nothing else: the head of a function counts as executed when its body is.
	Ran Lines `json:"ran,omitempty"`
}

// With returns the combination of two traces. Either may be nil.
func (t *Trace) With(other *Trace) *Trace {
	if t == nil || other == nil {
		if t == nil {
			return other
		}
		return t
	}
	return &Trace{Code: t.Code.with(other.Code), Ran: t.Ran.with(other.Ran)}
}

// with returns the lines that are in l or in other.
func (l Lines) with(other Lines) Lines {
	sum := maps.Clone(l)
	if sum == nil {
		sum = Lines{}
	}
	for p, list := range other {
		// The list is never nil: a file with nothing to execute was measured all the same.
		both := append(append([]int{}, sum[p]...), list...)
		slices.Sort(both)
		sum[p] = slices.Compact(both)
	}
	return sum
}

// LinesOf returns the numbers of all lines of a text.
func LinesOf(text []byte) (list []int) {
	for n := range bytes.Count(text, []byte("\n")) + 1 {
		list = append(list, n+1)
	}
	return list
}

// Count returns the number of lines in all files.
func (l Lines) Count() (n int) {
	for _, list := range l {
		n += len(list)
	}
	return n
}

// Only returns the lines of the files for which keep reports true, or nil if there are none.
func (l Lines) Only(keep func(path string) bool) Lines {
	var some Lines
	for p, list := range l {
		if keep(p) {
			if some == nil {
				some = Lines{}
			}
			some[p] = list
		}
	}
	return some
}

// mostSingly bounds how many failing tests are run again one by one. If there are more, all tests are run again.
const mostSingly = 50

// Unmeasured runs tests with measurement, then repeats the doubtful ones without it. The effects of measurement on
// time, memory or the text of a function are not faults of a patch. Only the second result of the repeated tests
// counts. A tool that measurement cannot disturb does not need this.
func Unmeasured(ctx context.Context, b Bench, doubtful func(TestResult) bool, run func(context.Context, Bench) Outcome) Outcome {
	out := run(ctx, b)
	// A run that did not finish would not finish the second time either, at the same cost.
	if len(b.Lines) == 0 || out.Traced == nil || out.Verdict != "" || ctx.Err() != nil {
		return out
	}
	all := out.Blocked != ""
	var doubts []string
	for _, t := range out.Tests {
		if doubtful(t) {
			doubts = append(doubts, t.ID)
			// It is not known which tests a file or a package would have had.
			all = all || !strings.Contains(t.ID, "::")
		}
	}
	if len(doubts) == 0 && !all {
		return out
	}
	was := TestRun{Results: out.Tests}.Summary()
	b.Lines, b.AffectedDone = nil, nil
	if all || len(doubts) > mostSingly {
		again := run(ctx, b)
		// A box that did not survive the first run says nothing about the second.
		if again.Verdict == Infra {
			return out
		}
		again.Seconds, again.Peak, again.Traced = again.Seconds+out.Seconds, max(again.Peak, out.Peak), out.Traced
		return again
	}
	b.Only = doubts
	again := run(ctx, b)
	if again.Verdict != "" || again.Blocked != "" {
		return out
	}
	second := map[string]TestResult{}
	for _, t := range again.Tests {
		second[t.ID] = t
	}
	for i, t := range out.Tests {
		if r, ok := second[t.ID]; ok && doubtful(t) {
			out.Tests[i] = r
		}
	}
	out.Seconds, out.Peak, out.Output = out.Seconds+again.Seconds, max(out.Peak, again.Peak), again.Output
	// A check may put text around the summary, such as what ran the tests.
	front, rest, found := strings.Cut(out.Detail, was)
	if out.Detail = (TestRun{Results: out.Tests}.Summary()); found {
		out.Detail = front + out.Detail + rest
	}
	return out
}

package check

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
)

// Lines names lines of files by path, counted from 1, ascending and each once.
type Lines map[string][]int

// A Trace is what a run says of the lines that it was asked about. A file that is not in
// Code was not measured: nothing is known of it.
type Trace struct {
	// Those on which something can be executed; an empty list is a file in which only
	// comments, types or data were asked about.
	Code Lines `json:"code,omitempty"`
	// Those of Code that were executed. What merely loading a file executes counts only for
	// lines that do nothing else: the head of a function is executed when its body is.
	Ran Lines `json:"ran,omitempty"`
}

// With returns what two traces say together. Either may be nil.
func (t *Trace) With(other *Trace) *Trace {
	if t == nil || other == nil {
		if t == nil {
			return other
		}
		return t
	}
	return &Trace{Code: t.Code.with(other.Code), Ran: t.Ran.with(other.Ran)}
}

// with returns the lines that are in either.
func (l Lines) with(other Lines) Lines {
	sum := maps.Clone(l)
	if sum == nil {
		sum = Lines{}
	}
	for p, list := range other {
		// Not nil: a file with nothing to execute was measured all the same.
		both := append(append([]int{}, sum[p]...), list...)
		slices.Sort(both)
		sum[p] = slices.Compact(both)
	}
	return sum
}

// LinesOf are all lines of a text.
func LinesOf(text []byte) (list []int) {
	for n := range bytes.Count(text, []byte("\n")) + 1 {
		list = append(list, n+1)
	}
	return list
}

// Count counts all of them.
func (l Lines) Count() (n int) {
	for _, list := range l {
		n += len(list)
	}
	return n
}

// Only returns the lines of the files that keep says true of; nil when there are none.
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

// mostSingly bounds how many failing tests are run again one by one; of more, all are.
const mostSingly = 50

// Unmeasured runs tests that are measured, and the doubtful ones of the results once more
// without: what measuring makes of time, memory or the text of a function is no fault of a
// patch. Only the second result of these counts. A tool that no measuring can disturb needs
// none of this.
func Unmeasured(ctx context.Context, b Bench, doubtful func(TestResult) bool, run func(context.Context, Bench) Outcome) Outcome {
	out := run(ctx, b)
	// What comes to no end would not come to one the second time, and costs as much.
	if len(b.Lines) == 0 || out.Traced == nil || out.Verdict != "" || ctx.Err() != nil {
		return out
	}
	all := out.Blocked != ""
	var doubts []string
	for _, t := range out.Tests {
		if doubtful(t) {
			doubts = append(doubts, t.ID)
			// Which tests a file or a package would have had is not known.
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
		// A box that did not outlive the first run says nothing of the second.
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
	// Around it a check may say what ran them.
	front, rest, found := strings.Cut(out.Detail, was)
	if out.Detail = (TestRun{Results: out.Tests}.Summary()); found {
		out.Detail = front + out.Detail + rest
	}
	return out
}

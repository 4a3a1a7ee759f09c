package check

import (
	"context"
	"maps"
	"slices"
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
		both := slices.Concat(sum[p], list)
		slices.Sort(both)
		sum[p] = slices.Compact(both)
	}
	return sum
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

// Unmeasured runs tests that are measured, and those that fail once more without: what
// measuring makes of time, memory or the text of a function is no fault of a patch. Only the
// second result of these counts. A tool that no measuring can disturb needs none of this.
func Unmeasured(ctx context.Context, b Bench, run func(context.Context, Bench) Outcome) Outcome {
	out := run(ctx, b)
	if len(b.Lines) == 0 || out.Traced == nil || out.Verdict == Infra {
		return out
	}
	var bad []string
	for _, t := range out.Tests {
		if t.Bad() {
			bad = append(bad, t.ID)
		}
	}
	if len(bad) == 0 && out.Blocked == "" && out.Verdict == "" || ctx.Err() != nil {
		return out
	}
	traced := out.Traced
	b.Lines, b.AffectedDone = nil, nil
	if len(bad) > mostSingly || out.Blocked != "" || out.Verdict != "" {
		again := run(ctx, b)
		// A box that did not outlive the first run says nothing of the second.
		if again.Verdict == Infra {
			return out
		}
		again.Seconds, again.Traced = again.Seconds+out.Seconds, traced
		return again
	}
	b.Only = bad
	again := run(ctx, b)
	if again.Verdict != "" || again.Blocked != "" {
		return out
	}
	second := map[string]TestResult{}
	for _, t := range again.Tests {
		second[t.ID] = t
	}
	for i, t := range out.Tests {
		if r, ok := second[t.ID]; ok && t.Bad() {
			out.Tests[i] = r
		}
	}
	out.Seconds += again.Seconds
	out.Detail = TestRun{Results: out.Tests}.Summary()
	return out
}

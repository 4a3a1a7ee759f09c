package check

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTracesAreOneTogether(t *testing.T) {
	t.Parallel()
	a := &Trace{Code: Lines{"a": {1, 3}, "b": {}}, Ran: Lines{"a": {3}, "b": {}}}
	b := &Trace{Code: Lines{"a": {1, 3}, "b": {}, "c": {2}}, Ran: Lines{"a": {1}, "b": {}, "c": {}}}
	want := &Trace{Code: Lines{"a": {1, 3}, "b": {}, "c": {2}}, Ran: Lines{"a": {1, 3}, "b": {}, "c": {}}}
	if d := cmp.Diff(want, a.With(b)); d != "" {
		t.Error(d)
	}
	var none *Trace
	if a.With(nil) != a || none.With(b) != b || none.With(nil) != nil {
		t.Error("a trace with none is another one")
	}
}

func TestDoubtfulTestsAreRunOnceMoreUnmeasured(t *testing.T) {
	t.Parallel()
	results := func(outcome, last string) []TestResult {
		return []TestResult{{ID: "a::x", Outcome: "passed"}, {ID: last, Outcome: outcome}}
	}
	measured := &Trace{}
	for name, c := range map[string]struct {
		first      Outcome
		only, ends string // of the second run; "none" for no second run
	}{
		"nothing is wrong":    {Outcome{Tests: results("passed", "a::y"), Traced: measured}, "none", "passed"},
		"one fails":           {Outcome{Tests: results("failed", "a::y"), Traced: measured}, "[a::y]", "passed"},
		"a file fails":        {Outcome{Tests: results("error", "a"), Traced: measured}, "[]", "passed"},
		"the session is lost": {Outcome{Tests: results("passed", "a::y"), Blocked: "why", Traced: measured}, "[]", "passed"},
		"nothing measured":    {Outcome{Tests: results("failed", "a::y")}, "none", "failed"},
		"too late":            {Outcome{Tests: results("failed", "a::y"), Traced: measured, Verdict: Timeout}, "none", "failed"},
		"out of memory":       {Outcome{Tests: results("failed", "a::y"), Traced: measured, Verdict: OOM}, "none", "failed"},
		"the box is lost":     {Outcome{Tests: results("failed", "a::y"), Traced: measured, Verdict: Infra}, "none", "failed"},
	} {
		second := "none"
		out := Unmeasured(t.Context(), Bench{Lines: Lines{"a": {1}}}, TestResult.Bad, func(_ context.Context, b Bench) Outcome {
			if len(b.Lines) > 0 {
				return c.first
			}
			second = fmt.Sprint(b.Only)
			return Outcome{Tests: results("passed", c.first.Tests[1].ID)}
		})
		if second != c.only || out.Tests[1].Outcome != c.ends || out.Traced != c.first.Traced || len(out.Tests) != 2 || c.only != "none" && out.Blocked != "" {
			t.Errorf("%s: the second run is of %s: %+v", name, second, out)
		}
	}
}

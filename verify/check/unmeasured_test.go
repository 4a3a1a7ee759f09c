package check

import (
	"context"
	"testing"
)

// A box that ran out of memory while the tests were measured is not there for a second run.
func TestEndOfABoxIsThatOfTheFirstRun(t *testing.T) {
	t.Parallel()
	for first, want := range map[Verdict]Verdict{OOM: OOM, Timeout: Timeout} {
		out := Unmeasured(t.Context(), Bench{Lines: Lines{"a.js": {1}}}, func(_ context.Context, b Bench) Outcome {
			if len(b.Lines) > 0 {
				return Outcome{Verdict: first, Traced: &Trace{}}
			}
			return Infraf("the box is gone")
		})
		if out.Verdict != want {
			t.Errorf("%s: %s %s", first, out.Verdict, out.Detail)
		}
	}
}

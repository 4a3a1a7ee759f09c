package replay

import (
	"testing"

	"agent/orchestrator/gate"
	"agent/verify"
)

// An old record that lacks this field does not differ in it. Newer records are compared by gate and kind, not by their sentences.
func TestReplaysCompareWhatWasNotJudged(t *testing.T) {
	t.Parallel()
	now := []verify.Unproven{{Gate: "tests", Kind: "no-tests", Reason: "no test ran: no tests were found in the workspace"}}
	for name, c := range map[string]struct {
		recorded []verify.Unproven
		differs  int
	}{
		"an old record":    {nil, 0},
		"other words":      {[]verify.Unproven{{Gate: "tests", Kind: "no-tests", Reason: "none"}}, 0},
		"all was judged":   {[]verify.Unproven{}, 1},
		"for other causes": {[]verify.Unproven{{Gate: "tests", Kind: "no-runner"}}, 2},
	} {
		rep := &replay{Report: &Report{}, hide: func(text string) string { return text }}
		rep.compare(1, Exhibit{Verdict: verify.Pass, Unproven: c.recorded}, gate.Candidate{Verdict: verify.Pass, Unproven: now})
		if len(rep.Differs) != c.differs {
			t.Errorf("%s: %+v", name, rep.Differs)
		}
	}
}

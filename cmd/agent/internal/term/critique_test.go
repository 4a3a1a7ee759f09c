package term

import (
	"strings"
	"testing"

	"agent/orchestrator/agent/critic"
)

// A review reads as an opinion, and says what counts and what was not reviewed; a model's text moves no cursor.
func TestAReviewReadsAsAnOpinion(t *testing.T) {
	t.Parallel()
	c := critic.Critique{
		Agree: 2, Outcome: critic.SentBack,
		Opinions: []critic.Opinion{{Critic: "a/1"}, {Critic: "b/2"}, {Critic: "c/3", Unreviewed: "the cap is reached"}},
		Findings: []critic.Finding{
			{Severity: critic.Major, File: "a.py", Line: 3, Text: "it\x1b[2J fails", By: []string{"a/1", "b/2"}, Agreed: true},
			{Severity: critic.Minor, Text: "slow", By: []string{"a/1"}},
		},
	}
	var lines []string
	Critique(Palette{}, c, " of candidate 2", func(l string) { lines = append(lines, l) })
	want := []string{
		"Review of candidate 2 by a/1, b/2, an opinion: 1 major, 1 minor, sent back to the author once",
		"  major a.py:3: it␛[2J fails (a/1, b/2)",
		"  minor slow (a/1), which does not count: 2 must agree",
		"not reviewed of candidate 2: c/3 gave no review: the cap is reached",
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("\n%s", got)
	}
	lines = nil
	Critique(Palette{}, critic.Critique{Agree: 1, Outcome: critic.Unreviewed, Opinions: []critic.Opinion{{Critic: "a/1", Unreviewed: "no key"}}}, "", func(l string) { lines = append(lines, l) })
	if got := strings.Join(lines, "\n"); got != "not reviewed: a/1 gave no review: no key" {
		t.Error(got)
	}
}

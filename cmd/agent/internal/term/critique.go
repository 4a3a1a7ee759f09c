package term

import (
	"fmt"
	"strings"

	"agent/orchestrator/agent/critic"
	"agent/orchestrator/run"
)

// critiques prints the critics' opinions on candidates, in the order of asking.
func (s summary) critiques(d run.Document) {
	for _, c := range d.Critiques {
		of := ""
		for i, cand := range d.Candidates {
			if len(d.Candidates) > 1 && cand.Digest == c.Subject {
				of = fmt.Sprintf(" of candidate %d", i+1)
			}
		}
		fmt.Fprintln(s.Out)
		Critique(s.Palette, c, of, s.wrap)
	}
}

// outcomes say what happened to a critique.
var outcomes = map[critic.Outcome]string{critic.Kept: "for you to look at", critic.SentBack: "sent back to the author once"}

// Critique prints the critics' opinion on a change, line by line. of names the change, "" if it is clear which. An
// opinion is never shown as a verdict.
func Critique(p Palette, c critic.Critique, of string, say func(line string)) {
	var names []string
	for _, o := range c.Opinions {
		if o.Unreviewed == "" {
			names = append(names, o.Critic)
		}
	}
	if len(names) > 0 {
		head := fmt.Sprintf("Review%s by %s, an opinion: %s", of, strings.Join(names, ", "), critic.Summary(c.Findings))
		if text := outcomes[c.Outcome]; text != "" {
			head += ", " + text
		}
		say(CleanLine(head))
	}
	for _, f := range c.Findings {
		word := string(f.Severity)
		if f.Serious() {
			word = p.Warn(word)
		}
		place, by := "", ""
		if f.Place() != "" {
			place = CleanLine(f.Place()) + ": "
		}
		if len(c.Opinions) > 1 {
			by = " (" + CleanLine(strings.Join(f.By, ", ")) + ")"
		}
		if !f.Agreed {
			by += fmt.Sprintf(", which does not count: %d must agree", c.Agree)
		}
		say("  " + word + " " + place + CleanLine(f.Text) + p.Dim(by))
	}
	if not := c.NotReviewed(); not != "" {
		say(p.Warn("not reviewed"+of+":") + " " + CleanLine(not))
	}
}

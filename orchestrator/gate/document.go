package gate

import (
	"agent/orchestrator/edit"
	"agent/verify"
	"agent/verify/policy"
)

// A Document is a candidate as --json prints it.
type Document struct {
	Verdict verify.Verdict `json:"verdict"`
	Gates   []verify.Gate  `json:"gates"`
	Skipped []verify.Skip  `json:"skipped"`
	Holds   []policy.Hold  `json:"holds"`
	// Unproven is what no gate judged.
	Unproven []verify.Unproven `json:"unproven"`
	// Executed says how many of the lines that the candidate changes were executed.
	Executed []verify.Execution `json:"executed"`
	Edits    []edit.Applied     `json:"edits"`
	Digest   string             `json:"digest"`
	Diff     string             `json:"diff"`
	// Thought is what the response said about itself: never evidence.
	Thought string `json:"thought,omitempty"`
}

// Document returns the candidate as --json prints it: lists are never null.
func (c Candidate) Document() Document {
	d := Document{
		Verdict: c.Verdict, Digest: c.Digest, Diff: c.Diff, Thought: c.Thought,
		Gates: make([]verify.Gate, 0, len(c.Gates)), Skipped: append([]verify.Skip{}, c.Skipped...),
		Holds: append([]policy.Hold{}, c.Holds...), Edits: append([]edit.Applied{}, c.Edits...),
		Unproven: append([]verify.Unproven{}, c.Unproven...), Executed: append([]verify.Execution{}, c.Executed...),
	}
	for _, g := range c.Gates {
		g.Findings = append([]verify.Finding{}, g.Findings...)
		g.OldFindings = append([]verify.Finding{}, g.OldFindings...)
		d.Gates = append(d.Gates, g)
	}
	return d
}

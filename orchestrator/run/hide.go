package run

import (
	"slices"

	"agent/orchestrator/gate"
	"agent/verify"
)

// A Verifier's output is hidden already. The functions here remove the configured secrets from everything else that a run says: why an
// edit was refused, with lines of the file; why something was not installed; notes and errors. All of it leaves through save, emit,
// enter and the ending.

// hide removes the configured secrets from a text that is recorded or shown.
func (r *Runner) hide(text string) string {
	return r.notifier("").Hidden(text)
}

// hidden returns the ending with hide applied to its texts.
func (e Ending) hidden(hide func(string) string) Ending {
	if e.Error != nil {
		p := *e.Error
		p.Message, p.Next = hide(p.Message), hide(p.Next)
		e.Error = &p
	}
	e.Unproven = verify.HiddenUnproven(e.Unproven, hide)
	return e
}

// Hidden returns the document with hide applied to all its texts except the diffs; a nil hide hides nothing. It is for documents that
// were recorded when other secrets were configured.
func (d Document) Hidden(hide func(string) string) Document {
	if hide == nil {
		return d
	}
	end := Ending{Error: d.Error, Unproven: d.Unproven}.hidden(hide)
	d.Error, d.Unproven = end.Error, end.Unproven
	d.Candidates, d.Proposals = slices.Clone(d.Candidates), slices.Clone(d.Proposals)
	for i, c := range d.Candidates {
		shown := gate.Candidate{Thought: c.Thought, Gates: c.Gates, Skipped: c.Skipped, Holds: c.Holds}.Hidden(hide).Document()
		c.Thought, c.Gates, c.Skipped, c.Holds = shown.Thought, shown.Gates, shown.Skipped, shown.Holds
		c.Unproven = verify.HiddenUnproven(c.Unproven, hide)
		d.Candidates[i] = c
	}
	d.Critiques = slices.Clone(d.Critiques)
	for i, c := range d.Critiques {
		d.Critiques[i] = hiddenCritique(c, hide)
	}
	for i := range d.Proposals {
		d.Proposals[i].Reason = hide(d.Proposals[i].Reason)
	}
	return d
}

// notifier returns the Notifier of a run; run is "" for one that was not recorded.
func (r *Runner) notifier(run string) *Notifier {
	return &Notifier{Run: run, Emit: r.Emit, Hide: r.Hide}
}

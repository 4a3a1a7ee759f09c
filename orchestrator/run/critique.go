package run

import (
	"context"
	"slices"

	"agent/orchestrator/agent/critic"
	"agent/sandbox/workspace/secret/disguise"
)

// Critiques keeps what critics said about candidates. *store.DB implements it.
type Critiques interface {
	// SaveCritique records a critique as the next one of a run.
	SaveCritique(ctx context.Context, id string, token int64, c critic.Critique) error
}

// SaveCritique records what critics said about a candidate and tells the watcher. Nothing in the run depends on it.
func (x *Execution) SaveCritique(ctx context.Context, c critic.Critique) *Problem {
	c = hiddenCritique(c, func(text string) string {
		text, _ = disguise.Hide(x.Hide(text)) // a model may have quoted what the workspace holds
		return text
	})
	if x.runner.Critiques != nil {
		if err := x.runner.Critiques.SaveCritique(ctx, x.rec.ID, x.rec.Token, c); err != nil {
			return x.Trouble(ctx, "record what the critics said", err)
		}
	}
	x.doc.Critiques = append(x.doc.Critiques, c)
	x.Notify(Event{Note: "critics: " + c.Told()})
	return nil
}

// hiddenCritique returns a critique with hide applied to its texts.
func hiddenCritique(c critic.Critique, hide func(string) string) critic.Critique {
	c.Findings, c.Opinions = hiddenFindings(c.Findings, hide), slices.Clone(c.Opinions)
	for i := range c.Opinions {
		o := &c.Opinions[i]
		o.Unreviewed, o.Findings = hide(o.Unreviewed), hiddenFindings(o.Findings, hide)
	}
	return c
}

// hiddenFindings returns findings with hide applied to their texts.
func hiddenFindings(list []critic.Finding, hide func(string) string) []critic.Finding {
	list = slices.Clone(list)
	for i := range list {
		list[i].Text = hide(list[i].Text)
	}
	return list
}

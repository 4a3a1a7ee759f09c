package tournament

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/critic"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
)

// Bounds of the files that a critic is shown besides the diff.
const (
	maxReviewed     = 8
	maxReviewedSize = 24 << 10 // bytes of each
)

// review has critics read the best candidate before anybody decides on it, and asks its author, once in the run, about their serious
// findings. again says that another candidate may now be the best.
//
// None of this decides. The candidate that passed remains the one to promote if a critic gives no answer, if the author sees nothing to
// change, or if the author's answer to the findings does not pass.
func (c *tournament) review(ctx context.Context, k *entrant) (again bool, end *run.Ending) {
	if len(c.crew.Critics.Members) == 0 || k.critique != nil {
		return false, nil
	}
	c.reviews++
	critique, err := c.crew.Critics.Review(ctx, c.subject(k), fmt.Sprintf("critic/%d", c.reviews))
	if err != nil {
		end := run.End(run.Failed, c.Trouble(ctx, "review the change", err))
		return false, &end
	}
	serious := critique.Serious()
	ask := len(serious) > 0 && !c.reviewed
	if ask {
		critique.Outcome = critic.SentBack
	}
	k.critique = &critique
	if problem := c.SaveCritique(ctx, critique); problem != nil {
		end := run.End(run.Failed, problem)
		return false, &end
	}
	if !ask {
		return false, nil
	}
	c.reviewed = true
	return true, c.answerCritics(ctx, k, serious)
}

// subject returns a candidate in the form that critics are shown.
func (c *tournament) subject(k *entrant) critic.Subject {
	now := c.stage.Base.With(k.changes)
	b := c.plan.Task.Brief
	t := agent.Task{Fence: c.plan.Task.Fence, Brief: agent.Brief{
		Goal: b.Goal, Feature: b.Feature, Extra: b.Extra, Target: b.Target, Language: b.Language, Rules: b.Rules,
		Thought: k.cand.Thought, Diff: k.cand.Diff, Gates: judged(k.cand),
	}}
	if b.Cascade != "" {
		t.Brief.Goal = strings.TrimSpace(b.Goal + "\nIt has to follow a change of another file that it uses.")
	}
	touched := map[string]bool{}
	for _, ch := range k.changes.Changes {
		touched[ch.Path] = true
		if ch.Op == workspace.Delete || len(t.Brief.Related) == maxReviewed {
			continue
		}
		if e, ok := now.Lookup(ch.Path); !ok || e.Kind != workspace.File || e.Size > maxReviewedSize {
			continue
		}
		if text, err := now.ReadFile(ch.Path); err == nil {
			t.Brief.Related = append(t.Brief.Related, agent.Excerpt{Path: ch.Path, Why: "with the change", Text: string(text)})
		}
	}
	known := func(path string) bool {
		_, ok := now.Lookup(path)
		return ok || touched[path]
	}
	return critic.Subject{Digest: k.cand.Digest, Purpose: agent.Critique, Task: t, Known: known}
}

// judged returns what is on record about a candidate's judgement, one gate a line, and what no gate judged.
func judged(cand gate.Candidate) string {
	var b strings.Builder
	for _, g := range cand.Gates {
		fmt.Fprintf(&b, "%s: %s %s\n", g.Name, g.Verdict, g.Detail)
	}
	for _, s := range cand.Skipped {
		fmt.Fprintf(&b, "%s: skipped, %s\n", s.Name, s.Reason)
	}
	for _, u := range cand.Unproven {
		fmt.Fprintf(&b, "not judged: %s\n", u.Reason)
	}
	return b.String()
}

// answerCritics asks the author of a candidate about findings and has the answer judged. Whatever comes of it, the entrant has a
// candidate that passed afterwards.
func (c *tournament) answerCritics(ctx context.Context, k *entrant, serious []critic.Finding) *run.Ending {
	was := *k
	keep := func(why string) {
		*k = was
		c.Notify(run.Event{Note: "critics: " + why + "; the change that passed is kept"})
	}
	if err := c.Advance(ctx, run.Proposing, "answer the critics: "+critic.Summary(serious)); err != nil {
		end := run.End(run.Failed, c.Trouble(ctx, "record the run", err))
		return &end
	}
	k.done = false
	k.failure = agent.Failure{Gate: agent.CriticGate, Text: critic.Brief(serious)}
	k.tried = append(append([]agent.Attempt{}, k.tried...), agent.Attempt{
		N: len(k.tried) + 1, Gate: agent.CriticGate, Why: "it passed; a reviewer found " + critic.Summary(serious), Diff: k.cand.Diff,
	})
	c.prepare(ctx, boxesEach)
	var stop *agent.StopError
	switch err := c.ask(ctx, k); {
	case ctx.Err() == nil && errors.As(err, &stop):
		keep("the author was not asked: " + stop.Message)
		return nil
	case err != nil:
		end := stopped(ctx, c.Execution, "ask the model", err)
		return &end
	case k.skipped || k.reply.Nothing():
		keep("the author sees nothing to change")
		return nil
	}
	k.critique = nil // it was about another candidate
	switch end := c.judge(ctx, []*entrant{k}); {
	case end != nil && (ctx.Err() != nil || k.cand.Verdict != verify.Infra):
		return end
	case !k.cand.Wins():
		keep("the author's new version does not pass: " + k.cand.Because(k.cand.Verdict))
	}
	return nil
}

// reviewedFile returns the file to change after a critique: the first file that the critics name and the candidate has, otherwise the
// task's target.
func (c *tournament) reviewedFile(k *entrant, has func(string) bool) string {
	for _, f := range k.critique.Serious() {
		if has(f.File) {
			return f.File
		}
	}
	return c.plan.Task.Brief.Target
}

// serious counts what critics have against the candidate of an entrant.
func (k *entrant) serious() int {
	if k.critique == nil {
		return 0
	}
	return k.critique.Count()
}

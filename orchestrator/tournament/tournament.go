// Package tournament finds the change of a run that was given no patch: it asks models for candidates, has them judged side by side,
// has those that fail repaired, and takes the best that passed to the checkpoint.
//
// It owns the [Plan] of such a run, the order of asking and judging, and the proposals that are kept of what was not promoted. It
// records through the [run.Execution] that it is given, judges through package gate and asks through package agent. It never writes to
// a workspace. It does not choose a target: a [Planner] does.
//
// While a model is asked, the boxes for its candidates are started. The candidates of a round are judged at the same time, in the order
// of asking if there are more boxes than turns. A candidate that can no longer be the best is cancelled at once: its record ends with
// the verdict cancelled and the gate contest, which says why.
package tournament

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent/orchestrator/agent"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify"
)

// A Runner finds the change of runs that were given no patch, and takes it through the gate.
type Runner struct {
	*run.Runner
	// Crew returns the crew that finds the change of a run. It is called once a run with the run's ID, under which the questions are
	// recorded. emit receives the progress of questions, from any goroutine.
	Crew func(run string, emit func(agent.Progress)) Crew
}

// Run performs a request: it gives a patch to the gate, and without one finds a change first. The document is complete whatever
// happens; its Exit is the exit code.
func (r *Runner) Run(ctx context.Context, req run.Request) run.Document {
	if req.Patch != nil {
		return r.Runner.Run(ctx, req)
	}
	rec := run.Record{Intent: intent(req), Iteration: req.Iteration}
	return r.Start(ctx, req, rec, func(ctx context.Context, x *run.Execution) run.Ending { return r.pursue(ctx, x, req) })
}

// intent says what a run without a patch is for.
func intent(req run.Request) string {
	if p := req.Proposal; p != nil {
		return strings.TrimSpace(fmt.Sprintf("proposal %d %s", p.ID, p.Goal))
	}
	if req.Goal != "" {
		return "goal " + req.Goal
	}
	return "review " + strings.Join(append(slices.Clone(req.Scope), "the workspace")[:1], "")
}

// pursue finds a patch for a goal, or for what the planner chose, and takes it through the gate.
func (r *Runner) pursue(ctx context.Context, x *run.Execution, req run.Request) run.Ending {
	if err := x.Advance(ctx, run.Analyzing, "scan the workspace"); err != nil {
		return run.End(run.Failed, x.Trouble(ctx, "record the run", err))
	}
	st, end := x.Freeze(ctx, req, nil)
	if end != nil {
		return *end
	}
	if err := x.Advance(ctx, run.Planning, ""); err != nil {
		return run.End(run.Failed, x.Trouble(ctx, "record the run", err))
	}
	crew := r.Crew(x.ID(), func(p agent.Progress) { x.Notify(run.Event{Model: &p}) })
	// The planner is made for the run, since its model calls are recorded under the run's ID.
	if e := crew.Engineer; e != nil && e.Prompts != nil && len(e.Prompts.Own()) > 0 {
		x.Notify(run.Event{Note: fmt.Sprintf("using the prompts of the workspace: %s", strings.Trim(fmt.Sprint(e.Prompts.Own()), "[]"))})
	}
	plan, err := crew.Planner.Plan(ctx, st.Base, req)
	if err != nil {
		return stopped(ctx, x, "plan the work", err)
	}
	plan.Critics, plan.Repairs = crew.Critics.Seats(), crew.Repairs
	if plan.Candidates == 0 {
		plan.Candidates = max(1, req.Candidates)
	}
	// A replay of a run from elsewhere settles nothing here.
	if p := plan.Proposal; p != nil && p.Workspace == x.Workspace() {
		x.TakeUp(p.ID)
	}
	// Recorded before the first proposal is asked for: a run that is resumed after a crash, or replayed, must ask the same questions to
	// find the answers that were paid for.
	record, err := json.Marshal(plan)
	if err == nil {
		err = x.SavePlan(ctx, record)
	}
	if err != nil {
		return run.End(run.Failed, x.Trouble(ctx, "record the plan", err))
	}
	if plan.idle() {
		x.Notify(run.Event{Note: plan.Why})
		return run.Ending{State: run.Rejected, Verdict: verify.Pass, Exit: run.ExitDone}
	}
	c := &tournament{Execution: x, req: req, crew: crew, plan: plan, gate: x.Gate(req), stage: st, proposals: r.Proposals, prepares: r.Boxes != nil}
	for n := range plan.Candidates {
		c.all = append(c.all, &entrant{variant: agent.Variant{N: n + 1, Of: plan.Candidates}})
	}
	defer c.prepare(ctx, 0)
	return c.keep(ctx, c.run(ctx))
}

// boxesEach is the number of boxes in which most candidates are judged: static gates, smoke and tests. The exact number is known when
// the model has answered.
const boxesEach = 3

// run goes through rounds of asking and judging.
func (c *tournament) run(ctx context.Context) run.Ending {
	for {
		// First all remaining entrants are asked, then all are judged: the boxes work at the same time, and a model's caps are kept in
		// order.
		live := c.live()
		if len(live) == 0 {
			if end := c.proposeFeature(ctx); end != nil {
				return *end
			}
			continue
		}
		if err := c.Advance(ctx, run.Proposing, c.note(live[0])); err != nil {
			return run.End(run.Failed, c.Trouble(ctx, "record the run", err))
		}
		c.prepare(ctx, len(live)*boxesEach)
		for _, k := range live {
			if err := c.ask(ctx, k); err != nil {
				return stopped(ctx, c.Execution, "ask the model", err)
			}
		}
		if end := c.judge(ctx, live); end != nil {
			return *end
		}
		if end := c.promoteBest(ctx); end != nil {
			return *end
		}
	}
}

// judgeAgain has the entrants judged, together with those that were cancelled: they could not win as long as another did, but once a
// person decides they might. From then on all are judged to the end, so that the person always chooses among the same candidates.
func (c *tournament) judgeAgain(ctx context.Context, live ...*entrant) *run.Ending {
	c.spared = true
	return c.judge(ctx, slices.DeleteFunc(slices.Clone(c.all), func(k *entrant) bool {
		if k.eliminated == nil {
			return !slices.Contains(live, k)
		}
		k.eliminated, k.cand.Verdict, k.cand.Gates = nil, "", nil
		return false
	}))
}

// promoteBest takes the best candidate that passed to the checkpoint, until one of them ends the run. A nil ending means that there is
// something to ask. A person may turn the best one down, or change it. A changed one is judged again before it is asked about again, so
// that nothing is promoted that no gate has seen. An edit that fails leaves the candidate as it was.
func (c *tournament) promoteBest(ctx context.Context) *run.Ending {
	var failed *run.FailedEdit
	for {
		best := c.best()
		if best == nil {
			return nil
		}
		if again, end := c.review(ctx, best); again || end != nil {
			if end != nil {
				return end
			}
			continue
		}
		c.prepare(ctx, 0) // a person may take long
		p := run.Proposal{Candidate: best.cand, Response: []byte(best.reply.Text), Again: true, Which: c.which(best), Critique: best.critique, Failed: failed}
		answer, end := c.Checkpoint(ctx, c.req, p, c.stage.Base)
		switch {
		case end != nil:
			return end
			// The entrant starts anew in its place; the record keeps what it was before.
		case answer.Decision == run.Regenerate:
			*best = entrant{variant: best.variant, again: best.again + 1}
			return c.judgeAgain(ctx)
		}
		if failed, end = c.judgeEdit(ctx, best, answer); end != nil {
			return end
		}
	}
}

// judgeEdit judges what a person made of an entrant's candidate. If it does not pass, it is recorded and the entrant gets its previous
// candidate back: the person is asked again.
func (c *tournament) judgeEdit(ctx context.Context, k *entrant, a run.Answer) (*run.FailedEdit, *run.Ending) {
	was := *k
	if err := c.revise(k, a); err != nil {
		end := run.End(run.Failed, c.Trouble(ctx, "apply what was edited", err))
		return nil, &end
	}
	end := c.judgeAgain(ctx, k)
	if k.cand.Wins() || end != nil && k.cand.Verdict != verify.Infra {
		return nil, end
	}
	failed := &run.FailedEdit{Answer: a, Why: k.cand.Because(k.cand.Verdict)}
	*k = was
	return failed, nil
}

// which tells people which of several candidates one is, and why they are asked about it.
func (c *tournament) which(k *entrant) string {
	if len(c.all) < 2 {
		return ""
	}
	text := fmt.Sprintf("candidate %d of %d", k.variant.N, len(c.all))
	if n := len(c.passed()); n > 1 {
		return fmt.Sprintf("%s: of the %d that passed it has the fewest new findings, then the smallest diff", text, n)
	}
	return text + ", the only one that passed"
}

// revise makes an entrant's next candidate from what a person changed at the checkpoint. It is judged like any other.
func (c *tournament) revise(k *entrant, a run.Answer) error {
	// The response replaces the last one, so it applies to the code from before that.
	if a.Decision == run.Reword {
		k.changes = k.before
	}
	k.reply.Text, k.critique = string(a.Response), nil
	return c.apply(k)
}

// ask gets the next candidate of an entrant from the model and applies it. The error is one that ends the run: of the model or of the
// workspace. An answer that is of no use is not an error; it is repaired like any failure.
func (c *tournament) ask(ctx context.Context, k *entrant) error {
	if p := c.plan.Proposal; p != nil && p.Patch != nil && k.variant.N == 1 && k.again == 0 && len(k.tried) == 0 {
		return c.resumeProposal(k, *p)
	}
	engineer, err := c.engineer(ctx, k)
	switch {
	case err != nil:
		return err
	case len(k.tried) == 0:
		k.reply, _, err = engineer.Propose(ctx, c.plan.Task, k.variant, k.again)
	default:
		k.heals++
		before := k.reply.Text
		k.reply, _, err = engineer.Heal(ctx, c.plan.Task, c.breakage(k))
		if k.same++; strings.TrimSpace(k.reply.Text) != strings.TrimSpace(before) {
			k.same = 0
		}
	}
	if gaveUp, ok := errors.AsType[*agent.GaveUpError](err); ok {
		// The others go on. Its draft is judged and not repaired: getting this far was expensive enough.
		if k.gaveUp = gaveUp.Message; gaveUp.Draft.Text != "" {
			k.reply = gaveUp.Draft
			return c.apply(k)
		}
		// Its message serves as an answer without an edit.
		k.gaveUp, k.reply = gaveUp.Message, agent.Reply{Text: "<THOUGHT>\n" + gaveUp.Message + "\n</THOUGHT>\n"}
		return c.apply(k)
	}
	// The others of the round are still asked.
	if errors.Is(err, agent.ErrSkipped) {
		k.done, k.skipped = true, true
		return nil
	}
	if err != nil {
		return err
	}
	if k.reply.Nothing() && len(k.tried) == 0 {
		k.done, k.nothing = true, true
		return nil
	}
	return c.apply(k)
}

// engineer returns the engineer that asks for the next candidate of an entrant: with tools if the task has them, on the workspace as
// its candidates have left it so far.
func (c *tournament) engineer(ctx context.Context, k *entrant) (*agent.Engineer, error) {
	if !c.plan.Task.Brief.Tools {
		return c.crew.Engineer, nil
	}
	if k.bench == nil {
		var err error
		if k.bench, err = c.crew.Workbench(ctx, c.stage.Base, c.plan.Task); err != nil {
			return nil, err
		}
	}
	engineer := *c.crew.Engineer
	engineer.Model = k.bench.On(k.changes, c.stage, c.gate)
	return &engineer, nil
}

// resumeProposal starts with the patch of a kept proposal instead of an answer. The gates say what is wrong with it today. If it no
// longer applies, it goes to the model with what was wrong with it then.
func (c *tournament) resumeProposal(k *entrant, p run.KeptProposal) error {
	k.reply.Text = string(p.Patch)
	if err := c.apply(k); err != nil {
		return err
	}
	k.cand.Thought = p.Text
	if k.cand.Verdict != "" {
		gate, _, _ := strings.Cut(p.Reason, "\n")
		k.tried = append(k.tried, agent.Attempt{N: 1, Gate: gate, Why: p.Reason, Diff: string(p.Patch)})
	}
	return nil
}

// apply makes a candidate from the entrant's reply. One that cannot be applied is a candidate that failed at its first gate. The reply
// is applied on what the entrant has changed so far, and recorded as a change of the base: three repairs of one line are one change in
// the end, made from what the person has.
func (c *tournament) apply(k *entrant) error {
	response := []byte(k.reply.Text)
	k.cand, k.before = gate.Candidate{Thought: parse.Thought(response)}, k.changes
	rejected, err := c.gate.Extend(&k.cand, c.stage.Base, k.changes, response, c.plan.Task.Brief.Target)
	switch {
	case err != nil:
		return err
	case rejected != nil:
		k.failure = agent.Failure{Gate: "edit", Text: rejected.Error()}
		return nil
	case verify.Inert(k.cand.Changeset) && c.wantsEffect():
		k.cand.Verdict = verify.Fail
		k.cand.Gates = []verify.Gate{{Name: "edit", Verdict: verify.Fail, Detail: noEffect}}
		k.failure = agent.Failure{Gate: "edit", Text: "nothing was applied: " + noEffect}
		return nil
	}
	k.changes = k.cand.Changeset
	return nil
}

// noEffect is what is wrong with an answer to a goal if nothing that it changes runs.
const noEffect = "the change has no effect: it alters only comments and blank space, and the goal does not mention these"

// ofText matches a goal for which a change of comments or of the form of a text may be an answer.
var ofText = lazyregexp.New(`(?i)comment|kommentar|document|docstring|explain|annotat|typo|spell|wording|translat|whitespace|blank|format|indent|header|licen[cs]e|copyright|todo|fixme`)

// wantsEffect reports whether something was asked for that comments alone do not answer.
func (c *tournament) wantsEffect() bool {
	b := c.plan.Task.Brief
	asked := b.Goal + b.Feature + b.Extra
	return asked != "" && !ofText.MatchString(asked)
}

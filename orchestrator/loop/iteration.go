package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/orchestrator/tournament"
	"agent/verify"
)

// round takes an iteration from where it stands to its end, or to where it has to be tried again. doc is the run's document, nil if the
// run had ended before.
//
// It may be called with an iteration in any phase and continues from there. Nothing else is needed to resume an interrupted loop.
func (l *Loop) round(ctx context.Context, it *Iteration, req run.Request) (r Round, doc *run.Document, err error) {
	l.tell(it.round(), nil)
	if it.Phase == Work {
		if doc, err = l.work(ctx, it, req); err != nil {
			return it.round(), doc, err
		}
		l.tell(it.round(), doc)
	} else {
		l.note(hadEnded(it.Run, it.Outcome))
	}
	var notes []string
	if it.Phase == Learn {
		notes, err = l.learn(ctx, it, l.Crew(*it, l.progress))
	}
	r = it.round()
	r.Notes = notes
	if err == nil && it.Phase == Settled {
		l.tell(r, nil)
	}
	return r, doc, err
}

// hadEnded says what became of a run before its iteration was interrupted.
func hadEnded(id, outcome string) string {
	return fmt.Sprintf("run %s had already ended: %s", id, outcome)
}

// tell tells the watcher how far an iteration has got.
func (l *Loop) tell(r Round, doc *run.Document) {
	if l.Tell != nil {
		l.Tell(r, doc)
	}
}

// round describes the iteration for people.
//
// Without a readable plan there is no target yet, and no reason for one.
func (it Iteration) round() Round {
	r := Round{
		Iteration: it.ID, N: it.Order.Done + 1, Of: it.Order.Iterations, Run: it.Run, Phase: it.Phase, Outcome: it.Outcome,
	}
	if p, err := tournament.RecordedPlan(it.Plan).Read(); err == nil {
		r.Target, r.Why = p.Task.Brief.Target, p.Why
	}
	return r
}

// target returns the file that the iteration works on, "" while that is unknown.
func (it Iteration) target() string { return it.round().Target }

// last reports whether no other file was left to review when the iteration was planned.
func (it Iteration) last() bool {
	p, err := tournament.RecordedPlan(it.Plan).Read()
	return err == nil && p.Final
}

// cleared returns what the loop, this iteration included, has reviewed without finding anything: paths with the digest of what was
// reviewed. A file that was read only for a directive remains due.
func (it Iteration) cleared() map[string]string {
	p, err := tournament.RecordedPlan(it.Plan).Read()
	b := p.Task.Brief
	if err != nil || !nothingFound(it.Outcome) || b.Target == "" || p.Directive != "" {
		return it.Order.Clean
	}
	all := maps.Clone(it.Order.Clean)
	if all == nil {
		all = map[string]string{}
	}
	sum := sha256.Sum256([]byte(b.Code))
	all[b.Target] = hex.EncodeToString(sum[:])
	return all
}

// served reports whether the target came out of the cascade queue.
func (it Iteration) served() bool {
	p, err := tournament.RecordedPlan(it.Plan).Read()
	return err == nil && p.Task.Brief.Cascade != ""
}

// work performs the iteration's run, or finds that it has been done. What the run decided is recorded together with the phase in one
// step: before that, the run is repeated with the recorded answers; after it, only the learning is left.
func (l *Loop) work(ctx context.Context, it *Iteration, req run.Request) (*run.Document, error) {
	doc, err := l.ended(ctx, *it)
	if err != nil {
		return nil, err
	}
	var ended *run.Problem
	if doc == nil {
		var ran run.Document
		if ran, ended = l.around(ctx, it, req); ran.Run == "" && ended != nil { // it did not begin
			return nil, endedError{ended}
		}
		doc = &ran
	} else {
		l.note(hadEnded(doc.Run, outcomeOf(*doc)))
	}
	it.Run, it.Outcome, it.Session = doc.Run, outcomeOf(*doc), session(*it, *doc)
	switch it.Outcome {
	case outcomeBroken:
		// Nobody's fault, a cap or a cancellation: the iteration stays open, to be tried again or resumed.
		return doc, l.keep(ctx, *it)
	case outcomeConflict, outcomeHeld, outcomeSkipped:
		it.Phase = Settled
	default:
		it.Phase = Learn
	}
	if err := l.keep(ctx, *it); err != nil || ended == nil {
		return doc, err
	}
	return doc, endedError{ended}
}

// around performs the iteration's run within Around, if there is one.
func (l *Loop) around(ctx context.Context, it *Iteration, req run.Request) (run.Document, *run.Problem) {
	if l.Around == nil {
		return l.execute(ctx, it, req), nil
	}
	return l.Around(ctx, *it, func() run.Document { return l.execute(ctx, it, req) })
}

// ended returns what is left of the document if the run of an interrupted iteration has ended; nil if the run has to be done.
func (l *Loop) ended(ctx context.Context, it Iteration) (*run.Document, error) {
	id, state, ok, err := l.Iterations.RunOf(ctx, it.ID)
	if err != nil || !ok {
		return nil, err
	}
	switch state {
	case run.Promoted:
		p, err := l.Knowledge.PromotionOf(ctx, id)
		if err != nil {
			return nil, err
		}
		return &run.Document{Run: id, State: state, Verdict: verify.Pass, Workspace: it.Workspace, Promotion: p.Document()}, nil
	// Proved and not to be promoted, or a feature that is kept: the run has nothing more to say.
	case run.Done:
		doc := &run.Document{Run: id, State: state, Verdict: verify.Pass, Workspace: it.Workspace}
		kept, err := l.leftFeature(ctx, it.Workspace, id)
		if kept {
			doc.Outcome = outcomeProposed
		}
		return doc, err
	}
	// Rejected runs are repeated: all their answers are recorded, and they can best say themselves how they were rejected.
	return nil, nil
}

// leftFeature reports whether a run left the proposal of a feature without a patch.
func (l *Loop) leftFeature(ctx context.Context, workspace, id string) (bool, error) {
	if l.Runner.Proposals == nil {
		return false, nil
	}
	list, err := l.Runner.Proposals.Proposals(ctx, workspace)
	return slices.ContainsFunc(list, func(p run.KeptProposal) bool {
		return p.Run == id && p.Kind == run.Feature && p.Patch == nil
	}), err
}

// execute performs the iteration's run, with a crew that keeps the iteration's plan.
func (l *Loop) execute(ctx context.Context, it *Iteration, req run.Request) run.Document {
	find := &tournament.Runner{Runner: l.Runner, Crew: func(_ string, emit func(agent.Progress)) tournament.Crew {
		crew := l.Crew(*it, emit)
		crew.Planner = &tournament.KeptPlan{Planner: crew.Planner, Recorded: it.Plan, Save: func(ctx context.Context, plan []byte) error {
			it.Plan = plan
			return l.keep(ctx, *it)
		}}
		return crew
	}}
	o := it.Order
	req.Workspace, req.Patch, req.Iteration = it.Workspace, nil, it.ID
	req.Goal, req.Scope, req.Candidates, req.Reviewed = o.Goal, o.Scope, o.Candidates, o.Clean
	req.NoFeature = req.NoFeature || o.UntilClean
	req, err := l.resumed(ctx, it.Workspace, o, req)
	if err != nil {
		p := l.trouble(ctx, err)
		return run.Document{Workspace: it.Workspace, Error: p, Exit: run.ExitOf(p)}
	}
	req.MayFindNothing = !o.Single
	return find.Run(ctx, req)
}

// Bounds on what a session tells, in bytes.
const (
	maxSaid     = 600
	maxReported = 600
	maxChange   = 3000
)

// session tells the memory what an iteration did: the target, the end, and the change. It holds no ID or time, so that a replay says
// the same.
func session(it Iteration, doc run.Document) string {
	p, err := tournament.RecordedPlan(it.Plan).Read()
	if err != nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Worked on %s (%s).\n", p.Task.Brief.Target, p.Why)
	if goal := p.Task.Brief.Goal; goal != "" {
		fmt.Fprintf(&b, "Goal: %s\n", clipped(goal, maxSaid))
	}
	fmt.Fprintf(&b, "Outcome: %s.\n", outcomeOf(doc))
	if n := len(doc.Candidates); n > 0 {
		if said := doc.Candidates[n-1].Thought; said != "" {
			fmt.Fprintf(&b, "What was said of the change: %s\n", clipped(said, maxSaid))
		}
	}
	switch {
	case doc.Promotion != nil:
		fmt.Fprintf(&b, "The change:\n%s", clipped(doc.Promotion.Diff, maxChange))
	case doc.Error != nil:
		fmt.Fprintf(&b, "Why: %s\n", clipped(doc.Error.Message, maxReported))
	}
	return b.String()
}

// clipped returns at most the first n bytes of s, in whole characters.
func clipped(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…\n"
}

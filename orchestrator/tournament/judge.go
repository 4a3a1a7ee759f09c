package tournament

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"agent/orchestrator/agent"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/check"
)

// judge verifies the candidates of a round at the same time, each in boxes of its own, and records all of them in their order. A nil
// ending means that the tournament goes on. No box is at work after the round.
func (c *tournament) judge(ctx context.Context, live []*entrant) *run.Ending {
	// An entrant without a candidate has nothing to be judged.
	live = slices.DeleteFunc(slices.Clone(live), func(k *entrant) bool { return k.nothing || k.skipped })
	if len(live) == 0 {
		return nil
	}
	if err := c.Advance(ctx, run.Verifying, run.Count(len(live), "candidate")); err != nil {
		end := run.End(run.Failed, c.Trouble(ctx, "record the run", err))
		return &end
	}
	c.prepareRound(ctx, live)
	problem := c.judgeAll(ctx, live)
	if problem == nil {
		problem = c.repairAll(ctx, live)
	}
	if problem != nil {
		end := run.End(run.Failed, problem)
		return &end
	}
	// All are recorded by now, even those judged beside one that could not be judged.
	for _, k := range live {
		if k.cand.Verdict == verify.Infra { // not the candidate's fault, so there is nothing to repair
			end := run.Judged(k.cand)
			return &end
		}
		if k.eliminated == nil {
			k.settle(c.stage.Base)
		}
	}
	return nil
}

// judgeAll has the candidates judged as a round. It records each as soon as it and those before it are judged, while others are still
// at work. Their turns follow the order of asking. Each goroutine writes to its own entrant and its own place in errs, and is waited
// for.
func (c *tournament) judgeAll(ctx context.Context, live []*entrant) *run.Problem {
	return c.judgeRound(ctx, live, nil)
}

// judgeRound is judgeAll for candidates that linters may have repaired; done holds what to say about that in their lint gate.
func (c *tournament) judgeRound(ctx context.Context, live []*entrant, done map[*entrant]string) (problem *run.Problem) {
	h, each, stop := newRound(ctx, live)
	defer stop()
	errs, ended := make([]error, len(live)), make([]sync.WaitGroup, len(live))
	for i, k := range live {
		// The only candidate needs no number on the screen. One of several keeps its own, even if it is the only one that is repaired.
		n := k.variant.N
		if len(c.all) == 1 {
			n = 0
		}
		if k.cand.Verdict != "" { // refused
			c.Notify(run.Event{Candidate: n, Verdict: k.cand.Verdict, Note: k.cand.Because(k.cand.Verdict)})
			continue
		}
		ended[i].Go(func() {
			errs[i] = c.Judge(each[i], c.gate, c.stage, &k.cand, n, gate.Watch{
				Rank: k.variant.N, Settled: func(cs workspace.Changeset) { h.settled(i, cs) },
				Event: func(e verify.Event) error { h.told(i, e); return nil },
			})
			k.changes = k.cand.Changeset // as the format gate left it
			if what := done[k]; what != "" {
				k.cand.Note(check.GateLint, what)
			}
			if errs[i] != nil && c.eliminated(each[i], k, n) {
				errs[i] = nil
			}
			if !c.spared {
				h.ended(i, k.cand)
			}
		})
	}
	for i, k := range live {
		ended[i].Wait()
		switch {
		case problem != nil: // the rest are only waited for
		case errs[i] != nil:
			problem = c.Trouble(ctx, "verify a candidate", errs[i])
		default:
			problem = c.Save(ctx, k.cand)
		}
	}
	return problem
}

// repairAll has linters repair the candidates of a round that failed only for what linters repair, if none has passed. It has the
// results judged in their place; the record keeps the originals beside them. The model is asked about the rest.
func (c *tournament) repairAll(ctx context.Context, live []*entrant) *run.Problem {
	if !c.plan.Repairs || len(c.passed()) > 0 {
		return nil
	}
	var repaired []*entrant
	done := map[*entrant]string{}
	for _, k := range live {
		cand, what, err := c.gate.Repair(ctx, c.stage, k.cand)
		switch {
		case ctx.Err() != nil:
			return c.Trouble(ctx, "repair a candidate", ctx.Err())
		case err != nil: // the model can repair it as well
			c.Notify(run.Event{Note: err.Error()})
			continue
		case what == "":
			continue
		}
		c.Notify(run.Event{Note: what + "; it is judged again"})
		k.cand, done[k] = cand, what
		repaired = append(repaired, k)
	}
	if len(repaired) == 0 {
		return nil
	}
	return c.judgeRound(ctx, repaired, done)
}

// prepareRound has as many boxes started as the candidates of a round will be judged in, if there are several. What the first needs,
// the others mostly need too: finding that out takes a look at the whole workspace.
func (c *tournament) prepareRound(ctx context.Context, live []*entrant) {
	open := slices.DeleteFunc(slices.Clone(live), func(k *entrant) bool { return k.cand.Verdict != "" })
	if !c.prepares || len(open) < 2 {
		return
	}
	each := verify.BoxesFor(verify.Request{Base: c.stage.Base, Changeset: open[0].cand.Changeset, Config: c.req.Config})
	if n := each * len(open); n > 0 {
		c.prepare(ctx, n)
	}
}

// eliminated reports whether the judgement under ctx was cancelled because the candidate could no longer win, and records that in it.
// Whatever its gates found by then is not a judgement of the whole candidate.
func (c *tournament) eliminated(ctx context.Context, k *entrant, n int) bool {
	if !errors.As(context.Cause(ctx), &k.eliminated) {
		return false
	}
	g := verify.Gate{Name: "contest", Verdict: verify.Cancelled, Detail: k.eliminated.why}
	k.cand.Verdict, k.cand.Gates = g.Verdict, []verify.Gate{g}
	c.Notify(run.Event{Candidate: n, Gate: &verify.Event{Gate: g.Name, Done: true, Verdict: g.Verdict, Detail: g.Detail}})
	c.Notify(run.Event{Candidate: n, Verdict: g.Verdict})
	return true
}

// settle notes what became of a judged candidate, and whether it may be repaired. A candidate that changes nothing may pass every gate,
// but it is not an answer to the goal and counts as a failed attempt. What was tried goes into the next repair, so that the model does
// not try it again.
func (k *entrant) settle(base *workspace.Manifest) {
	k.absent = ""
	if !k.cand.Changeset.Empty() {
		k.judged = k.cand
	}
	if k.cand.Wins() {
		k.done = true
		return
	}
	if g := k.cand.Failed(); g.Name != "edit" {
		k.failure = agent.Failure{Gate: g.Name, Text: k.cand.Report()}
		// Appended at the end, which is what remains when the text must be shortened.
		if k.absent = k.cand.Absent(base.With(k.changes)); k.absent != "" {
			k.failure.Text += notInstalled(k.absent, k.cand.Uninstalled())
		}
	}
	k.tried = append(k.tried, agent.Attempt{
		N: len(k.tried) + 1, Gate: k.failure.Gate, Why: k.cand.Because(k.cand.Verdict), Diff: k.cand.Diff,
	})
	k.done = k.heals >= agent.MaxHeals || k.same >= mostSame || k.gaveUp != ""
}

// mostSame is how often a model may repeat its previous answer: after the first time it is asked in another way.
const mostSame = 2

// boxRoot is the path of the workspace in a box, as logs name it.
const boxRoot = "/work"

// breakage describes a failed candidate to the engineer.
func (c *tournament) breakage(k *entrant) agent.Breakage {
	// The base with the change: a file that the candidate created exists, one that it deleted does not.
	now := c.stage.Base.With(k.changes)
	// Everything is shown as the failed candidate left it, since the repair is applied on top of that.
	x := agent.Breakage{Failure: k.failure, Said: k.cand.Thought, Tried: k.tried, Variant: k.variant, N: k.heals}
	if k.failure.Gate == "edit" {
		x.Answer, x.Repeated = k.reply.Text, k.same > 0
	}
	touched := map[string]bool{}
	for _, ch := range k.changes.Changes {
		touched[ch.Path] = ch.Op != workspace.Delete
	}
	if k.failure.Gate == agent.CriticGate {
		x.Target = c.reviewedFile(k, func(p string) bool { return touched[p] })
	} else {
		x.Target, x.Downstream = c.culprit(k, now, touched)
	}
	for _, name := range broken(k.cand.Failed(), now) {
		if _, deleted := touched[name]; !deleted {
			touched[name] = true // shown with the rest
		}
	}
	for name := range touched {
		if name != x.Target && touched[name] {
			if text, err := now.ReadFile(name); err == nil {
				x.Others = append(x.Others, agent.File{Path: name, Text: string(text)})
			}
		}
	}
	slices.SortFunc(x.Others, func(a, b agent.File) int { return strings.Compare(a.Path, b.Path) })
	if text, err := now.ReadFile(x.Target); err == nil {
		x.Code = string(text)
	}
	x.Language = agent.Language(x.Target)
	return x
}

// best returns the entrant to promote, nil if none passed.
func (c *tournament) best() *entrant {
	passed := c.passed()
	if len(passed) == 0 {
		return nil
	}
	return passed[0]
}

// passed lists the entrants that may be promoted, the best first. All share the verdict, so the order is: the fewest serious findings
// of critics, if they were asked; the fewest new findings of their own; the smallest diff; the first asked for. Of two that pass, the
// one that adds less is easier to review, and breaks less that no gate looks at. The order of asking is the last criterion, so that a
// replay chooses the same.
func (c *tournament) passed() []*entrant {
	var passed []*entrant
	for _, k := range c.all {
		if k.cand.Wins() {
			passed = append(passed, k)
		}
	}
	slices.SortStableFunc(passed, func(a, b *entrant) int {
		if d := a.serious() - b.serious(); d != 0 {
			return d
		}
		if d := a.cand.Findings() - b.cand.Findings(); d != 0 {
			return d
		}
		return len(a.cand.Diff) - len(b.cand.Diff)
	})
	return passed
}

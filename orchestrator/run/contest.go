package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/edit"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A Plan is what a run without a patch sets out to do.
type Plan struct {
	Task agent.Task
	// Why says for people how the target was chosen: "cascade from shop/tax.py".
	Why string
}

// A Planner chooses what to do in a workspace and gathers what is known about
// it. It is asked once a run, in state planning, and must give the same plan
// for the same run when that is carried on after a crash.
type Planner interface {
	Plan(ctx context.Context, base *workspace.Manifest, req Request) (Plan, error)
}

// A contender is one line of candidates: a proposal and its repairs.
type contender struct {
	variant agent.Variant
	// Repairs so far.
	heals int
	// What the model answered last.
	reply agent.Reply
	// The candidate that came of it, judged or refused.
	cand Candidate
	// What the last candidate that could be applied does to the base; repairs
	// build on it.
	changes workspace.Changeset
	failure agent.Failure
	tried   []agent.Attempt
	// There is nothing more to ask: it passed, or no repair is left, or the
	// model sees nothing to change.
	done, nothing bool
}

// A contest asks for candidates, has them judged, and has those that fail
// repaired, until one passes or none is left.
type contest struct {
	*flight
	req   Request
	plan  Plan
	stage stage
	all   []*contender
}

// pursue finds a patch for a goal, or for what the planner chose, and takes it
// through the gate.
func (f *flight) pursue(ctx context.Context, req Request) Ending {
	if err := f.enter(ctx, Analyzing, "scan the workspace"); err != nil {
		return endWith(Failed, f.trouble(ctx, "record the run", err))
	}
	st, end := f.freeze(ctx, req, nil)
	if end != nil {
		return *end
	}
	f.rec.Snapshot, f.doc.Snapshot = st.base.Digest(), st.base.Digest()
	if err := f.enter(ctx, Planning, ""); err != nil {
		return endWith(Failed, f.trouble(ctx, "record the run", err))
	}
	plan, err := f.Planner.Plan(ctx, st.base, req)
	if err != nil {
		return f.stopped(ctx, "plan the work", err)
	}
	record, err := json.Marshal(plan)
	if err == nil {
		err = f.Store.SavePlan(ctx, f.rec.ID, f.rec.Token, record)
	}
	if err != nil {
		return endWith(Failed, f.trouble(ctx, "record the plan", err))
	}
	c := &contest{flight: f, req: req, plan: plan, stage: st}
	for n := range max(1, req.Candidates) {
		c.all = append(c.all, &contender{variant: agent.Variant{N: n + 1, Of: max(1, req.Candidates)}})
	}
	return c.run(ctx)
}

// run goes through rounds of asking and judging.
func (c *contest) run(ctx context.Context) Ending {
	for {
		live := slices.DeleteFunc(slices.Clone(c.all), func(k *contender) bool { return k.done })
		if len(live) == 0 {
			return c.lost()
		}
		note := c.plan.Why
		if live[0].heals > 0 || len(live[0].tried) > 0 {
			note = "repair: " + live[0].failure.Gate
		}
		if err := c.enter(ctx, Proposing, note); err != nil {
			return endWith(Failed, c.trouble(ctx, "record the run", err))
		}
		for _, k := range live {
			if err := c.ask(ctx, k); err != nil {
				return c.stopped(ctx, "ask the model", err)
			}
		}
		if err := c.enter(ctx, Verifying, count(len(live), "candidate")); err != nil {
			return endWith(Failed, c.trouble(ctx, "record the run", err))
		}
		if end := c.judge(ctx, live); end != nil {
			return *end
		}
		if best := c.best(); best != nil {
			return c.checkpoint(ctx, c.req, best.cand, c.stage.base)
		}
	}
}

// ask gets the next candidate of a contender from the model and applies it.
func (c *contest) ask(ctx context.Context, k *contender) error {
	var err error
	if len(k.tried) == 0 {
		k.reply, _, err = c.Engineer.Propose(ctx, c.plan.Task, k.variant)
	} else {
		k.heals++
		k.reply, _, err = c.Engineer.Heal(ctx, c.plan.Task, c.breakage(k))
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

// apply makes a candidate of the contender's answer. An answer that cannot be
// applied is a candidate that failed at its first gate.
func (c *contest) apply(k *contender) error {
	started := time.Now()
	k.cand = Candidate{Thought: edit.Thought([]byte(k.reply.Text))}
	now := c.stage.base.With(k.changes)
	cs, applied, err := edit.Apply(editable{now}, []byte(k.reply.Text), c.plan.Task.Brief.Target)
	var refusal *edit.Refusal
	switch {
	case errors.As(err, &refusal):
		k.cand.Verdict, k.cand.Gates = verify.Fail, []verify.Gate{refusedGate(refusal, time.Since(started))}
		k.failure = agent.Failure{Gate: "edit", Text: refusal.Error()}
		return nil
	case err != nil:
		return fmt.Errorf("read the workspace: %w", err)
	}
	if cs, err = k.changes.Then(cs); err == nil {
		err = suit(c.stage.base, cs)
	}
	if err != nil { // a path that no approval allows: the model is told, and may choose another
		k.cand.Verdict = verify.Policy
		k.cand.Gates = []verify.Gate{{Name: "edit", Verdict: verify.Policy, Seconds: time.Since(started).Seconds(), Detail: err.Error()}}
		k.failure = agent.Failure{Gate: "edit", Text: "nothing was applied: " + err.Error()}
		return nil
	}
	k.cand.Edits, k.changes = applied, cs
	c.seal(&k.cand, cs)
	return nil
}

// judge verifies the candidates of a round at the same time, each in boxes of
// its own, and records all of them in their order.
func (c *contest) judge(ctx context.Context, live []*contender) *Ending {
	errs := make([]error, len(live))
	var judging sync.WaitGroup
	for i, k := range live {
		if k.cand.Verdict != "" || k.nothing {
			continue // refused, or nothing to judge
		}
		judging.Go(func() {
			errs[i] = c.verify(ctx, c.req, c.stage, &k.cand)
			k.changes = k.cand.Changeset // as the format gate left it
		})
	}
	judging.Wait()
	if err := errors.Join(errs...); err != nil {
		end := endWith(Failed, c.trouble(ctx, "verify a candidate", err))
		return &end
	}
	for _, k := range live {
		if k.nothing {
			continue
		}
		if problem := c.save(ctx, k.cand); problem != nil {
			end := endWith(Failed, problem)
			return &end
		}
		if k.cand.Verdict == verify.Infra { // not the candidate's fault, and so nothing to repair
			end := judged(k.cand)
			return &end
		}
		k.settle()
	}
	return nil
}

// settle notes what became of a judged candidate, and whether it may be
// repaired.
func (k *contender) settle() {
	if k.cand.Verdict == verify.Pass && !k.cand.Changeset.Empty() {
		k.done = true
		return
	}
	if g := failed(k.cand); g.Name != "edit" {
		k.failure = agent.Failure{Gate: g.Name, Text: report(k.cand)}
	}
	k.tried = append(k.tried, agent.Attempt{
		N: len(k.tried) + 1, Gate: k.failure.Gate, Why: because(k.cand, k.cand.Verdict), Diff: k.cand.Diff,
	})
	k.done = k.heals >= agent.MaxHeals
}

// failed returns the first gate that a candidate did not pass.
func failed(cand Candidate) verify.Gate {
	for _, g := range cand.Gates {
		if g.Verdict != verify.Pass {
			return g
		}
	}
	return verify.Gate{}
}

// maxLog bounds what of a gate's output goes back to the model, in bytes.
const maxLog = 8 << 10

// report words everything that the gates have against a candidate.
func report(cand Candidate) string {
	var b strings.Builder
	for _, g := range cand.Gates {
		if g.Verdict == verify.Pass {
			continue
		}
		fmt.Fprintf(&b, "%s: %s %s\n", g.Name, g.Verdict, g.Detail)
		for _, f := range g.Findings {
			fmt.Fprintf(&b, "%s:%d: %s %s\n", f.File, f.Line, f.Rule, f.Message)
			if f.Source != "" {
				fmt.Fprintf(&b, "    %s\n", f.Source)
			}
		}
		if out := g.Output; len(g.Findings) == 0 && out != "" {
			b.WriteString(out[max(0, len(out)-maxLog):] + "\n")
		}
	}
	return b.String()
}

// boxRoot is where the workspace lies in a box, as logs name it.
const boxRoot = "/work"

// breakage describes a failed candidate to the engineer.
func (c *contest) breakage(k *contender) agent.Breakage {
	now := c.stage.base.With(k.changes)
	x := agent.Breakage{Failure: k.failure, Said: k.cand.Thought, Tried: k.tried, Variant: k.variant, N: k.heals}
	touched := map[string]bool{}
	for _, ch := range k.changes.Changes {
		touched[ch.Path] = ch.Op != workspace.Delete
	}
	x.Target, x.Downstream = c.culprit(k, now, touched)
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

// culprit returns the file to mend: the first that a finding names, the
// innermost frame of a log, or the task's own target. downstream says that the
// change did not touch it.
func (c *contest) culprit(k *contender, now *workspace.Manifest, touched map[string]bool) (file string, downstream bool) {
	has := func(p string) bool {
		e, ok := now.Lookup(p)
		return ok && e.Kind == workspace.File
	}
	g := failed(k.cand)
	for _, f := range g.Findings {
		if g.Name != "edit" && has(f.File) {
			return f.File, !touched[f.File]
		}
	}
	if p, _, ok := agent.Culprit(g.Output, boxRoot, has); ok {
		return p, !touched[p]
	}
	return c.plan.Task.Brief.Target, false
}

// best returns the contender to promote, nil when none passed: the fewest
// findings of its own, then the smallest diff, then the first asked for.
func (c *contest) best() *contender {
	var passed []*contender
	for _, k := range c.all {
		if k.cand.Verdict == verify.Pass && !k.cand.Changeset.Empty() {
			passed = append(passed, k)
		}
	}
	slices.SortStableFunc(passed, func(a, b *contender) int {
		if d := findings(a.cand) - findings(b.cand); d != 0 {
			return d
		}
		return len(a.cand.Diff) - len(b.cand.Diff)
	})
	if len(passed) == 0 {
		return nil
	}
	return passed[0]
}

// findings counts what the gates found new in a candidate.
func findings(cand Candidate) int {
	n := 0
	for _, g := range cand.Gates {
		n += len(g.Findings)
	}
	return n
}

// lost is the ending of a contest that nobody won.
func (c *contest) lost() Ending {
	nothing := true
	for _, k := range c.all {
		nothing = nothing && k.nothing
	}
	if nothing {
		if c.req.Goal == "" {
			return Ending{State: Rejected, Verdict: verify.Pass, Exit: ExitDone}
		}
		return endWith(Rejected, &Problem{
			Kind: "patch", Message: "the model sees nothing to change for this goal",
			Next: "say more in --goal, or name the file with --file",
		})
	}
	last := c.all[len(c.all)-1]
	end := judged(last.cand)
	if end.Error != nil {
		end.Error.Message = fmt.Sprintf("no candidate passed, %d repairs included; the last: %s", last.heals, end.Error.Message)
		end.Error.Next = "`agent runs show " + c.rec.ID + "` shows every candidate; say more in --goal, or try another --model"
	}
	return end
}

// stopped is the ending of a run whose model gives no answer any more, or of
// another trouble in act.
func (f *flight) stopped(ctx context.Context, act string, err error) Ending {
	var stop *agent.StopError
	if ctx.Err() != nil || !errors.As(err, &stop) {
		return endWith(Failed, f.trouble(ctx, act, err))
	}
	kind := "infra"
	if stop.Budget {
		kind = "budget"
	}
	return endWith(Failed, &Problem{Kind: kind, Message: act + ": " + stop.Message, Next: stop.Next})
}

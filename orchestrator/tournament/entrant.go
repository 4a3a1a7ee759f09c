package tournament

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/critic"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
)

// An entrant is one line of candidates: a proposal and its repairs. Only one goroutine at a time judges and changes it: the rounds of a
// tournament ensure that.
type entrant struct {
	variant agent.Variant
	// The number of repairs so far.
	heals int
	// The model's last answer, and how often in a row it repeated its previous one.
	reply agent.Reply
	same  int
	// The candidate made from it, judged or refused.
	cand gate.Candidate
	// changes is what the last candidate that could be applied does to the base; repairs build on it. before is the same without the
	// last reply, and judged the last candidate that was applied and judged.
	changes, before workspace.Changeset
	judged          gate.Candidate
	// absent is the package for want of which it failed, "" for none.
	absent  string
	failure agent.Failure
	tried   []agent.Attempt
	// Where the model works with tools, nil if it is asked without.
	bench Workbench
	// Why the model gave no usable answer and will not; "" while it may.
	gaveUp string
	// There is nothing more to ask: it passed, no repair is left, the model sees nothing to change, or a person did not want it asked.
	done, nothing, skipped bool
	// Why its judgement was cancelled, nil if it was not.
	eliminated *eliminatedError
	// What critics said about the candidate, nil before they were asked.
	critique *critic.Critique
	// How often a person wanted another answer than the one that passed.
	again int
}

// A tournament asks for candidates, has them judged, and has those that fail repaired, until one passes or none is left. The rounds are
// few: one of proposals, and agent.MaxHeals of repairs. A person who asks for another answer at the checkpoint restarts one entrant.
type tournament struct {
	*run.Execution
	req       run.Request
	crew      Crew
	plan      Plan
	gate      *gate.Gate
	stage     gate.Stage
	proposals run.Proposals // nil if nothing is kept
	all       []*entrant
	// Boxes can be started before they are needed.
	prepares bool
	// No candidate is cancelled any more: see judgeAgain.
	spared bool
	// How often critics were asked, and whether an author was asked about their findings.
	reviews  int
	reviewed bool
}

// prepare has n boxes started for a judgement while the model is asked for what is to be judged; 0 gives back those that are left.
func (c *tournament) prepare(ctx context.Context, n int) { c.PrepareBoxes(ctx, c.req, c.stage, n) }

// live lists the entrants for which there is something to ask.
func (c *tournament) live() []*entrant {
	return slices.DeleteFunc(slices.Clone(c.all), func(k *entrant) bool { return k.done })
}

// note tells people what is asked for next; k is the first to be asked.
func (c *tournament) note(k *entrant) string {
	if len(k.tried) > 0 {
		return "repair: " + k.failure.Gate
	}
	if target := c.plan.Task.Brief.Target; target != "" {
		return "read " + target + " (" + c.plan.Why + ")"
	}
	return c.plan.Why
}

// stopped returns the ending of a run whose model gives no more answers, or of other trouble in act. A cancelled run comes first: the
// model's error is then only a consequence.
func stopped(ctx context.Context, x *run.Execution, act string, err error) run.Ending {
	var stop *agent.StopError
	if ctx.Err() != nil || !errors.As(err, &stop) {
		return run.End(run.Failed, x.Trouble(ctx, act, err))
	}
	kind := run.ProblemInfra
	switch {
	case stop.Budget:
		kind = run.ProblemBudget
	case stop.Usage:
		kind = run.ProblemUsage
	}
	return run.End(run.Failed, &run.Problem{Kind: kind, Message: act + ": " + stop.Message, Next: stop.Next})
}

// fate says what the gates made of a draft that its author did not call done, "" if there was none.
func (k *entrant) fate() string {
	if k.cand.Changeset.Empty() {
		return ""
	}
	return "; judged anyway, " + k.cand.Because(k.cand.Verdict)
}

// noWinner returns the ending of a tournament that nobody won. Its message depends on how far the tournament got: a person skipped all
// questions, the model saw nothing to change, or the last candidate failed. Without a goal, and in a loop, nothing to change is a good
// end: the review found nothing.
func (c *tournament) noWinner() run.Ending {
	var last *entrant // the last with a candidate
	skipped := false
	for _, k := range c.all {
		skipped = skipped || k.skipped
		if !k.nothing && k.cand.Verdict != "" {
			last = k
		}
	}
	// No question was sent, so the model is not to blame.
	if last == nil && skipped {
		return run.End(run.Rejected, &run.Problem{
			Kind: run.ProblemPolicy, Message: "skipped " + run.ByWhom(run.ByTerminal) + " before the question was sent",
			Next: "run again with another --goal or --file",
		})
	}
	if last == nil {
		if c.plan.Task.Brief.Goal == "" || c.req.MayFindNothing {
			return run.Ending{State: run.Rejected, Verdict: verify.Pass, Exit: run.ExitDone}
		}
		return run.End(run.Rejected, &run.Problem{
			Kind: run.ProblemPatch, Message: "the model sees nothing to change for this goal",
			Next: "say more in --goal, or name the file with --file",
		})
	}
	end := run.Judged(last.cand)
	switch {
	case end.Error == nil:
	case last.gaveUp != "":
		end.Error.Message, end.Error.Next = last.gaveUp+last.fate(), "see what it did with `agent runs calls "+c.ID()+"`; say more in --goal, or try another --model, or --mode question"
	default:
		end.Error.Message = fmt.Sprintf("no candidate passed after %s; the last: %s", run.Count(last.heals, "repair"), end.Error.Message)
		end.Error.Next = "see every candidate with `agent runs show " + c.ID() + "`; say more in --goal, or try another --model"
	}
	return run.Lacking(end, last.absent, last.cand)
}

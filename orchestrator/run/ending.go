package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agent/images"
	"agent/orchestrator/edit/problem"
	"agent/orchestrator/gate"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/promotion"
	"agent/verify"
)

// The exit codes of the command line.
const (
	ExitDone      = 0   // promoted, or proved with NoPromote
	ExitFail      = 1   // the patch failed its gates
	ExitUsage     = 2   // the command line was wrong
	ExitInfra     = 3   // engine, database, tool or file system
	ExitApproval  = 4   // a person or a policy must decide
	ExitBudget    = 5   // a budget or turn limit ran out
	ExitConflict  = 6   // the host changed meanwhile
	ExitCancelled = 130 // cancelled, as after SIGINT
)

// kinds maps the kind of a Problem to the verdict and exit code of its run.
var kinds = map[ProblemKind]struct {
	verdict verify.Verdict
	exit    int
}{
	ProblemUsage:     {verify.Infra, ExitUsage},
	ProblemInfra:     {verify.Infra, ExitInfra},
	ProblemPolicy:    {verify.Policy, ExitApproval},
	ProblemConflict:  {verify.Conflict, ExitConflict},
	ProblemCancelled: {verify.Cancelled, ExitCancelled},
	ProblemPatch:     {verify.Fail, ExitFail},
	ProblemBudget:    {verify.Budget, ExitBudget},
}

// ExitOf returns the exit code of a command that ends with p.
func ExitOf(p *Problem) int { return kinds[p.Kind].exit }

// End returns the ending that p asks for. A cancelled run ends in state Cancelled, whatever it was doing.
//
// A conflict has a state of its own as well: what the user has to do then differs from what a failure requires, and lists of runs show
// only the state.
func End(state State, p *Problem) Ending {
	k := kinds[p.Kind]
	switch p.Kind {
	case ProblemCancelled:
		state = Cancelled
	case ProblemConflict:
		state = Conflicted
	}
	return Ending{State: state, Verdict: k.verdict, Error: p, Exit: k.exit}
}

// unrecorded turns an ending that the store did not take into an infrastructure failure. If files were promoted, that remains true: the
// ending stays and only gains the problem.
func unrecorded(end Ending, err error) Ending {
	p := &Problem{
		Kind: ProblemInfra, Message: "record the end of the run: " + err.Error(),
		Next: "run `agent doctor`; the next agent command records what happened",
	}
	if end.State == Promoted {
		end.Error = p
		return end
	}
	return End(Failed, p)
}

// Trouble turns an error of act into a problem with the next thing to do. If ctx has ended, the problem is a cancellation, or that the
// run was taken over.
func (x *Execution) Trouble(ctx context.Context, act string, err error) *Problem {
	var gone *sandbox.UnavailableError
	var lacking *images.InstallError
	var moving *workspace.ChangedError
	// The order matters. A run that was taken over has a cancelled context too. An error from a box that is only the cancellation as
	// seen from inside must not read as trouble with the engine.
	switch {
	case errors.Is(context.Cause(ctx), ErrFenced) || errors.Is(err, ErrFenced):
		return &Problem{
			Kind: ProblemInfra, Message: act + ": " + ErrFenced.Error(),
			Next: "see `agent runs show " + x.rec.ID + "`",
		}
	case ctx.Err() != nil:
		return &Problem{Kind: ProblemCancelled, Message: "cancelled; the workspace is untouched", Next: "run the same command again"}
	case errors.As(err, &moving):
		return conflicted(&promotion.ConflictError{Paths: []string{moving.Path}}, "")
	case errors.As(err, &gone):
		return &Problem{Kind: ProblemInfra, Message: act + ": " + err.Error(), Next: gone.Hint}
	case errors.As(err, &lacking):
		return &Problem{Kind: ProblemInfra, Message: act + ": " + lacking.Error(), Next: lacking.Next()}
	}
	return &Problem{Kind: ProblemInfra, Message: act + ": " + err.Error(), Next: "run `agent doctor`"}
}

// rejection returns the problem of a candidate that no gate may judge.
func rejection(err error) *Problem {
	var refusal *problem.Refusal
	if errors.As(err, &refusal) {
		return refused(refusal)
	}
	return forbidden(err)
}

// refused judges a response that could not be applied. A path that may never be written is a matter of policy; anything else is the
// patch's own fault.
//
// One forbidden path decides for the whole response, whatever else is wrong with it: fixing the other blocks would not make it allowed.
func refused(r *problem.Refusal) *Problem {
	for _, p := range r.Problems {
		if p.Kind == "path" {
			return forbidden(fmt.Errorf("block %d, %s: %s", p.Block, p.Path, p.Reason))
		}
	}
	return &Problem{
		Kind: ProblemPatch, Message: "the patch does not apply: " + r.Error(),
		Next: "fix the blocks listed above and run again; nothing was written",
	}
}

// forbidden returns the problem of a change that no approval allows.
func forbidden(err error) *Problem {
	return &Problem{
		Kind: ProblemPolicy, Message: "the patch may not write that: " + err.Error(),
		Next: "remove that file from the patch; edit it by hand if you mean it",
	}
}

// conflicted returns the problem of files that the user changed meanwhile. run is the ID of the run whose proven diff is still
// available, "" if there is none yet.
func conflicted(c *promotion.ConflictError, run string) *Problem {
	p := &Problem{
		Kind: ProblemConflict, Message: c.Error(),
		Next: "your edits were kept and nothing was written; make the patch again from the files as they are now",
	}
	if run != "" {
		p.Next = "your edits were kept and nothing was written; `agent runs apply " + run +
			"` merges the proven change with them and judges the result, or says where they clash"
	}
	if c.Next != "" {
		p.Next = c.Next
	}
	return p
}

// Judged returns the ending of a run whose last candidate did not pass.
func Judged(cand gate.Candidate) Ending {
	switch cand.Verdict {
	case verify.Infra:
		return End(Failed, &Problem{
			Kind: ProblemInfra, Message: "not judged: " + cand.Because(verify.Infra),
			Next: "run `agent doctor`; the patch was not blamed and the workspace is untouched",
		})
	case verify.Policy:
		next := "remove that change from the patch, or make it by hand"
		if kinds := verify.Approvals(cand.Gates); len(kinds) > 0 {
			next = "remove that change from the patch, or approve it: --allow " + strings.Join(kinds, " --allow ")
		}
		return End(Rejected, &Problem{Kind: ProblemPolicy, Message: "held by policy: " + cand.Because(verify.Policy), Next: next})
	}
	end := End(Rejected, &Problem{
		Kind: ProblemPatch, Message: "the patch failed: " + cand.Because(cand.Verdict),
		Next: "fix the patch and run again; the workspace is untouched",
	})
	// Fail is the verdict of the problem's kind; the candidate may have a more exact one.
	end.Verdict = cand.Verdict
	return end
}

// Lacking names the missing package in the ending of a candidate that failed for want of it.
func Lacking(end Ending, name string, cand gate.Candidate) Ending {
	if name == "" || end.Error == nil {
		return end
	}
	end.Error.Message += "; the package " + name + " is not installed in the box"
	// A package that the workspace asks for and did not get is no reason to rewrite the patch.
	if why := cand.Uninstalled(); why != "" {
		end.Error.Next = why + "; then run again"
		return end
	}
	// A patch that asks for packages was judged without them unless somebody approved them.
	if cand.TouchesDependencies() {
		end.Error.Next = "run again with --allow dependencies if you accept what it installs, or do without " + name + "; " + end.Error.Next
		return end
	}
	end.Error.Next = "do without " + name + ", or add the needed code to the workspace; " + end.Error.Next
	return end
}

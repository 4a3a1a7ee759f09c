package self

import (
	"context"
	"slices"
	"strings"

	"agent/cmd/agent/internal/checkpoint"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/selfbuild"
	"agent/verify/policy"
)

// An approver decides at the checkpoint of a rebuild: it asks, as for every run, and then has the new image built and
// prove itself, before anything is written.
type approver struct {
	*checkpoint.Approver
	rebuild *rebuild
}

// Approve adds the holds of what no policy approves, and ends with the canary.
//
// The order is person first, image second: a build takes minutes, and nobody should wait
// for one that they would decline. An image that is refused answers Skip, and so the
// reason is in the record beside the names of those who decide.
func (a *approver) Approve(ctx context.Context, p run.Proposal) (run.Answer, error) {
	// There is no change yet, so there is nothing to hold or to build.
	if p.Feature != nil {
		return a.Approver.Approve(ctx, p)
	}
	// What the gates judged, and not what lies in the workspace by now: a file that came
	// since was judged by nobody.
	judged := p.Base.With(p.Candidate.Changeset)
	// The whole tree, since an edit by hand or an ordinary run may have changed what is
	// protected before: this change would carry it into the image.
	diff, err := a.rebuild.journal.Difference(gate.Tree(p.Base), gate.Tree(judged))
	if err != nil {
		return run.Answer{}, err
	}
	// Nobody is asked: who reads a diff would have to see what one such line undoes.
	if never := diff.Refused(); len(never) > 0 {
		a.rebuild.cause = fault.Policy("leave it out; `agent self rebuild` without a change builds what you wrote yourself, at a terminal",
			"no run may propose this for the agent itself: %s", term.CleanLine(strings.Join(never, "; ")))
		return run.Answer{Decision: run.Skip, By: a.rebuild.cause.Error()}, nil
	}
	a.rebuild.cause = nil // of a candidate before
	paths := diff.Paths()
	for _, change := range p.Candidate.Changeset.Changes {
		paths = append(paths, change.Path)
		// To move a protected file away changes it as well.
		if change.From != "" {
			paths = append(paths, change.From)
		}
	}
	held := a.rebuild.held(paths, diff)
	// A copy, whose policy is taken away for this one question: the next candidate may
	// touch nothing that is held.
	person := *a.Approver
	if len(held) > 0 {
		if !a.Attended() {
			answer := checkpoint.Unattended(needsPerson(held))
			answer.Next = "run `agent self rebuild` again at a terminal" // no flag approves it later either
			return answer, nil
		}
		for _, h := range held {
			// A hold that blocks keeps Enter and the countdown from applying: see choose and
			// expired.
			p.Candidate.Holds = append(p.Candidate.Holds, policy.Hold{Path: h.path, Kind: policy.Self, Block: true, Reason: h.reason})
		}
		person.Yes, person.Allow = false, nil
		// All that the image would have otherwise, and not the change alone.
		if len(diff.Changes.Changes) > 0 {
			p.Candidate.Diff = diff.Changes.Diff()
		}
	}
	answer, err := person.Approve(ctx, p)
	if err != nil || answer.Decision != run.Apply {
		return answer, err
	}
	// The build writes to the terminal too.
	defer a.Board.Pause()()
	if err := a.rebuild.proveImage(ctx, judged); err != nil {
		return run.Answer{Decision: run.Skip, By: "the new image: " + err.Error()}, nil
	}
	return answer, nil
}

// A held is a path that waits for a person.
type held struct {
	path string
	// Of this path, as a sentence; and of it and others, as the subject of one.
	reason, why string
}

// names lists the paths of held.
func names(list []held) (paths []string) {
	for _, h := range list {
		paths = append(paths, h.path)
	}
	return paths
}

// held lists those of paths that a person decides on, whatever the flags: what is protected, what reaches further than
// its package, and all the rest, unless the user had that approved in advance. Those that no setting approves come first.
func (r *rebuild) held(paths []string, diff selfbuild.Difference) (list []held) {
	slices.Sort(paths)
	paths = slices.Compact(paths)
	add := func(of []string, reason, why string) {
		for _, p := range of {
			if !slices.Contains(names(list), p) {
				list = append(list, held{p, reason, why})
			}
		}
	}
	add(selfbuild.Protected(paths...), "it judges, builds or takes back the agent itself", "a change of what judges, builds or takes back the agent")
	add(diff.Held(), "it reaches out of its package or of the program now", "a change that reaches out of its package or of the program")
	if !r.set.On("self.unattended") {
		add(paths, "it is the agent's own source, and self.unattended is off", "a change of the agent's own source, with self.unattended off,")
	}
	return list
}

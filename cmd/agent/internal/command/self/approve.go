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

// An approver decides at the checkpoint of a rebuild. It asks, as for every run, and then has the new image built and
// prove itself, before anything is written.
type approver struct {
	*checkpoint.Approver
	rebuild *rebuild
}

// Approve adds holds for what no policy approves, and ends with the canary.
//
// The person comes first and the image second: a build takes minutes, and no one should wait for one that they would
// decline. For a refused image the answer is Skip, so that the reason is in the record next to the names of those who
// decide.
func (a *approver) Approve(ctx context.Context, p run.Proposal) (run.Answer, error) {
	// There is no change yet, so there is nothing to hold or to build.
	if p.Feature != nil {
		return a.Approver.Approve(ctx, p)
	}
	// The image is built from what the gates judged, not from the current workspace: no gate has judged a file that
	// came later.
	judged := p.Base.With(p.Candidate.Changeset)
	// The whole tree is compared, since a manual edit or an ordinary run may have changed something protected before:
	// this change would carry it into the image.
	diff, err := a.rebuild.journal.Difference(gate.Tree(p.Base), gate.Tree(judged))
	if err != nil {
		return run.Answer{}, err
	}
	// No one is asked: a reader of the diff would have to notice what one such line undoes.
	if never := diff.Refused(); len(never) > 0 {
		a.rebuild.cause = fault.Policy("omit it; `agent self rebuild` without a change builds what you wrote yourself, at a terminal",
			"no run may propose this for the agent itself: %s", term.CleanLine(strings.Join(never, "; ")))
		return run.Answer{Decision: run.Skip, By: a.rebuild.cause.Error()}, nil
	}
	a.rebuild.cause = nil // of a previous candidate
	paths := diff.Paths()
	for _, change := range p.Candidate.Changeset.Changes {
		paths = append(paths, change.Path)
		// Moving a protected file away changes it too.
		if change.From != "" {
			paths = append(paths, change.From)
		}
	}
	held := a.rebuild.held(paths, diff)
	// Works on a copy, whose policy is removed for this one question: the next candidate may touch nothing that is
	// held.
	person := *a.Approver
	if len(held) > 0 {
		if !a.Attended() {
			answer := checkpoint.Unattended(needsPerson(held))
			answer.Next = "run `agent self rebuild` again at a terminal" // no flag approves it later either
			return answer, nil
		}
		for _, h := range held {
			// A blocking hold keeps Enter and the countdown from applying: see choose and expired.
			p.Candidate.Holds = append(p.Candidate.Holds, policy.Hold{Path: h.path, Kind: policy.Self, Block: true, Reason: h.reason})
		}
		person.Yes, person.Allow = false, nil
		// Shows every difference of the image, not only the change.
		if len(diff.Changes.Changes) > 0 {
			p.Candidate.Diff = diff.Changes.Diff()
		}
	}
	answer, err := person.Approve(ctx, p)
	if err != nil || answer.Decision != run.Apply {
		return answer, err
	}
	// The build also writes to the terminal.
	defer a.Board.Pause()()
	if err := a.rebuild.proveImage(ctx, judged); err != nil {
		return run.Answer{Decision: run.Skip, By: "the new image: " + err.Error()}, nil
	}
	return answer, nil
}

// A held is a path that waits for a person.
type held struct {
	path string
	// The first is a sentence about this path, the second the subject of a sentence about it and others.
	reason, why string
}

// names lists the paths of held.
func names(list []held) (paths []string) {
	for _, h := range list {
		paths = append(paths, h.path)
	}
	return paths
}

// held returns those of paths that a person decides on, whatever the flags: what is protected, what reaches beyond its
// package, and everything else, unless the user approved that in advance. Those that no setting approves come first.
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

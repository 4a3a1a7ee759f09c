package tournament

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"agent/orchestrator/gate"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A round is the judgement of several candidates at the same time. It cancels each as soon as it is certain that best will not choose
// it: the boxes are for those that may win.
//
// That is certain in two cases, which no gate can change any more. Either the candidate's bytes are final, and another of the round has
// passed without a finding and comes first by the size of its diff or by the order of asking. Or a gate has spoken against it while
// another has passed, so that no repair is asked for. A person's decision at the checkpoint may change that: cancelled candidates are
// then judged again, see tournament.judgeAgain.
type round struct {
	mu        sync.Mutex
	standings []standing // in the order of tournament.all, which best follows
}

// A standing is one candidate of a round.
type standing struct {
	n int // as shown to people
	// The size of the diff; -1, smaller than any, while it may change.
	size int
	// The gate that has spoken against it, "" for none.
	failed string
	// Its judgement has ended; with a pass if passed.
	over, passed bool
	// New findings of a candidate that passed.
	found  int
	cancel context.CancelCauseFunc
}

// An eliminatedError is the cause that ends a judgement that could no longer be won; failed says that a gate had spoken.
type eliminatedError struct {
	failed bool
	why    string
}

func (e *eliminatedError) Error() string { return e.why }

// newRound returns a round of the entrants, and the context that each is to be judged with. stop releases those contexts.
func newRound(ctx context.Context, live []*entrant) (r *round, each []context.Context, stop func()) {
	r = &round{}
	for _, k := range live {
		of, cancel := context.WithCancelCause(ctx)
		r.standings, each = append(r.standings, standing{n: k.variant.N, size: -1, cancel: cancel}), append(each, of)
	}
	return r, each, func() {
		for _, l := range r.standings {
			l.cancel(nil)
		}
	}
}

// settled notes that the bytes of a candidate are final.
func (r *round) settled(i int, cs workspace.Changeset) {
	size := len(cs.Diff())
	r.change(i, func(l *standing) { l.size = size })
}

// told notes what a gate says about a candidate. It ignores what is not a verdict on the patch: the run may have to end for that.
func (r *round) told(i int, e verify.Event) {
	if e.Done && !e.Baseline && slices.Contains([]verify.Verdict{verify.Fail, verify.OOM, verify.Timeout, verify.Policy}, e.Verdict) {
		r.change(i, func(l *standing) { l.failed = e.Gate })
	}
}

// ended notes how a candidate was judged. Until one has passed, none is cancelled.
func (r *round) ended(i int, cand gate.Candidate) {
	r.change(i, func(l *standing) {
		l.over, l.passed = true, cand.Wins()
		l.size, l.found = len(cand.Diff), cand.Findings()
	})
}

// change applies what has become known about one candidate, and cancels those that it leaves without a chance.
func (r *round) change(i int, do func(*standing)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do(&r.standings[i])
	for j := range r.standings {
		l := &r.standings[j]
		if l.over {
			continue
		}
		if by := r.before(j); by >= 0 {
			why := fmt.Sprintf("candidate %d has passed without a finding, and its diff is no larger", r.standings[by].n)
			if l.failed != "" {
				why = fmt.Sprintf("%s does not pass, and candidate %d has passed", l.failed, r.standings[by].n)
			}
			l.over = true
			l.cancel(&eliminatedError{l.failed != "", why})
		}
	}
}

// before returns a standing that passed and comes before standing j however j ends, or -1. Its order is that of tournament.passed.
func (r *round) before(j int) int {
	l := r.standings[j]
	for i, w := range r.standings {
		smaller := w.size < l.size || w.size == l.size && i < j
		if w.passed && (l.failed != "" || w.found == 0 && smaller) {
			return i
		}
	}
	return -1
}

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

// A round is the judgement of several candidates at the same time. It cancels each as soon as
// it is certain that best will not choose it: the boxes are for those that may win.
//
// Certain is what no gate can change any more. The bytes of the candidate are final,
// another of the round has passed without a finding, and comes first by the size of
// the diff or by the order of asking; or a gate has spoken against it while another
// has passed, so that no repair is asked for. What a person decides at the checkpoint
// may change that: who was cancelled is then judged again, see tournament.judgeAgain.
type round struct {
	mu        sync.Mutex
	standings []standing // in the order of tournament.all, as best goes by it
}

// A standing is one candidate of a round.
type standing struct {
	n int // as people count it
	// Of the diff; -1, smaller than any, while it may change.
	size int
	// The gate that has spoken against it, "" for none.
	failed string
	// Its judgement has ended, with a pass if passed.
	over, passed bool
	// New findings of one that passed.
	found  int
	cancel context.CancelCauseFunc
}

// An eliminatedError is the cause of a judgement's end that could not be won any more;
// failed says that a gate had spoken.
type eliminatedError struct {
	failed bool
	why    string
}

func (e *eliminatedError) Error() string { return e.why }

// newRound returns a round of the entrants and the context that each is to be judged
// with. stop gives those back.
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

// settled tells that the bytes of a candidate are final.
func (r *round) settled(i int, cs workspace.Changeset) {
	size := len(cs.Diff())
	r.change(i, func(l *standing) { l.size = size })
}

// told hears what a gate says of a candidate. What is no verdict on the patch is
// waited for: the run may have to end for it.
func (r *round) told(i int, e verify.Event) {
	if e.Done && !e.Baseline && slices.Contains([]verify.Verdict{verify.Fail, verify.OOM, verify.Timeout, verify.Policy}, e.Verdict) {
		r.change(i, func(l *standing) { l.failed = e.Gate })
	}
}

// ended tells what a candidate was judged to be. Until one has passed nobody is
// cancelled.
func (r *round) ended(i int, cand gate.Candidate) {
	r.change(i, func(l *standing) {
		l.over, l.passed = true, cand.Wins()
		l.size, l.found = len(cand.Diff), cand.Findings()
	})
}

// change does what has become known of one candidate, and cancels those that it
// leaves without a chance.
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

// before returns one that passed and comes before standing j however that ends, or -1.
// Its order is that of tournament.passed.
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

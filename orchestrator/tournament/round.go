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

// A heat is the judgement of the candidates of one round. It cancels each as soon as
// it is certain that best will not choose it: the boxes are for those that may win.
//
// Certain is what no gate can change any more. The bytes of the candidate are final,
// another of the round has passed without a finding, and comes first by the size of
// the diff or by the order of asking; or a gate has spoken against it while another
// has passed, so that no repair is asked for. What a person decides at the checkpoint
// may change that: who was cancelled is then judged again, see contest.rejudge.
type heat struct {
	mu    sync.Mutex
	lanes []lane // in the order of contest.all, as best goes by it
}

// A lane is one candidate of a heat.
type lane struct {
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

// A beatenError is the cause of a judgement's end that could not be won any more;
// failed says that a gate had spoken.
type beatenError struct {
	failed bool
	why    string
}

func (e *beatenError) Error() string { return e.why }

// newHeat returns a heat of the contenders and the context that each is to be judged
// with. stop gives those back.
func newHeat(ctx context.Context, live []*contender) (h *heat, each []context.Context, stop func()) {
	h = &heat{}
	for _, k := range live {
		of, cancel := context.WithCancelCause(ctx)
		h.lanes, each = append(h.lanes, lane{n: k.variant.N, size: -1, cancel: cancel}), append(each, of)
	}
	return h, each, func() {
		for _, l := range h.lanes {
			l.cancel(nil)
		}
	}
}

// settled tells that the bytes of a candidate are final.
func (h *heat) settled(i int, cs workspace.Changeset) {
	size := len(cs.Diff())
	h.change(i, func(l *lane) { l.size = size })
}

// told hears what a gate says of a candidate. What is no verdict on the patch is
// waited for: the run may have to end for it.
func (h *heat) told(i int, e verify.Event) {
	if e.Done && !e.Baseline && slices.Contains([]verify.Verdict{verify.Fail, verify.OOM, verify.Timeout, verify.Policy}, e.Verdict) {
		h.change(i, func(l *lane) { l.failed = e.Gate })
	}
}

// ended tells what a candidate was judged to be. Until one has passed nobody is
// cancelled.
func (h *heat) ended(i int, cand gate.Candidate) {
	h.change(i, func(l *lane) {
		l.over, l.passed = true, cand.Wins()
		l.size, l.found = len(cand.Diff), cand.Findings()
	})
}

// change does what has become known of one candidate, and cancels those that it
// leaves without a chance.
func (h *heat) change(i int, do func(*lane)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do(&h.lanes[i])
	for j := range h.lanes {
		l := &h.lanes[j]
		if l.over {
			continue
		}
		if by := h.before(j); by >= 0 {
			why := fmt.Sprintf("candidate %d has passed without a finding, and its diff is no larger", h.lanes[by].n)
			if l.failed != "" {
				why = fmt.Sprintf("%s does not pass, and candidate %d has passed", l.failed, h.lanes[by].n)
			}
			l.over = true
			l.cancel(&beatenError{l.failed != "", why})
		}
	}
}

// before returns one that passed and comes before lane j however that ends, or -1.
// Its order is that of contest.passed.
func (h *heat) before(j int) int {
	l := h.lanes[j]
	for i, w := range h.lanes {
		smaller := w.size < l.size || w.size == l.size && i < j
		if w.passed && (l.failed != "" || w.found == 0 && smaller) {
			return i
		}
	}
	return -1
}

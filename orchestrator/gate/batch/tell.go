package batch

import (
	"context"
	"strings"
	"sync/atomic"

	"agent/verify"
)

// A teller tells all of a group what the gates do. That a gate is at an end it tells when the group has passed: else each is judged
// alone, and has other verdicts.
type teller struct {
	group []*question
	later []verify.Event
}

// event takes one event of the judgement of all.
func (t *teller) event(e verify.Event) {
	if e.Done && e.Request == nil {
		t.later = append(t.later, e)
		return
	}
	t.tell(e)
}

// ended tells how the gates ended.
func (t *teller) ended() {
	for _, e := range t.later {
		t.tell(e)
	}
}

// tell tells each of what concerns it.
func (t *teller) tell(e verify.Event) {
	for i, ask := range t.group {
		if !theirs(t.group, i)[e.Gate] {
			ask.emit(e)
		}
	}
}

// whileAny returns a context that ends when those of all questions have. It has the values of the first.
func whileAny(group []*question) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(group[0].values())
	var left atomic.Int32
	left.Store(int32(len(group)))
	var stops []func() bool
	for _, ask := range group {
		stops = append(stops, ask.whenDone(func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		}))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// names lists the others of a group, for people.
func names(group []*question, i int) string {
	var list []string
	for j, ask := range group {
		if j != i {
			list = append(list, ask.member.name)
		}
	}
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	}
	return strings.Join(list, "")
}

// join puts a sentence behind another one, if there is one.
func join(text, more string) string {
	if text == "" {
		return more
	}
	return text + "; " + more
}

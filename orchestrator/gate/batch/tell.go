package batch

import (
	"context"
	"strings"
	"sync/atomic"

	"agent/verify"
)

// A teller tells every member of a group what the gates do. It reports the end of a gate only when the group has passed: otherwise each
// candidate is judged alone and gets other verdicts.
type teller struct {
	group []*question
	later []verify.Event
}

// event takes one event of the common judgement.
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

// tell passes an event to every question that it concerns.
func (t *teller) tell(e verify.Event) {
	for i, ask := range t.group {
		if !theirs(t.group, i)[e.Gate] {
			ask.emit(e)
		}
	}
}

// whileAny returns a context that ends when the contexts of all questions have ended. It has the values of the first.
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

// names lists the other members of a group, for people.
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

// join appends a sentence to another one, if there is one.
func join(text, more string) string {
	if text == "" {
		return more
	}
	return text + "; " + more
}

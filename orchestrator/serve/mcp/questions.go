package mcp

import (
	"crypto/rand"
	"sync"
)

// roundTrips is the first version of the protocol in which a question to the person goes out as the answer of a call, which the
// client makes again with what the person said (SEP-2322). Before it the question is a request within the call.
const roundTrips = "2026-07-28"

// approvalID names the only question that a call asks.
const approvalID = "approval"

// mostQuestions bounds those that wait for an answer: a client that asks more often loses all that wait, which can then no longer
// be answered.
const mostQuestions = 1000

// questions are those that went out as the answer of a call, by the state that comes back with what the person said.
type questions struct {
	mu    sync.Mutex
	asked map[string]string
}

// put keeps a question and returns its state.
func (q *questions) put(text string) (state string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.asked) >= mostQuestions {
		clear(q.asked)
	}
	state = rand.Text()
	q.asked[state] = text
	return state
}

// take reports whether the question that state belongs to is this one, and forgets it.
func (q *questions) take(state, text string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	asked, ok := q.asked[state]
	delete(q.asked, state)
	return ok && asked == text
}

package mcp

import (
	"crypto/rand"
	"sync"
)

// roundTrips is the first version of the protocol in which a call's answer carries the question to the person, and the
// client repeats the call with the person's answer (SEP-2322). Before that, the question is a request within the call.
const roundTrips = "2026-07-28"

// approvalID names the only question that a call asks.
const approvalID = "approval"

// mostQuestions bounds the questions that wait for an answer: a client that asks more often loses all waiting ones,
// which can then no longer be answered.
const mostQuestions = 1000

// questions holds the questions sent as the answer of a call, by the state that returns with the person's answer.
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

// take reports whether state belongs to this question, and forgets that state.
func (q *questions) take(state, text string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	asked, ok := q.asked[state]
	delete(q.asked, state)
	return ok && asked == text
}

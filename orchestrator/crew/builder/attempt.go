package builder

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"agent/orchestrator/crew"
	"agent/orchestrator/run"
)

// begin records a new attempt before anything is done for it, or continues the one with the same kind, task and try
// that a process left unfinished.
func (w *work) begin(ctx context.Context, kind Kind, task int, role string, try, landed int) (Attempt, error) {
	w.mu.Lock()
	for i, a := range w.left {
		if a.Kind == kind && a.Task == task && a.Try == try {
			w.left = append(w.left[:i:i], w.left[i+1:]...)
			w.mu.Unlock()
			return a, nil
		}
	}
	w.mu.Unlock()
	a := newAttempt(w.plan.ID, kind, task, role, try, landed)
	if w.again != nil {
		old, ok := w.again.find(kind, task, try)
		if !ok {
			return a, &unlikeError{fmt.Sprintf("plan %d has no recorded %s of task %d, try %d", w.again.plan.ID, kind, task, try+1)}
		}
		a.Fence, a.Recorded, a.Landed, a.Of = old.Fence, old.Recorded, old.Landed, old.ID
	}
	return a, w.Plans.SaveAttempt(ctx, a)
}

// newAttempt returns an attempt with a new name and fence.
func newAttempt(plan int64, kind Kind, task int, role string, try, landed int) Attempt {
	var word [16]byte
	rand.Read(word[:]) // never returns an error
	now := time.Now()
	return Attempt{
		ID: run.NewID(now), Plan: plan, Task: task, Kind: kind, Role: role, Try: try, Fence: hex.EncodeToString(word[:]), Landed: landed, Started: now,
	}
}

// end records the outcome of an attempt, even if ctx has just ended. An attempt that trouble, a cap or a person ended
// gets no outcome, so that it can continue.
func (w *work) end(ctx context.Context, a Attempt, o Outcome, why string) error {
	a.Why = crew.Clip(why, maxMemory)
	if o != Trouble && o != Stopped && o != Spent {
		a.Outcome = o
	}
	settled, cancel := context.WithTimeout(context.WithoutCancel(ctx), run.SettleFor)
	defer cancel()
	return w.Plans.SaveAttempt(settled, a)
}

// answered returns the accepted answer of a role for a kind, task and try: from the record of the plan that is carried
// out again, or from before a process died without recording what follows from it. ok is false if there is none.
func (w *work) answered(kind Kind, task, try int) (text string, ok bool) {
	w.mu.Lock()
	past := w.past
	w.mu.Unlock()
	a, ok := last(past, kind, task, try)
	if w.again != nil {
		a, ok = w.again.find(kind, task, try)
	}
	return text, ok && a.Recorded != nil && json.Unmarshal(a.Recorded, &text) == nil
}

// last returns the last attempt with that kind, task and try that has an outcome, or else the last one.
func last(list []Attempt, kind Kind, task, try int) (found Attempt, ok bool) {
	for _, a := range list {
		if a.Kind == kind && a.Task == task && a.Try == try && (a.Outcome != "" || found.Outcome == "") {
			found, ok = a, true
		}
	}
	return found, ok
}

// answer returns the recorded form of an answer.
func answer(text string) []byte {
	data, _ := json.Marshal(text) // a string always encodes
	return data
}

package builder

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"agent/orchestrator/crew"
	"agent/orchestrator/run"
)

// begin records a new attempt before anything is done for it, or takes up the one of the same
// kind, task and try that a process left unfinished.
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
	return a, w.Plans.SaveAttempt(ctx, a)
}

// newAttempt returns one with a name and a fence of its own.
func newAttempt(plan int64, kind Kind, task int, role string, try, landed int) Attempt {
	var word [16]byte
	rand.Read(word[:]) // never returns an error
	now := time.Now()
	return Attempt{
		ID: run.NewID(now), Plan: plan, Task: task, Kind: kind, Role: role, Try: try, Fence: hex.EncodeToString(word[:]), Landed: landed, Started: now,
	}
}

// end records what came of an attempt, also when ctx has just ended. One that trouble or a person ended is left as
// it is, to be carried on.
func (w *work) end(ctx context.Context, a Attempt, o Outcome, why string) error {
	a.Why = crew.Clip(why, maxMemory)
	if o != Trouble && o != Stopped && o != Spent {
		a.Outcome = o
	}
	settled, cancel := context.WithTimeout(context.WithoutCancel(ctx), run.SettleFor)
	defer cancel()
	return w.Plans.SaveAttempt(settled, a)
}

package loop

import (
	"context"
	"fmt"
	"slices"

	"agent/orchestrator/run"
)

// maxTurns bounds the targets that an order remembers as having had their turn; the oldest of them may then have another one.
const maxTurns = 500

// turned returns the targets that have had their turn, with target added.
func (o Order) turned(target string) []string {
	if target == "" {
		return o.Turns
	}
	turns := append(slices.DeleteFunc(slices.Clone(o.Turns), func(p string) bool { return p == target }), target)
	return turns[max(0, len(turns)-maxTurns):]
}

// wrapUp ends a loop that promoted as much as a person wants to see at once, and lists it. next is the order after the last iteration.
func (l *Loop) wrapUp(ctx context.Context, r *Result, next Order) (bool, error) {
	if l.WrapUp <= 0 || next.Promoted < l.WrapUp {
		return false, nil
	}
	list, err := l.Iterations.LoopIterations(ctx, next.Loop)
	if err != nil {
		return false, fmt.Errorf("read what the loop did: %w", err)
	}
	r.Next = "review it with `agent review`, make a pull request of it with `agent pr open"
	for _, it := range list {
		if it.Outcome == outcomePromoted {
			r.WrapUp = append(r.WrapUp, it.round())
			r.Next += " --run " + it.Run
		}
	}
	r.Next += "`, or continue with `agent sandbox loop --resume`"
	r.Stopped = fmt.Sprintf("wrapped up: %s not looked at yet", run.Count(next.Promoted, "promotion"))
	return true, nil
}

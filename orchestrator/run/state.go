package run

import (
	"fmt"
	"slices"
)

// transitions holds, for each state, the states that may follow it. States
// with no entry are final.
var transitions = map[State][]State{
	Queued:           {Analyzing, Promoting, Conflicted, Failed, Cancelled},
	Analyzing:        {Planning, Proposing, Verifying, Rejected, Conflicted, Failed, Cancelled},
	Planning:         {Proposing, Rejected, Conflicted, Failed, Cancelled},
	Proposing:        {Verifying, AwaitingApproval, Rejected, Conflicted, Failed, Cancelled},
	Verifying:        {Proposing, AwaitingApproval, Rejected, Conflicted, Failed, Cancelled},
	AwaitingApproval: {Proposing, Verifying, Promoting, Done, Rejected, Conflicted, Failed, Cancelled},
	Promoting:        {Promoted, Conflicted, Failed, Cancelled},
}

// States lists every state, in the order of a run, the ends last.
func States() []State {
	return []State{
		Queued, Analyzing, Planning, Proposing, Verifying, AwaitingApproval, Promoting,
		Promoted, Done, Rejected, Conflicted, Failed, Cancelled,
	}
}

// Next lists the states that may follow s, none when s is an end.
func (s State) Next() []State { return slices.Clone(transitions[s]) }

// Final reports whether a run in state s needs nothing more.
func (s State) Final() bool { return len(transitions[s]) == 0 }

// check reports an order of states that the table does not have.
func (s State) check(to State) error {
	if !slices.Contains(transitions[s], to) {
		return fmt.Errorf("state %s may not follow %s", to, s)
	}
	return nil
}

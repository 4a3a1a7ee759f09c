package run

import (
	"fmt"
	"slices"
)

// transitions holds, for each state, the states that may follow it. States without an entry are final.
var transitions = map[State][]State{
	Queued:           {Analyzing, Promoting, Conflicted, Failed, Cancelled},
	Analyzing:        {Planning, Proposing, Verifying, Rejected, Conflicted, Failed, Cancelled},
	Planning:         {Proposing, Rejected, Conflicted, Failed, Cancelled},
	Proposing:        {Verifying, AwaitingApproval, Rejected, Conflicted, Failed, Cancelled},
	Verifying:        {Proposing, AwaitingApproval, Rejected, Conflicted, Failed, Cancelled},
	AwaitingApproval: {Proposing, Verifying, Promoting, Done, Rejected, Conflicted, Failed, Cancelled},
	Promoting:        {Promoted, Conflicted, Failed, Cancelled},
}

// States lists every state in the order of a run, with the final states last.
func States() []State {
	return []State{
		Queued, Analyzing, Planning, Proposing, Verifying, AwaitingApproval, Promoting,
		Promoted, Done, Rejected, Conflicted, Failed, Cancelled,
	}
}

// Next lists the states that may follow s; there are none if s is final.
func (s State) Next() []State { return slices.Clone(transitions[s]) }

// Final reports whether state s ends a run.
func (s State) Final() bool { return len(transitions[s]) == 0 }

// check returns an error if the table does not let state to follow s.
func (s State) check(to State) error {
	if !slices.Contains(transitions[s], to) {
		return fmt.Errorf("state %s may not follow %s", to, s)
	}
	return nil
}

package run

import (
	"context"
	"time"

	"agent/orchestrator/agent"
)

// A Waiting is a file in the cascade queue: it uses something that a promotion
// changed.
type Waiting struct {
	Path string
	// Because names the changes, one a line: "shop/tax.py: rate renamed to rates".
	Because string
	// Diff is what the promotions changed.
	Diff string
	// From are the runs that caused it.
	From []string
	// Queued is when the first of them did; the queue is served in that order.
	Queued time.Time
}

// A Knowledge keeps what runs leave to those after them, by workspace (its
// absolute path, links resolved). *store.DB is one.
type Knowledge interface {
	// Memory returns the memory, the zero one when there is none.
	Memory(ctx context.Context, workspace string) (agent.Memory, error)
	// SaveMemory records the memory that run merged. It is refused with
	// ErrFenced when the iteration is not one more than the recorded one, so
	// that a merge counts once however often it is tried.
	SaveMemory(ctx context.Context, workspace, run string, m agent.Memory) error
	// History returns the last n promotions that were not undone, oldest first.
	History(ctx context.Context, workspace string, n int) ([]agent.Entry, error)
	// Queue lists the cascade queue, the next to be served first.
	Queue(ctx context.Context, workspace string) ([]Waiting, error)
	// Enqueue adds files that run caused to wait. A file that waits already
	// keeps its place and gains the cause; the same run adds to it once.
	Enqueue(ctx context.Context, workspace, run string, list []Waiting) error
	// Served takes a file out of the queue, because run attended to it.
	Served(ctx context.Context, workspace, run, path string) error
}

// An Iteration is one round of the loop: one choice of a target, one run, and
// what was learnt from it. It is what a killed loop goes on from.
type Iteration struct {
	// ID is 12 characters that sort by time. Model calls are recorded under it,
	// so that whoever carries it on finds the answers that were paid for.
	ID        string
	Workspace string
	// N counts the iterations of the workspace, from 1.
	N int
	// Fence is the word of the fence: random, and the same in every try.
	Fence string
	Goal  string
	// Plan is the plan in JSON, "" until it is made.
	Plan []byte
	// Run is the last run of the iteration, "" before it began.
	Run string
	// Phase is the next thing to do.
	Phase Phase
	// Outcome says what came of it: the run's end state, or why there was no run.
	Outcome string
	Started time.Time
}

// A Phase is where an iteration stands.
type Phase string

// The phases of an iteration, in order.
const (
	Work    Phase = "work"    // choose a target and run
	Learn   Phase = "learn"   // the run promoted: ledger, ripples, memory
	Settled Phase = "settled" // nothing is left to do
)

// Iterations keeps the iterations of the loop. *store.DB is one.
type Iterations interface {
	// OpenIteration returns the workspace's iteration that is not settled;
	// false when there is none.
	OpenIteration(ctx context.Context, workspace string) (Iteration, bool, error)
	// StartIteration records a new iteration and returns it with its number.
	StartIteration(ctx context.Context, it Iteration) (Iteration, error)
	// SaveIteration records how far it came: plan, run, phase and outcome.
	SaveIteration(ctx context.Context, it Iteration) error
}

package loop

import (
	"context"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/run"
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
	// SaveMemory records the memory that run merged, as m.Run. It is refused with
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
	// PromotionOf returns what run wrote to the workspace, with every byte.
	PromotionOf(ctx context.Context, run string) (run.Promotion, error)
}

// An Order is what a loop was told to do, and how far it is. It travels with
// each of its iterations, so that whoever carries the loop on needs no more.
type Order struct {
	// Loop is the ID of the loop's first iteration.
	Loop string `json:"loop"`
	// Goal and Scope aim every iteration; empty to let each choose.
	Goal  string   `json:"goal,omitempty"`
	Scope []string `json:"scope,omitempty"`
	// Iterations is how many to do, 0 to go on until told.
	Iterations int `json:"iterations,omitempty"`
	// UntilClean proposes no features: the loop reviews every file that is due, and ends
	// when none is.
	UntilClean bool `json:"until_clean,omitempty"`
	// Candidates is how many changes are asked for in each iteration.
	Candidates int `json:"candidates,omitempty"`
	// Single says that it was no loop but one run, which nobody resumes unless
	// it was interrupted.
	Single bool `json:"single,omitempty"`
	// Done counts the iterations of the loop before this one, Failures how many
	// of the last of them failed in a row.
	Done     int `json:"done"`
	Failures int `json:"failures"`
	// Began is when the loop did, zero in records from before it was kept.
	Began time.Time `json:"began,omitzero"`
	// Promoted counts those that promoted something, since a person has looked at them.
	Promoted int `json:"promoted,omitempty"`
	// Proposal is the kept proposal that this one takes up, 0 for none; Had are those that the loop has come to.
	Proposal int64   `json:"proposal,omitempty"`
	Had      []int64 `json:"had,omitempty"`
	// Last is the target of the one before, which is not chosen again, and Turns are those that have had their turn: the others come first.
	Last  string   `json:"last,omitempty"`
	Turns []string `json:"turns,omitempty"`
	// Clean are the files that the loop reviewed without finding anything, with
	// the SHA-256 of the content reviewed: as they are, they are not reviewed again.
	Clean map[string]string `json:"clean,omitempty"`
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
	// Owner is sandbox.Owner of the process that works on it.
	Owner string
	Order Order
	// Fence is the word of the fence: random, and the same in every try.
	Fence string
	// Plan is the plan in JSON, nil until it is made.
	Plan []byte
	// Run is the last run of the iteration, "" before it ended.
	Run string
	// Phase is the next thing to do.
	Phase Phase
	// Outcome says what came of it: the run's end state, "clean" when the model
	// saw nothing to change, or why there was no run.
	Outcome string
	// Session tells the work in a few lines, for the memory.
	Session string
	Started time.Time
}

// A Phase is where an iteration stands.
type Phase string

// The phases of an iteration, in order.
const (
	Work    Phase = "work"    // choose a target and run
	Learn   Phase = "learn"   // the run was judged: ledger, ripples, memory
	Settled Phase = "settled" // nothing is left to do
)

// Iterations keeps the iterations of the loop. *store.DB is one.
type Iterations interface {
	// LastIteration returns the iteration of a workspace that is not settled,
	// or else the newest one of a loop; false when there is neither.
	LastIteration(ctx context.Context, workspace string) (Iteration, bool, error)
	// LoopIterations returns the iterations of a loop in their order, of all
	// workspaces; the beginning of its name is enough when no other has it.
	LoopIterations(ctx context.Context, loop string) ([]Iteration, error)
	// StartIteration records a new iteration and returns it with its number.
	// ErrFenced means that the workspace has one that is not settled.
	StartIteration(ctx context.Context, it Iteration) (Iteration, error)
	// TakeIteration makes owner the owner of an iteration, in place of the one
	// that it has: ErrFenced means that somebody else was faster.
	TakeIteration(ctx context.Context, it Iteration, owner string) (Iteration, error)
	// SaveIteration records how far it came: plan, run, phase and outcome.
	// ErrFenced means that it has another owner, or is in a later phase.
	SaveIteration(ctx context.Context, it Iteration) error
	// RunOf returns the last run of an iteration and its state; false when
	// none was recorded.
	RunOf(ctx context.Context, iteration string) (run string, state run.State, ok bool, err error)
}

// Orders tells which directives need no run any more. *store.DB is one.
type Orders interface {
	// Attended lists the texts of the directives that a run promoted something
	// for, or was rejected with.
	Attended(ctx context.Context, workspace string) ([]string, error)
}

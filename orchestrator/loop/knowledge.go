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
	// From lists the runs that caused it.
	From []string
	// Queued is when the first of them caused it; the queue is served in that order.
	Queued time.Time
}

// A Knowledge keeps what runs leave for later ones, by workspace (its absolute path, with links resolved). *store.DB implements it.
type Knowledge interface {
	// Memory returns the memory, or the zero Memory if there is none.
	Memory(ctx context.Context, workspace string) (agent.Memory, error)
	// SaveMemory records the memory that run merged, as m.Run. It fails with ErrFenced unless the iteration is one more than the
	// recorded one, so that a merge counts once however often it is tried.
	SaveMemory(ctx context.Context, workspace, run string, m agent.Memory) error
	// History returns the last n promotions that were not undone, oldest first.
	History(ctx context.Context, workspace string, n int) ([]agent.Entry, error)
	// Queue lists the cascade queue, in the order in which it is served.
	Queue(ctx context.Context, workspace string) ([]Waiting, error)
	// Enqueue adds files that must wait because of run. A file that is already waiting keeps its place and gains the cause; the same
	// run adds its cause only once.
	Enqueue(ctx context.Context, workspace, run string, list []Waiting) error
	// Served removes a file from the queue because run attended to it.
	Served(ctx context.Context, workspace, run, path string) error
	// PromotionOf returns what run wrote to the workspace, with every byte.
	PromotionOf(ctx context.Context, run string) (run.Promotion, error)
}

// An Order is what a loop was told to do, and how far it has got. Each of its iterations carries the order, so that a process that
// resumes the loop needs nothing else.
type Order struct {
	// Loop is the ID of the loop's first iteration.
	Loop string `json:"loop"`
	// Goal and Scope aim every iteration; if empty, each chooses for itself.
	Goal  string   `json:"goal,omitempty"`
	Scope []string `json:"scope,omitempty"`
	// Iterations is how many to do; 0 goes on until told to stop.
	Iterations int `json:"iterations,omitempty"`
	// UntilClean proposes no features: the loop reviews every file that is due, and ends when none is.
	UntilClean bool `json:"until_clean,omitempty"`
	// Candidates is how many changes to ask for in each iteration.
	Candidates int `json:"candidates,omitempty"`
	// Single says that it was not a loop but one run, which nobody resumes unless it was interrupted.
	Single bool `json:"single,omitempty"`
	// Done counts the iterations of the loop before this one; Failures counts how many of the last of them failed in a row.
	Done     int `json:"done"`
	Failures int `json:"failures"`
	// Began is when the loop began; it is zero in records from before it was kept.
	Began time.Time `json:"began,omitzero"`
	// Promoted counts the iterations that promoted something since a person last looked at them.
	Promoted int `json:"promoted,omitempty"`
	// Proposal is the kept proposal that this iteration takes up, 0 for none; Had lists those that the loop has already reached.
	Proposal int64   `json:"proposal,omitempty"`
	Had      []int64 `json:"had,omitempty"`
	// Last is the previous target, which is not chosen again. Turns lists the targets that have had their turn: the others come first.
	Last  string   `json:"last,omitempty"`
	Turns []string `json:"turns,omitempty"`
	// Clean lists the files that the loop reviewed without finding anything, with the SHA-256 of the reviewed content: unchanged, they
	// are not reviewed again.
	Clean map[string]string `json:"clean,omitempty"`
}

// An Iteration is one round of the loop: one choice of a target, one run, and what was learnt from it. A killed loop resumes from it.
type Iteration struct {
	// ID is 12 characters that sort by time. Model calls are recorded under it, so that a process that resumes the iteration finds the
	// answers that were paid for.
	ID        string
	Workspace string
	// N counts the iterations of the workspace, from 1.
	N int
	// Owner is sandbox.Owner of the process that works on the iteration.
	Owner string
	Order Order
	// Fence is the fence's word: random, and the same in every try.
	Fence string
	// Plan is the plan in JSON, nil until it is made.
	Plan []byte
	// Run is the last run of the iteration, "" before that run has ended.
	Run string
	// Phase is the next thing to do.
	Phase Phase
	// Outcome says how it went: the run's end state, "clean" if the model saw nothing to change, or why there was no run.
	Outcome string
	// Session describes the work in a few lines, for the memory.
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

// Iterations keeps the iterations of the loop. *store.DB implements it.
type Iterations interface {
	// LastIteration returns the iteration of a workspace that is not settled, otherwise the newest one of a loop; false if there is
	// neither.
	LastIteration(ctx context.Context, workspace string) (Iteration, bool, error)
	// LoopIterations returns the iterations of a loop in their order, across all workspaces; a prefix of the loop's name is enough if
	// it is unique.
	LoopIterations(ctx context.Context, loop string) ([]Iteration, error)
	// StartIteration records a new iteration and returns it with its number. ErrFenced means that the workspace has one that is not
	// settled.
	StartIteration(ctx context.Context, it Iteration) (Iteration, error)
	// TakeIteration makes owner the owner of an iteration in place of its current one. ErrFenced means that another process was faster.
	TakeIteration(ctx context.Context, it Iteration, owner string) (Iteration, error)
	// SaveIteration records how far the iteration got: plan, run, phase and outcome. ErrFenced means that it has another owner, or is
	// in a later phase.
	SaveIteration(ctx context.Context, it Iteration) error
	// RunOf returns the last run of an iteration and its state; false if none was recorded.
	RunOf(ctx context.Context, iteration string) (run string, state run.State, ok bool, err error)
}

// Orders tells which directives no longer need a run. *store.DB implements it.
type Orders interface {
	// Attended lists the texts of the directives for which a run promoted something or was rejected.
	Attended(ctx context.Context, workspace string) ([]string, error)
}

package builder

import (
	"context"
	"sync"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/crew"
	"agent/orchestrator/gate"
	"agent/orchestrator/gate/batch"
	"agent/orchestrator/run"
	"agent/orchestrator/tournament"
	"agent/sandbox/workspace"
)

// A Kind says what an attempt does.
type Kind string

// The kinds of attempt.
const (
	PlanKind    Kind = "plan"    // make a plan, or make a part of it again
	TaskKind    Kind = "task"    // carry out a task
	BeginKind   Kind = "begin"   // record the tasks as they are at the beginning
	LandKind    Kind = "land"    // merge a change into a tree that moved, and judge it again
	AcceptKind  Kind = "accept"  // check whether a loop has met the acceptance of its task file
	ReviewKind  Kind = "review"  // review the whole
	DeliverKind Kind = "deliver" // judge the whole and promote it
)

// An Outcome is the result of an attempt, "" while it continues.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Refused Outcome = "failed"    // by the gates, by a clash, or because nothing came of it
	Outside Outcome = "held"      // it touched files outside the task
	Trouble Outcome = "infra"     // not the task's fault
	Stopped Outcome = "cancelled" // by a person
	Spent   Outcome = "budget"    // by a cap
)

// An Attempt is one try at a task, or one step of the plan as a whole. Questions to models are recorded under its ID.
type Attempt struct {
	ID   string // 12 characters that sort by time
	Plan int64
	// Task is its number, 0 for the plan as a whole.
	Task int
	Kind Kind
	Role string
	Try  int // from 0
	// Fence is the word that quotes untrusted text: random, but the same whenever the attempt continues.
	Fence string
	// Recorded is, in JSON, what the run set out to do, the accepted answer of a planner or reviewer, or the tasks at
	// the beginning; nil before that is known.
	Recorded []byte
	// Of is the attempt of an earlier plan whose answers this one uses, "" for none; then no model is asked.
	Of string `db:"-"`
	// Landed is how many tasks were done when it began.
	Landed  int
	Run     string
	Outcome Outcome
	Why     string
	Started time.Time
}

// Plans keeps plans and what is done for them. The error for a plan that another process owns is run.ErrFenced.
// *store/plans.Book implements it.
type Plans interface {
	// AddPlan records a plan and returns its number.
	AddPlan(ctx context.Context, p crew.Plan) (int64, error)
	// Plan returns the plan of that number.
	Plan(ctx context.Context, id int64) (crew.Plan, error)
	// TakePlan makes owner the owner of a plan in place of was, and returns the plan in its state at that moment.
	TakePlan(ctx context.Context, id int64, was, owner string) (crew.Plan, error)
	// SavePlan records the state of a plan and all its tasks; owner must own it.
	SavePlan(ctx context.Context, p crew.Plan, owner string) error
	// Wanted returns what was requested of the process that works on a plan: "", "pause" or "cancel".
	Wanted(ctx context.Context, id int64) (string, error)
	// SaveAttempt records an attempt, or its progress.
	SaveAttempt(ctx context.Context, a Attempt) error
	// Attempts lists the attempts of a plan in the order in which they began.
	Attempts(ctx context.Context, id int64) ([]Attempt, error)
}

// A Proof is what a run proved.
type Proof struct {
	Candidate gate.Candidate
	// Snapshot is the digest of the tree on which it was proved.
	Snapshot string
}

// A Note says what happens to a plan, for people.
type Note struct {
	// Plan is its present state; it is the receiver's own copy.
	Plan crew.Plan
	// Task is the number of the task that the note is about, 0 for the plan as a whole.
	Task int
	Text string
	// Run is the run that the note is about, and Event the run's event; nil for none.
	Run   string
	Event *run.Event
}

// Actions are the recorded calls of tools in an attempt. None of it comes from what its author says.
type Actions struct {
	// List has one line for each call: what was called, and whether it did what it should.
	List []string
	// Limits are the caps that its conversations reached, each with its name.
	Limits []string
}

// A Step is an upcoming step, which a person may inspect and change.
type Step struct {
	Kind Kind
	Task *crew.Task // nil for the plan as a whole
	Text string     // the instructions: for a task its goal
}

// A StepAnswer is what a person decides about a step.
type StepAnswer struct {
	// Text replaces Step.Text; "" keeps it.
	Text string
	// Skip leaves the task undone; Abort ends the work on the plan.
	Skip, Abort bool
}

// A Builder makes plans and carries them out.
type Builder struct {
	// Runner returns a runner that reports its events to emit.
	Runner func(emit func(run.Event)) *run.Runner
	Plans  Plans
	Roles  crew.Roles
	// Crew returns the crew that finds the change of a task.
	Crew func(a Attempt, role crew.Role, emit func(agent.Progress)) (tournament.Crew, error)
	// Ask asks a question of a role; one that was answered under that attempt and step is not asked again.
	Ask func(ctx context.Context, a Attempt, role crew.Role, purpose agent.Purpose, step string, b agent.Brief) (agent.Reply, error)
	// Overview gathers what a planner is shown about a workspace for a goal. If fresh, it first updates what is known
	// about the workspace: base is then the workspace on disk, and not a tree that tasks changed.
	Overview func(ctx context.Context, base *workspace.Manifest, goal string, fresh bool) (agent.Brief, error)
	// Proof returns what a run proved, and RunOf the last run of an attempt with its state.
	Proof func(ctx context.Context, run string) (Proof, error)
	RunOf func(ctx context.Context, attempt string) (id string, state run.State, ok bool, err error)
	// Actions returns what the models of an attempt did with tools; nil if that is not known.
	Actions func(ctx context.Context, attempt string) (Actions, error)
	// Parallel is how many tasks may be in progress at the same time; 0 means 2.
	Parallel int
	// Queue judges changes of tasks together if they arrive at about the same time; nil means a queue that suits the
	// machine. It serves one plan at a time.
	Queue *batch.Queue
	// Outside lets tasks touch files that are not their own. Despite delivers what the review did not accept, Partial
	// what is done of a plan whose tasks failed. NoReview asks for no review.
	Outside, Despite, Partial, NoReview bool
	// Step, unless nil, is asked before each task and before the delivery.
	Step func(ctx context.Context, s Step) (StepAnswer, error)
	// Notices are reported before anything else.
	Notices []string
	// Tell receives the notes, one at a time; nil means no one.
	Tell func(Note)
	// Owner names this process; see sandbox.Owner.
	Owner string

	telling sync.Mutex
}

// The bounds on carrying out a plan.
const (
	defaultParallel = 2
	MaxParallel     = 4
	defaultTries    = 2
	defaultRounds   = 2
	wantedEvery     = time.Second
	maxMemory       = 6 << 10  // bytes of what a later try learns about an earlier one
	maxReviewed     = 96 << 10 // bytes of the change shown to a reviewer
	maxAsked        = 3        // rejected answers of a planner
)

// begins reports the notices.
func (b *Builder) begins(p crew.Plan) {
	for _, text := range b.Notices {
		b.tell(p, 0, text)
	}
}

// tell reports something about a plan; the copy isolates the receiver from later changes.
func (b *Builder) tell(p crew.Plan, task int, text string) {
	b.note(Note{Plan: p.Clone(), Task: task, Text: text})
}

func (b *Builder) note(n Note) {
	if b.Tell == nil {
		return
	}
	b.telling.Lock()
	defer b.telling.Unlock()
	b.Tell(n)
}

// A Result is what one process achieved for a plan.
type Result struct {
	Plan crew.Plan
	// Document is the document of the run that was to deliver the whole; nil if the plan did not get that far.
	Document *run.Document
	// Error says why the plan did not succeed; nil if it did.
	Error *run.Problem
	Exit  int
	// Differs lists, for a plan that was carried out again from its record, what differs from it.
	Differs []string
}

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

// A Kind says what an attempt is at.
type Kind string

// The kinds of attempt.
const (
	PlanKind    Kind = "plan"    // a plan is made, or a part of it anew
	TaskKind    Kind = "task"    // a task is carried out
	BeginKind   Kind = "begin"   // the tasks as they were begun with
	LandKind    Kind = "land"    // a change is merged into a tree that moved, and judged again
	AcceptKind  Kind = "accept"  // whether a loop has met the acceptance of its task file
	ReviewKind  Kind = "review"  // the whole is reviewed
	DeliverKind Kind = "deliver" // the whole is judged and promoted
)

// An Outcome is what came of an attempt, "" while it goes on.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Refused Outcome = "failed"    // by the gates, by a clash, or since nothing came of it
	Outside Outcome = "held"      // it touched files that are not the task's
	Trouble Outcome = "infra"     // nobody's fault
	Stopped Outcome = "cancelled" // by a person
	Spent   Outcome = "budget"    // by a cap
)

// An Attempt is one try at a task, or one step of the plan as a whole. Questions to models are recorded
// under its ID.
type Attempt struct {
	ID   string // 12 characters that sort by time
	Plan int64
	// Task is its number, 0 for the plan as a whole.
	Task int
	Kind Kind
	Role string
	Try  int // from 0
	// Fence is the word that quotes untrusted text: random, and the same whenever the attempt is carried on.
	Fence string
	// Recorded is what the run set out to do, the answer of a planner or reviewer that was accepted, or the tasks that were begun with,
	// in JSON; nil before that is known.
	Recorded []byte
	// Of is the attempt of an earlier plan whose answers this one takes, "" for none; no model is asked then.
	Of string `db:"-"`
	// Landed is how many tasks were done when it began.
	Landed  int
	Run     string
	Outcome Outcome
	Why     string
	Started time.Time
}

// Plans keeps plans and what is done for them. Errors of a plan that another process has are
// run.ErrFenced. *store/plans.Book is one.
type Plans interface {
	// AddPlan records a plan and returns its number.
	AddPlan(ctx context.Context, p crew.Plan) (int64, error)
	// Plan returns the plan of that number.
	Plan(ctx context.Context, id int64) (crew.Plan, error)
	// TakePlan makes owner the owner of a plan in place of the one that it has, and returns it as it is then.
	TakePlan(ctx context.Context, id int64, was, owner string) (crew.Plan, error)
	// SavePlan records where a plan and all its tasks stand; owner has to have it.
	SavePlan(ctx context.Context, p crew.Plan, owner string) error
	// Wanted returns what somebody asked of the process that works on a plan: "", "pause" or "cancel".
	Wanted(ctx context.Context, id int64) (string, error)
	// SaveAttempt records an attempt, or how far it came.
	SaveAttempt(ctx context.Context, a Attempt) error
	// Attempts lists those of a plan in the order in which they began.
	Attempts(ctx context.Context, id int64) ([]Attempt, error)
}

// A Proof is what a run proved.
type Proof struct {
	Candidate gate.Candidate
	// Snapshot is the digest of the tree that it was proved on.
	Snapshot string
}

// A Note says what happens to a plan, for people.
type Note struct {
	// Plan is where it stands; it is the receiver's own copy.
	Plan crew.Plan
	// Task is the number of the task that it is about, 0 for the plan as a whole.
	Task int
	Text string
	// Run is the run that it is about, and Event what that told; nil for none.
	Run   string
	Event *run.Event
}

// Actions are what is on record of the tools that an attempt called. None of it is what its author says of it.
type Actions struct {
	// List is a line a call: what was called, and whether it did what it should.
	List []string
	// Limits are the caps of its conversations that were reached, each with its name.
	Limits []string
}

// A Step is something that is about to be done, which a person may look at and change.
type Step struct {
	Kind Kind
	Task *crew.Task // nil for the plan as a whole
	Text string     // what it is told: for a task its goal
}

// A StepAnswer is what a person decides about a step.
type StepAnswer struct {
	// Text takes the place of Step.Text, "" leaves it.
	Text string
	// Skip leaves the task undone, Abort ends the work on the plan.
	Skip, Abort bool
}

// A Builder makes plans and carries them out.
type Builder struct {
	// Runner returns who does runs, which tells emit what happens.
	Runner func(emit func(run.Event)) *run.Runner
	Plans  Plans
	Roles  crew.Roles
	// Crew returns who finds the change of a task.
	Crew func(a Attempt, role crew.Role, emit func(agent.Progress)) (tournament.Crew, error)
	// Ask puts a question of a role; a question that was answered under that attempt and step is not asked again.
	Ask func(ctx context.Context, a Attempt, role crew.Role, purpose agent.Purpose, step string, b agent.Brief) (agent.Reply, error)
	// Overview gathers what a planner is told of a workspace for a goal. With fresh what is known of it is brought up to
	// date first: base is the workspace on disk then, and no tree that tasks changed.
	Overview func(ctx context.Context, base *workspace.Manifest, goal string, fresh bool) (agent.Brief, error)
	// Proof returns what a run proved, and RunOf the last run of an attempt with its state.
	Proof func(ctx context.Context, run string) (Proof, error)
	RunOf func(ctx context.Context, attempt string) (id string, state run.State, ok bool, err error)
	// Actions returns what the models of an attempt did with tools; nil for who knows of none.
	Actions func(ctx context.Context, attempt string) (Actions, error)
	// Parallel is how many tasks are at work at the same time; 0 means 2.
	Parallel int
	// Queue has the changes of tasks judged together that come at about the same time; nil for one as the machine can do with. It serves
	// one plan at a time.
	Queue *batch.Queue
	// Outside lets tasks touch files that are not their own, Despite delivers what the review did not accept, Partial
	// what is done of a plan of which tasks failed, NoReview asks for no review.
	Outside, Despite, Partial, NoReview bool
	// Step, where it is not nil, is asked before each task and before the delivery.
	Step func(ctx context.Context, s Step) (StepAnswer, error)
	// Notices are told before anything else.
	Notices []string
	// Tell is told what happens, one at a time; nil for nobody.
	Tell func(Note)
	// Owner names this process; see sandbox.Owner.
	Owner string

	telling sync.Mutex
}

// The bounds of carrying a plan out.
const (
	defaultParallel = 2
	MaxParallel     = 4
	defaultTries    = 2
	defaultRounds   = 2
	wantedEvery     = time.Second
	maxMemory       = 6 << 10  // bytes of what a later try is told of an earlier one
	maxReviewed     = 96 << 10 // bytes of the change that a reviewer is shown
	maxAsked        = 3        // answers of a planner that are not accepted
)

// begins tells of the notices.
func (b *Builder) begins(p crew.Plan) {
	for _, text := range b.Notices {
		b.tell(p, 0, text)
	}
}

// tell tells of a plan; the copy keeps the receiver from what goes on.
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

// A Result is what became of a plan in one process.
type Result struct {
	Plan crew.Plan
	// Document is that of the run which was to deliver the whole; nil where it did not come so far.
	Document *run.Document
	// Error is why it did not come through, nil where it did.
	Error *run.Problem
	Exit  int
	// Differs says, of a plan that was carried out again from its record, what came out otherwise.
	Differs []string
}

package tournament

import (
	"context"
	"encoding/json"
	"fmt"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/critic"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

// DirectivesFile is the file in the workspace where a person writes orders for runs without a goal. It is never in a snapshot and never
// written by a run.
const DirectivesFile = ".agent/DIRECTIVES.md"

// A Plan is what a run without a patch sets out to do.
type Plan struct {
	Task agent.Task
	// Why tells people how the target was chosen: "cascade from shop/tax.py".
	Why string
	// Candidates is how many different changes are asked for; 0 means as many as the request says.
	Candidates int
	// Directive is the order from DIRECTIVES.md that the plan is for, word for word; "" for none.
	Directive string
	// Proposal is what the run takes up again, nil for nothing. If its patch failed, that replaces the first answer.
	Proposal *run.KeptProposal
	// Critics are those who review what passed, nil for none; a replay asks the same ones.
	Critics *critic.Seats `json:",omitempty"`
	// Repairs is Crew.Repairs.
	Repairs bool `json:",omitempty"`
	// Final says that the target is the last file that the loop has to review, or, without a target and a goal, that all files were
	// reviewed.
	Final bool
}

// idle reports whether there is nothing to do.
func (p Plan) idle() bool {
	return p.Final && p.Task.Brief.Target == "" && p.Task.Brief.Goal == ""
}

// A Planner chooses what to do in a workspace and gathers what is known about it. It is asked once a run, in state planning, and must
// give the same plan for the same run if that is resumed after a crash. For a request with a proposal, it aims the plan at that.
type Planner interface {
	Plan(ctx context.Context, base *workspace.Manifest, req run.Request) (Plan, error)
}

// A Crew finds the change of one run that was given no patch.
type Crew struct {
	Engineer *agent.Engineer
	Planner  Planner
	// Critics review what passed before anybody decides on it; a panel without members reviews nothing.
	Critics critic.Panel
	// Repairs has linters repair what they can in a candidate before the engineer is asked to; a replay does what the run did.
	Repairs bool
	// Workbench returns the place where the model works on one line of candidates, for a task whose brief has tools.
	Workbench func(ctx context.Context, base *workspace.Manifest, task agent.Task) (Workbench, error)
}

// A Workbench is where a model looks around and makes a change with tools. It is for one line of candidates, and remembers between
// them.
type Workbench interface {
	// On returns a model that answers questions about the workspace of a stage, as changes leave it, with a response that is to be
	// applied to that.
	On(changes workspace.Changeset, st gate.Stage, g *gate.Gate) agent.Model
}

// Aim makes the plan one for a proposal. The planner has read its file and gathered what is known; the proposal says what to do.
func (plan *Plan) Aim(p run.KeptProposal) {
	plan.Why, plan.Proposal = fmt.Sprintf("proposal %d", p.ID), &p
	if p.Kind.OfFeature() {
		plan.Task.Kind, plan.Task.Brief.Feature = agent.Implement, p.Text
	}
}

// A RecordedPlan repeats the plan of an earlier run word for word: for a replay, and for a run that is resumed. It holds what
// Store.SavePlan was given, and implements Planner.
type RecordedPlan []byte

// Plan returns the recorded plan.
func (r RecordedPlan) Plan(context.Context, *workspace.Manifest, run.Request) (Plan, error) {
	return r.Read()
}

// Read is like Plan, for callers that have nothing to plan.
func (r RecordedPlan) Read() (Plan, error) {
	var p Plan
	if err := json.Unmarshal(r, &p); err != nil {
		return Plan{}, fmt.Errorf("read the recorded plan: %w", err)
	}
	return p, nil
}

// SettleReview notes whether a review, with a goal or without, is the last that a loop has to do. done says that the target needs none;
// left are the other files that need one. A directive is never the last: the review of the files comes after it.
func (p *Plan) SettleReview(done bool, left []string) {
	p.Final = p.Directive == "" && len(left) == 0
	if done {
		b := &p.Task.Brief
		b.Target, b.Goal, p.Why = "", "", "everything to review was reviewed since it last changed"
	}
}

// A KeptPlan makes the plan of a run once, however often it is tried: the same plan asks the same questions, whose answers are
// recorded.
type KeptPlan struct {
	Planner Planner
	// Recorded is the plan that was kept, in JSON; nil if there is none yet.
	Recorded []byte
	// Save keeps a plan that was made.
	Save func(ctx context.Context, plan []byte) error
}

// Plan returns the kept plan, or makes one and keeps it. A file that a person has edited since makes the plan void: it quotes a text
// that no longer exists.
func (k *KeptPlan) Plan(ctx context.Context, base *workspace.Manifest, req run.Request) (Plan, error) {
	if p, err := RecordedPlan(k.Recorded).Read(); err == nil && current(base, p.Task.Brief) {
		return p, nil
	}
	p, err := k.Planner.Plan(ctx, base, req)
	if err != nil {
		return p, err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return p, fmt.Errorf("keep the plan: %w", err)
	}
	return p, k.Save(ctx, text)
}

// current reports whether a brief quotes its files as they are.
func current(base *workspace.Manifest, b agent.Brief) bool {
	for _, f := range b.Others {
		if text, err := base.ReadFile(f.Path); err != nil || string(text) != f.Text {
			return false
		}
	}
	if _, there := base.Lookup(b.Target); !there {
		// A file that is yet to be made is quoted as empty.
		return b.Code == ""
	}
	text, err := base.ReadFile(b.Target)
	return err == nil && string(text) == b.Code
}

package agent

import (
	"cmp"
	"context"
	"fmt"
)

// An Engineer words a task for a model, step by step. It holds no state of a
// task between calls: what was tried is handed in, so that whoever carries a
// run on after a crash asks the same questions.
type Engineer struct {
	Model   Model
	Prompts *Prompts
	// Budget bounds what a question quotes, in bytes; 0 means DefaultBudget.
	Budget int
	// Window is the context of the smallest model, which bounds a question further.
	Window Window
	// Before, when not nil, sees every question that asks for a change before
	// it is sent, and may alter it: the checkpoint before a call. An error ends
	// the task.
	Before func(ctx context.Context, q Question) (Question, error)
}

// maxAnswer bounds what a repair quotes of an answer, in bytes. A longer one is mostly whole files.
const maxAnswer = 24 << 10

// MaxTargets bounds how many files are worked on together. A model that names more has not chosen.
const MaxTargets = 6

// DefaultBudget fits a question with room for its answer into the 32,000
// tokens of context that small local models are run with.
const DefaultBudget = 80 << 10

// A Task is one change to be made, and all that is known about it.
type Task struct {
	Fence Fence
	// Brief is what every question of the task says. Code is the target's text
	// in the workspace.
	Brief Brief
	// Kind is Patch, Implement or Feature for the first question.
	Kind Purpose
	// Window is the context in tokens that the questions of the task are made for,
	// so that a replay makes the same ones; 0 for that of the Engineer.
	Window int `json:",omitempty"`
	// Budget is Engineer.Budget of then, for the same reason.
	Budget int `json:",omitempty"`
}

// Propose asks for the change. The step is "propose/N" by the variant, and
// "propose/N.A" when a person wanted another answer for the A-th time: the same
// question in another step is asked anew, with more freedom. A feature is asked
// for as "implement/N", since its run has asked for changes before.
func (e *Engineer) Propose(ctx context.Context, t Task, v Variant, again int) (Reply, []Cut, error) {
	b := t.Brief
	b.Variant = v
	step := fmt.Sprintf("propose/%d", max(1, v.N))
	if b.Feature != "" {
		step = fmt.Sprintf("implement/%d", max(1, v.N))
	}
	if again > 0 {
		step += fmt.Sprintf(".%d", again)
		b.Variant = Variant{N: v.N + again, Of: v.Of + again}
	}
	return e.ask(ctx, t.Kind, step, b, t)
}

// Feature asks for one feature for the target of a task, in words and without
// its edits. The step is "feature/1".
func (e *Engineer) Feature(ctx context.Context, t Task) (Reply, []Cut, error) {
	return e.ask(ctx, Feature, "feature/1", t.Brief, t)
}

// A Breakage is a candidate that did not pass, and what it did to the files.
type Breakage struct {
	Failure Failure
	// Said is what the model said of the change.
	Said string
	// Target is the file to fix, with Code its text after the change; for an
	// answer that could not be applied, before it.
	Target, Language, Code string
	// Others are the other files that the change touched or broke, as they are
	// with it.
	Others []File
	// Downstream says that the failure is in files that the change did not touch.
	Downstream bool
	// Tried are the candidates so far, this one last.
	Tried []Attempt
	// Answer is what the model answered, of which nothing could be applied; "" where it was applied.
	Answer string
	// Repeated says that the model has given that answer twice.
	Repeated bool
	// Variant is the candidate that is repaired, N which repair of it this is, from 1.
	Variant Variant
	N       int
}

// Heal asks for the repair of a candidate. The step is "heal/V.N" by variant
// and repair.
//
// The question holds the goal, what the model said, the failure and the code
// as it is with the change: a model that sees only the error fixes the error
// and forgets the goal.
func (e *Engineer) Heal(ctx context.Context, t Task, x Breakage) (Reply, []Cut, error) {
	b := Brief{
		Goal: t.Brief.Goal, Thought: x.Said, Target: x.Target, Language: x.Language, Code: x.Code, Others: x.Others,
		Tools: t.Brief.Tools, Feature: t.Brief.Feature, Role: t.Brief.Role, Cascade: t.Brief.Cascade, Rules: t.Brief.Rules, Memory: t.Brief.Memory, Failure: x.Failure, Attempts: x.Tried, Variant: x.Variant,
		Answer: shorten(x.Answer, maxAnswer, both), Repeated: x.Repeated,
	}
	again := false
	for _, a := range x.Tried[:max(0, len(x.Tried)-1)] {
		again = again || a.Gate == x.Failure.Gate
	}
	step := fmt.Sprintf("heal/%d.%d", max(1, x.Variant.N), x.N)
	return e.ask(ctx, x.Failure.Template(x.Downstream, again), step, b, t)
}

// findingsSchema is the form that a critic is asked to answer in. package critic reads it, and others.
const findingsSchema = `{"type":"object","additionalProperties":false,"required":["findings"],"properties":{"findings":{"type":"array","items":` +
	`{"type":"object","additionalProperties":false,"required":["severity","file","line","text"],"properties":{` +
	`"severity":{"type":"string","enum":["blocker","major","minor","nit"]},"file":{"type":"string"},"line":{"type":"integer"},"text":{"type":"string"}}}}}}`

// Critique asks for a review in a question of its own: Critique, or another whose answer has the same form. The brief's
// Diff, or what else it is about, is cut only where nothing else is left to cut.
func (e *Engineer) Critique(ctx context.Context, purpose Purpose, t Task, step string) (Reply, []Cut, error) {
	return e.ask(ctx, purpose, step, t.Brief, t)
}

// Targets asks which of the files to work on: which deserves a look, or which must change for the goal of the brief.
// known tells of a path that is not among the files listed whether it may be worked on. None are returned where the answer
// names none; several only for a goal.
func (e *Engineer) Targets(ctx context.Context, t Task, step string, known func(string) bool) ([]string, error) {
	reply, _, err := e.ask(ctx, PickTarget, step, t.Brief, t)
	if err != nil {
		return nil, err
	}
	paths := reply.Choices(t.Brief.Files, known)
	// What is to be reviewed first is one file: of two, neither was chosen.
	if t.Brief.Goal == "" && len(paths) > 1 {
		return nil, nil
	}
	return paths[:min(len(paths), MaxTargets)], nil
}

// ask fits a brief into the budget, renders the question and asks it.
func (e *Engineer) ask(ctx context.Context, purpose Purpose, step string, b Brief, t Task) (Reply, []Cut, error) {
	t.Brief = b
	q, cuts, err := e.question(purpose, step, t)
	if err != nil {
		return Reply{}, nil, err
	}
	if purpose == Critique {
		q.Schema = []byte(findingsSchema)
	}
	if e.Before != nil && purpose != PickTarget {
		if q, err = e.Before(ctx, q); err != nil {
			return Reply{}, cuts, err
		}
	}
	reply, err := e.Model.Ask(ctx, q)
	return reply, cuts, err
}

// Question returns what would be asked, without asking it, and what was cut to
// fit. A *StopError says that nothing can be cut any more.
func (e *Engineer) Question(purpose Purpose, step string, b Brief, f Fence) (Question, []Cut, error) {
	return e.question(purpose, step, Task{Brief: b, Fence: f})
}

// question is Question for the window of a task.
func (e *Engineer) question(purpose Purpose, step string, t Task) (Question, []Cut, error) {
	window := cmp.Or(t.Window, e.Window.Tokens)
	quoted, whole := e.budget(t.Budget, window)
	for {
		b := t.Brief
		cuts, err := b.narrow(quoted)
		if err == nil {
			var more []Cut
			more, err = b.Fit(quoted)
			cuts = append(cuts, more...)
		}
		if err != nil {
			return Question{}, cuts, e.tooSmall(b, window, err)
		}
		q, err := e.Prompts.Question(purpose, b, t.Fence)
		q.Step = step
		over := len(q.System) + len(q.Text) - whole
		if err != nil || whole == 0 || over <= 0 {
			return q, cuts, err
		}
		// The templates and what stands between the quotations take room too.
		if quoted = min(quoted, b.size()) - over; quoted <= 0 {
			return Question{}, cuts, e.tooSmall(b, window, errNoRoom)
		}
	}
}

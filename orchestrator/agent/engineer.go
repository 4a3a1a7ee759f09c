package agent

import (
	"cmp"
	"context"
	"fmt"
)

// An Engineer words a task for a model, step by step. It holds no state of a task between calls: the caller hands in
// what was tried, so that a process which continues a run after a crash asks the same questions.
type Engineer struct {
	Model   Model
	Prompts *Prompts
	// Budget bounds what a question quotes, in bytes; 0 means DefaultBudget.
	Budget int
	// Window is the context of the smallest model, which bounds a question further.
	Window Window
	// Before, unless nil, sees every question but the one for a target before it is sent, and may alter it: the
	// checkpoint before a call. An error ends the task.
	Before func(ctx context.Context, q Question) (Question, error)
}

// maxAnswer bounds how much of an answer a repair quotes, in bytes. A longer answer consists mostly of whole files.
const maxAnswer = 24 << 10

// MaxTargets bounds how many files are worked on together. A model that names more has not made a choice.
const MaxTargets = 6

// DefaultBudget lets a question with room for its answer fit into 32,000 tokens of context, with which small local
// models run.
const DefaultBudget = 80 << 10

// A Task is one change to be made, with everything that is known about it.
type Task struct {
	Fence Fence
	// Brief is what every question of the task says. Code is the target's text in the workspace.
	Brief Brief
	// Kind is Patch, Implement or Feature for the first question.
	Kind Purpose
	// Window is the context in tokens for which the questions of the task are made, so that a replay makes the same
	// ones; 0 means the Engineer's.
	Window int `json:",omitempty"`
	// Budget is the Engineer.Budget of that time, for the same reason.
	Budget int `json:",omitempty"`
}

// Propose asks for the change. The step is "propose/N" by the variant, or "propose/N.A" if a person wanted another
// answer for the A-th time: the same question in another step is asked anew, with more freedom. The step of a feature
// is "implement/N", since its run has asked for changes before.
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

// Feature asks for one feature for the target of a task, in words and without its edits. The step is "feature/1".
func (e *Engineer) Feature(ctx context.Context, t Task) (Reply, []Cut, error) {
	return e.ask(ctx, Feature, "feature/1", t.Brief, t)
}

// A Breakage is a candidate that did not pass, with its effect on the files.
type Breakage struct {
	Failure Failure
	// Said is what the model said about the change.
	Said string
	// Target is the file to fix. Code is its text after the change, or before it if the answer could not be applied.
	Target, Language, Code string
	// Others are the other files that the change touched or broke, in their state with the change.
	Others []File
	// Downstream says that the failure is in files that the change did not touch.
	Downstream bool
	// Tried are the candidates so far; the last one is this one.
	Tried []Attempt
	// Answer is the model's answer if nothing of it could be applied, and otherwise "".
	Answer string
	// Repeated says that the model has given that answer twice.
	Repeated bool
	// Variant is the candidate under repair. N counts its repairs from 1.
	Variant Variant
	N       int
}

// Heal asks for the repair of a candidate. The step is "heal/V.N" by variant and repair.
//
// The question holds the goal, what the model said, the failure and the code with the change: a model that sees only
// the error fixes the error and forgets the goal.
func (e *Engineer) Heal(ctx context.Context, t Task, x Breakage) (Reply, []Cut, error) {
	b := Brief{
		Goal: t.Brief.Goal, Thought: x.Said, Target: x.Target, Language: x.Language, Code: x.Code, Others: x.Others,
		Tools: t.Brief.Tools, Feature: t.Brief.Feature, Role: t.Brief.Role, Given: t.Brief.Given, Cascade: t.Brief.Cascade, Rules: t.Brief.Rules, Memory: t.Brief.Memory, Failure: x.Failure, Attempts: x.Tried, Variant: x.Variant,
		Answer: shorten(x.Answer, maxAnswer, both), Repeated: x.Repeated,
	}
	again := false
	for _, a := range x.Tried[:max(0, len(x.Tried)-1)] {
		again = again || a.Gate == x.Failure.Gate
	}
	step := fmt.Sprintf("heal/%d.%d", max(1, x.Variant.N), x.N)
	return e.ask(ctx, x.Failure.Template(x.Downstream, again), step, b, t)
}

// findingsSchema is the form in which a critic should answer. Package critic reads it, and other forms.
const findingsSchema = `{"type":"object","additionalProperties":false,"required":["findings"],"properties":{"findings":{"type":"array","items":` +
	`{"type":"object","additionalProperties":false,"required":["severity","file","line","text"],"properties":{` +
	`"severity":{"type":"string","enum":["blocker","major","minor","nit"]},"file":{"type":"string"},"line":{"type":"integer"},"text":{"type":"string"}}}}}}`

// Critique asks for a review in a question of its own: Critique, or another whose answer has the same form. Cuts reach
// the brief's Diff, or whatever the review is about, only when nothing else is left to cut.
func (e *Engineer) Critique(ctx context.Context, purpose Purpose, t Task, step string) (Reply, []Cut, error) {
	return e.ask(ctx, purpose, step, t.Brief, t)
}

// Targets asks which of the files to work on: which one deserves a look, or which ones must change for the goal of the
// brief. known reports whether a path that is not among the listed files may be worked on. Targets returns nothing if
// the answer names no file, and several files only for a goal.
func (e *Engineer) Targets(ctx context.Context, t Task, step string, known func(string) bool) ([]string, error) {
	reply, _, err := e.ask(ctx, PickTarget, step, t.Brief, t)
	if err != nil {
		return nil, err
	}
	paths := reply.Choices(t.Brief.Files, known)
	// A review without a goal starts with one file: an answer with two has chosen neither.
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

// Question returns what would be asked, without asking it, and what was cut to make it fit. A *StopError says that
// nothing more can be cut.
func (e *Engineer) Question(purpose Purpose, step string, b Brief, f Fence) (Question, []Cut, error) {
	return e.question(purpose, step, Task{Brief: b, Fence: f})
}

// question is Question for the window and the budget of a task.
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
		// The templates and the text between the quotations take room too.
		if quoted = min(quoted, b.size()) - over; quoted <= 0 {
			return Question{}, cuts, e.tooSmall(b, window, errNoRoom)
		}
	}
}

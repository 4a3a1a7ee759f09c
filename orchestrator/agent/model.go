package agent

import (
	"cmp"
	"context"
	"errors"
)

// A Model answers questions. The caller makes one from a chain of providers, with its keys, caps and record. Here a
// question is only asked and answered; every retry and fallback is the caller's.
type Model interface {
	Ask(ctx context.Context, q Question) (Reply, error)
}

// A Question is one request to a model, complete.
type Question struct {
	// Step names the question within its run: "propose/1", "heal/2". A resumed run asks under the same name and then
	// takes the recorded answer to the same question instead of paying again.
	Step string
	// Purpose is the name of the template: "PP".
	Purpose Purpose
	// File is the file that the question is about, or "".
	File string
	// Digest is the hex SHA-256 of the templates from which the text was made.
	Digest string
	// System are the instructions, Text the question.
	System, Text string
	// Parts are what Text quotes.
	Parts []Part
	// Temperature is 0 for the most likely answer; see Variant.
	Temperature float64
	// Schema is the JSON schema for the answer, nil for a free one.
	Schema []byte `json:",omitempty"`
}

// About says in a few words what the question asks for: "a change to shop/tax.py".
func (q Question) About() string {
	switch q.Purpose {
	case UpdateMemory, RefactorMemo:
		return "a summary of what was done"
	case Summarise:
		return "a description of the project"
	case MakePlan:
		return "a plan"
	case ReviewWhole:
		return "a review of what was done"
	case PickTarget:
		return "the file to work on"
	case Chat:
		return "an answer"
	case Critique:
		return "a critic's review of the change"
	}
	what := map[Purpose]string{Patch: "a review of ", Feature: "a feature for "}[q.Purpose]
	switch q.Purpose {
	case FixLint, FixRuntime, Repair, FixDownstream, AnswerCritic:
		what = "a repair of "
	case Implement:
		what = "a change to "
	}
	return what + cmp.Or(q.File, "the workspace")
}

// A Reply is a model's answer.
type Reply struct {
	Text string
	// Model says who answered: "gemini/gemini-2.5-flash".
	Model string
}

// temperature is the temperature of the first answer: nearly always the same answer to the same question, with a little
// freedom to leave a dead end.
const temperature = 0.1

// A Variant distinguishes one of several candidates for the same task. N counts from 1; Of is how many are asked for.
type Variant struct{ N, Of int }

// Temperature spreads the candidates: the first is asked as if it were alone, each further one with more freedom, up to
// 0.9.
func (v Variant) Temperature() float64 {
	if v.N <= 1 {
		return temperature
	}
	return min(0.9, temperature+0.3*float64(v.N-1))
}

// temperature returns the temperature of the brief's question. A question that got the same answer twice is asked with
// more freedom: the same words at the same temperature would get it again.
func (b *Brief) temperature() float64 {
	if b.Repeated {
		return max(0.7, b.Variant.Temperature())
	}
	return b.Variant.Temperature()
}

// A StopError means that no answer will come however often the question is asked: a cap is reached, or no provider is
// left. It ends the run.
type StopError struct {
	// Budget says that a cap ended it: attempts, time, tokens or money.
	Budget bool
	// Usage says that the request cannot be fulfilled: the user must name another file.
	Usage   bool
	Message string // what happened, with what was spent
	Next    string // what the person can do
	Err     error
}

// Error says what happened.
func (e *StopError) Error() string { return e.Message }

// Unwrap returns the cause, nil for none.
func (e *StopError) Unwrap() error { return e.Err }

// A GaveUpError means that the model was asked, gave no answer that could be used, and will not give one. Its candidate
// has failed; others go on.
type GaveUpError struct {
	Message string
	// Draft is what the model had made by then, which is judged once; empty for nothing.
	Draft Reply
}

// Error says why.
func (e *GaveUpError) Error() string { return e.Message }

// ErrSkipped is what Engineer.Before returns for a question that a person does not want to send.
var ErrSkipped = errors.New("the question was skipped")

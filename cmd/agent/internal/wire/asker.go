package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"agent/cmd/agent/internal/config"
	"agent/orchestrator/agent"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/llm"
	"agent/sandbox/workspace/secret/disguise"
)

// An asker puts the questions of one run to a chain of models. It is an agent.Model; the chain handles every retry,
// fallback, cap and record.
type asker struct {
	chain *llm.Chain
	// run is the name under which the questions are recorded.
	run string
	// emit receives the progress of each question.
	emit func(agent.Progress)
}

// Ask puts the question to the chain. The error is an *agent.StopError that says what was spent and what the user can
// do, or the error of ctx.
func (a *asker) Ask(ctx context.Context, q agent.Question) (agent.Reply, error) {
	// The last attempt that began tells which model answered: the answer itself names only a version.
	who := ""
	hidden, restore := HideSecrets(q)
	answer, err := a.chain.Ask(ctx, llm.Call{
		Run: a.run, Step: q.Step, Purpose: string(q.Purpose), Template: q.Digest,
		Request: llm.Request{
			System: hidden.System, Messages: []llm.Message{{Role: llm.User, Text: hidden.Text}}, Temperature: q.Temperature, Schema: q.Schema,
		},
		// Showing progress never ends a question: the run decides, not its display.
		Yield: func(e llm.Event) error {
			p := progress(e)
			p.Step = q.Step
			if p.Model != "" {
				who = p.Model
			}
			a.emit(p)
			return nil
		},
	})
	// The chain has retried and fallen back by now; nothing is left to try here.
	if err != nil {
		return agent.Reply{}, stopped(ctx, err)
	}
	return agent.Reply{Text: restore(answer.Text), Model: who}, nil
}

// Converse puts a question of a conversation with tools to the chain. It implements [conversation.Model].
func (a *asker) Converse(ctx context.Context, q conversation.Question) (llm.Answer, string, error) {
	hidden, restore, err := hideTurns(q.Request)
	if err != nil {
		return llm.Answer{}, "", err
	}
	who := ""
	answer, err := a.chain.Ask(ctx, llm.Call{
		Run: a.run, Step: q.Step, Purpose: string(q.Purpose), Template: q.Digest, Request: hidden,
		Yield: func(e llm.Event) error {
			p := progress(e)
			p.Step, who = q.Step, cmp.Or(p.Model, who)
			a.emit(p)
			return nil
		},
	})
	if err != nil {
		return llm.Answer{}, who, stopped(ctx, err)
	}
	return restored(answer, restore), who, nil
}

// HideSecrets returns the question in the form in which it may leave the machine: anything that looks like a
// credential, in any part of the question, becomes a mark such as [secret 1]. restore puts the credentials back into
// the answer. An edit of a line that holds one therefore finds its line, and the model never sees the credential.
func HideSecrets(q agent.Question) (hidden agent.Question, restore func(string) string) {
	// Both parts are hidden together, so that one mark means one credential in both; no text holds NUL.
	const between = "\x00"
	text, restore := disguise.Hide(q.System + between + q.Text)
	q.System, q.Text, _ = strings.Cut(text, between)
	return q, restore
}

// progress translates an event of the chain into plain values.
func progress(e llm.Event) agent.Progress {
	switch e := e.(type) {
	case llm.Started:
		return agent.Progress{
			Stage: agent.Asked, Model: e.Vendor + "/" + e.Model, Key: e.Key, In: e.In.N, Estimated: e.In.Estimated, Recorded: e.Recorded,
		}
	case llm.Text:
		return agent.Progress{Stage: agent.Writing, Text: e.Text}
		// The detail is the vendor's own text. It was masked and cut before, and is cleaned where it is printed.
	case llm.Abandoned:
		return agent.Progress{Stage: agent.Dropped, Why: e.Err.Told() + " (" + e.Err.Detail + ")"}
	case llm.Waiting:
		p := agent.Progress{Stage: agent.Waiting, Seconds: e.For.Seconds()}
		if e.Why != nil {
			p.Why = e.Why.Told()
		}
		return p
		// Tokens and cost are the recorded ones, so that the board and `agent sql` agree.
	case llm.Done:
		return agent.Progress{
			Stage: agent.Answered, In: e.Usage.In.N, Out: e.Usage.Out.N, Estimated: e.Usage.In.Estimated || e.Usage.Out.Estimated,
			Seconds: e.Duration.Seconds(), Cost: int64(e.Cost), Priced: e.Priced, Recorded: e.Recorded,
		}
	}
	return agent.Progress{}
}

// stopped translates the error that ended a question without an answer. If a cap ended it, the budget is to blame;
// anything else is a problem with the models.
func stopped(ctx context.Context, err error) error {
	var (
		capped *llm.BudgetError
		none   *llm.ExhaustedError
		one    *llm.Error
	)
	switch {
	case ctx.Err() != nil:
		return err
		// This comes before the next two cases: it reports most exactly what was spent.
	case errors.As(err, &capped):
		return &agent.StopError{Budget: true, Message: capped.Error(), Next: raise(capped), Err: err}
	case errors.As(err, &none) && none.Last == nil:
		return &agent.StopError{Message: none.Told(), Next: none.Next(), Err: err}
		// An exhausted chain wraps its last error, so look for the chain's error first.
	case errors.As(err, &none):
		return &agent.StopError{Budget: none.Attempts >= config.MaxAttempts, Message: none.Told(), Next: none.Next(), Err: err}
	// The bound on an answer is a cap too, even if the vendor set it.
	case errors.As(err, &one):
		return &agent.StopError{Budget: one.Kind == llm.Truncated, Message: one.Told() + " (" + one.Detail + ")", Next: one.Next(), Err: err}
	case errors.Is(err, llm.ErrHoldsKey):
		return &agent.StopError{Message: err.Error(), Next: "remove it from the goal, or from the file that contains it", Err: err}
	case errors.Is(err, llm.ErrNotRecorded):
		return &agent.StopError{
			Message: err.Error(), Err: err,
			Next: "replay on the workspace as it was when the run began; a question that was edited by hand is not found again",
		}
	}
	return err
}

// raise says how to raise a cap that was reached. Spending counts for the whole loop or plan: resuming it with the same caps would end at
// once.
func raise(capped *llm.BudgetError) string {
	what, _, _ := strings.Cut(capped.Cap, " ")
	value := map[string]string{"requests": "N", "tokens": "N", "cost": "AMOUNT", "time": "TIME"}[what]
	command := map[string]string{"loop": "agent sandbox loop", "plan": "agent build"}[capped.Scope]
	switch {
	case value == "" || command == "" || strings.HasSuffix(capped.Cap, "of a day"):
		return capped.Next()
	case capped.Name != "":
		command = "agent loop"
	}
	return fmt.Sprintf("what the %s spent so far counts; `%s --resume --max-%s %s` continues it with a higher cap", capped.Scope, command, what, value)
}

// A Recorded iteration answers as it did before: it holds its plan and the name under which its model calls are
// recorded.
type Recorded struct {
	Plan  []byte
	Asked string
}

// Package conversation has a model look around on a workbench and change a draft until it says that it is done.
//
// It owns the order of a conversation: rounds of questions and calls, the caps and how they end it, which calls are
// answered from memory, and the record of every call, from which it continues after a crash and is replayed. It knows
// no vendor, starts no box and writes to no workspace: the tool decides what a call does, and a gate what becomes of
// the draft. The model's claim that the work is done only ends the conversation.
//
// Everything here follows from the answers of the model and of the tools: the same answers give the same questions,
// byte for byte.
package conversation

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/tools"
	"agent/orchestrator/llm"
)

// A Question is one question of a conversation.
type Question struct {
	agent.Question
	// Request is the question for the model, with everything that was said before.
	Request llm.Request
}

// A Model answers questions with tools. It handles every retry, fallback and cap on money itself.
type Model interface {
	// Converse returns the answer and the model that gave it: "anthropic/claude". Credentials stand in the answer as
	// they stand in the workspace.
	Converse(ctx context.Context, q Question) (answer llm.Answer, who string, err error)
}

// A Record keeps the results of calls. It outlives the process.
type Record interface {
	// FindCall returns the recorded call, with its answer, if it was made before in the same place with the same
	// arguments.
	FindCall(ctx context.Context, c Call) (Call, bool, error)
	// SaveCall keeps a call that has ended.
	SaveCall(ctx context.Context, c Call) error
	// SaveEnd keeps how a conversation ended. The last one counts.
	SaveEnd(ctx context.Context, e Ended) error
}

// A Call is one call of a tool with its result.
type Call struct {
	// Step names the conversation within its run by the step of its first question.
	Step string
	// Round counts the questions from 1, Number the calls of the whole conversation.
	Round, Number   int
	Tool, Arguments string
	// Digest is the hex SHA-256 of both.
	Digest string
	// Head, Text and File are the answer, see [tools.Answer].
	Head, Text, File string
	Failed           bool
	// Shown is the number of bytes that the model was shown.
	Shown int
	Begun time.Time
	Took  time.Duration
}

// An Ended says how a conversation ended.
type Ended struct {
	Step                 string
	End                  End
	Detail               string // in words; "" if End says everything
	Rounds, Calls, Shown int
}

// A Progress says what is being called, for a display.
type Progress struct {
	Step  string
	Round int
	// About is the tool and the subject of the call: "search tax".
	About string
}

// A Conversation is held with one model about one draft. It answers a question as a model without tools does, and so is
// an agent.Model.
type Conversation struct {
	Model  Model
	Record Record
	Bench  *tools.Bench
	Fence  agent.Fence
	// Caps bound it.
	Caps Caps
	// Window is how many tokens the smallest model holds that may be asked; 0 if that is unknown, and then nothing is
	// ever compacted.
	Window int
	// Tell is called before every call; nil for no display.
	Tell func(Progress)
	// Now returns the time; nil means the real one.
	Now func() time.Time
}

// Ask puts the question to the model, carries out its calls and goes on until the model is done. The answer is the
// draft, in a form of the edit engine.
//
// The error is an *agent.StopError for a cap, an *agent.GaveUpError if the model made no change or did not call it done
// (it holds the draft then), or else an error of the model, the record, the machine or ctx.
func (c *Conversation) Ask(ctx context.Context, q agent.Question) (agent.Reply, error) {
	t := &talk{Conversation: c, question: q, tools: tools.For(c.Bench), caps: c.Caps.filled()}
	if notes := c.Bench.Notes(); len(notes) > 0 { // from an earlier conversation about the same change
		q.Text += "\nWhat you noted before:\n" + c.Fence.Quote("notes", strings.Join(notes, "\n")) + "\n"
	}
	t.say(llm.Message{Role: llm.User, Text: q.Text})
	end, err := t.run(ctx)
	if err != nil {
		return agent.Reply{}, err
	}
	err = c.Record.SaveEnd(ctx, Ended{Step: q.Step, End: end, Detail: cmp.Or(t.detail, t.refusals()), Rounds: t.rounds, Calls: t.calls, Shown: t.shown})
	if err != nil {
		return agent.Reply{}, fmt.Errorf("record the end of the conversation: %w", err)
	}
	return t.reply(end)
}

// reply returns the result of a conversation that ended.
func (t *talk) reply(end End) (agent.Reply, error) {
	empty := t.Bench.Draft.Changes().Empty()
	switch {
	// A model that only talks after it changed something says in its own way that it is done.
	case end == Finished, end == Talked && !empty:
		text, err := t.Bench.Draft.Response(t.claim.Summary)
		return agent.Reply{Text: string(text), Model: t.who}, err
	case !empty:
		// The change so far may be complete: the gates decide that, and the user has a patch to look at.
		text, err := t.Bench.Draft.Response("The conversation ended before its author said that it was done: " + t.caps.told(end) + ".")
		if err != nil {
			return agent.Reply{}, err
		}
		return agent.Reply{}, &agent.GaveUpError{
			Message: "the conversation with the model ended with a change that it did not call done: " + t.caps.told(end), Draft: agent.Reply{Text: string(text), Model: t.who},
		}
	case end.cap():
		return agent.Reply{}, &agent.StopError{
			Budget: true, Message: "the conversation with the model ended: " + t.caps.told(end),
			Next: "say more in --goal, name the files with --file, or ask for less at once",
		}
	}
	return agent.Reply{}, &agent.GaveUpError{Message: "the model made no change: " + cmp.Or(t.detail, t.caps.told(end))}
}

// sum is the digest of a call.
func sum(tool, arguments string) string {
	h := sha256.Sum256([]byte(tool + "\x00" + arguments))
	return hex.EncodeToString(h[:])
}

// request returns the next question.
func (t *talk) request() Question {
	q := Question{Question: t.question, Request: llm.Request{
		System: t.question.System, Messages: t.messages, Temperature: t.question.Temperature,
	}}
	q.Step = fmt.Sprintf("%s/r%d", t.question.Step, t.rounds)
	for _, tool := range t.tools {
		q.Request.Tools = append(q.Request.Tools, llm.Tool{Name: tool.Name, About: tool.About, Schema: tool.Schema()})
	}
	return q
}

// quoted returns an answer as the model reads it: the agent's own words, then text that may come from anywhere.
func (c *Conversation) quoted(n int, a tools.Answer) string {
	if a.Text == "" {
		return a.Head
	}
	// No text of a question contains NUL, which separates texts while credentials are hidden.
	a.Text = printable(a.Text)
	label := cmp.Or(a.File, fmt.Sprintf("answer %d", n))
	return strings.TrimPrefix(a.Head+"\n"+c.Fence.Quote(label, a.Text), "\n")
}

// Package conversation has a model look around on a workbench and change a draft, until it
// says that it is done.
//
// It owns the order of a conversation: rounds of questions and calls, the caps and their
// ends, what is answered from memory, and the record of every call, from which it goes on
// after a crash and is replayed. It knows no vendor, starts no box and writes to no
// workspace: what a call does is the tool's, and what becomes of the draft a gate's. The
// claim that the work is done is worth nothing but the end of the conversation.
//
// Everything here follows from the answers of the model and of the tools: the same ones
// give the same questions, byte for byte.
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
	// Request is what is asked, with all that was said before.
	Request llm.Request
}

// A Model answers questions with tools. Every retry, fallback and cap on money is its own.
type Model interface {
	// Converse returns the answer, and who gave it: "anthropic/claude". Credentials
	// stand in it as they do in the workspace.
	Converse(ctx context.Context, q Question) (answer llm.Answer, who string, err error)
}

// A Record keeps what calls came to. It outlives the process.
type Record interface {
	// FindCall returns what the call was answered with, when it was made before in the
	// same place with the same arguments.
	FindCall(ctx context.Context, c Call) (Call, bool, error)
	// SaveCall keeps a call that is over.
	SaveCall(ctx context.Context, c Call) error
	// SaveEnd keeps how a conversation ended. The last one counts.
	SaveEnd(ctx context.Context, e Ended) error
}

// A Call is one call of a tool, and what it came to.
type Call struct {
	// Step names the conversation within its run, as its first question.
	Step string
	// Round counts the questions from 1, Number the calls of the whole conversation.
	Round, Number   int
	Tool, Arguments string
	// Digest is the hex SHA-256 of both.
	Digest string
	// Head, Text and File are the answer, see [tools.Answer].
	Head, Text, File string
	Failed           bool
	// Shown is the size in bytes of what the model was shown.
	Shown int
	Begun time.Time
	Took  time.Duration
}

// An Ended conversation.
type Ended struct {
	Step                 string
	End                  End
	Detail               string // in words, "" where End says it all
	Rounds, Calls, Shown int
}

// A Progress tells what is called, for whoever shows it.
type Progress struct {
	Step  string
	Round int
	// About is the tool with what it is called for: "search tax".
	About string
}

// A Conversation is held with one model about one draft. It answers a question as a model
// without tools does, and so is an agent.Model.
type Conversation struct {
	Model  Model
	Record Record
	Bench  *tools.Bench
	Fence  agent.Fence
	// Caps bound it.
	Caps Caps
	// Window is how many tokens the smallest model holds that may be asked; 0 where nobody knows, and then nothing is
	// ever compacted.
	Window int
	// Tell is told of every call before it is made; nil for nobody.
	Tell func(Progress)
	// Now is the time; nil for the real one.
	Now func() time.Time
}

// Ask puts the question to the model, carries its calls out and goes on until it is done.
// The answer is the draft, in a form of the edit engine.
//
// The error is an *agent.StopError for a cap, an *agent.GaveUpError where the model came to
// no change or did not call it done, which has the draft then, and else one of the model, the record, the machine or ctx.
func (c *Conversation) Ask(ctx context.Context, q agent.Question) (agent.Reply, error) {
	t := &talk{Conversation: c, question: q, tools: tools.For(c.Bench), caps: c.Caps.filled()}
	if notes := c.Bench.Notes(); len(notes) > 0 { // of an earlier conversation about the same change
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

// reply is what a conversation that ended comes to.
func (t *talk) reply(end End) (agent.Reply, error) {
	empty := t.Bench.Draft.Changes().Empty()
	switch {
	// Who only talks and has changed something says in its own way that it is done.
	case end == Finished, end == Talked && !empty:
		text, err := t.Bench.Draft.Response(t.claim.Summary)
		return agent.Reply{Text: string(text), Model: t.who}, err
	case !empty:
		// What there is of the change may be all of it: the gates say so, and whoever asked has a patch to look at.
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

// request is the next question.
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

// quoted is an answer as the model reads it: our words, and behind them what may be
// anybody's.
func (c *Conversation) quoted(n int, a tools.Answer) string {
	if a.Text == "" {
		return a.Head
	}
	// No text of a question holds NUL, which separates them where credentials are hidden.
	a.Text = printable(a.Text)
	label := cmp.Or(a.File, fmt.Sprintf("answer %d", n))
	return strings.TrimPrefix(a.Head+"\n"+c.Fence.Quote(label, a.Text), "\n")
}

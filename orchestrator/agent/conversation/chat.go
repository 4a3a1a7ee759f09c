package conversation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/tools"
	"agent/orchestrator/llm"
)

// A Chat is a conversation with a person: many questions about one draft. The model looks around and answers each of
// them in words. Nothing that the model says ends the conversation.
type Chat struct {
	Conversation
	// Said is what was said so far, as a model is shown it again: after a summary, less than was really said.
	Said []llm.Message
	// Calls counts the calls made for earlier questions.
	Calls int
}

// An Asked is one question of a person.
type Asked struct {
	agent.Question
	Pictures []llm.Picture
}

// A Said is the result of a question.
type Said struct {
	Ended
	// Text is the answer, Model is the model that gave it.
	Text, Model string
	// Added is what the question and the answer add to Chat.Said. If Compacted, it replaces Chat.Said.
	Added     []llm.Message
	Compacted bool
}

// Put asks a question, and goes on until the model answers it in words. If ctx ends first, what was said by then is
// part of the conversation, with a placeholder for the answer: Put returns it with the error, and Added is empty if
// there is nothing to keep. Any other error leaves the conversation as it was, but not the draft.
func (c *Chat) Put(ctx context.Context, q Asked) (Said, error) {
	t := &talk{
		Conversation: &c.Conversation, question: q.Question, pictures: q.Pictures, asked: true, before: c.Calls, caps: c.Caps.filled(),
		tools: slices.DeleteFunc(tools.For(c.Bench), func(t tools.Tool) bool { return t.Name == tools.Finish }),
	}
	t.messages = append(slices.Clone(c.Said), llm.Message{Role: llm.User, Text: q.Text, Pictures: q.Pictures})
	end, err := t.run(ctx)
	if err == nil && end != Talked {
		err = t.close(ctx, end)
	}
	switch {
	case err != nil && ctx.Err() == nil:
		return Said{}, err
	case err != nil:
		t.unanswered()
		t.say(llm.Message{Role: llm.Assistant, Text: interrupted})
		t.claim.Summary, end = "", Interrupted
	}
	s := Said{
		Ended: Ended{Step: q.Step, End: end, Rounds: t.rounds, Calls: t.calls, Shown: t.shown},
		Text:  t.claim.Summary, Model: t.who, Added: t.messages, Compacted: t.compacted,
	}
	if !t.compacted {
		s.Added = t.messages[len(c.Said):]
		c.Said = t.messages
	} else {
		c.Said = t.messages
	}
	c.Calls += t.calls
	if err != nil {
		return s, err
	}
	if err := c.Record.SaveEnd(ctx, s.Ended); err != nil {
		return s, fmt.Errorf("record the end of an answer: %w", err)
	}
	return s, nil
}

// interrupted takes the place of an answer, so that the next question is another turn.
const interrupted = "(The answer was interrupted by the person.)"

// close asks for an answer with what is known after a cap, or nothing but trouble, has ended the looking around.
func (t *talk) close(ctx context.Context, end End) error {
	t.unanswered()
	last := &t.messages[len(t.messages)-1]
	last.Text = strings.TrimPrefix(last.Text+"\nNo more calls are made for this question: "+t.caps.told(end)+". Answer in words, with what you know.\n", "\n")
	t.rounds++
	if err := t.compact(ctx); err != nil {
		return err
	}
	q := t.request()
	if len(q.Request.Tools) > 0 {
		q.Request.Choice = llm.NoCall
	}
	answer, who, err := t.Model.Converse(ctx, q)
	if err != nil {
		return err
	}
	if answer.Text == "" {
		answer.Text = "(No answer: " + t.caps.told(end) + ".)"
	}
	t.who, t.claim.Summary = who, answer.Text
	t.say(llm.Message{Role: llm.Assistant, Text: answer.Text}) // calls that nothing answers do not count
	return nil
}

// unanswered drops calls at the end that nothing has answered.
func (t *talk) unanswered() {
	if n := len(t.messages); n > 0 && t.messages[n-1].Role == llm.Assistant {
		t.messages = t.messages[:n-1]
	}
}

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

// A Chat is a conversation with a person: many questions about one draft, each of which the model answers in words when
// it has looked around. Nothing that it says ends it.
type Chat struct {
	Conversation
	// Said is what was said so far, as a model is shown it again: after a summary less than was said.
	Said []llm.Message
	// Calls is how many calls were made for earlier questions.
	Calls int
}

// An Asked is one question of a person.
type Asked struct {
	agent.Question
	Pictures []llm.Picture
}

// A Said is what a question came to.
type Said struct {
	Ended
	// Text is the answer, Model who gave it.
	Text, Model string
	// Added is what the question and the answer add to Chat.Said; with Compacted it is all that there is from then on.
	Added     []llm.Message
	Compacted bool
}

// Put puts a question, and goes on until it is answered in words. Where ctx ends first, what came of the question by
// then is part of the conversation, with a word in place of the answer: that is returned beside the error, and its Added is
// empty where nothing is to be kept. Any other error leaves the conversation as it was, but not the draft.
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

// interrupted stands where an answer would, so that the next question is another turn.
const interrupted = "(The answer was interrupted by the person.)"

// close asks for an answer with what is known, where a cap or nothing but trouble ended the looking around.
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
	t.say(llm.Message{Role: llm.Assistant, Text: answer.Text}) // calls that nobody answers are none
	return nil
}

// unanswered drops calls at the end that nobody has answered.
func (t *talk) unanswered() {
	if n := len(t.messages); n > 0 && t.messages[n-1].Role == llm.Assistant {
		t.messages = t.messages[:n-1]
	}
}

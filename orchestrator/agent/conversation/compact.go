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

// Compact is the purpose of the question for a summary of a conversation.
const Compact agent.Purpose = "compact"

// fullAt is the percentage of the window that may be used before a conversation is compacted.
const fullAt = 80

// compactNow asks for the summary from which the conversation continues.
const compactNow = `This conversation is about to become too long for you, and goes on from what you write now: nothing else of it will be
shown to you again. Call no tool. Write down, in at most 800 words:
- what was asked for, with every wish and limit that was named;
- what was decided, and why;
- the paths that matter, with the names and lines in them that you will need, and what you changed;
- what was tried and did not work;
- what is still open, and the next step.
`

// compact has the model write a summary that replaces what was said, if the next question would take most of the
// window. The record of the questions keeps what was said.
func (t *talk) compact(ctx context.Context) error {
	whole := agent.Whole(t.Window)
	if t.Window <= 0 || len(t.messages) < 2 || size(t.request().Request) <= whole*fullAt/100 {
		return nil
	}
	if t.Tell != nil {
		t.Tell(Progress{Step: t.question.Step, Round: t.rounds, About: "compact what was said"})
	}
	q := t.request()
	q.Step, q.Purpose = q.Step+"/compact", Compact
	q.Request.Choice = llm.NoCall
	q.Request.Messages = slices.Clone(t.messages)
	last := &q.Request.Messages[len(q.Request.Messages)-1]
	last.Text = strings.TrimPrefix(last.Text+"\n"+compactNow, "\n")
	// The rest is for the summary itself.
	t.fit(&q.Request, whole*(100+fullAt)/200)
	answer, _, err := t.Model.Converse(ctx, q)
	if err != nil {
		return err
	}
	// What the model wrote may contain what a file told it to write, so it is quoted too.
	text := t.question.Text + "\nThe conversation about this was long, and you wrote down what matters of it:\n" +
		t.Fence.Quote("summary", printable(answer.Text)) + "\n"
	if diff := t.Bench.Draft.Changes().Diff(); diff != "" {
		shown, _ := tools.Head(diff, 1, tools.MaxAnswer)
		text += "Your changes so far:\n" + t.Fence.Quote("changes", shown) + "\n"
	}
	t.messages, t.compacted = []llm.Message{{Role: llm.User, Text: text, Pictures: t.pictures}}, true
	return nil
}

// fit shortens the answers of tools until a question has at most that many bytes, or nothing is left to shorten.
func (t *talk) fit(r *llm.Request, most int) {
	for longest := tools.MaxAnswer; size(*r) > most && longest > 100; longest /= 2 {
		for i := range r.Messages {
			m := &r.Messages[i]
			m.Results = slices.Clone(m.Results)
			for j := range m.Results {
				if text := m.Results[j].Text; len(text) > longest {
					m.Results[j].Text = fmt.Sprintf("%s\n[…]\n%s>>", strings.ToValidUTF8(text[:longest], ""), t.Fence.Word)
				}
			}
		}
	}
}

// size returns the bytes of a question.
func size(r llm.Request) (n int) {
	for _, text := range r.Texts() {
		n += len(text)
	}
	return n
}

// printable returns a text without what no question may contain: invalid UTF-8 and NUL.
func printable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}

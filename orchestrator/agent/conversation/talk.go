package conversation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/tools"
	"agent/orchestrator/llm"
)

// A talk is a conversation in progress.
type talk struct {
	*Conversation
	question agent.Question
	tools    []tools.Tool
	caps     Caps
	messages []llm.Message
	who      string
	claim    tools.Claim
	detail   string
	// pictures accompany a person's question. asked says that a person asks: then words alone are an answer.
	pictures []llm.Picture
	asked    bool
	// before is how many calls earlier questions of the same conversation made; numbering continues after them.
	before int
	// compacted says that a summary has replaced what was said.
	compacted bool

	rounds, calls, shown, refused int
	gauges                        [3]gauge
	// Rounds in a row without a call, and rounds in a row in which every call failed.
	silent, failing int
	// The last call made, its answer, and how often in a row it was made.
	last     string
	memory   tools.Answer
	times    int
	repeated bool
}

// say adds a message.
func (t *talk) say(m llm.Message) { t.messages = append(t.messages, m) }

// run goes through rounds until the conversation ends.
func (t *talk) run(ctx context.Context) (End, error) {
	t.gauges = [3]gauge{{what: "rounds", most: t.caps.Rounds}, {what: "calls", most: t.caps.Calls}, {what: "bytes of answers", most: t.caps.Shown}}
	for {
		t.rounds++
		if err := t.compact(ctx); err != nil {
			return "", err
		}
		answer, who, err := t.Model.Converse(ctx, t.request())
		if err != nil {
			return "", err
		}
		t.who = who
		t.say(answer.Message())
		end, err := t.round(ctx, answer)
		if err != nil {
			return "", err
		}
		switch {
		case end != "":
			return end, nil
		case t.shown >= t.caps.Shown:
			return Output, nil
		case t.calls >= t.caps.Calls:
			return Calls, nil
		case t.rounds >= t.caps.Rounds:
			return Rounds, nil
		}
	}
}

// callNow is the reminder for a model that only talks.
const callNow = "Nothing is done by words: call a tool. When the work is done, or there is nothing to do, call finish.\n"

// round carries out what an answer asks for, and adds the results to the conversation.
func (t *talk) round(ctx context.Context, answer llm.Answer) (End, error) {
	if len(answer.Calls) == 0 {
		t.claim.Summary = answer.Text
		if t.asked {
			return Talked, nil
		}
		if t.silent++; t.silent == inVain || t.silent > 1 && !t.Bench.Draft.Changes().Empty() {
			return Talked, nil
		}
		t.say(llm.Message{Role: llm.User, Text: callNow + t.warnings()})
		return "", nil
	}
	t.silent = 0
	before := t.Bench.Draft.Now()
	results, end, err := t.all(ctx, answer.Calls)
	if err != nil || end != "" {
		return end, err
	}
	diff, err := t.Bench.Draft.Since(before)
	if err != nil {
		return "", fmt.Errorf("show what a round changed: %w", err)
	}
	text := ""
	if diff != "" {
		text = t.changed(diff)
		t.shown += len(text)
	}
	t.say(llm.Message{Role: llm.User, Results: results, Text: text + t.warnings()})
	return "", nil
}

// changed shows the changes of a round.
func (t *talk) changed(diff string) string {
	head := "Your changes of this round:\n"
	if len(diff) > tools.MaxAnswer {
		diff, _ = tools.Head(diff, 1, tools.MaxAnswer)
		head = "Your changes of this round, of which these are the first:\n"
	}
	return head + t.Fence.Quote("changes", diff) + "\n"
}

// warnings says which caps are close.
func (t *talk) warnings() string {
	var text strings.Builder
	for i, used := range []int{t.rounds, t.calls, t.shown} {
		text.WriteString(t.gauges[i].warn(used))
	}
	return text.String()
}

// all carries out the calls of a round. Calls that change nothing run concurrently, up to the next one that does. Calls
// beyond the cap are not made.
func (t *talk) all(ctx context.Context, calls []llm.ToolCall) (results []llm.ToolResult, end End, err error) {
	made, worked := t.plan(calls), false
	for len(made) > 0 {
		n := 1
		for !made[0].alone && n < len(made) && !made[n].alone {
			n++
		}
		if err := t.together(ctx, made[:n]); err != nil {
			return nil, "", err
		}
		for _, m := range made[:n] {
			worked = worked || !m.answer.Failed
			if m.answer.Finished != nil {
				t.claim, end = *m.answer.Finished, Finished
			}
			results = append(results, llm.ToolResult{ID: m.call.ID, Text: m.text, Error: m.answer.Failed})
			t.shown += len(m.text)
		}
		if made = made[n:]; end != "" {
			return nil, end, nil // calls after the end are not wanted
		}
	}
	if t.repeated {
		return nil, Repeated, nil
	}
	t.failing++
	if worked {
		t.failing = 0
	}
	if t.failing >= t.caps.Errors {
		return nil, Errors, nil
	}
	return results, "", nil
}

// A making is one call of a round.
type making struct {
	call   llm.ToolCall
	number int
	tool   tools.Tool
	alone  bool
	// refused says that its round has too many calls.
	refused bool
	// again says that it repeats the call before it. of is that call if it is in this round, and nil if it was the last
	// one of the round before.
	again  bool
	of     *making
	answer tools.Answer
	text   string // as shown to the model
}

// plan numbers the calls of a round and decides which are answered from memory.
func (t *talk) plan(calls []llm.ToolCall) []*making {
	var made []*making
	for i, call := range calls[:min(len(calls), t.caps.Calls-t.calls)] {
		t.calls++
		m := &making{call: call, number: t.before + t.calls}
		var known bool
		m.tool, known = tools.Find(t.tools, call.Name)
		m.alone = !known || m.tool.Alone
		if i >= t.caps.AtOnce { // the next round may make it, and it is not a repeated call then
			m.refused, m.alone = true, true
			t.refused++
			t.last = ""
			made = append(made, m)
			continue
		}
		if key := sum(call.Name, call.Arguments); key == t.last {
			m.again, m.alone = true, true
			if len(made) > 0 {
				m.of = made[len(made)-1]
			}
			t.times++
			t.repeated = t.repeated || t.times >= t.caps.Identical
		} else {
			t.last, t.times = key, 1
		}
		made = append(made, m)
	}
	return made
}

// together carries out calls concurrently, and returns when all have ended.
func (t *talk) together(ctx context.Context, made []*making) error {
	errs, over := make([]error, len(made)), make(chan struct{}, len(made))
	slots := make(chan struct{}, atOnce)
	for i, m := range made {
		t.tell(m)
		slots <- struct{}{}
		go func() {
			errs[i] = t.make(ctx, m)
			<-slots
			over <- struct{}{}
		}()
	}
	for range made {
		<-over
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	t.memory = made[len(made)-1].answer
	return nil
}

// atOnce bounds the calls that run concurrently: each may have a box.
const atOnce = 4

// make carries one call out, or answers it from the record or from memory.
func (t *talk) make(ctx context.Context, m *making) error {
	switch {
	case m.refused:
		m.answer = tools.Answer{Failed: true, Text: fmt.Sprintf("not carried out: %d calls in one answer are the most; call it again", t.caps.AtOnce)}
		m.text = m.answer.Text
		return nil
	case m.again:
		m.answer = t.memory
		if m.of != nil {
			m.answer = m.of.answer
		}
		m.answer.Finished = nil
		m.text = "The same call as before, and the same answer.\n" + t.quoted(m.number, t.Bench.Keep(m.number, m.answer))
		return nil
	case m.tool.Name == "":
		m.answer = tools.Answer{Failed: true, Text: fmt.Sprintf("there is no tool %.60q; there are %s", m.call.Name, t.names())}
		m.text = m.answer.Text
		return nil
	}
	now := time.Now
	if t.Now != nil {
		now = t.Now
	}
	c := Call{
		Step: t.question.Step, Round: t.rounds, Number: m.number, Tool: m.call.Name, Arguments: m.call.Arguments,
		Digest: sum(m.call.Name, m.call.Arguments), Begun: now(),
	}
	recorded, ok, err := t.Record.FindCall(ctx, c)
	if err != nil {
		return fmt.Errorf("look for a recorded call: %w", err)
	}
	if ok {
		return t.remake(ctx, m, recorded)
	}
	if m.answer, err = t.carryOut(ctx, m); err != nil {
		return fmt.Errorf("call %s: %w", m.call.Name, err)
	}
	m.text = t.quoted(m.number, t.Bench.Keep(m.number, m.answer))
	c.Head, c.Text, c.File, c.Failed, c.Shown, c.Took = m.answer.Head, m.answer.Text, m.answer.File, m.answer.Failed, len(m.text), now().Sub(c.Begun)
	if err := t.Record.SaveCall(ctx, c); err != nil {
		return fmt.Errorf("record a call of %s: %w", m.call.Name, err)
	}
	return nil
}

// carryOut calls a tool. It hides configured secrets in the answer, so that they are neither shown nor recorded.
func (t *talk) carryOut(ctx context.Context, m *making) (tools.Answer, error) {
	a, err := m.tool.Run(ctx, t.Bench, m.call.Arguments)
	if t.Bench.Hide != nil {
		a.Text = t.Bench.Hide(a.Text)
	}
	return a, err
}

// remake answers a call as it was answered before. It repeats a call that changes the draft, since the draft is stored
// nowhere else.
func (t *talk) remake(ctx context.Context, m *making, c Call) (err error) {
	if m.tool.Alone {
		if m.answer, err = t.carryOut(ctx, m); err != nil {
			return fmt.Errorf("call %s again: %w", m.call.Name, err)
		}
		if m.answer.Failed != c.Failed {
			return &agent.StopError{
				Message: fmt.Sprintf("call %d of %s, %s, does not do what is recorded of it", c.Number, c.Step, c.Tool),
				Next:    "run again without --replay: the workspace or this program is another than then",
			}
		}
	}
	m.answer.Head, m.answer.Text, m.answer.File, m.answer.Failed = c.Head, c.Text, c.File, c.Failed
	m.text = t.quoted(m.number, t.Bench.Keep(m.number, m.answer))
	return nil
}

// refusals says how many calls were refused, or "" for none.
func (t *talk) refusals() string {
	if t.refused == 0 {
		return ""
	}
	return fmt.Sprintf("%d calls were refused: %d in one answer are the most", t.refused, t.caps.AtOnce)
}

// names lists the tools.
func (t *talk) names() string {
	var names []string
	for _, tool := range t.tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, ", ")
}

// tell shows what is about to be called.
func (t *talk) tell(m *making) {
	if t.Tell != nil {
		t.Tell(Progress{Step: t.question.Step, Round: t.rounds, About: strings.TrimSpace(m.call.Name + " " + m.tool.Subject(m.call.Arguments))})
	}
}

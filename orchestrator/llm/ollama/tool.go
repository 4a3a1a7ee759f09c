package ollama

import (
	"encoding/json"
	"fmt"

	"github.com/ollama/ollama/api"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
)

// converse puts the turns of req into q, with each result as a separate message, and its tools. Ollama has no option for a choice
// of tools. If no call is wanted, no tool is shown, which its templates accept together with earlier calls.
//
// Tools and arguments go through the client's own types. Anything that those do not know, the server would not know either.
func converse(q *api.ChatRequest, req llm.Request) error {
	for _, t := range req.Tools {
		tool := api.Tool{Type: "function", Function: api.ToolFunction{Name: t.Name, Description: t.About}}
		if err := json.Unmarshal(t.Schema, &tool.Function.Parameters); err != nil {
			return fmt.Errorf("the arguments of the tool %s: %w", t.Name, err)
		}
		if req.Choice != llm.NoCall {
			q.Tools = append(q.Tools, tool)
		}
	}
	names := map[string]string{}
	for _, m := range req.Messages {
		for _, r := range m.Results {
			q.Messages = append(q.Messages, api.Message{Role: "tool", Content: wire.Said(r), ToolName: names[r.ID], ToolCallID: r.ID})
		}
		turn := api.Message{Role: string(m.Role), Content: m.Text}
		for _, c := range m.Calls {
			names[c.ID] = wire.Name(c)
			call := api.ToolCall{ID: c.ID, Function: api.ToolCallFunction{Index: len(turn.ToolCalls), Name: wire.Name(c)}}
			if err := json.Unmarshal(wire.Arguments(c), &call.Function.Arguments); err != nil {
				return fmt.Errorf("the arguments of a call: %w", err)
			}
			turn.ToolCalls = append(turn.ToolCalls, call)
		}
		var thought string
		if s := m.State; s != nil && s.Vendor == Vendor && s.Model == req.Model && json.Unmarshal(s.Data, &thought) == nil {
			turn.Thinking = thought
		}
		if m.Text != "" || len(m.Results) == 0 {
			q.Messages = append(q.Messages, turn)
		}
	}
	return nil
}

// add takes the calls of a line, which are complete.
func (x *exchange) add(calls []api.ToolCall) error {
	for _, c := range calls {
		arguments, err := json.Marshal(c.Function.Arguments)
		if err == nil {
			err = x.calls.Add(fmt.Sprint(x.calls.Len()), c.ID, c.Function.Name, string(arguments))
		}
		if err != nil {
			return x.call.Error(llm.Malformed, err.Error(), nil)
		}
	}
	return nil
}

// state returns the thoughts before calls, which some templates give back to the model, for example that of gpt-oss. It is nil if
// there are none.
func (x *exchange) state(model string, calls []llm.ToolCall) *llm.State {
	data, err := json.Marshal(x.thought.String())
	if err != nil || x.thought.Len() == 0 || len(calls) == 0 {
		return nil
	}
	return &llm.State{Vendor: Vendor, Model: model, Data: data}
}

package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
)

type tool struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	About  string          `json:"description,omitempty"`
	Schema json.RawMessage `json:"parameters"`
	// Strict accepts only schemas without an argument that may be absent. It is the API's default.
	Strict bool `json:"strict"`
}

// call and result are separate items of the input, next to messages.
type call struct {
	Type      string `json:"type"` // function_call
	ID        string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type result struct {
	Type   string `json:"type"` // function_call_output
	ID     string `json:"call_id"`
	Output string `json:"output"`
}

// items returns a message as items of the input.
func items(req llm.Request, key llm.Key, m llm.Message) (list []any) {
	for _, r := range m.Results {
		list = append(list, result{"function_call_output", wire.ID(r.ID), wire.Said(r)})
	}
	if own := kept(req.Model, key, m.State); len(own) > 0 {
		return append(list, own...)
	}
	switch {
	case len(m.Pictures) > 0:
		list = append(list, message{m.Role, seen(m)})
	case m.Text != "" || len(m.Results)+len(m.Calls) == 0:
		list = append(list, message{m.Role, m.Text})
	}
	for _, c := range m.Calls {
		list = append(list, call{"function_call", wire.ID(c.ID), wire.Name(c), string(wire.Arguments(c))})
	}
	return list
}

// seen returns the content of a message with pictures.
func seen(m llm.Message) (list []map[string]string) {
	for _, p := range m.Pictures {
		list = append(list, map[string]string{"type": "input_image", "image_url": "data:" + p.Type + ";base64," + base64.StdEncoding.EncodeToString(p.Data)})
	}
	return append(list, map[string]string{"type": "input_text", "text": m.Text})
}

// An output is what an answer consists of, in the model's order: reasoning, messages and calls, each once it is complete.
type output struct {
	calls  wire.Calls
	items  []json.RawMessage
	hidden bool // there is reasoning that only OpenAI can read
}

// add takes an item from an event, whose data is raw. An item of an unknown kind, such as one of OpenAI's own tools, was not
// requested, and changes nothing.
func (o *output) add(item, raw json.RawMessage) error {
	var i struct {
		Type      string `json:"type"`
		ID        string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
		Hidden    string `json:"encrypted_content"`
	}
	if err := json.Unmarshal(item, &i); err != nil {
		return err
	}
	switch i.Type {
	case "function_call":
		if wire.Torn(raw, i.ID+i.Name+i.Arguments) {
			return wire.ErrTorn
		}
		if err := o.calls.Add(fmt.Sprint(o.calls.Len()), i.ID, i.Name, i.Arguments); err != nil {
			return err
		}
	case "reasoning":
		o.hidden = o.hidden || i.Hidden != ""
	case "message":
	default:
		return nil
	}
	// The IDs refer to what OpenAI stores, and nothing is stored.
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(item, &fields); err != nil {
		return err
	}
	delete(fields, "id")
	delete(fields, "status")
	clean, err := json.Marshal(fields)
	o.items = append(o.items, clean)
	return err
}

// A memory is the data of a State: the items of an answer, and the key they are for. Another key may belong to another
// organization, which cannot read their reasoning.
type memory struct {
	Key   string            `json:"key"` // ID
	Items []json.RawMessage `json:"items"`
}

// state returns what to send back for an answer that its text and calls do not describe completely.
func (o *output) state(model string, key llm.Key) *llm.State {
	data, err := json.Marshal(memory{key.ID, o.items})
	if err != nil {
		return nil
	}
	return &llm.State{Vendor: Vendor, Model: model, Data: data}
}

// kept returns the items of a state of OpenAI's, or nil if it cannot be used.
func kept(model string, key llm.Key, s *llm.State) (list []any) {
	var m memory
	if s == nil || s.Vendor != Vendor || s.Model != model || json.Unmarshal(s.Data, &m) != nil || m.Key != key.ID {
		return nil
	}
	for _, item := range m.Items {
		list = append(list, item)
	}
	return list
}

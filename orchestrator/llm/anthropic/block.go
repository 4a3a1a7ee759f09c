package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
)

// A block is a part of an answer, as its beginning describes it: text, tool_use, thinking, or redacted_thinking, which only
// Anthropic can read.
type block struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"` // {} while it is still to come
	Data  string          `json:"data"`
}

// blocks are the blocks of an answer while it arrives.
type blocks struct {
	calls wire.Calls
	list  []*partial
	at    map[int]*partial // by index; later ones may come before earlier ones have ended
}

// A partial is one of these blocks, with what has arrived of it so far.
type partial struct {
	block
	text      strings.Builder // of text or thoughts
	signature string          // of thoughts
}

// begin takes the event that begins a block.
func (b *blocks) begin(e event) error {
	if len(b.list) > 2*wire.MaxCalls {
		return wire.ErrCalls
	}
	p := &partial{block: e.Block}
	if b.at == nil {
		b.at = map[int]*partial{}
	}
	b.at[e.Index], b.list = p, append(b.list, p)
	if p.Type != "tool_use" {
		return nil
	}
	whole := string(p.Input)
	if whole == "{}" || whole == "null" {
		whole = ""
	}
	return b.calls.Add(fmt.Sprint(e.Index), p.ID, p.Name, whole)
}

// add takes an event that continues a block. A text block needs no beginning: some servers that stand in for Anthropic send none.
func (b *blocks) add(e event) error {
	p := b.at[e.Index]
	if p == nil && e.Delta.Type == "text_delta" {
		e.Block.Type = "text"
		if err := b.begin(e); err != nil {
			return err
		}
		p = b.at[e.Index]
	}
	if p == nil {
		return nil
	}
	p.text.WriteString(e.Delta.Text + e.Delta.Thinking)
	if e.Delta.Signature != "" {
		p.signature = e.Delta.Signature
	}
	if p.Type == "tool_use" && e.Delta.Arguments != "" {
		return b.calls.Add(fmt.Sprint(e.Index), "", "", e.Delta.Arguments)
	}
	return nil
}

// state returns the blocks in the form in which they are sent back, or nil if there are no thoughts among them: then text and calls
// are complete. calls are those of the answer.
func (b *blocks) state(model string, calls []llm.ToolCall) *llm.State {
	list, thoughts := []any{}, false
	for _, p := range b.list {
		switch {
		case p.Type == "thinking" && p.signature != "":
			thoughts, list = true, append(list, map[string]any{"type": p.Type, "thinking": p.text.String(), "signature": p.signature})
		case p.Type == "redacted_thinking":
			thoughts, list = true, append(list, map[string]any{"type": p.Type, "data": p.Data})
		case p.Type == "text" && p.text.Len() > 0:
			list = append(list, map[string]any{"type": p.Type, "text": p.text.String()})
		case p.Type == "tool_use" && len(calls) > 0:
			c := calls[0]
			calls = calls[1:]
			list = append(list, map[string]any{"type": p.Type, "id": wire.ID(c.ID), "name": wire.Name(c), "input": wire.Arguments(c)})
		}
	}
	data, err := json.Marshal(list)
	if !thoughts || err != nil {
		return nil
	}
	return &llm.State{Vendor: Vendor, Model: model, Data: data}
}

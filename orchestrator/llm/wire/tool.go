package wire

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"agent/orchestrator/llm"
	"agent/sandbox/workspace/lazyregexp"
)

// MaxCalls bounds the calls of one answer: ten times the calls that a conversation may carry out.
const MaxCalls = 2000

// Calls collects the calls of an answer while it arrives. The zero Calls is empty.
type Calls struct {
	list  []*partial
	place map[string]*partial // by the vendor's mark
}

// A partial is one of these calls. Its arguments may come byte by byte.
type partial struct {
	id, name  string
	arguments strings.Builder
}

// ErrCalls ends an answer with more than MaxCalls calls.
var ErrCalls = fmt.Errorf("the answer has more than %d calls", MaxCalls)

// Add takes a fragment of a call. The vendor's mark distinguishes it from other calls: an ID and a name are given once, and
// arguments bit by bit.
func (c *Calls) Add(mark, id, name, arguments string) error {
	if !utf8.ValidString(id) || !utf8.ValidString(name) || !utf8.ValidString(arguments) {
		return ErrTorn
	}
	call, ok := c.place[mark]
	if !ok {
		if len(c.list) == MaxCalls {
			return ErrCalls
		}
		if c.place == nil {
			c.place = map[string]*partial{}
		}
		call = &partial{}
		c.place[mark], c.list = call, append(c.list, call)
	}
	call.id, call.name = cmp.Or(call.id, id), cmp.Or(call.name, name)
	call.arguments.WriteString(arguments)
	return nil
}

// Len returns how many calls were begun.
func (c *Calls) Len() int { return len(c.list) }

// Whole returns the calls of a complete answer to req. It gives an ID to a call without one, or with the ID of another call in the
// conversation: the same ID whenever the answer is the same.
func (c *Calls) Whole(req llm.Request) []llm.ToolCall {
	taken, before := map[string]bool{}, 0
	for _, m := range req.Messages {
		for _, call := range m.Calls {
			taken[call.ID] = true
			before++
		}
	}
	var whole []llm.ToolCall
	for _, p := range c.list {
		call := llm.ToolCall{ID: p.id, Name: p.name, Arguments: p.arguments.String()}
		for n := before + len(whole) + 1; call.ID == "" || taken[call.ID]; n++ {
			call.ID = fmt.Sprintf("call_%d", n)
		}
		taken[call.ID] = true
		if strings.TrimSpace(call.Arguments) == "" {
			call.Arguments = "{}"
		}
		whole = append(whole, call)
	}
	return whole
}

// Given reports whether all calls of an answer have the IDs that the vendor gave them.
func (c *Calls) Given(whole []llm.ToolCall) bool {
	for i, call := range whole {
		if c.list[i].id != call.ID {
			return false
		}
	}
	return true
}

// Said returns the text of a result for a vendor that cannot mark errors.
func Said(r llm.ToolResult) string {
	if r.Error {
		return "Error: " + r.Text
	}
	return r.Text
}

// Arguments returns the arguments of a call in the form in which a vendor accepts them back: unchanged if they are an object, else
// wrapped in one, so that the model sees what it wrote.
func Arguments(call llm.ToolCall) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(call.Arguments), &object) == nil && object != nil {
		return json.RawMessage(call.Arguments)
	}
	wrapped, err := json.Marshal(map[string]string{"malformed_arguments": call.Arguments})
	if err != nil {
		return json.RawMessage("{}")
	}
	return wrapped
}

// unnamed matches what vendors refuse in a name or an ID.
var unnamed = lazyregexp.New(`[^A-Za-z0-9_-]`)

// Name returns the name of a call in a form that a vendor accepts back, whatever the model wrote.
func Name(call llm.ToolCall) string {
	name := unnamed.ReplaceAllString(call.Name, "_")
	if name == "" || !strings.ContainsAny(name[:1], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") {
		name = "_" + name
	}
	return name[:min(len(name), 64)]
}

// ID returns the ID of a call in the form that the strictest vendor accepts, since another vendor in the same conversation may have
// given it.
func ID(id string) string {
	if len(id) <= 64 && !unnamed.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

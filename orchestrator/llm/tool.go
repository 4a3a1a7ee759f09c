package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"agent/sandbox/workspace/lazyregexp"
)

// A Tool is something that a model may call in place of answering, or in addition.
type Tool struct {
	Name   string          `json:"name"`   // letters, digits, _ and -, at most 64, see CheckTurns
	About  string          `json:"about"`  // for the model: what it does, and when to call it
	Schema json.RawMessage `json:"schema"` // the JSON schema of its arguments, of type object
}

// A ToolCall is one call that a model makes. Only its UTF-8 is checked: a tool that does not exist, a name of "" and arguments that
// are not JSON are answered by a ToolResult that says so.
type ToolCall struct {
	ID        string `json:"id"`        // distinguishes the calls of a conversation, never ""
	Name      string `json:"name"`      // of a Tool, if the model keeps to them
	Arguments string `json:"arguments"` // JSON as the model wrote it, "{}" if it wrote nothing
}

// A ToolResult answers a ToolCall.
type ToolResult struct {
	ID    string `json:"id"` // of the call
	Text  string `json:"text"`
	Error bool   `json:"error,omitempty"` // the call was not carried out as the model wanted
}

// A ToolChoice says whether a model may, must or must not call tools.
type ToolChoice string

// The choices. A vendor that has no such option is asked without it; the conversation responds to whatever the model does.
const (
	MayCall  ToolChoice = ""         // as the model chooses
	MustCall ToolChoice = "required" // at least one call
	NoCall   ToolChoice = "none"     // none: the tools are there because of earlier messages
)

// A State is data that a vendor wants returned with its model's answer, such as signed thoughts. Only that vendor reads it. A
// vendor omits a State that is not its own, or was made for a model that cannot read it, so that a conversation can continue with
// another.
type State struct {
	Vendor string `json:"vendor"`
	Model  string `json:"model"` // as asked
	Data   []byte `json:"data"`
}

// toolName matches the names that all vendors accept. Source: the strictest of OpenAI's function names (at most 64) and Gemini's
// FunctionDeclaration (no digit or dash first).
var toolName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// CheckTurns returns why r is not a conversation that a vendor accepts, or nil if it is: its tools are well formed, the user speaks
// last, each call of the model is answered once in the message after it, and nothing else is answered.
func (r Request) CheckTurns() error {
	if err := checkTools(r); err != nil {
		return err
	}
	// A vendor would respond to a model's own last words by continuing them.
	if n := len(r.Messages); n == 0 || r.Messages[n-1].Role != User {
		return errors.New("the last message is not the user's")
	}
	open, seen := map[string]bool{}, map[string]bool{}
	for _, m := range r.Messages {
		switch m.Role {
		case User:
			if len(m.Calls) > 0 || m.State != nil {
				return errors.New("a message of the user has what only a model says")
			}
		case Assistant:
			if len(m.Results)+len(m.Pictures) > 0 {
				return errors.New("a message of the model has results or pictures")
			}
		default:
			return fmt.Errorf("unknown role %s", m.Role)
		}
		for _, result := range m.Results {
			if !open[result.ID] {
				return fmt.Errorf("a result is for the call %q, which is not in the message before it", result.ID)
			}
			delete(open, result.ID)
		}
		if len(open) > 0 {
			return fmt.Errorf("%s of a model without a result", count(len(open), "call"))
		}
		for _, call := range m.Calls {
			if call.ID == "" || seen[call.ID] {
				return fmt.Errorf("the ID %q of a call is empty or used twice", call.ID)
			}
			open[call.ID], seen[call.ID] = true, true
		}
	}
	if len(seen) > 0 && len(r.Tools) == 0 {
		return errors.New("the question has calls but no tools")
	}
	return nil
}

// checkTools refuses tools, or a form of the answer, that vendors would refuse.
func checkTools(r Request) error {
	names := map[string]bool{}
	for _, t := range r.Tools {
		if !toolName.MatchString(t.Name) || names[t.Name] {
			return fmt.Errorf("the tool name %q is used twice, or is not made of letters, digits, _ and -", t.Name)
		}
		names[t.Name] = true
		if err := checkSchema(t.Schema); err != nil {
			return fmt.Errorf("the arguments of the tool %s: %w", t.Name, err)
		}
	}
	if len(r.Schema) > 0 {
		if err := checkSchema(r.Schema); err != nil {
			return fmt.Errorf("the form of the answer: %w", err)
		}
		if len(r.Tools) > 0 {
			return errors.New("the question has both tools and a form of the answer")
		}
	}
	switch {
	case r.Choice != MayCall && r.Choice != MustCall && r.Choice != NoCall:
		return fmt.Errorf("unknown choice of tools %q", r.Choice)
	case r.Choice != MayCall && len(r.Tools) == 0:
		return errors.New("the question has a choice of tools but no tools")
	}
	return nil
}

// checkSchema refuses anything but the JSON schema of an object.
func checkSchema(schema json.RawMessage) error {
	var head struct {
		Type string `json:"type"`
	}
	if !utf8.Valid(schema) || json.Unmarshal(schema, &head) != nil || head.Type != "object" {
		return errors.New("the schema is not that of an object")
	}
	return nil
}

// Texts returns every text that a model would read.
func (r Request) Texts() []string {
	texts := []string{r.System, string(r.Schema)}
	for _, t := range r.Tools {
		texts = append(texts, t.Name, t.About, string(t.Schema))
	}
	for _, m := range r.Messages {
		texts = append(texts, m.Text)
		for _, c := range m.Calls {
			texts = append(texts, c.ID, c.Name, c.Arguments)
		}
		for _, result := range m.Results {
			texts = append(texts, result.ID, result.Text)
		}
		if m.State != nil {
			texts = append(texts, string(m.State.Data))
		}
	}
	return texts
}

// Texts returns every text of an answer.
func (a Answer) Texts() []string {
	texts := []string{a.Text}
	for _, c := range a.Calls {
		texts = append(texts, c.ID, c.Name, c.Arguments)
	}
	if a.State != nil {
		texts = append(texts, string(a.State.Data))
	}
	return texts
}

// Message returns the answer as a message, for a conversation that continues from it.
func (a Answer) Message() Message {
	return Message{Role: Assistant, Text: a.Text, Calls: a.Calls, State: a.State}
}

// Package tools defines what a model may do on a workbench: one row for each tool, in a file of its own, with its
// description for the model and its action.
//
// A tool answers in words, also about anything wrong with a call: the model reads the answer and goes on. Only trouble
// of the machine is an error. Tools that read see the snapshot with the draft; tools that change make the draft with
// the edit engine; nothing here touches the host's files. Text of a workspace in an answer is as hostile as ever: a
// conversation sets it apart.
package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"agent/orchestrator/agent/draft"
	"agent/orchestrator/ledger"
)

// A Bench is what the tools of one conversation work on. Tools that need a nil field do not exist.
type Bench struct {
	Draft *draft.Draft
	// Symbols are the definitions of the snapshot and their users.
	Symbols *ledger.Ledger
	Command Command
	Check   Check
	Fetch   Fetch
	// Hide removes the configured secrets from an answer; nil hides nothing.
	Hide func(string) string
	// Only lists the tools that the role of the model has; nil means all.
	Only []string

	mu    sync.Mutex // guards the fields below, and Symbols
	notes []string
	long  map[int]string // answers of which only a part was shown, by number
}

// An Answer is the result of a call.
type Answer struct {
	// Head says what Text is, in the agent's own words; "" if there is nothing to say.
	Head string
	// Text may hold anything from a workspace, and is quoted to a model.
	Text string
	// File is the file that Text comes from, or "".
	File string
	// Failed says that the call did not do what it should.
	Failed bool
	// Finished is the claim that the work is done, nil for none.
	Finished *Claim
}

// A Claim is what a model says about its work at the end. It is never evidence.
type Claim struct {
	Summary string
	// Nothing says that there is nothing to change.
	Nothing bool
}

// A Tool is one row.
type Tool struct {
	Name string
	// About tells the model what it does and when to call it.
	About  string
	Fields []Field
	// Alone says that the tool changes the draft or the conversation: calls before it have ended by then, and those
	// after it see what it did.
	Alone bool

	run func(ctx context.Context, b *Bench, args []byte) (Answer, error)
	// has reports whether a bench has what the tool needs; nil means that it needs nothing.
	has func(b *Bench) bool
}

// A Field is one argument of a tool.
type Field struct {
	Name, About string
	Kind        string // its JSON type: string, integer or boolean
	Needed      bool
}

// All lists the tools in the order in which a model learns of them.
func All() []Tool {
	return []Tool{readTool, listTool, searchTool, fetchTool, editTool, createTool, deleteTool, renameTool, runTool, checkTool, noteTool, finishTool}
}

// For lists the tools that a bench has.
func For(b *Bench) []Tool {
	return slices.DeleteFunc(All(), func(t Tool) bool {
		return t.has != nil && !t.has(b) || b.Only != nil && !slices.Contains(b.Only, t.Name)
	})
}

// Names lists the names of all tools.
func Names() (names []string) {
	for _, t := range All() {
		names = append(names, t.Name)
	}
	return names
}

// Schema returns the JSON schema of the arguments.
func (t Tool) Schema() json.RawMessage {
	properties, needed := map[string]map[string]string{}, []string{}
	for _, f := range t.Fields {
		properties[f.Name] = map[string]string{"type": f.Kind, "description": f.About}
		if f.Needed {
			needed = append(needed, f.Name)
		}
	}
	// Keys are sorted: the same tool has the same bytes in every question.
	text, _ := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": needed, "additionalProperties": false}) // strings alone
	return text
}

// Find returns the tool of that name.
func Find(tools []Tool, name string) (Tool, bool) {
	i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return tools[i], true
}

// Run carries out a call. If the arguments do not fit the tool, the answer says what does.
func (t Tool) Run(ctx context.Context, b *Bench, arguments string) (Answer, error) {
	if why := t.misfit(arguments); why != "" {
		return failed("%s: %s; %s", t.Name, why, t.usage()), nil
	}
	return t.run(ctx, b, []byte(arguments))
}

// misfit says why arguments do not fit the tool, or "" if they do.
func (t Tool) misfit(arguments string) string {
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &given); err != nil {
		return "the arguments are not one JSON object"
	}
	for name := range given {
		if !slices.ContainsFunc(t.Fields, func(f Field) bool { return f.Name == name }) {
			return fmt.Sprintf("it has no argument %.40q", name)
		}
	}
	for _, f := range t.Fields {
		value, ok := given[f.Name]
		if ok && !f.fits(value) {
			return fmt.Sprintf("%q has to be a %s", f.Name, f.Kind)
		}
		if !ok && f.Needed {
			return fmt.Sprintf("%q is missing", f.Name)
		}
	}
	return ""
}

// fits reports whether a value is of the field's kind.
func (f Field) fits(value json.RawMessage) bool {
	into := map[string]any{"string": new(string), "integer": new(int), "boolean": new(bool)}[f.Kind]
	return string(value) != "null" && json.Unmarshal(value, into) == nil
}

// usage shows a call: `read {"path": string, "from": integer?}`.
func (t Tool) usage() string {
	var fields []string
	for _, f := range t.Fields {
		mark := "?"
		if f.Needed {
			mark = ""
		}
		fields = append(fields, fmt.Sprintf("%q: %s%s", f.Name, f.Kind, mark))
	}
	return fmt.Sprintf("call it as {%s}", strings.Join(fields, ", "))
}

// failed returns the answer of a call that did not do what it should.
func failed(format string, args ...any) Answer {
	return Answer{Text: fmt.Sprintf(format, args...), Failed: true}
}

// arguments reads arguments that fit; see misfit.
func arguments[T any](args []byte) (v T) {
	// Arguments that do not fit were refused before.
	_ = json.Unmarshal(args, &v)
	return v
}

// Subject says in a few words what a call is about: the first text among its arguments.
func (t Tool) Subject(arguments string) string {
	var given map[string]any
	if json.Unmarshal([]byte(arguments), &given) != nil {
		return ""
	}
	for _, f := range t.Fields {
		if text, ok := given[f.Name].(string); ok && text != "" {
			return clip(strings.Join(strings.Fields(text), " "), 60)
		}
	}
	return ""
}

// Package emulated gives tools to models that have no calls of their own: it writes the tools into the instructions, and a call is
// strict JSON in a fence of the answer.
//
// It stands between a chain and any vendor's provider, and keeps the same contract: the caller sees calls and text, never the form.
// Everything in such a fence is a call. If it cannot be read, the call has the whole content of the fence as its arguments, so that
// the conversation responds to it. The package refuses to guess at calls outside of fences.
package emulated

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
)

// A Provider asks another provider. It is an [llm.Provider].
type Provider struct{ llm.Provider }

// New returns a provider that asks p, directly for questions without tools.
func New(p llm.Provider) Provider { return Provider{p} }

// Generate asks as [llm.Provider] says.
func (p Provider) Generate(ctx context.Context, key llm.Key, req llm.Request, yield func(string) error) (llm.Answer, error) {
	if len(req.Tools) == 0 {
		return p.Provider.Generate(ctx, key, req, yield)
	}
	if err := wire.Check(req); err != nil {
		return llm.Answer{}, p.fail(key, req, llm.Invalid, err)
	}
	r := reader{yield: yield}
	a, err := p.Provider.Generate(ctx, key, written(req), r.read)
	if err != nil && r.wrong == nil {
		return a, err
	}
	if err == nil {
		if err := r.end(); err != nil && r.wrong == nil {
			return llm.Answer{}, err
		}
	}
	if r.wrong != nil {
		return llm.Answer{Usage: a.Usage}, p.fail(key, req, llm.Malformed, r.wrong)
	}
	a.Text, a.Calls, a.State = r.text.String(), r.calls.Whole(req), nil
	return a, nil
}

// CountTokens counts as [llm.Provider] says.
func (p Provider) CountTokens(ctx context.Context, key llm.Key, req llm.Request) (llm.Tokens, error) {
	if err := wire.Check(req); err != nil {
		return llm.Tokens{}, p.fail(key, req, llm.Invalid, err)
	}
	return p.Provider.CountTokens(ctx, key, written(req))
}

func (p Provider) fail(key llm.Key, req llm.Request, kind llm.Kind, err error) *llm.Error {
	return llm.NewError(kind, p.Vendor(), req.Model, err.Error(), key)
}

// rules tell a model how to call. The tools follow them, each with its schema.
const rules = `# Tools

You work with the tools listed below. To call one, write a fenced block that begins with
` + "```tool" + ` and holds one JSON object and nothing else:

` + "```tool" + `
{"name": "NAME", "arguments": {"ARGUMENT": "VALUE"}}
` + "```" + `

Write several blocks to call several tools at once. Then stop: each call is answered in the
next message by its result. Never write a result yourself. When no call is needed, answer
without such a block.
`

// written returns req with the tools, calls and results in its texts. The instruction for this particular answer is at the end, so
// that everything before it stays the same.
func written(req llm.Request) llm.Request {
	if len(req.Tools) == 0 {
		return req
	}
	var system strings.Builder
	system.WriteString(req.System)
	if req.System != "" {
		system.WriteString("\n\n")
	}
	system.WriteString(rules)
	for _, t := range req.Tools {
		fmt.Fprintf(&system, "\n## %s\n%s\nArguments, as a JSON schema: %s\n", t.Name, t.About, t.Schema)
	}
	plain := req
	plain.System, plain.Tools, plain.Choice, plain.Messages = system.String(), nil, llm.MayCall, nil
	names := map[string]string{}
	for _, m := range req.Messages {
		plain.Messages = append(plain.Messages, llm.Message{Role: m.Role, Text: turn(m, names), Pictures: m.Pictures})
	}
	last := &plain.Messages[len(plain.Messages)-1]
	switch req.Choice {
	case llm.MustCall:
		last.Text += "\n\nAnswer with at least one call of a tool."
	case llm.NoCall:
		last.Text += "\n\nAnswer without calling a tool."
	}
	return plain
}

// turn returns a message as one text. names maps the IDs of calls to their names.
func turn(m llm.Message, names map[string]string) string {
	var parts []string
	for _, r := range m.Results {
		kind := "result"
		if r.Error {
			kind = "error"
		}
		fence := longer(r.Text)
		parts = append(parts, fmt.Sprintf("%s%s of %s, call %s\n%s\n%s", fence, kind, names[r.ID], wire.ID(r.ID), r.Text, fence))
	}
	if m.Text != "" || len(m.Results)+len(m.Calls) == 0 {
		parts = append(parts, m.Text)
	}
	for _, c := range m.Calls {
		names[c.ID] = wire.Name(c)
		parts = append(parts, fmt.Sprintf("```tool\n{\"name\": %q, \"arguments\": %s}\n```", wire.Name(c), wire.Arguments(c)))
	}
	return strings.Join(parts, "\n\n")
}

// longer returns a fence that no line of text can end.
func longer(text string) string {
	most, n := 2, 0
	for _, c := range text {
		if n++; c != '`' {
			n = 0
		}
		most = max(most, n)
	}
	return strings.Repeat("`", most+1)
}

// call is one object of a fence.
type call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// arguments returns the arguments of a call. Some models write the object as a string.
func (c call) arguments() string {
	var inner string
	if json.Unmarshal(c.Arguments, &inner) == nil && strings.HasPrefix(strings.TrimSpace(inner), "{") {
		return inner
	}
	return string(c.Arguments)
}

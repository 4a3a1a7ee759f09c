package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
	"agent/sandbox/workspace/lazyregexp"
)

// Vendor is the name of this vendor in the name of a model.
const Vendor = "openai"

// BaseURL is where OpenAI answers.
const BaseURL = "https://api.openai.com/v1"

// Options say where to ask. The zero value asks OpenAI.
type Options struct {
	BaseURL   string            // up to and including /v1; "" for BaseURL
	Transport http.RoundTripper // sends the requests; nil for one with a connection per call and proxies from the environment
}

// A Provider asks OpenAI. It is an [llm.Provider].
type Provider struct {
	base string
	send http.RoundTripper
}

// New returns a provider. It returns an error for an invalid base URL.
func New(o Options) (*Provider, error) {
	base, err := wire.BaseURL("OpenAI", cmp.Or(o.BaseURL, BaseURL))
	if err != nil {
		return nil, err
	}
	if o.Transport == nil {
		o.Transport = wire.NewTransport()
	}
	return &Provider{base: base, send: o.Transport}, nil
}

// Vendor returns "openai".
func (p *Provider) Vendor() string { return Vendor }

// A question is the body of a request, as far as it is used here. Source: "Create a model response" of OpenAI's API reference.
type question struct {
	Model        string    `json:"model"`
	Instructions string    `json:"instructions,omitempty"`
	Input        []any     `json:"input"`
	Stream       bool      `json:"stream"`
	Store        bool      `json:"store"`
	Temperature  *float64  `json:"temperature,omitempty"`
	TopP         float64   `json:"top_p,omitempty"`
	MaxTokens    int       `json:"max_output_tokens,omitempty"` // including reasoning
	Tools        []tool    `json:"tools,omitempty"`
	Choice       string    `json:"tool_choice,omitempty"`
	Include      []string  `json:"include,omitempty"`
	Text         *textForm `json:"text,omitempty"`
}

type message struct {
	Role    llm.Role `json:"role"`
	Content any      `json:"content"` // a string, or a list with pictures
}

// A textForm says which form the text of an answer has.
type textForm struct {
	Format struct {
		Type   string          `json:"type"`
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
		Strict bool            `json:"strict"` // refuses most schemas: those with a property that may be absent
	} `json:"format"`
}

// reasoning matches the models that refuse a temperature other than their own. Source: "Using GPT-5" and "Reasoning models" of
// OpenAI's guides.
var reasoning = lazyregexp.New(`^(ft:)?(o[1-9]|gpt-[5-9]|gpt-[1-9][0-9]|codex)`)

// newQuestion returns req in OpenAI's form, for a key.
func newQuestion(req llm.Request, key llm.Key) question {
	q := question{Model: req.Model, Instructions: req.System, Stream: true, MaxTokens: req.MaxTokens, Choice: string(req.Choice)}
	if !reasoning.MatchString(req.Model) {
		q.Temperature, q.TopP = &req.Temperature, req.TopP
	}
	for _, m := range req.Messages {
		q.Input = append(q.Input, items(req, key, m)...)
	}
	for _, t := range req.Tools {
		q.Tools = append(q.Tools, tool{"function", t.Name, t.About, t.Schema, false})
	}
	if len(q.Tools) > 0 && q.Temperature == nil {
		q.Include = []string{"reasoning.encrypted_content"}
	}
	if len(req.Schema) > 0 {
		q.Text = &textForm{}
		q.Text.Format.Type, q.Text.Format.Name, q.Text.Format.Schema = "json_schema", "answer", req.Schema
	}
	return q
}

// Generate asks req.Model with key, as [llm.Provider] says. Reasoning is not part of the answer, but counts in its usage. OpenAI
// chooses req.Context.
//
// If the last event came but the answer is invalid, for example Truncated or Refused, the answer returned with the error has no
// text but the usage that the vendor counted.
func (p *Provider) Generate(ctx context.Context, key llm.Key, req llm.Request, yield func(string) error) (llm.Answer, error) {
	call, err := p.call(key, req.Model)
	if err != nil {
		return llm.Answer{}, err
	}
	if err := wire.Check(req); err != nil {
		return llm.Answer{}, call.Error(llm.Invalid, err.Error(), nil)
	}
	defer call.Close()
	body, err := call.Post(ctx, p.base+"/responses", newQuestion(req, key))
	if err != nil {
		return llm.Answer{}, call.Err(ctx, err)
	}
	s := stream{call: call, key: key, events: wire.NewEvents(body)}
	for s.last == nil {
		piece, alive, err := s.next()
		if errors.Is(err, io.EOF) {
			err = call.Error(llm.Network, "the stream ended before the answer was done", nil)
		}
		if err != nil {
			return llm.Answer{}, call.Err(ctx, err)
		}
		if !alive {
			continue
		}
		s.text.WriteString(piece)
		if err := yield(piece); err != nil {
			return llm.Answer{}, err
		}
	}
	return s.answer(req)
}

// CountTokens estimates, since compatible servers do not offer OpenAI's call that counts. It returns an error for a question that
// Generate would not ask either.
func (p *Provider) CountTokens(_ context.Context, key llm.Key, req llm.Request) (llm.Tokens, error) {
	call, err := p.call(key, req.Model)
	if err != nil {
		return llm.Tokens{}, err
	}
	if err := wire.Check(req); err != nil {
		return llm.Tokens{}, call.Error(llm.Invalid, err.Error(), nil)
	}
	return llm.Estimate(req.Texts()...), nil
}

// Models returns the models that the key may ask. OpenAI reports only their names.
func (p *Provider) Models(ctx context.Context, key llm.Key) ([]llm.Model, error) {
	call, err := p.call(key, "")
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := call.Get(ctx, p.base+"/models", nil, &list); err != nil {
		return nil, err
	}
	var models []llm.Model
	for _, m := range list.Data {
		models = append(models, llm.Model{Name: m.ID})
	}
	return models, nil
}

// call prepares a request with a key, which must be sendable.
func (p *Provider) call(key llm.Key, model string) (*wire.Call, error) {
	call := &wire.Call{Vendor: Vendor, Model: model, Key: key, Header: "Authorization", Prefix: "Bearer ", Base: p.send, Parse: Fault}
	if !wire.Sendable(key) {
		return nil, call.Error(llm.Auth, "the key is empty or cannot be sent", nil)
	}
	return call, nil
}

package compatible

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/openai"
	"agent/orchestrator/llm/wire"
)

// Vendor is the name of this vendor in the name of a model.
const Vendor = "compatible"

// Options say where to ask.
type Options struct {
	BaseURL   string            // the part before /chat/completions, which ends in /v1 for most
	Transport http.RoundTripper // sends the requests; nil for one with a connection per call and proxies from the environment
}

// A Provider asks one server. It is an [llm.Provider].
type Provider struct {
	base string
	send http.RoundTripper
}

// New returns a provider. It returns an error for an invalid base URL; there is no default.
func New(o Options) (*Provider, error) {
	if o.BaseURL == "" {
		return nil, errors.New("no base URL is set")
	}
	base, err := wire.BaseURL("the server", o.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.Transport == nil {
		o.Transport = wire.NewTransport()
	}
	return &Provider{base: base, send: o.Transport}, nil
}

// Vendor returns "compatible".
func (p *Provider) Vendor() string { return Vendor }

// A question is the body of a request. Source: "Create chat completion" of OpenAI's API reference, as far as vLLM, llama.cpp, LM
// Studio, DeepSeek and OpenRouter support it.
type question struct {
	Model       string    `json:"model"`
	Messages    []message `json:"messages"`
	Stream      bool      `json:"stream"`
	Options     options   `json:"stream_options"`
	Temperature float64   `json:"temperature"`
	TopP        float64   `json:"top_p,omitempty"`
	TopK        int       `json:"top_k,omitempty"` // of vLLM, llama.cpp, LM Studio and OpenRouter
	MaxTokens   int       `json:"max_tokens,omitempty"`
	Tools       []tool    `json:"tools,omitempty"`
	Choice      string    `json:"tool_choice,omitempty"`
	Form        *form     `json:"response_format,omitempty"`
}

// A form is the required form of the text of an answer.
type form struct {
	Type   string `json:"type"`
	Schema struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

type message struct {
	Role    string  `json:"role"`
	Content *string `json:"content"` // null for a message of calls only
	Calls   []call  `json:"tool_calls,omitempty"`
	Of      string  `json:"tool_call_id,omitempty"` // the call that a result answers
	thoughts
}

// thoughts is the reasoning between its calls that a model gets back, in the field in which it came. Source: "Thinking mode, tool
// calls" of DeepSeek's API, which refuses the question without it; "Reasoning tokens" of OpenRouter's.
type thoughts struct {
	Content   string `json:"reasoning_content,omitempty"` // DeepSeek, vLLM, llama.cpp
	Reasoning string `json:"reasoning,omitempty"`         // OpenRouter, newer vLLM
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name   string          `json:"name"`
	About  string          `json:"description,omitempty"`
	Schema json.RawMessage `json:"parameters"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function called `json:"function"`
}

type called struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // an object: model templates refuse other JSON
}

type options struct {
	IncludeUsage bool `json:"include_usage"` // without it most send no counts with a stream
}

// newQuestion returns req as a question.
func newQuestion(req llm.Request) question {
	q := question{
		Model: req.Model, Stream: true, Options: options{IncludeUsage: true}, Temperature: req.Temperature, MaxTokens: req.MaxTokens,
		Choice: string(req.Choice), TopP: req.TopP, TopK: req.TopK,
	}
	for _, t := range req.Tools {
		q.Tools = append(q.Tools, tool{"function", function{t.Name, t.About, t.Schema}})
	}
	if len(req.Schema) > 0 {
		q.Form = &form{Type: "json_schema"}
		q.Form.Schema.Name, q.Form.Schema.Schema = "answer", req.Schema
	}
	if req.System != "" {
		q.Messages = append(q.Messages, message{Role: "system", Content: &req.System})
	}
	for _, m := range req.Messages {
		q.Messages = append(q.Messages, turns(req, m)...)
	}
	return q
}

// turns returns m in the API's form, in which each result is a separate message.
func turns(req llm.Request, m llm.Message) (list []message) {
	for _, r := range m.Results {
		said := wire.Said(r)
		list = append(list, message{Role: "tool", Content: &said, Of: r.ID})
	}
	turn := message{Role: string(m.Role), Content: &m.Text}
	if m.Text == "" && len(m.Calls)+len(m.Results) > 0 {
		turn.Content = nil
	}
	for _, c := range m.Calls {
		turn.Calls = append(turn.Calls, call{c.ID, "function", called{wire.Name(c), string(wire.Arguments(c))}})
	}
	if s := m.State; s != nil && s.Vendor == Vendor && s.Model == req.Model {
		_ = json.Unmarshal(s.Data, &turn.thoughts) // data in another form is of another version, and left out
	}
	if turn.Content == nil && len(turn.Calls) == 0 {
		return list
	}
	return append(list, turn)
}

// Generate asks req.Model, as [llm.Provider] says; key may be the zero Key. It takes the first of several choices. Reasoning in a
// separate field is not part of the answer, but counts in its usage. The server chooses req.Context.
//
// If the model came to its end but the answer is invalid, for example Truncated or Refused, the answer returned with the error has
// no text but the usage that the server counted.
func (p *Provider) Generate(ctx context.Context, key llm.Key, req llm.Request, yield func(string) error) (llm.Answer, error) {
	call, err := p.call(key, req.Model)
	if err != nil {
		return llm.Answer{}, err
	}
	if err := wire.Check(req); err != nil {
		return llm.Answer{}, call.Error(llm.Invalid, err.Error(), nil)
	}
	defer call.Close()
	body, err := call.Post(ctx, p.base+"/chat/completions", newQuestion(req))
	if err != nil {
		return llm.Answer{}, call.Err(ctx, err)
	}
	s := stream{call: call, events: wire.NewEvents(body)}
	for {
		piece, err := s.next()
		if errors.Is(err, io.EOF) {
			return s.answer(req)
		}
		if err != nil {
			return llm.Answer{}, call.Err(ctx, err)
		}
		s.text.WriteString(piece)
		if err := yield(piece); err != nil {
			return llm.Answer{}, err
		}
	}
}

// CountTokens estimates, since these servers share no call that counts. It returns an error for a question that Generate would not
// ask either.
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

// Models returns the models of the server. vLLM and OpenRouter also report their context.
func (p *Provider) Models(ctx context.Context, key llm.Key) ([]llm.Model, error) {
	call, err := p.call(key, "")
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			ID      string  `json:"id"`
			Context float64 `json:"context_length"` // OpenRouter
			Most    float64 `json:"max_model_len"`  // vLLM
		} `json:"data"`
	}
	if err := call.Get(ctx, p.base+"/models", nil, &list); err != nil {
		return nil, err
	}
	var models []llm.Model
	for _, m := range list.Data {
		models = append(models, llm.Model{Name: m.ID, Context: wire.Size(max(m.Context, m.Most))})
	}
	return models, nil
}

// call prepares a request with or without a key.
func (p *Provider) call(key llm.Key, model string) (*wire.Call, error) {
	call := &wire.Call{Vendor: Vendor, Model: model, Key: key, Header: "Authorization", Prefix: "Bearer ", Base: p.send, Parse: openai.Fault}
	if key.Secret() != "" && !wire.Sendable(key) {
		return nil, call.Error(llm.Auth, "the key cannot be sent", nil)
	}
	return call, nil
}

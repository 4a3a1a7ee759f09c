package compatible

import (
	"context"
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
	BaseURL   string            // up to what stands before /chat/completions, which is /v1 for most
	Transport http.RoundTripper // sends the requests; nil for one with a connection per call and proxies from the environment
}

// A Provider asks one server. It is an [llm.Provider].
type Provider struct {
	base string
	send http.RoundTripper
}

// New returns a provider. The error is that of a base URL which is none; there is no
// default.
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

// A question is the body of a request. Source: "Create chat completion" of OpenAI's
// API reference, as far as vLLM, llama.cpp, LM Studio, DeepSeek and OpenRouter know it.
type question struct {
	Model       string    `json:"model"`
	Messages    []message `json:"messages"`
	Stream      bool      `json:"stream"`
	Options     options   `json:"stream_options"`
	Temperature float64   `json:"temperature"`
	MaxTokens   int       `json:"max_tokens,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type options struct {
	IncludeUsage bool `json:"include_usage"` // without it most send no counts with a stream
}

// newQuestion returns req in that form.
func newQuestion(req llm.Request) question {
	q := question{Model: req.Model, Stream: true, Options: options{IncludeUsage: true}, Temperature: req.Temperature, MaxTokens: req.MaxTokens}
	if req.System != "" {
		q.Messages = append(q.Messages, message{"system", req.System})
	}
	for _, m := range req.Messages {
		q.Messages = append(q.Messages, message{string(m.Role), m.Text})
	}
	return q
}

// Generate asks req.Model, as [llm.Provider] says; key may be the zero Key. Of several
// choices it takes the first. Reasoning in a field of its own is no part of the answer,
// but of its usage. req.Context is the server's to choose.
//
// When the model's end came but the answer is none, Truncated or Refused for one, the
// answer beside the error has no text but the usage that the server counted.
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

// CountTokens estimates: these servers have no call in common that counts. The error
// is that of a question that Generate would not ask either.
func (p *Provider) CountTokens(_ context.Context, key llm.Key, req llm.Request) (llm.Tokens, error) {
	call, err := p.call(key, req.Model)
	if err != nil {
		return llm.Tokens{}, err
	}
	if err := wire.Check(req); err != nil {
		return llm.Tokens{}, call.Error(llm.Invalid, err.Error(), nil)
	}
	return llm.Estimate(wire.Texts(req)...), nil
}

// Models returns the models of the server. vLLM and OpenRouter tell their context too.
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

// call prepares a request with a key or without.
func (p *Provider) call(key llm.Key, model string) (*wire.Call, error) {
	call := &wire.Call{Vendor: Vendor, Model: model, Key: key, Header: "Authorization", Prefix: "Bearer ", Base: p.send, Parse: openai.Fault}
	if key.Secret() != "" && !wire.Sendable(key) {
		return nil, call.Error(llm.Auth, "the key cannot be sent", nil)
	}
	return call, nil
}

package anthropic

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
	"agent/sandbox/workspace/lazyregexp"
)

// Vendor is the name of this vendor in the name of a model.
const Vendor = "anthropic"

// BaseURL is where Anthropic answers.
const BaseURL = "https://api.anthropic.com"

// version is the API version, which every request names.
const version = "2023-06-01"

// Options say where to ask. The zero value asks Anthropic.
type Options struct {
	BaseURL   string            // scheme and host, and a path before /v1 if there is one; "" for BaseURL
	Transport http.RoundTripper // sends the requests; nil for one with a connection per call and proxies from the environment
}

// A Provider asks Anthropic. It is an [llm.Provider].
type Provider struct {
	base string
	send http.RoundTripper
}

// New returns a provider. It returns an error for an invalid base URL.
func New(o Options) (*Provider, error) {
	base, err := wire.BaseURL("Anthropic", cmp.Or(o.BaseURL, BaseURL))
	if err != nil {
		return nil, err
	}
	if o.Transport == nil {
		o.Transport = wire.NewTransport()
	}
	return &Provider{base: base, send: o.Transport}, nil
}

// Vendor returns "anthropic".
func (p *Provider) Vendor() string { return Vendor }

// Generate asks req.Model with key, as [llm.Provider] says. The model decides whether it thinks; thinking is not part of the
// answer, but counts in its usage. Anthropic chooses req.Context.
//
// If the last event came but the answer is invalid, for example Truncated or Refused, the answer returned with the error has no
// text but the usage that the vendor counted.
func (p *Provider) Generate(ctx context.Context, key llm.Key, req llm.Request, yield func(string) error) (llm.Answer, error) {
	q, err := p.ask(key, req)
	if err != nil {
		return llm.Answer{}, err
	}
	defer q.call.Close()
	service := q.service(p.base)
	events := service.NewStreaming(ctx, params(req))
	var answer strings.Builder
	for events.Next() {
		event, piece := events.Current(), ""
		if event.Type == "content_block_delta" && event.Delta.Type == "text_delta" {
			piece = event.Delta.Text
		}
		answer.WriteString(piece)
		if err := yield(piece); err != nil {
			return llm.Answer{}, err
		}
	}
	if err := events.Err(); err != nil {
		return llm.Answer{}, q.call.Err(ctx, err)
	}
	return q.answer(req, answer.String())
}

// CountTokens returns the count that the API measures. If the API does not offer that call, behind a gateway, the count is an
// estimate.
func (p *Provider) CountTokens(ctx context.Context, key llm.Key, req llm.Request) (llm.Tokens, error) {
	q, err := p.ask(key, req)
	if err != nil {
		return llm.Tokens{}, err
	}
	defer q.call.Close()
	ask := params(req)
	counted := sdk.MessageCountTokensParams{Model: ask.Model, Messages: ask.Messages, ToolChoice: ask.ToolChoice, OutputConfig: ask.OutputConfig}
	for _, t := range ask.Tools {
		counted.Tools = append(counted.Tools, sdk.MessageCountTokensToolUnionParam{OfTool: t.OfTool})
	}
	if len(ask.System) > 0 {
		counted.System.OfTextBlockArray = ask.System
	}
	service := q.service(p.base)
	got, err := service.CountTokens(ctx, counted)
	switch q.call.Status() {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return llm.Estimate(req.Texts()...), nil
	}
	if err != nil {
		return llm.Tokens{}, q.call.Err(ctx, err)
	}
	return wire.Count(float64(got.InputTokens), req.Texts()...), nil
}

// maxPages bounds the pages of a model list that are read.
const maxPages = 10

// Models returns the models that the key may ask, with the context of those whose description states it.
func (p *Provider) Models(ctx context.Context, key llm.Key) ([]llm.Model, error) {
	var models []llm.Model
	query := url.Values{"limit": {"1000"}}
	for range maxPages {
		q, err := p.call(key, "")
		if err != nil {
			return nil, err
		}
		var list struct {
			Data []struct {
				ID      string  `json:"id"`
				Context float64 `json:"max_input_tokens"`
			} `json:"data"`
			More bool   `json:"has_more"`
			Last string `json:"last_id"`
		}
		if err := q.call.Get(ctx, p.base+"/v1/models?"+query.Encode(), http.Header{"Anthropic-Version": {version}}, &list); err != nil {
			return nil, err
		}
		for _, m := range list.Data {
			models = append(models, llm.Model{Name: m.ID, Context: wire.Size(m.Context)})
		}
		if !list.More || list.Last == "" {
			break
		}
		query.Set("after_id", list.Last)
	}
	return models, nil
}

// A question is one call: the transport of the client, which sees the events before the client does.
type question struct {
	call *wire.Call
	seen seen
}

// ask prepares a call for a question. It returns the errors that need no request: of kind Invalid for an invalid question, and Auth
// for a key that no header can hold.
func (p *Provider) ask(key llm.Key, req llm.Request) (*question, error) {
	q, err := p.call(key, req.Model)
	if err != nil {
		return nil, err
	}
	if err := wire.Check(req); err != nil {
		return nil, q.call.Error(llm.Invalid, err.Error(), nil)
	}
	return q, nil
}

// call prepares a request with a key, which must be sendable.
func (p *Provider) call(key llm.Key, model string) (*question, error) {
	q := &question{call: &wire.Call{Vendor: Vendor, Model: model, Key: key, Header: "X-Api-Key", Base: p.send, Parse: fault}}
	if !wire.Sendable(key) {
		return nil, q.call.Error(llm.Auth, "the key is empty or cannot be sent", nil)
	}
	return q, nil
}

// service returns the client for one call. Made alone, and not with the whole client, it reads nothing from the environment or from
// files.
func (q *question) service(base string) sdk.MessageService {
	return sdk.NewMessageService(option.WithBaseURL(base), option.WithHTTPClient(&http.Client{Transport: q}), option.WithMaxRetries(0))
}

// RoundTrip sends a request of the client and puts the guard below its reader.
func (q *question) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := q.call.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/messages") {
		resp.Body = newGuard(resp.Body, q)
		resp.ContentLength = -1 // the client receives other bytes than were sent
	}
	return resp, err
}

// olderModels accept fewer tokens for an answer than the others, which accept at least maxAnswer. Source: "Models overview" of
// Anthropic's documentation, and its archive.
var olderModels = []struct {
	prefix string
	answer int64
}{
	{"claude-3-5-", 8192}, {"claude-3-opus-", 4096}, {"claude-3-sonnet-", 4096}, {"claude-3-haiku-", 4096}, {"claude-2", 4096},
}

// maxAnswer is the bound on an answer if the question sets none, since the API requires one. It is the limit of Claude Opus 4, the
// lowest of all models since Claude 3.7.
const maxAnswer = 32000

// bound returns the token bound for an answer to req.
func bound(req llm.Request) int64 {
	if req.MaxTokens > 0 {
		return int64(req.MaxTokens)
	}
	for _, m := range olderModels {
		if strings.HasPrefix(req.Model, m.prefix) {
			return m.answer
		}
	}
	return maxAnswer
}

// sampled matches the models of Anthropic that accept a temperature: those up to Claude 4.6. Later ones refuse any but their own.
// Source: "What's new in Claude Opus 4.7".
var sampled = lazyregexp.New(`^claude-([123]\b|instant|(opus|sonnet|haiku)-4(-[0-6])?(-\d{8})?$)`)

// answer judges the answer after the last event has come. An answer without text or calls is an error: the caller asked for an edit
// and has none.
func (q *question) answer(req llm.Request, text string) (llm.Answer, error) {
	a := llm.Answer{Text: text, Model: req.Model, Calls: q.seen.blocks.calls.Whole(req)}
	a.Usage = q.seen.usage.of(req, a.Texts()...)
	// The name is the vendor's text and goes where errors go: to terminals.
	if name := llm.Line(q.seen.model); name != "" {
		a.Model = name
	}
	kind, detail := q.seen.ending()
	switch {
	case kind != "":
	case len(a.Calls) > 0 && len(req.Tools) == 0:
		kind, detail = llm.Malformed, "the answer calls tools, but there are none"
	case len(a.Calls) == 0 && (text == "" || q.seen.stop == "tool_use"):
		kind, detail = llm.Malformed, "the answer holds neither text nor calls"
	case len(req.Tools) == 0:
		return a, nil
	default:
		a.State = q.seen.blocks.state(req.Model, a.Calls)
		return a, nil
	}
	a.Text, a.Calls = "", nil
	return a, q.call.Error(kind, detail, nil)
}

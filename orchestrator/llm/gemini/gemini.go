package gemini

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/generative-ai-go/genai"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	"google.golang.org/api/option/internaloption"
	"google.golang.org/grpc"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
)

// Vendor is the name of this vendor in the name of a model.
const Vendor = "gemini"

// BaseURL is where Google answers.
const BaseURL = "https://generativelanguage.googleapis.com"

// Options say where to ask. The zero value asks Google.
type Options struct {
	BaseURL   string            // scheme and host, and a path before /v1beta if there is one; "" for BaseURL
	Transport http.RoundTripper // sends the requests; nil for one with a connection per call and proxies from the environment
	Now       func() time.Time  // the clock; nil for the machine's
}

// A Provider asks Gemini. It is an [llm.Provider].
type Provider struct {
	base string
	send http.RoundTripper
	now  func() time.Time
	held holdings
}

// New returns a provider. It returns an error for an invalid base URL, or one that holds a password or a query: neither belongs in
// a URL.
func New(o Options) (*Provider, error) {
	if o.BaseURL == "" {
		o.BaseURL = BaseURL
	}
	base, err := wire.BaseURL("Gemini", o.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.Transport == nil {
		o.Transport = wire.NewTransport()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Provider{base: base, send: o.Transport, now: o.Now}, nil
}

// Vendor returns "gemini".
func (p *Provider) Vendor() string { return Vendor }

// Generate asks req.Model with key, as [llm.Provider] says. It takes the first of several candidates, and the text of its parts.
// Thoughts are not part of the answer, but count in its usage. Google chooses req.Context.
//
// If the stream came to its end but the answer is invalid, for example Truncated or Refused, the answer returned with the error has
// no text but the usage that the vendor counted: those tokens are spent.
func (p *Provider) Generate(ctx context.Context, key llm.Key, req llm.Request, yield func(string) error) (llm.Answer, error) {
	if len(req.Tools)+len(req.Schema)+req.Pictures() > 0 {
		return p.converse(ctx, key, req, yield)
	}
	q, err := p.ask(ctx, key, req)
	if err != nil {
		return llm.Answer{}, err
	}
	// The library offers no way to abandon a stream: closing its body does that.
	defer q.call.Close()
	history, last := contents(req)
	chat := q.model.StartChat()
	chat.History = history
	events := chat.SendMessageStream(ctx, last)
	var answer strings.Builder
	for {
		event, err := events.Next()
		if errors.Is(err, iterator.Done) {
			return q.answer(req, answer.String())
		}
		if err != nil {
			return llm.Answer{}, q.call.Err(ctx, err)
		}
		// Empty for thoughts, or for counts only: a sign of life.
		piece := text(event)
		answer.WriteString(piece)
		if err := yield(piece); err != nil {
			return llm.Answer{}, err
		}
	}
}

// CountTokens returns the count that the API measures. If the API does not offer that call, for a model or behind a gateway, the
// count is an estimate.
func (p *Provider) CountTokens(ctx context.Context, key llm.Key, req llm.Request) (llm.Tokens, error) {
	if len(req.Tools)+len(req.Schema)+req.Pictures() > 0 {
		return p.count(ctx, key, req)
	}
	q, err := p.ask(ctx, key, req)
	if err != nil {
		return llm.Tokens{}, err
	}
	defer q.call.Close()
	// The library counts one turn: the texts of all turns are its parts.
	var parts []genai.Part
	for _, m := range req.Messages {
		parts = append(parts, genai.Text(m.Text))
	}
	got, err := q.model.CountTokens(ctx, parts...)
	switch q.call.Status() {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return llm.Estimate(req.Texts()...), nil
	}
	if err != nil {
		return llm.Tokens{}, q.call.Err(ctx, err)
	}
	return wire.Count(float64(got.TotalTokens), req.Texts()...), nil
}

// maxPages bounds the pages of a model list that are read.
const maxPages = 10

// Models returns the models that the key may ask for text, with the tokens they accept in a question. Source: models.list of
// generativelanguage v1beta.
func (p *Provider) Models(ctx context.Context, key llm.Key) ([]llm.Model, error) {
	var models []llm.Model
	query := url.Values{"pageSize": {"1000"}}
	for range maxPages {
		call := p.call(key, "")
		if !wire.Sendable(key) {
			return nil, call.Error(llm.Auth, "the key is empty or cannot be sent", nil)
		}
		var list struct {
			Models []struct {
				Name    string   `json:"name"` // "models/gemini-2.5-flash"
				In      float64  `json:"inputTokenLimit"`
				Methods []string `json:"supportedGenerationMethods"`
			} `json:"models"`
			Next string `json:"nextPageToken"`
		}
		if err := call.Get(ctx, p.base+"/v1beta/models?"+query.Encode(), nil, &list); err != nil {
			return nil, err
		}
		for _, m := range list.Models {
			if slices.Contains(m.Methods, "generateContent") {
				models = append(models, llm.Model{Name: strings.TrimPrefix(m.Name, "models/"), Context: wire.Size(m.In)})
			}
		}
		if list.Next == "" {
			break
		}
		query.Set("pageToken", list.Next)
	}
	return models, nil
}

// call returns a request with a key.
func (p *Provider) call(key llm.Key, model string) *wire.Call {
	return &wire.Call{Vendor: Vendor, Model: model, Key: key, Header: "X-Goog-Api-Key", Base: p.send, Parse: fault}
}

// A question is one call: the wire's side of it, the library's side, and what the former has seen that the latter does not know. It
// is the http.RoundTripper of the library's client.
type question struct {
	call  *wire.Call
	model *genai.GenerativeModel // nil if the library is not used
	seen  seen
}

// ask prepares a call. It returns the errors that need no request: of kind Invalid for an invalid question, and Auth for a key that
// no header can hold.
func (p *Provider) ask(ctx context.Context, key llm.Key, req llm.Request) (*question, error) {
	q, err := p.prepare(key, req)
	if err != nil {
		return nil, err
	}
	client, err := newClient(ctx, p.base, q)
	if err != nil {
		return nil, q.call.Error(llm.Unknown, err.Error(), err)
	}
	q.model = client.GenerativeModel(req.Model)
	q.model.SetTemperature(float32(req.Temperature))
	if req.TopP > 0 {
		q.model.SetTopP(float32(req.TopP))
	}
	if req.TopK > 0 {
		q.model.SetTopK(int32(min(req.TopK, math.MaxInt32)))
	}
	// Without a bound the model's own applies.
	if req.MaxTokens > 0 {
		q.model.SetMaxOutputTokens(int32(min(req.MaxTokens, math.MaxInt32)))
	}
	if req.System != "" {
		q.model.SystemInstruction = genai.NewUserContent(genai.Text(req.System))
	}
	return q, nil
}

// prepare is like ask, without the library.
func (p *Provider) prepare(key llm.Key, req llm.Request) (*question, error) {
	q := &question{call: p.call(key, req.Model)}
	if err := wire.Check(req); err != nil {
		return nil, q.call.Error(llm.Invalid, err.Error(), nil)
	}
	if !wire.Sendable(key) {
		return nil, q.call.Error(llm.Auth, "the key is empty or cannot be sent", nil)
	}
	return q, nil
}

// errUnused is the answer to every use of a connection that is not used.
var errUnused = errors.New("the connection for cached contents is not used")

// newClient returns the library's client for one call, whose requests go to rt.
//
// The library also opens a gRPC connection for cached contents, immediately and to the same address, and never closes it, not even
// in its own Close. Here its dialler refuses, so nothing is sent. An interceptor receives the connection through the one call made
// for it, and hands it out to be closed. The library's options accept this together with an HTTP client only if they are not
// validated.
func newClient(ctx context.Context, base string, rt http.RoundTripper) (*genai.Client, error) {
	var unused *grpc.ClientConn
	keep := func(_ context.Context, _ string, _, _ any, cc *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
		unused = cc
		return errUnused
	}
	refuse := func(context.Context, string) (net.Conn, error) { return nil, errUnused }
	client, err := genai.NewClient(ctx,
		option.WithEndpoint(base),
		option.WithHTTPClient(&http.Client{Transport: rt}),
		option.WithoutAuthentication(),
		option.WithTelemetryDisabled(),
		option.WithGRPCDialOption(grpc.WithContextDialer(refuse)),
		option.WithGRPCDialOption(grpc.WithUnaryInterceptor(keep)),
		internaloption.SkipDialSettingsValidation(),
	)
	if err != nil {
		return nil, err
	}
	err = client.DeleteCachedContent(context.WithoutCancel(ctx), "none")
	if unused == nil {
		return nil, fmt.Errorf("take the connection for cached contents: %w", err)
	}
	return client, unused.Close()
}

// RoundTrip sends a request of the library and puts the stream's reader below the library's own.
func (q *question) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := q.call.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, ":streamGenerateContent") {
		resp.Body = newStream(resp.Body, q)
		resp.ContentLength = -1 // the library receives other bytes than were sent
	}
	return resp, err
}

// answer judges the answer after the stream has come to its end. An answer without text or calls is an error: the caller asked for
// an edit and has none.
func (q *question) answer(req llm.Request, text string) (llm.Answer, error) {
	a := llm.Answer{Text: text, Model: req.Model, Calls: q.seen.parts.calls.Whole(req)}
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
	case len(a.Calls) == 0 && text == "":
		kind, detail = llm.Malformed, "the answer holds neither text nor calls"
	case len(req.Tools) > 0:
		a.State = q.seen.parts.state(req.Model, q.call.Key)
		return a, nil
	default:
		return a, nil
	}
	a.Text, a.Calls = "", nil
	return a, q.call.Error(kind, detail, nil)
}

// roles maps roles to the API's names.
var roles = map[llm.Role]string{llm.User: "user", llm.Assistant: "model"}

// contents returns the turns of req in the library's form: all but the last as the history of a chat, and the last as the next
// message.
func contents(req llm.Request) (history []*genai.Content, last genai.Text) {
	end := len(req.Messages) - 1
	for _, m := range req.Messages[:end] {
		history = append(history, &genai.Content{Role: roles[m.Role], Parts: []genai.Part{genai.Text(m.Text)}})
	}
	return history, genai.Text(req.Messages[end].Text)
}

// text returns the text of an event as stream wrote it: at most one candidate, with one part.
func text(event *genai.GenerateContentResponse) string {
	var b strings.Builder
	for _, c := range event.Candidates {
		for _, part := range c.Content.Parts {
			if t, ok := part.(genai.Text); ok {
				b.WriteString(string(t))
			}
		}
	}
	return b.String()
}

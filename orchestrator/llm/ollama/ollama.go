package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/ollama/ollama/api"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
)

// Vendor is the name of this vendor in the name of a model.
const Vendor = "ollama"

// Options say where to ask. The zero value asks a server on this machine.
type Options struct {
	Host      string            // the value of OLLAMA_HOST, see Host
	KeepAlive time.Duration     // how long the server keeps a model loaded after an answer; 0 for its own setting, negative for always
	Transport http.RoundTripper // sends the requests; nil for one with a connection per call and proxies from the environment
}

// A Provider asks one Ollama server. It is an [llm.Provider]. It needs no key; a given key is sent as a bearer token, for whatever
// is in front of the server.
type Provider struct {
	host      *url.URL
	keepAlive *api.Duration
	send      http.RoundTripper
}

// New returns a provider. It returns an error for an invalid host.
func New(o Options) (*Provider, error) {
	host, err := Host(o.Host)
	if err != nil {
		return nil, err
	}
	p := &Provider{host: host, send: o.Transport}
	if o.KeepAlive != 0 {
		p.keepAlive = &api.Duration{Duration: o.KeepAlive}
	}
	if p.send == nil {
		p.send = wire.NewTransport()
	}
	return p, nil
}

// Vendor returns "ollama".
func (p *Provider) Vendor() string { return Vendor }

// Generate asks req.Model, as [llm.Provider] says. A model that thinks does so by its own default; its thoughts are not part of the
// answer, and the server counts them with it.
//
// If the last line came but the answer is invalid, for example Truncated, the answer returned with the error has no text but the
// usage that the server counted.
func (p *Provider) Generate(ctx context.Context, key llm.Key, req llm.Request, yield func(string) error) (llm.Answer, error) {
	x := &exchange{call: p.call(key, req.Model)}
	if err := wire.Check(req); err != nil {
		return llm.Answer{}, x.call.Error(llm.Invalid, err.Error(), nil)
	}
	asked, err := p.question(req)
	if err != nil {
		return llm.Answer{}, x.call.Error(llm.Invalid, err.Error(), nil)
	}
	var (
		text    strings.Builder
		last    api.ChatResponse
		stopped error // what yield returned
		lines   int
	)
	client := api.NewClient(p.host, &http.Client{Transport: x})
	// The client calls back on its own goroutine, which is this one.
	err = client.Chat(ctx, asked, func(line api.ChatResponse) error {
		if err := ctx.Err(); err != nil || last.Done {
			return err
		}
		if lines++; lines > wire.MaxEvents {
			return x.call.Error(llm.Malformed, wire.ErrEvents.Error(), nil)
		}
		last = line
		x.thought.WriteString(line.Message.Thinking)
		if err := x.add(line.Message.ToolCalls); err != nil {
			return err
		}
		// Message.Thinking is not part of the answer, but a sign of life.
		if piece := line.Message.Content; piece != "" || line.Message.Thinking != "" || len(line.Message.ToolCalls) > 0 {
			text.WriteString(piece)
			stopped = yield(piece)
		}
		return stopped
	})
	switch {
	case stopped != nil:
		return llm.Answer{}, stopped
	case err != nil:
		return llm.Answer{}, x.explain(ctx, err)
	case !last.Done:
		return llm.Answer{}, x.call.Err(ctx, x.unfinished())
	}
	return x.answer(req, last, text.String())
}

// CountTokens estimates, since Ollama has no call that counts. It returns an error for a question that Generate would not ask
// either.
func (p *Provider) CountTokens(_ context.Context, _ llm.Key, req llm.Request) (llm.Tokens, error) {
	if err := wire.Check(req); err != nil {
		call := wire.Call{Vendor: Vendor, Model: req.Model}
		return llm.Tokens{}, call.Error(llm.Invalid, err.Error(), nil)
	}
	return llm.Estimate(req.Texts()...), nil
}

// Models returns the models that the server has. The server decides their context for each question, see req.Context.
func (p *Provider) Models(ctx context.Context, key llm.Key) ([]llm.Model, error) {
	var list struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := p.call(key, "").Get(ctx, p.host.JoinPath("api/tags").String(), nil, &list); err != nil {
		return nil, err
	}
	var models []llm.Model
	for _, m := range list.Models {
		models = append(models, llm.Model{Name: m.Name})
	}
	return models, nil
}

// call returns a request, with or without a key.
func (p *Provider) call(key llm.Key, model string) *wire.Call {
	return &wire.Call{Vendor: Vendor, Model: model, Key: key, Header: "Authorization", Prefix: "Bearer ", Base: p.send, Parse: fault}
}

// question returns req in Ollama's form. Source: docs/api.md of Ollama, "Generate a chat completion", and docs/modelfile.mdx for
// the options.
func (p *Provider) question(req llm.Request) (*api.ChatRequest, error) {
	// Neither the oldest messages nor the start of the answer may be dropped.
	whole := false
	q := &api.ChatRequest{
		Model: req.Model, KeepAlive: p.keepAlive, Truncate: &whole, Shift: &whole,
		Options: map[string]any{"temperature": req.Temperature},
	}
	if req.TopP > 0 {
		q.Options["top_p"] = req.TopP
	}
	if req.TopK > 0 {
		q.Options["top_k"] = req.TopK
	}
	// Without num_ctx the server uses its default, which may be far less than the model holds. A value that differs from the last
	// one makes it reload the model.
	if req.Context > 0 {
		q.Options["num_ctx"] = req.Context
	}
	if req.MaxTokens > 0 {
		q.Options["num_predict"] = req.MaxTokens
	}
	if req.System != "" {
		q.Messages = append(q.Messages, api.Message{Role: "system", Content: req.System})
	}
	if len(req.Schema) > 0 {
		q.Format = req.Schema
	}
	return q, converse(q, req)
}

// fault reads the body of an error: an object with a text. It returns false for anything else, which does not come from Ollama.
func fault(status int, body []byte) (wire.Fault, bool) {
	var e struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil || e.Error == "" {
		return wire.Fault{}, false
	}
	return wire.Fault{Kind: wire.KindOf(status), Text: e.Error}, true
}

// An exchange is one call and the end of the bytes it received.
type exchange struct {
	call    *wire.Call
	tail    tail
	calls   wire.Calls
	thought strings.Builder
}

// RoundTrip sends a request of the client and keeps the end of the response.
func (x *exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := x.call.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(resp.Body, &x.tail), resp.Body}
	}
	return resp, err
}

// A tail keeps the last bytes written to it: enough for a line that explains an error.
type tail []byte

// Write keeps the last 4 KiB.
func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	if over := len(*t) - 4<<10; over > 0 {
		*t = append((*t)[:0], (*t)[over:]...)
	}
	return len(p), nil
}

// line returns the last line, whole if it is not longer than the tail.
func (t tail) line() []byte {
	all := bytes.TrimSpace(t)
	return all[bytes.LastIndexByte(all, '\n')+1:]
}

// explain returns the meaning of err, which ended the call, with a hint if the user can help.
func (x *exchange) explain(ctx context.Context, err error) error {
	err = x.call.Err(ctx, err)
	var e *llm.Error
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case e.Kind == llm.Malformed:
		// The client returns the same error for a line that is not JSON and for one in which the server reports a fault after a
		// status that promised success.
		if f, ok := fault(http.StatusInternalServerError, x.tail.line()); ok {
			return x.call.Error(f.Kind, "in mid-answer: "+f.Text, nil)
		}
	case e.Kind == llm.Missing:
		return x.call.Error(e.Kind, fmt.Sprintf("run ollama pull %s: %s", x.call.Model, e.Detail), e.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return x.call.Error(e.Kind, fmt.Sprintf("start it with ollama serve: %s", e.Detail), e.Err)
	}
	return err
}

// unfinished returns why a stream has no last line although the client saw no error. The client's scanner stops silently when a
// line does not fit its 8 MB, and then the body has not ended.
func (x *exchange) unfinished() error {
	if x.call.Finished() {
		return x.call.Error(llm.Network, "the stream ended before the answer was done", nil)
	}
	return errors.New("a line of the stream is too long")
}

// answer judges the answer after the last line has come. An answer without text or calls is an error: the caller asked for an edit
// and has none.
func (x *exchange) answer(req llm.Request, last api.ChatResponse, text string) (llm.Answer, error) {
	a := llm.Answer{Text: text, Model: req.Model, Calls: x.calls.Whole(req)}
	a.Usage = llm.Usage{
		// A question that the server still had in its cache is not counted.
		In:  wire.Count(float64(last.PromptEvalCount), req.Texts()...),
		Out: wire.Count(float64(last.EvalCount), a.Texts()...),
	}
	if name := llm.Line(last.Model); name != "" {
		a.Model = name
	}
	var err error
	switch reason := last.DoneReason; {
	case reason == "length":
		err = x.call.Error(llm.Truncated, "the answer reached its token limit or the end of its context", nil)
	case reason != "" && reason != "stop": // servers before 0.3 give no reason
		err = x.call.Error(llm.Unknown, "the answer ended with "+reason, nil)
	case len(a.Calls) > 0 && len(req.Tools) == 0:
		err = x.call.Error(llm.Malformed, "the answer calls tools, but there are none", nil)
	case len(a.Calls) == 0 && text == "":
		err = x.call.Error(llm.Malformed, "the answer holds neither text nor calls", nil)
	}
	if err != nil {
		a.Text, a.Calls = "", nil
		return a, err
	}
	a.State = x.state(req.Model, a.Calls)
	return a, nil
}

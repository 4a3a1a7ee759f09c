package gemini

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
	"agent/sandbox/workspace/lazyregexp"
)

// A body is a question in the API's form that the library does not know: with tools and with forms of an answer in JSON schema, and
// with the signatures of thoughts. Source: GenerateContentRequest of generativelanguage v1beta.
type body struct {
	Model    string      `json:"model,omitempty"`         // for a question in a count
	Cached   string      `json:"cachedContent,omitempty"` // the part that the question continues from, see holding
	System   *content    `json:"systemInstruction,omitempty"`
	Contents []content   `json:"contents"`
	Tools    []tools     `json:"tools,omitempty"`
	Config   *toolConfig `json:"toolConfig,omitempty"`
	Answer   generation  `json:"generationConfig"`
}

type content struct {
	Role  string            `json:"role,omitempty"`
	Parts []json.RawMessage `json:"parts"`
}

type tools struct {
	Functions []function `json:"functionDeclarations"`
}

type function struct {
	Name   string          `json:"name"`
	About  string          `json:"description,omitempty"`
	Schema json.RawMessage `json:"parametersJsonSchema"`
}

type toolConfig struct {
	Calling struct {
		Mode string `json:"mode"`
	} `json:"functionCallingConfig"`
}

type generation struct {
	Temperature float64         `json:"temperature"`
	TopP        float64         `json:"topP,omitempty"`
	TopK        int             `json:"topK,omitempty"`
	MaxTokens   int             `json:"maxOutputTokens,omitempty"`
	Type        string          `json:"responseMimeType,omitempty"`
	Schema      json.RawMessage `json:"responseJsonSchema,omitempty"`
}

// A part is one part of a message. Thoughts are not part of what was said.
type part struct {
	Text      string    `json:"text,omitempty"`
	Picture   *picture  `json:"inlineData,omitempty"`
	Thought   bool      `json:"thought,omitempty"`
	Call      *called   `json:"functionCall,omitempty"`
	Response  *response `json:"functionResponse,omitempty"`
	Signature string    `json:"thoughtSignature,omitempty"`
}

type picture struct {
	Type string `json:"mimeType"`
	Data []byte `json:"data"`
}

type called struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type response struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

// modes maps tool choices to the API's names.
var modes = map[llm.ToolChoice]string{llm.MustCall: "ANY", llm.NoCall: "NONE"}

// newBody returns req as a body, for a key.
func newBody(req llm.Request, key llm.Key) (b body, err error) {
	b.Answer = generation{Temperature: req.Temperature, TopP: req.TopP, TopK: req.TopK, MaxTokens: req.MaxTokens}
	if len(req.Schema) > 0 {
		b.Answer.Type, b.Answer.Schema = "application/json", req.Schema
	}
	if mode := modes[req.Choice]; mode != "" {
		b.Config = &toolConfig{}
		b.Config.Calling.Mode = mode
	}
	var list tools
	for _, t := range req.Tools {
		list.Functions = append(list.Functions, function{t.Name, t.About, t.Schema})
	}
	if len(list.Functions) > 0 {
		b.Tools = []tools{list}
	}
	write := func(p part) (json.RawMessage, error) { return json.Marshal(p) }
	if req.System != "" {
		text, err := write(part{Text: req.System})
		if err != nil {
			return b, err
		}
		b.System = &content{Parts: []json.RawMessage{text}}
	}
	names := map[string]string{}
	for _, m := range req.Messages {
		c := content{Role: roles[m.Role], Parts: kept(req.Model, key, m.State)}
		if len(c.Parts) == 0 {
			for _, p := range said(req.Model, m, names) {
				raw, err := write(p)
				if err != nil {
					return b, err
				}
				c.Parts = append(c.Parts, raw)
			}
		}
		for _, call := range m.Calls {
			names[call.ID] = wire.Name(call)
		}
		b.Contents = append(b.Contents, c)
	}
	return b, nil
}

// signed matches the models that refuse a call of the model without a signature.
var signed = lazyregexp.New(`^gemini-([3-9]|[1-9][0-9])`)

// unsigned replaces the signature of calls that another model made, or this one for another key. Source: "Thought signatures" of
// the API's documentation.
const unsigned = "skip_thought_signature_validator"

// said returns the parts of a message. names maps the IDs of earlier calls to their names.
func said(model string, m llm.Message, names map[string]string) (list []part) {
	for _, r := range m.Results {
		of := "output"
		if r.Error {
			of = "error"
		}
		list = append(list, part{Response: &response{r.ID, names[r.ID], map[string]string{of: r.Text}}})
	}
	for _, p := range m.Pictures {
		list = append(list, part{Picture: &picture{p.Type, p.Data}})
	}
	if m.Text != "" || len(m.Results)+len(m.Calls)+len(m.Pictures) == 0 {
		list = append(list, part{Text: m.Text})
	}
	for i, c := range m.Calls {
		p := part{Call: &called{c.ID, wire.Name(c), wire.Arguments(c)}}
		if i == 0 && signed.MatchString(model) { // of several at once, the first carries it
			p.Signature = unsigned
		}
		list = append(list, p)
	}
	return list
}

// converse does the work of Generate for a question that the library cannot write.
func (p *Provider) converse(ctx context.Context, key llm.Key, req llm.Request, yield func(string) error) (llm.Answer, error) {
	var held *holding
	made := false
	q, stream, err := p.post(ctx, key, req, "streamGenerateContent", func(b body) any {
		held, made = p.hold(ctx, key, req, b)
		return b.after(held)
	})
	// Expired early, or unusable for this model: the question is asked whole.
	if err != nil && held != nil && lost(q.call) {
		p.held.end(held)
		made = false
		q, stream, err = p.post(ctx, key, req, "streamGenerateContent", func(b body) any { return b })
	}
	if err != nil {
		return llm.Answer{}, err
	}
	defer q.call.Close()
	var text strings.Builder
	err = newStream(io.NopCloser(stream), q).each(ctx, func(piece string) error {
		text.WriteString(piece)
		return yield(piece)
	})
	if err != nil {
		return llm.Answer{}, err
	}
	a, err := q.answer(req, text.String())
	if made { // making it was charged like the question itself
		a.Usage.Written, a.Usage.Cached = a.Usage.Cached, 0
	}
	return a, err
}

// count does the work of CountTokens for a question that the library cannot write.
func (p *Provider) count(ctx context.Context, key llm.Key, req llm.Request) (llm.Tokens, error) {
	q, stream, err := p.post(ctx, key, req, "countTokens", func(b body) any {
		b.Model = "models/" + req.Model
		return map[string]any{"generateContentRequest": b}
	})
	if q == nil {
		return llm.Tokens{}, err
	}
	defer q.call.Close()
	switch q.call.Status() {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return llm.Estimate(req.Texts()...), nil
	}
	if err != nil {
		return llm.Tokens{}, err
	}
	var got struct {
		Total float64 `json:"totalTokens"`
	}
	if err := json.NewDecoder(stream).Decode(&got); err != nil {
		return llm.Tokens{}, q.call.Err(ctx, err)
	}
	return wire.Count(got.Total, req.Texts()...), nil
}

// post calls a method of the model. The question is nil if no request was made.
func (p *Provider) post(ctx context.Context, key llm.Key, req llm.Request, method string, form func(body) any) (*question, io.Reader, error) {
	q, err := p.prepare(key, req)
	if err != nil {
		return nil, nil, err
	}
	b, err := newBody(req, key)
	if err != nil {
		return nil, nil, q.call.Error(llm.Invalid, err.Error(), nil)
	}
	stream, err := q.call.Post(ctx, p.base+"/v1beta/models/"+url.PathEscape(req.Model)+":"+method, form(b))
	if err != nil {
		return q, nil, q.call.Err(ctx, err)
	}
	return q, stream, nil
}

// parts is what an answer consists of, as far as it has come.
type parts struct {
	calls  wire.Calls
	list   []*grown
	signed bool
}

// A grown is one of the parts, with its text as far as it has come.
type grown struct {
	part
	text strings.Builder
}

// add takes the parts of an event and returns their text, without thoughts. It skips parts that are neither text nor call, such as
// code that the vendor ran.
func (p *parts) add(raw []json.RawMessage) (string, error) {
	var text strings.Builder
	for _, r := range raw {
		var one part
		if err := json.Unmarshal(r, &one); err != nil {
			return "", err
		}
		if one.Thought {
			continue
		}
		text.WriteString(one.Text)
		if c := one.Call; c != nil {
			if wire.Torn(r, c.ID+c.Name+string(c.Args)) {
				return "", wire.ErrTorn
			}
			if err := p.calls.Add(fmt.Sprint(p.calls.Len()), c.ID, c.Name, string(c.Args)); err != nil {
				return "", err
			}
		}
		p.keep(one)
	}
	return text.String(), nil
}

// keep adds a part to those that are sent back. Consecutive text without a signature becomes one part; text with one must stay as
// it is.
func (p *parts) keep(one part) {
	plain := func(of part) bool { return of.Call == nil && of.Signature == "" }
	last := len(p.list) - 1
	switch {
	case plain(one) && one.Text == "":
	case plain(one) && last >= 0 && plain(p.list[last].part):
		p.list[last].text.WriteString(one.Text)
	default:
		next := &grown{part: one}
		next.text.WriteString(one.Text)
		p.list = append(p.list, next)
		p.signed = p.signed || one.Signature != ""
	}
}

// A memory is the data of a State: the parts of an answer, and the key they are for. Signatures are refused with another key.
type memory struct {
	Key   string            `json:"key"` // ID
	Parts []json.RawMessage `json:"parts"`
}

// state returns what to send back, or nil for an answer that its text and calls describe completely.
func (p *parts) state(model string, key llm.Key) *llm.State {
	m := memory{Key: key.ID}
	for _, one := range p.list {
		one.Text = one.text.String()
		raw, err := json.Marshal(one.part)
		if err != nil {
			return nil
		}
		m.Parts = append(m.Parts, raw)
	}
	data, err := json.Marshal(m)
	if !p.signed || err != nil {
		return nil
	}
	return &llm.State{Vendor: Vendor, Model: model, Data: data}
}

// kept returns the parts of a state of Gemini's, or nil if it cannot be used.
func kept(model string, key llm.Key, s *llm.State) []json.RawMessage {
	var m memory
	if s == nil || s.Vendor != Vendor || s.Model != model || json.Unmarshal(s.Data, &m) != nil || m.Key != key.ID {
		return nil
	}
	return m.Parts
}

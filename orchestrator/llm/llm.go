package llm

import (
	"context"
	"encoding/json"
)

// A Provider asks one vendor's models. It holds no key and no state between calls, may be used by several goroutines, and starts
// none that outlive a call.
type Provider interface {
	// Vendor returns the first part of a model's name: "gemini" in "gemini/gemini-2.5-flash".
	Vendor() string
	// Generate asks req.Model and passes every piece of text to yield as it arrives, in order. An empty piece says that the model
	// is working, for example on thoughts that are not shown. Generate returns the whole answer, or an *Error. If yield returns an
	// error or ctx ends, it abandons the request and returns that error unchanged. An answer that stops for any reason other than
	// the model's own end is an error, Truncated, Refused or Network, and calls that were begun do not count. The Answer returned
	// with an *Error carries the Usage of what was spent, if that is known.
	//
	// The answer to a question with tools may be calls with or without text. Their IDs differ from those of other calls in the
	// conversation.
	Generate(ctx context.Context, key Key, req Request, yield func(text string) error) (Answer, error)
	// CountTokens returns how many tokens req has for req.Model. A vendor without such a call returns Estimate.
	CountTokens(ctx context.Context, key Key, req Request) (Tokens, error)
}

// A Lister is a Provider that can list its models.
type Lister interface {
	// Models returns the models that the key may ask, in the vendor's order, or an *Error of Generate's kinds, with no model in it.
	Models(ctx context.Context, key Key) ([]Model, error)
}

// A Releaser is a Provider whose vendor keeps something between questions. Release makes the vendor drop it; the provider may be
// asked again, and then released again.
type Releaser interface {
	Release(ctx context.Context) error
}

// A Model is a vendor's description of one of its models.
type Model struct {
	Name    string // the vendor's own name, as in Request.Model
	Context int    // tokens of question and answer, 0 if the vendor does not tell
}

// A Request is one question to a model. It is plain data: equal requests have equal digests, by which a replay finds an answer
// again.
type Request struct {
	Model       string    `json:"model"`  // the vendor's own name, without "gemini/"
	System      string    `json:"system"` // instructions, "" for none
	Messages    []Message `json:"messages"`
	Temperature float64   `json:"temperature"`
	MaxTokens   int       `json:"max_tokens"` // bound on the answer, 0 for the vendor's own
	Context     int       `json:"context"`    // tokens of context to provide for, if the vendor offers a choice (Ollama's num_ctx); 0 for its own

	// Tools are the tools that the model may call, the same in all questions of a conversation.
	Tools  []Tool     `json:"tools,omitempty"`
	Choice ToolChoice `json:"choice,omitempty"`
	// Schema is the JSON schema, of an object, for the text of the answer. Vendors differ in how strictly they enforce it, so the
	// text may deviate. A question with tools has none.
	Schema json.RawMessage `json:"schema,omitempty"`

	// TopP and TopK come from the Sampling of a link; the chain sets them, as it sets Model. 0 is the vendor's own.
	TopP float64 `json:"top_p,omitempty"`
	TopK int     `json:"top_k,omitempty"`
}

// A Sampling says how best to choose a model's next words, according to its makers or the user. The zero Sampling leaves that to
// the question and the vendor.
type Sampling struct {
	Temperature float64 `toml:"temperature"` // the least: a question with a lower one is asked with this one
	TopP        float64 `toml:"top_p"`       // choose among the most likely words whose chances add up to this; 0 for the vendor's own
	TopK        int     `toml:"top_k"`       // choose among this many of the most likely words; 0 for the vendor's own
}

// A Message is one turn of a conversation; the last one is the user's.
type Message struct {
	Role    Role         `json:"role"`
	Text    string       `json:"text"`
	Calls   []ToolCall   `json:"calls,omitempty"`   // of the model, after its text
	Results []ToolResult `json:"results,omitempty"` // of the user, before the text: one for each call of the previous message
	State   *State       `json:"state,omitempty"`   // of the model, as in its Answer

	// Pictures are the user's, before the text. Only a model that sees is asked with them, see [Link].
	Pictures []Picture `json:"pictures,omitempty"`
}

// A Picture is an image that is shown to a model.
type Picture struct {
	Type string `json:"type"` // the media type, one of PictureTypes
	Data []byte `json:"data"`
}

// PictureTypes returns the media types that every vendor accepts whose models see.
func PictureTypes() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

// Pictures returns how many pictures the question has.
func (r Request) Pictures() (n int) {
	for _, m := range r.Messages {
		n += len(m.Pictures)
	}
	return n
}

// A Role says who is speaking.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// An Answer is a model's complete answer: to its own end, or with calls, for whose results it waits. An answer that was stopped by
// anything else is an error.
type Answer struct {
	Text  string `json:"text"`  // "" only together with calls
	Model string `json:"model"` // the version that answered, according to the vendor, or as asked
	Usage Usage  `json:"usage"`

	Calls []ToolCall `json:"calls,omitempty"` // in the model's order, only for a question with tools
	State *State     `json:"state,omitempty"` // to send back with it, nil for nothing: see Message
}

// Usage counts the tokens of one request.
type Usage struct {
	In     Tokens `json:"in"`     // of the question, including cached ones
	Out    Tokens `json:"out"`    // of the answer, including reasoning
	Cached int    `json:"cached"` // the part of In that was read from the vendor's cache
	// Written is also part of In: written to the vendor's cache, if that costs more. It counts in the recorded cost, but is not
	// itself recorded.
	Written int `json:"written,omitempty"`
	Reason  int `json:"reason"` // the part of Out spent on reasoning that is not shown
}

// Tokens is a token count and whether it is only an estimate.
type Tokens struct {
	N         int  `json:"n"`
	Estimated bool `json:"estimated"`
}

// Estimate returns an estimated count for texts: one token per four bytes, rounded up, the usual figure for English and code with
// BPE vocabularies.
func Estimate(texts ...string) Tokens {
	n := 0
	for _, s := range texts {
		n += len(s)
	}
	return Tokens{N: (n + 3) / 4, Estimated: true}
}

package llm

import (
	"context"
	"encoding/json"
)

// A Provider asks one vendor's models. It holds no key and no state between
// calls, may be used by several goroutines, and starts none that outlive a call.
type Provider interface {
	// Vendor is the first part of a model's name: "gemini" in "gemini/gemini-2.5-flash".
	Vendor() string
	// Generate asks req.Model and hands every piece of text to yield as it
	// arrives, in order; an empty piece says that the model is at work, such as
	// on thoughts that are not shown. It returns the whole answer, or an *Error. When yield
	// returns an error, or ctx ends, the request is given up and that error is
	// returned as it is. An answer that stops early for any reason but the
	// model's own end is an error: Truncated, Refused or Network, and the calls
	// that were begun are none. The Answer
	// beside an *Error carries the Usage of what was spent, when it is known.
	//
	// An answer to a question with tools may be calls with or without text, whose
	// IDs are not those of other calls of the conversation.
	Generate(ctx context.Context, key Key, req Request, yield func(text string) error) (Answer, error)
	// CountTokens returns how many tokens req has for req.Model. A vendor
	// without such a call answers with Estimate.
	CountTokens(ctx context.Context, key Key, req Request) (Tokens, error)
}

// A Lister is a Provider that can tell which models it has.
type Lister interface {
	// Models returns the models that the key may ask, in the vendor's order, or an
	// *Error of Generate's kinds, with no model in it.
	Models(ctx context.Context, key Key) ([]Model, error)
}

// A Releaser is a Provider that has its vendor keep something between questions. Release has it keep that no longer; the
// provider may be asked again, and then released again.
type Releaser interface {
	Release(ctx context.Context) error
}

// A Model is what a vendor tells of one of its models.
type Model struct {
	Name    string // the vendor's own, as in Request.Model
	Context int    // tokens of question and answer, 0 where the vendor does not tell
}

// A Request is one question to a model. It is plain data: equal requests have
// equal digests, which is how an answer is found again in a replay.
type Request struct {
	Model       string    `json:"model"`  // the vendor's own name, without "gemini/"
	System      string    `json:"system"` // instructions, "" for none
	Messages    []Message `json:"messages"`
	Temperature float64   `json:"temperature"`
	MaxTokens   int       `json:"max_tokens"` // bound on the answer, 0 for the vendor's own
	Context     int       `json:"context"`    // tokens of context to provide for, where the vendor lets one choose (Ollama's num_ctx); 0 for its own

	// Tools are what the model may call, the same in all questions of a conversation.
	Tools  []Tool     `json:"tools,omitempty"`
	Choice ToolChoice `json:"choice,omitempty"`
	// Schema is the JSON schema, of an object, that the text of the answer is wanted in.
	// Vendors differ in how far they hold a model to it, so the text may be otherwise.
	// A question with tools has none.
	Schema json.RawMessage `json:"schema,omitempty"`

	// What the Sampling of a link adds; the chain's to set, as Model is. 0 is the vendor's own.
	TopP float64 `json:"top_p,omitempty"`
	TopK int     `json:"top_k,omitempty"`
}

// A Sampling is how the next words of a model are best chosen, by the word of its makers
// or the user's. The zero Sampling leaves that to the question and the vendor.
type Sampling struct {
	Temperature float64 `toml:"temperature"` // the least: a question with a lower one is asked with it
	TopP        float64 `toml:"top_p"`       // of the most likely words whose chances add up to it; 0 for the vendor's own
	TopK        int     `toml:"top_k"`       // of so many of the most likely words; 0 for the vendor's own
}

// A Message is one turn of a conversation, the last one the user's.
type Message struct {
	Role    Role         `json:"role"`
	Text    string       `json:"text"`
	Calls   []ToolCall   `json:"calls,omitempty"`   // of the model, behind its text
	Results []ToolResult `json:"results,omitempty"` // of the user, before the text: one for each call of the message before
	State   *State       `json:"state,omitempty"`   // of the model, as its Answer had it

	// Pictures are of the user, before the text. Only a model that sees is asked with them, see [Link].
	Pictures []Picture `json:"pictures,omitempty"`
}

// A Picture is an image that a model is shown.
type Picture struct {
	Type string `json:"type"` // of media, one of PictureTypes
	Data []byte `json:"data"`
}

// PictureTypes are the types of media that every vendor takes whose models see.
func PictureTypes() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

// Pictures returns how many pictures the question has.
func (r Request) Pictures() (n int) {
	for _, m := range r.Messages {
		n += len(m.Pictures)
	}
	return n
}

// A Role is who speaks.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// An Answer is what a model said, whole: at its own end, or with calls, whose results it
// waits for. An answer that was stopped by anything else is an error.
type Answer struct {
	Text  string `json:"text"`  // "" only beside calls
	Model string `json:"model"` // the version that answered, by the vendor's own account, or as asked
	Usage Usage  `json:"usage"`

	Calls []ToolCall `json:"calls,omitempty"` // in the model's order, of a question with tools only
	State *State     `json:"state,omitempty"` // to be sent back with it, nil for nothing: see Message
}

// Usage counts the tokens of one request.
type Usage struct {
	In     Tokens `json:"in"`     // of the question, cached ones included
	Out    Tokens `json:"out"`    // of the answer, reasoning included
	Cached int    `json:"cached"` // of In, read from the vendor's cache
	// Written is of In too: written to the vendor's cache, where that costs more. It
	// is part of the cost that is recorded, and no part of the record itself.
	Written int `json:"written,omitempty"`
	Reason  int `json:"reason"` // of Out, spent on reasoning that is not shown
}

// Tokens is a count of tokens and whether it was measured by the vendor.
type Tokens struct {
	N         int  `json:"n"`
	Estimated bool `json:"estimated"`
}

// Estimate returns an estimated count for texts: a token per four bytes,
// rounded up, the usual figure for English and code with BPE vocabularies.
func Estimate(texts ...string) Tokens {
	n := 0
	for _, s := range texts {
		n += len(s)
	}
	return Tokens{N: (n + 3) / 4, Estimated: true}
}

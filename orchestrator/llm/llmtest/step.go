package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
	"unicode/utf8"

	"agent/orchestrator/llm"
)

// A Step is what a server does with one question. The zero Step answers with no text. Fields that end the answer early are tried in
// the order in which they are declared.
type Step struct {
	Drop bool   `json:"drop"` // close the connection before any answer
	Raw  string `json:"raw"`  // send these bytes in place of an HTTP response

	Status  int               `json:"status"`  // answer with this status and no stream
	Message string            `json:"message"` // the vendor's message for Status, in its own form
	Body    string            `json:"body"`    // in place of that form, or of the stream if Status is 0 or 200
	Headers map[string]string `json:"headers"` // additional headers, for any answer

	Thought string        `json:"thought"` // reasoning, before the answer
	Text    string        `json:"text"`    // the answer, as one event
	Chunks  []string      `json:"chunks"`  // more of the answer, an event each
	Repeat  int           `json:"repeat"`  // how often the chunks are sent, 0 for once
	Huge    int           `json:"huge"`    // then one event with a text of this many bytes
	Calls   []Call        `json:"calls"`   // then tool calls
	Second  string        `json:"second"`  // with the first event, another candidate, if the vendor has several
	Delay   time.Duration `json:"delay"`   // before each event, in nanoseconds
	Split   int           `json:"split"`   // bytes in each write to the connection, 0 for an event
	Pause   time.Duration `json:"pause"`   // before each write to the connection, in nanoseconds
	Model   string        `json:"model"`   // the name echoed, "" for the one asked
	Usage   *Usage        `json:"usage"`   // the counts reported, nil for none
	Events  []string      `json:"events"`  // events exactly as they are on the wire, after those above

	Endless bool   `json:"endless"` // then repeat the last chunk until the client leaves
	Keep    string `json:"keep"`    // then, or after Body, send these bytes again and again until the client leaves
	Hang    bool   `json:"hang"`    // then send nothing until the client leaves
	Break   bool   `json:"break"`   // then cut the connection
	Open    bool   `json:"open"`    // then end the response as if it were complete, without a last event
	Finish  string `json:"finish"`  // why the model stopped, in the vendor's words, "" for its own end
}

// withholds reports whether s holds back a token count.
func (s Step) withholds() bool { return s.Status != 0 || s.Drop || s.Hang }

// A Call is one tool call, in the vendor's form and in fragments if the vendor sends fragments. If an answer ends early, by Half, Break,
// Open or Finish, the other fields say where.
type Call struct {
	Before    string `json:"before"` // text that the model says before it
	ID        string `json:"id"`     // "" for none, or if the vendor has none
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // as the model wrote them, JSON or not
	Half      bool   `json:"half"`      // only half of the arguments comes, and no end of the call
}

// halves returns the fragments in which the arguments of a call are sent.
func (c Call) halves() []string {
	// Only between characters: a fragment is itself a JSON string, and must be valid.
	n := len(c.Arguments) / 2
	for n > 0 && !utf8.RuneStart(c.Arguments[n]) {
		n--
	}
	if c.Half {
		return []string{c.Arguments[:n]}
	}
	return []string{c.Arguments[:n], c.Arguments[n:]}
}

// Usage holds the counts that a server reports, which need not make sense.
type Usage struct {
	In, Out, Cached, Thoughts int64
	Written                   int64 // of In, to the vendor's cache, if the vendor has such a count
}

// ReadScript reads the steps of a script: a JSON array of them in a file.
func ReadScript(name string) ([]Step, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var steps []Step
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&steps); err != nil {
		return nil, fmt.Errorf("read script %s: %w", name, err)
	}
	return steps, nil
}

// A Request is a question as a server received it.
type Request struct {
	Path        string
	Model       string
	System      string
	Messages    []Turn
	Temperature float64
	TopP        float64
	TopK        int
	MaxTokens   int
	Context     int
	KeyID       string // ID of the key in its proper header, "" without one
	KeyInURL    bool   // some part of the URL is a key, or is called one
	Tools       []llm.Tool
	Choice      llm.ToolChoice
	Schema      string // of the answer, "" for none
	Body        map[string]any
	Header      http.Header // without the headers that carry a key
}

// A Turn is one message of a question, its role in the vendor's words.
type Turn struct {
	Role, Text string
	Calls      []llm.ToolCall   // with the arguments as received
	Results    []llm.ToolResult // if the vendor has them in messages
	Pictures   []llm.Picture
	Kept       string // the part of an earlier answer's state that was sent back, "" for nothing
}

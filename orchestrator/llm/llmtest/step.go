package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

// A Step is what a server does about one question. The zero step answers with
// no text. Fields that end the answer early are tried in their order here.
type Step struct {
	Drop bool   `json:"drop"` // close the connection before any answer
	Raw  string `json:"raw"`  // send these bytes in place of an HTTP response

	Status  int               `json:"status"`  // answer with this status and no stream
	Message string            `json:"message"` // what the vendor says about Status, in its own form
	Body    string            `json:"body"`    // in place of that form, or of the stream when Status is 0 or 200
	Headers map[string]string `json:"headers"` // more headers, of whatever answer

	Thought string        `json:"thought"` // reasoning, before the answer
	Text    string        `json:"text"`    // the answer, as one event
	Chunks  []string      `json:"chunks"`  // more of the answer, an event each
	Repeat  int           `json:"repeat"`  // how often the chunks come, 0 for once
	Huge    int           `json:"huge"`    // then one event with a text of so many bytes
	Second  string        `json:"second"`  // beside the first event, another candidate, where the vendor has such
	Delay   time.Duration `json:"delay"`   // before each event, in nanoseconds
	Split   int           `json:"split"`   // bytes in each write to the connection, 0 for an event
	Pause   time.Duration `json:"pause"`   // before each write to the connection, in nanoseconds
	Model   string        `json:"model"`   // the name echoed, "" for the one asked
	Usage   *Usage        `json:"usage"`   // the counts reported, nil for none
	Events  []string      `json:"events"`  // events as they are on the wire, after those above

	Endless bool   `json:"endless"` // then repeat the last chunk until the client leaves
	Keep    string `json:"keep"`    // then, or after Body, send these bytes again and again until the client leaves
	Hang    bool   `json:"hang"`    // then say nothing until the client leaves
	Break   bool   `json:"break"`   // then cut the connection
	Open    bool   `json:"open"`    // then end the response as if it were whole, without a last event
	Finish  string `json:"finish"`  // why the model stopped, in the vendor's words, "" for its own end
}

// withholds says whether s keeps a count of tokens back.
func (s Step) withholds() bool { return s.Status != 0 || s.Drop || s.Hang }

// Usage is the counts that a server reports, which need not make sense.
type Usage struct {
	In, Out, Cached, Thoughts int64
	Written                   int64 // of In, to the vendor's cache, where the vendor has such a count
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

// A Request is a question as it reached a server.
type Request struct {
	Path        string
	Model       string
	System      string
	Messages    []Turn
	Temperature float64
	MaxTokens   int
	Context     int
	KeyID       string // ID of the key in the header it belongs in, "" without one
	KeyInURL    bool   // some part of the URL is, or is called, a key
	Body        map[string]any
	Header      http.Header // without what carries a key
}

// A Turn is one message of a question, its role in the vendor's words.
type Turn struct {
	Role, Text string
}

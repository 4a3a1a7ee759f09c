package llm

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"
)

// A Journal keeps every request that was ever made, with its result and its cost. From it a killed run continues without paying
// twice, a run is replayed without a vendor, and the budgets are calculated. It outlives the process and is shared by several.
// Package journaltest tests its implementations.
type Journal interface {
	// Find returns the record of run and step whose Digest is digest: the last one with an answer, or else the last one with an
	// error. It does not find a record that was begun and never ended. A digest of "" stands for any. False means that there is
	// none.
	Find(ctx context.Context, run, step, digest string) (Record, bool, error)
	// Begin enters r before the request is made and returns its number. The Outcome of r holds what the request may cost. That
	// counts as spent until End replaces it with the real cost, and for ever if the process dies.
	Begin(ctx context.Context, r Record) (int64, error)
	// End puts the outcome of the request into the record with that number, in place of the estimate. It is called once.
	End(ctx context.Context, number int64, o Outcome) error
	// Spent sums the records of run, and those of all runs that began at or after since. If the journal knows that run is part of
	// something larger that has caps, as an iteration is part of a loop, ofRun is the sum of that.
	Spent(ctx context.Context, run string, since time.Time) (ofRun, ofAll Spent, err error)
}

// A Record is one request to a vendor. There is one per attempt.
type Record struct {
	Run      string // identifier of the run
	Step     string // place in the run, such as "propose/2"
	Attempt  int    // from 1 in the Ask that made it
	Vendor   string
	Model    string // as asked
	Key      string // ID of the key, "" for none
	Purpose  string // the purpose of the question, such as "propose" or "heal"
	Template string // digest of the prompt's template, "" for none
	Digest   string // Digest of the question, before a model was chosen
	Request  []byte // the Request as it was sent, in JSON; may hold any escape
	Begun    time.Time
	Outcome
}

// An Outcome is the result of a request.
type Outcome struct {
	Text     string     // the answer byte for byte, NUL included; "" unless Kind is ""
	Calls    []ToolCall // of the answer
	State    *State     // of the answer
	Version  string     // Answer.Model
	Usage    Usage
	Cost     Money // 0 unless Priced
	Priced   bool  // whether the price was known
	Duration time.Duration
	Kind     Kind   // why there was no answer, "" for an answer
	Detail   string // the vendor's message about it
}

// answer returns the answer in the record, as the provider gave it.
func (r Record) answer() Answer {
	return Answer{Text: r.Text, Model: r.Version, Usage: r.Usage, Calls: r.Calls, State: r.State}
}

// Spent is the sum of many requests.
type Spent struct {
	Requests int
	Tokens   int64 // of questions and answers
	Cost     Money // of the requests whose price was known
	Unpriced int   // requests whose price was not known
	Duration time.Duration
}

// Add counts o as one more request.
func (s *Spent) Add(o Outcome) {
	s.Requests++
	s.Tokens += int64(o.Usage.In.N) + int64(o.Usage.Out.N)
	s.Duration += o.Duration
	s.Cost += o.Cost
	if !o.Priced {
		s.Unpriced++
	}
}

// String describes in one line what was spent.
func (s Spent) String() string {
	text := fmt.Sprintf("%s, %d tokens, %.1f s, ", count(s.Requests, "request"), s.Tokens, s.Duration.Seconds())
	// An amount of 0 would read as free when the price is not known.
	switch {
	case s.Unpriced == 0 && s.Cost == 0:
		return text + "free"
	case s.Unpriced == 0:
		return text + "cost " + s.Cost.String()
	case s.Unpriced == s.Requests:
		return text + "cost not known"
	}
	return text + fmt.Sprintf("cost %v, plus %s of unknown price", s.Cost, count(s.Unpriced, "request"))
}

// count formats a number of things.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// ErrNotRecorded is returned by Ask in a replay if the recorded run did not ask the question: the run took another way than the
// recorded one.
var ErrNotRecorded = errors.New("no answer is recorded for this question")

// Digest returns the SHA-256 of a request in hexadecimal. The length of every text precedes the text, so no two requests share a
// form. JSON would not do, since it writes all bytes that are not UTF-8 in the same way. A request without tools and schema has the
// same form as before those existed.
func Digest(r Request) string {
	b := []byte("llm request 1\x00")
	text := func(s string) {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	if len(r.Tools)+len(r.Schema) > 0 {
		b = []byte("llm request 2\x00")
		text(string(r.Schema))
		text(string(r.Choice))
		b = binary.AppendUvarint(b, uint64(len(r.Tools)))
		for _, t := range r.Tools {
			text(t.Name)
			text(t.About)
			text(string(t.Schema))
		}
	}
	text(r.Model)
	text(r.System)
	b = binary.AppendUvarint(b, uint64(len(r.Messages)))
	for _, m := range r.Messages {
		text(string(m.Role))
		text(m.Text)
		for _, p := range m.Pictures {
			text("picture")
			text(p.Type)
			text(string(p.Data))
		}
		if len(r.Tools) > 0 { // without tools CheckTurns allows none of this
			digestTools(m, &b, text)
		}
	}
	b = binary.AppendUvarint(b, math.Float64bits(r.Temperature))
	b = binary.AppendVarint(b, int64(r.MaxTokens))
	b = binary.AppendVarint(b, int64(r.Context))
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// digestTools appends everything in a message of a conversation with tools apart from its text.
func digestTools(m Message, b *[]byte, text func(string)) {
	*b = binary.AppendUvarint(*b, uint64(len(m.Calls)))
	for _, c := range m.Calls {
		text(c.ID)
		text(c.Name)
		text(c.Arguments)
	}
	*b = binary.AppendUvarint(*b, uint64(len(m.Results)))
	for _, r := range m.Results {
		text(r.ID)
		text(r.Text)
		text(fmt.Sprint(r.Error))
	}
	state := State{}
	if m.State != nil {
		state = *m.State
	}
	text(state.Vendor)
	text(state.Model)
	text(string(state.Data))
}

package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A stream is one request while its answer arrives. It passes the text on and ends what would not end: an answer that is too long,
// a vendor that falls silent, a request that takes too long.
type stream struct {
	*asking
	turn  turn
	total time.Duration // for the whole request

	text   strings.Builder
	shown  bool        // the caller was given text
	sent   bool        // the provider was called
	hung   bool        // a timer ended the request, while the vendor may still be working
	silent *time.Timer // ends the request if no text comes
	cut    *Error      // why the stream cut the answer
	gaveUp error       // the error from the caller's Yield
}

// run makes the request. It returns the answer, or why there is none: an Error that the table decides on, or an error that ends the
// question.
func (s *stream) run(ctx context.Context, req Request, in Tokens) (Answer, *Error, error) {
	t := s.turn
	started := Started{Attempt: s.attempts, Vendor: t.Provider.Vendor(), Model: t.Model, Key: t.key.ID, In: in}
	if err := s.call.emit(started); err != nil {
		return Answer{}, nil, err
	}
	late := s.fail(t, Network, fmt.Sprintf("no complete answer within %v", s.total))
	idle := s.fail(t, Network, fmt.Sprintf("no text for %v", s.conf.Limits.Idle))
	// Each timer leaves its own error as the cause, which distinguishes them from each other and from a caller that gave up.
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	inner, stop := context.WithTimeoutCause(inner, s.total, late)
	defer stop()
	s.silent = time.AfterFunc(s.conf.Limits.Idle, func() { cancel(idle) })
	defer s.silent.Stop()
	s.sent = true
	answer, err := t.Provider.Generate(inner, t.key, req, s.take)
	why, err := s.settle(ctx, inner, answer, err)
	return answer, why, err
}

// take receives every piece of text from the provider.
func (s *stream) take(text string) error {
	// The time that the caller takes to show the text does not count as silence.
	s.silent.Stop()
	defer s.silent.Reset(s.conf.Limits.Idle)
	// A provider that does not stop gets the same error again, and the caller receives nothing more.
	if s.gaveUp != nil {
		return s.gaveUp
	}
	if s.cut == nil {
		s.cut = s.inspect(text)
	}
	if s.cut != nil {
		return s.cut
	}
	s.text.WriteString(text)
	if text == "" {
		return nil
	}
	s.shown = true
	s.gaveUp = s.call.emit(Text{Text: text})
	return s.gaveUp
}

// inspect returns why text may not be added to the answer, or nil. An answer can hold a key only if the server returns what it was
// sent. Such a key is neither recorded nor shown, except for its beginning if it comes in pieces.
func (s *stream) inspect(text string) *Error {
	if s.text.Len()+len(text) > s.conf.Limits.AnswerBytes {
		return s.fail(s.turn, Malformed, fmt.Sprintf("the answer is longer than %d bytes", s.conf.Limits.AnswerBytes))
	}
	// A key may come in several pieces, so the end of the earlier text counts.
	before := s.text.String()
	before = before[max(0, len(before)-s.masker.Longest()):]
	if s.masker.Holds(before + text) {
		return s.fail(s.turn, Malformed, "the answer holds the key that was sent")
	}
	return nil
}

// settle decides the result of the request: nil for an answer, the failure that the table decides on, or the error that ends the
// question.
func (s *stream) settle(ctx, inner context.Context, answer Answer, err error) (*Error, error) {
	var e *Error
	switch {
	// Decisions made here take precedence: a provider may have ignored them.
	case s.gaveUp != nil:
		return nil, s.gaveUp
	case s.cut != nil:
		return s.cut, nil
	// The person saw the pieces and the run uses the whole: they must agree.
	case err == nil && answer.Text != s.text.String():
		return s.fail(s.turn, Malformed, "the complete answer is not the sum of its pieces"), nil
	case err == nil:
		// Even if ctx ended meanwhile: the answer is paid for.
		return s.judge(answer), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case inner.Err() != nil && errors.As(context.Cause(inner), &e):
		s.hung = true
		return e, nil
	case errors.As(err, &e):
		return s.checked(e), nil
	}
	return s.fail(s.turn, Unknown, err.Error()), nil
}

// judge returns why a complete answer is not valid, or nil if it is. Everything in it apart from the text was not inspected on the
// way.
func (s *stream) judge(answer Answer) *Error {
	size := 0
	for _, text := range answer.Texts() {
		if size += len(text); s.masker.Holds(text) {
			return s.fail(s.turn, Malformed, "the answer holds the key that was sent")
		}
	}
	switch {
	case size > s.conf.Limits.AnswerBytes:
		return s.fail(s.turn, Malformed, fmt.Sprintf("the answer is longer than %d bytes", s.conf.Limits.AnswerBytes))
	case len(answer.Calls) > 0 && len(s.call.Request.Tools) == 0:
		return s.fail(s.turn, Malformed, "the answer calls tools where the question has none")
	case len(answer.Calls) == 0 && strings.TrimSpace(answer.Text) == "":
		return s.fail(s.turn, Malformed, "the answer is empty")
	}
	return nil
}

// checked returns a provider's error in the form that Error promises, whatever the provider returned. It drops the cause if its
// text holds a key.
func (s *stream) checked(e *Error) *Error {
	// A kind that is not in the table, such as Cancelled, would have no rule.
	kind := e.Kind
	if _, ok := rules[kind]; !ok {
		kind = Unknown
	}
	own := s.fail(s.turn, kind, e.Detail)
	own.After = max(e.After, 0)
	if e.Err != nil && !s.masker.Holds(fmt.Sprintf("%v %+v", e.Err, e.Err)) {
		own.Err = e.Err
	}
	return own
}

// outcome returns what to record about the request. If the vendor may charge for one that gave no answer, the question and the
// received part of the answer count.
func (s *stream) outcome(answer Answer, why *Error, err error, req Request) Outcome {
	estimate := Usage{In: Estimate(req.Texts()...), Out: Estimate(s.text.String())}
	o := Outcome{Version: s.masker.Mask(Line(answer.Model))}
	switch {
	case err != nil:
		o.Kind, o.Detail = Cancelled, "the caller gave up"
	case why != nil:
		o.Kind, o.Detail = why.Kind, why.Detail
		if !s.shown && !s.hung && !why.Kind.Rule().Charged {
			// The vendor rejected the question before it read it.
			estimate = Usage{In: Tokens{Estimated: true}, Out: Tokens{Estimated: true}}
		}
	default:
		// Only a whole answer is kept: a replay must never find half of one.
		o.Text, o.Calls, o.State = answer.Text, answer.Calls, answer.State
		estimate.Out = Estimate(answer.Texts()...)
	}
	// The caller gave up before anything was sent.
	if !s.sent {
		estimate = Usage{}
	}
	if o.Version == "" && o.Kind == "" {
		o.Version = req.Model
	}
	o.Usage = sane(answer.Usage, estimate, size(req))
	o.Cost, o.Priced = s.turn.cost(o.Usage)
	return o
}

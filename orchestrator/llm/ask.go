package llm

import (
	"context"
	"fmt"
	"time"
)

// asking is one question in progress: what was tried so far, and with what success. It lives as long as one Ask.
type asking struct {
	*Chain
	call     Call
	digest   string
	attempts int
	waited   time.Duration
	out      map[int]bool // links that are not asked again
	tries    map[int]int  // by link: requests after which Retry was the rule
	fits     map[int]bool // links that are known to hold the question
	last     *Error       // why there is no answer yet
}

// A turn is the link and key to ask next.
type turn struct {
	Link
	index int
	ring  *ring
	key   Key
}

// fail returns an error of this turn, with no key of the chain in its text.
func (a *asking) fail(t turn, kind Kind, detail string) *Error {
	e := NewError(kind, t.Provider.Vendor(), t.Model, a.masker.Mask(detail))
	e.Keyless = t.key.ID == ""
	return e
}

// recorded answers from the journal. In a replay that is the only way, and an error that ended the recorded question ends this one
// too.
func (a *asking) recorded(ctx context.Context) (Answer, bool, error) {
	run := a.call.Run
	if a.conf.Replay != "" {
		run = a.conf.Replay
	}
	r, ok, err := a.conf.Journal.Find(ctx, run, a.call.Step, a.digest)
	if a.conf.Replay != "" && !ok && err == nil {
		r, ok, err = a.reworded(ctx, run)
	}
	switch {
	case err != nil:
		return Answer{}, false, fmt.Errorf("look for a recorded answer: %w", err)
	case ok && r.Kind == "":
		return a.replay(r)
	case a.conf.Replay == "":
		return Answer{}, false, nil
	case !ok || r.Kind == Cancelled:
		return Answer{}, false, fmt.Errorf("replay step %q of run %q: %w", a.call.Step, run, ErrNotRecorded)
	}
	// The recorded run continued after an error in its own way, and must do so again.
	e := NewError(r.Kind, r.Vendor, r.Model, r.Detail)
	if r.Kind.Rule().Do == GiveUp {
		return Answer{}, false, e
	}
	return Answer{}, false, &ExhaustedError{Attempts: r.Attempt, Last: e}
}

// reworded finds the answer to the same step of a recorded run whose question was made from another template. Prompts change from
// version to version, and records made with older ones can still be replayed. A different question from the same template does not
// count.
func (a *asking) reworded(ctx context.Context, run string) (Record, bool, error) {
	r, ok, err := a.conf.Journal.Find(ctx, run, a.call.Step, "")
	return r, ok && r.Template != "" && r.Template != a.call.Template, err
}

// replay returns a recorded answer, with the events of a question that is asked.
func (a *asking) replay(r Record) (Answer, bool, error) {
	for _, e := range []Event{
		Started{Vendor: r.Vendor, Model: r.Model, Key: r.Key, In: r.Usage.In, Recorded: true},
		Text{Text: r.Text}, // "" for calls alone
		Done{Usage: r.Usage, Cost: r.Cost, Priced: r.Priced, Duration: r.Duration, Recorded: true},
	} {
		if err := a.call.emit(e); err != nil {
			return Answer{}, false, err
		}
	}
	return r.answer(), true, nil
}

// choose returns the first link that may still be asked and has a key awake. It begins with the first link each time, so the chain
// returns to preferred links. If every key rests it waits for the first to wake, within Limits.Wait.
func (a *asking) choose(ctx context.Context) (turn, error) {
	if a.attempts >= a.conf.Limits.Attempts {
		return turn{}, a.exhausted(ctx, time.Time{})
	}
	for {
		var wake time.Time
		for i, l := range a.conf.Links {
			if a.out[i] || !a.carries(i) {
				continue
			}
			key, rest, until, err := a.rings[i].pick(ctx, l.Model)
			if err != nil {
				return turn{}, err
			}
			if rest != nil {
				// The link stays in: its key may wake before another gives up.
				wake = earlier(wake, until)
				rest.Keyless = len(l.Keys) == 0
				a.note(rest)
				continue
			}
			t := turn{Link: l, index: i, ring: a.rings[i], key: key}
			if ok, err := a.holds(ctx, t); err != nil {
				return turn{}, err
			} else if !ok {
				continue
			}
			return t, nil
		}
		if wake.IsZero() {
			// Every link is out or has no key that will ever wake.
			return turn{}, a.exhausted(ctx, wake)
		}
		// The minimum of a millisecond keeps any clock from making this loop spin.
		d := max(wake.Sub(a.conf.Now()), time.Millisecond)
		if a.waited+d > a.conf.Limits.Wait {
			return turn{}, a.exhausted(ctx, wake)
		}
		if err := a.wait(ctx, d); err != nil {
			return turn{}, err
		}
	}
}

// carries reports whether the link can be asked with the question's tools and pictures, and drops it if it cannot.
func (a *asking) carries(i int) bool {
	l, why := a.conf.Links[i], ""
	switch {
	case !l.Tools && len(a.call.Request.Tools) > 0:
		why = "the question has tools, but this model is asked without them"
	case !l.Sees && a.call.Request.Pictures() > 0:
		why = "the question has a picture, but this model is not known to see any"
	default:
		return true
	}
	a.out[i] = true
	a.note(NewError(Invalid, l.Provider.Vendor(), l.Model, why))
	return false
}

// earlier returns the earlier of two times; zero counts as no time.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// note records why a link cannot be asked, unless something better is known: a vendor's reply to this very question.
func (a *asking) note(e *Error) {
	if a.last == nil {
		a.last = e
	}
}

// holds reports whether the question fits into the link's context, and drops the link if it does not. No token is shorter than a
// byte, so most questions need no counting. For the rest it asks the vendor, and if the vendor does not answer the estimate
// decides.
func (a *asking) holds(ctx context.Context, t turn) (bool, error) {
	room := t.Context - a.call.Request.MaxTokens
	if t.Context <= 0 || a.fits[t.index] || size(a.call.Request) <= room {
		return true, nil
	}
	// A count that hangs must not delay a question for ever. The caps on a request do not apply, since a count is not a paid
	// request.
	counting, cancel := context.WithTimeout(ctx, a.conf.Limits.Idle)
	defer cancel()
	count, err := t.Provider.CountTokens(counting, t.key, a.request(t))
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil || count.N <= 0 {
		count = Estimate(a.call.Request.Texts()...)
	}
	if count.N > room {
		// No request is made, so there is none to record.
		a.out[t.index] = true
		a.note(a.fail(t, Invalid, fmt.Sprintf(
			"the question has %d tokens, but the context of %d leaves %d for it", count.N, t.Context, max(room, 0))))
		return false, nil
	}
	a.fits[t.index] = true
	return true, nil
}

// pictureTokens is the most tokens of a small picture; larger ones have fewer tokens than bytes.
const pictureTokens = 5000

// size returns a bound on the tokens of a question: its bytes, including those of its pictures, and pictureTokens for each picture.
func size(r Request) int {
	n := 0
	for _, m := range r.Messages {
		for _, p := range m.Pictures {
			n += len(p.Data) + pictureTokens
		}
	}
	for _, text := range r.Texts() {
		n += len(text)
	}
	return n
}

// request returns the question in the form in which it is sent to the link of t.
func (a *asking) request(t turn) Request {
	r := a.call.Request
	r.Model, r.TopP, r.TopK = t.Model, t.Sampling.TopP, t.Sampling.TopK
	r.Temperature = max(r.Temperature, t.Sampling.Temperature)
	if r.Context == 0 {
		r.Context = t.Context
	}
	return r
}

// A failure is an attempt that gave no answer.
type failure struct {
	why   *Error
	shown bool // the caller was given text that is now void
}

// failed does what the table says about a failure. It returns an error if the failure ends the question. Before anything else it
// saves what other questions and processes must know about the key.
func (a *asking) failed(ctx context.Context, t turn, f failure) error {
	a.last = f.why
	wait, err := a.apply(ctx, t, f.why)
	if err != nil {
		return err
	}
	if err := a.call.emit(Abandoned{Err: f.why, Shown: f.shown}); err != nil {
		return err
	}
	if f.why.Kind.Rule().Do == GiveUp {
		return f.why
	}
	// After the last attempt there is nothing to wait for.
	if wait == 0 || a.attempts >= a.conf.Limits.Attempts {
		return nil
	}
	return a.wait(ctx, wait)
}

// apply marks the link or its key as the table says, and returns how long to wait before the next attempt.
func (a *asking) apply(ctx context.Context, t turn, e *Error) (time.Duration, error) {
	rule := e.Kind.Rule()
	switch rule.Do {
	case NextLink:
		a.out[t.index] = true
	case RestKey:
		// The vendor's own time, from Retry-After or RetryInfo, takes precedence over the table's.
		rest := e.After
		if rest <= 0 {
			rest = rule.Rest
		}
		return 0, t.ring.rest(ctx, t.key, rest, e.Kind)
	case RetireKey:
		if t.key.ID == "" { // no key to retire: once a person repairs the server, it works
			a.out[t.index] = true
			return 0, nil
		}
		return 0, t.ring.retire(ctx, t.key, e.Kind)
	case Retry:
		return a.retry(ctx, t, e, rule.Tries)
	}
	return 0, nil
}

// The wait before the second request doubles for each later one, up to a bound. Up to half of it is random, so that many runs which
// met the same fault do not return at once.
const (
	firstWait = time.Second
	maxWait   = 30 * time.Second
)

// retry returns how long to wait before the link is asked again. It drops the link if that was asked often enough or the wait would
// be too long.
func (a *asking) retry(ctx context.Context, t turn, e *Error, tries int) (time.Duration, error) {
	// Tries are counted per link and not per kind: a vendor that alternates between being busy and breaking connections is dropped
	// as soon as one that does only one of them.
	a.tries[t.index]++
	n := a.tries[t.index]
	d := min(firstWait<<(n-1), maxWait)
	d = max(d/2+time.Duration(a.conf.Rand()*float64(d/2)), min(e.After, maxRest))
	if n < tries && a.waited+d <= a.conf.Limits.Wait {
		return d, nil
	}
	a.out[t.index] = true
	if e.After > 0 { // the vendor named a time: later questions respect it too
		return 0, t.ring.rest(ctx, t.key, e.After, e.Kind)
	}
	return 0, nil
}

// wait informs the caller and waits for d.
func (a *asking) wait(ctx context.Context, d time.Duration) error {
	a.waited += d
	if err := a.call.emit(Waiting{For: d, Why: a.last}); err != nil {
		return err
	}
	return a.conf.Sleep(ctx, d)
}

// exhausted ends the question, with what the run has spent.
func (a *asking) exhausted(ctx context.Context, wake time.Time) error {
	// Only the sum of the run matters here, not that of the day.
	run, _, err := a.conf.Journal.Spent(ctx, a.call.Run, midnight(a.conf.Now()))
	if err != nil {
		return fmt.Errorf("sum what was spent: %w", err)
	}
	return &ExhaustedError{Attempts: a.attempts, Scope: a.conf.Limits.Scope, Run: run, Wake: wake, Last: a.last}
}

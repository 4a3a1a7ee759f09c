package llm

import (
	"cmp"
	"fmt"
	"time"
)

// Limits are the caps on what a chain may do. Those in the first group can be changed but not switched off: 0 selects the default
// named in the comment. In the second group 0 means no cap.
type Limits struct {
	Attempts    int           // requests for one question: 16
	Requests    int           // requests of a run: 200
	Idle        time.Duration // without any text from the vendor: 300 s
	Total       time.Duration // for one request: 900 s, so that a local model may be slow
	RunTime     time.Duration // of a run, spent in requests: 1 h
	Wait        time.Duration // spent by one question waiting between requests: 2 min
	AnswerBytes int           // of one answer: 10 MiB

	Tokens  int64 // of a run, questions and answers together
	RunCost Money // of a run
	DayCost Money // of all runs since midnight UTC

	// Scope names what the caps of a run apply to, for people; the default is "run". The journal decides which records they count,
	// see Journal.Spent.
	Scope string
	// Names maps the usual name of a cap, "cost of a run", to its own name if it has one.
	Names map[string]string
}

// assumedAnswer is the assumed number of tokens of an answer before it is given, if the request sets no bound.
const assumedAnswer = 8192

// withDefaults returns l with defaults for the caps that may not be absent.
func (l Limits) withDefaults() Limits {
	// A negative cap is a mistake, and does not switch the cap off either.
	orInt := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	orTime := func(t *time.Duration, d time.Duration) {
		if *t <= 0 {
			*t = d
		}
	}
	l.Scope = cmp.Or(l.Scope, "run")
	orInt(&l.Attempts, 16)
	orInt(&l.Requests, 200)
	orInt(&l.AnswerBytes, 10<<20)
	orTime(&l.Idle, 300*time.Second)
	orTime(&l.Total, 900*time.Second)
	orTime(&l.RunTime, time.Hour)
	orTime(&l.Wait, 2*time.Minute)
	return l
}

// capsCost reports whether money is capped.
func (l Limits) capsCost() bool { return l.RunCost > 0 || l.DayCost > 0 }

// check returns a *BudgetError if a request that may cost o would exceed a cap, given what the run and all runs of the day have
// spent.
func (l Limits) check(run, day Spent, o Outcome) error {
	tokens := int64(o.Usage.In.N) + int64(o.Usage.Out.N)
	// Time is not known beforehand: a request is made while any is left, and is cut off when the run's time is over.
	scope := cmp.Or(l.Scope, "run")
	for _, c := range []struct {
		name             string
		limit, have, add int64
		shown            func(int64) string
	}{
		{"requests of a " + scope, int64(l.Requests), int64(run.Requests), 1, showInt},
		{"time of a " + scope, int64(l.RunTime), int64(run.Duration), 1, showTime},
		{"tokens of a " + scope, l.Tokens, run.Tokens, tokens, showInt},
		{"cost of a " + scope, int64(l.RunCost), int64(run.Cost), int64(o.Cost), showMoney},
		{"cost of a day", int64(l.DayCost), int64(day.Cost), int64(o.Cost), showMoney},
	} {
		if c.limit > 0 && c.have+c.add > c.limit {
			e := &BudgetError{Scope: scope, Cap: c.name, Name: l.Names[c.name], Limit: c.shown(c.limit), Have: c.shown(c.have), Run: run, Day: day}
			if c.have < c.limit {
				e.Add = c.shown(c.add)
			}
			return e
		}
	}
	return nil
}

// showInt, showTime and showMoney format the amounts of a cap, each in its own unit, for a person.
func showInt(n int64) string   { return fmt.Sprint(n) }
func showTime(n int64) string  { return time.Duration(n).Round(time.Millisecond).String() }
func showMoney(n int64) string { return Money(n).String() }

// A BudgetError says that the next request would exceed a cap. The request was not made.
type BudgetError struct {
	Scope string // what the caps apply to: "run", "loop"; "" for a run
	Cap   string // which one: "cost of a run"
	Name  string // the cap's name in Limits.Names; "" if it has none
	Limit string // its value
	Have  string // the amount spent
	Add   string // the estimated amount for the request; "" if nothing is left
	Run   Spent  // by the run or loop
	Day   Spent  // by all runs since midnight UTC
}

// Error names the cap and what was spent.
func (e *BudgetError) Error() string {
	text := ""
	if e.Name != "" {
		text = e.Name + ": "
	}
	text += fmt.Sprintf("the cap on the %s is reached: %s of %s spent", e.Cap, e.Have, e.Limit)
	if e.Add != "" {
		text += ", and the next request may take " + e.Add
	}
	return text + "; the " + cmp.Or(e.Scope, "run") + " spent " + e.Run.String()
}

// Next says what a person can do about it.
func (e *BudgetError) Next() string {
	return "raise the cap on the " + e.Cap + ", or give the " + cmp.Or(e.Scope, "run") + " a smaller goal"
}

// An ExhaustedError says that no model of the chain gave an answer, and that none could within the caps.
type ExhaustedError struct {
	Attempts int       // requests made for this question
	Scope    string    // what Run is the sum of: "run", "loop"; "" for a run
	Run      Spent     // by the run or loop
	Wake     time.Time // when the first key wakes, zero if none rests
	Last     *Error    // why the last request gave none, nil if no model was asked
}

// Error says how many attempts were made, why the last one failed and when a key wakes.
func (e *ExhaustedError) Error() string {
	text := "no model answered after " + count(e.Attempts, "attempt")
	if e.Last != nil {
		text += ": " + e.Last.Error()
	}
	return text + e.rest()
}

// Told says the same for a person, with the cause first and only once.
func (e *ExhaustedError) Told() string {
	text := "no model answered after " + count(e.Attempts, "attempt")
	if e.Last != nil {
		text = e.Last.Told() + " (" + e.Last.Detail + "); " + text
	}
	return text + e.rest()
}

// rest says when the question can continue, and what was spent.
func (e *ExhaustedError) rest() string {
	text := "; the " + cmp.Or(e.Scope, "run") + " spent " + e.Run.String()
	if !e.Wake.IsZero() {
		text = "; a key wakes at " + e.Wake.UTC().Format(time.RFC3339) + text
	}
	return text
}

// Unwrap returns the last error, if there is one.
func (e *ExhaustedError) Unwrap() error {
	if e.Last == nil {
		return nil
	}
	return e.Last
}

// Next says what a person can do about it.
func (e *ExhaustedError) Next() string {
	if e.Last == nil {
		return "add a provider to the chain"
	}
	return e.Last.Next()
}

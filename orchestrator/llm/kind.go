package llm

import (
	"slices"
	"strings"
	"time"
)

// An Action is what a chain does after a request that gave no answer.
type Action string

// The actions.
const (
	Retry     Action = "retry"      // ask the same model again, after a growing wait
	RestKey   Action = "rest_key"   // let the key rest for a while and go on with the next
	RetireKey Action = "retire_key" // never use the key again, and go on with the next
	NextLink  Action = "next_link"  // go on with the next model of the chain
	GiveUp    Action = "give_up"    // end: no other key or model would do better
)

// A Rule says what follows from an error of one kind. The caps of Limits take precedence over every rule: no rule makes a chain go
// on for ever.
type Rule struct {
	Do      Action
	Tries   int           // for Retry: requests to one model before the next is asked
	Rest    time.Duration // for RestKey: how long, if the vendor does not say
	Charged bool          // the vendor may charge for such a request, so its estimate counts as spent
	Told    string        // the message for a person; {vendor} and {model} are placeholders
	Next    string        // what the person can do; {VENDOR} is the vendor in capitals
}

// quarantine is how long a key rests after 429 if the vendor names no time.
const quarantine = 20 * time.Minute

// kinds is the order of the kinds in documents.
var kinds = []Kind{Quota, RateLimit, Auth, Balance, Network, Refused, Overloaded, Malformed, Truncated, Missing, Invalid, Unknown}

// rules is everything that a chain knows about errors. If a wait may help, the same model is asked again; if only another key or
// model could help, no request is spent on finding that out. An error that says nothing about the question leads to the next model;
// one that every model would give ends the question.
var rules = map[Kind]Rule{
	Quota: {
		Do: RestKey, Rest: quarantine,
		Told: "{vendor}: the allowance of a key is used up; the key rests",
		Next: "wait until a key wakes, or add another to {VENDOR}_API_KEYS",
	},
	RateLimit: {
		Do: RestKey, Rest: quarantine,
		Told: "{vendor}: too many requests with a key; the key rests",
		Next: "wait until a key wakes, or add another to {VENDOR}_API_KEYS",
	},
	Auth: {
		Do:   RetireKey,
		Told: "{vendor} does not accept a key; it is not used again",
		Next: "put a valid key in {VENDOR}_API_KEYS, or re-enable one that was fixed: see `agent keys`",
	},
	Balance: {
		Do:   RetireKey,
		Told: "{vendor}: the account of a key has no money left; the key is not used again",
		Next: "put a key of an account with money in {VENDOR}_API_KEYS, or re-enable one that was topped up: see `agent keys`",
	},
	Network: {
		Do: Retry, Tries: 4,
		Told: "{vendor}: no connection, or it broke before the answer was complete",
		Next: "check the network, the proxy and that {vendor} is running",
	},
	Refused: {
		Do: NextLink, Charged: true,
		Told: "the filters of {vendor} blocked the question or the answer",
		Next: "reword the goal, or leave out the file that the filter blocks",
	},
	Overloaded: {
		Do: Retry, Tries: 5,
		Told: "{vendor} is overloaded",
		Next: "try later, or add a second provider to the chain",
	},
	Malformed: {
		Do: Retry, Tries: 3, Charged: true,
		Told: "the response of {vendor} is not an answer",
		Next: "check the base URL of {vendor}: a proxy or a log-in page may answer in its place",
	},
	Truncated: {
		Do: GiveUp, Charged: true,
		Told: "the answer of {model} reached its token limit and is incomplete",
		Next: "ask for a smaller change, or use a model with longer answers",
	},
	Missing: {
		Do:   NextLink,
		Told: "{vendor} has no model {model}",
		Next: "check the model's name; fetch a local one with `ollama pull {model}`",
	},
	Invalid: {
		Do:   NextLink,
		Told: "{vendor} does not accept the question",
		Next: "ask with fewer or smaller files, or another model",
	},
	Unknown: {
		Do: Retry, Tries: 2, Charged: true,
		Told: "{vendor} answered with an unknown error",
		Next: "see v_model_calls for what it said",
	},
}

// keyless replaces the texts of the table if the vendor was asked without a key: a server of the user's own, or whatever is in
// front of it.
var keyless = map[Kind]struct{ told, next string }{
	Quota:     {"{vendor}: an allowance is used up; it is not asked for a while", "wait, or add a second provider to the chain"},
	RateLimit: {"{vendor}: too many requests; it is not asked for a while", "wait, or add a second provider to the chain"},
	Auth:      {"{vendor} denies access to the question", "check what is in front of {vendor} and whom it admits"},
	Balance:   {"{vendor} requires payment", "check what is in front of {vendor} and whom it admits"},
}

// Kinds returns the kinds that an Error can have.
func Kinds() []Kind { return slices.Clone(kinds) }

// Rule returns what follows from an error of kind k. A kind that is not in the table counts as Unknown.
func (k Kind) Rule() Rule {
	if r, ok := rules[k]; ok {
		return r
	}
	return rules[Unknown]
}

// Told says in one sentence what happened, for a person.
func (e *Error) Told() string {
	if alone, ok := keyless[e.Kind]; ok && e.Keyless {
		return e.fill(alone.told)
	}
	return e.fill(e.Kind.Rule().Told)
}

// Next says what a person can do about it.
func (e *Error) Next() string {
	if alone, ok := keyless[e.Kind]; ok && e.Keyless {
		return e.fill(alone.next)
	}
	return e.fill(e.Kind.Rule().Next)
}

// fill puts the names of the error into a text of the table.
func (e *Error) fill(text string) string {
	return strings.NewReplacer("{vendor}", e.Vendor, "{VENDOR}", strings.ToUpper(e.Vendor), "{model}", e.Model).Replace(text)
}

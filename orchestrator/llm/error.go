package llm

import (
	"fmt"
	"time"
)

// A Kind says why a request gave no answer. Every error of a Provider has one of these kinds; [Kind.Rule] says what a run does
// about each.
type Kind string

// The kinds of error.
const (
	Quota      Kind = "quota"      // the allowance of the key is used up for now: 429 that names a quota
	RateLimit  Kind = "rate_limit" // too many requests at once: 429 otherwise
	Auth       Kind = "auth"       // the key is not accepted: 401, 403
	Balance    Kind = "balance"    // the account has no money left: 402
	Network    Kind = "network"    // no connection, or it broke before the answer was whole
	Refused    Kind = "refused"    // the vendor's filters blocked question or answer
	Overloaded Kind = "overloaded" // the vendor is busy: 5xx
	Malformed  Kind = "malformed"  // the vendor answered with something that is not an answer
	Truncated  Kind = "truncated"  // the answer reached its bound of tokens
	Missing    Kind = "missing"    // the model does not exist: 404
	Invalid    Kind = "invalid"    // the vendor does not accept the question: 400
	Unknown    Kind = "unknown"    // anything else
	Cancelled  Kind = "cancelled"  // the caller gave up: appears only in records, never in an Error
)

// An Error is a request that gave no answer. Its text holds the vendor, the model and the vendor's message, shortened and without
// control characters, and never a key.
type Error struct {
	Kind   Kind
	Vendor string
	Model  string
	Detail string        // the vendor's message, one line of at most 300 bytes
	After  time.Duration // how long the vendor asks to wait, 0 if it does not say
	Err    error         // the cause, nil if none is useful

	Keyless bool // the vendor was asked without a key; set by the chain
}

// Error names the vendor, the model, the kind and the vendor's message.
func (e *Error) Error() string {
	return fmt.Sprintf("%s/%s: %s: %s", e.Vendor, e.Model, e.Kind, e.Detail)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"agent/orchestrator/llm"
)

// KindOf returns the meaning of a status if the vendor says no more than that. Source: RFC 9110, 15; vendors of models use 529 for
// "overloaded".
//
// A 403 counts against the key and not the model: another key may do. A status below 400 other than success is a redirect, which is
// not followed.
func KindOf(status int) llm.Kind {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return llm.Auth
	case http.StatusPaymentRequired:
		return llm.Balance
	case http.StatusNotFound:
		return llm.Missing
	case http.StatusTooManyRequests:
		return llm.RateLimit
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return llm.Invalid
	case http.StatusProxyAuthRequired, http.StatusRequestTimeout: // the connection, not the vendor
		return llm.Network
	}
	switch {
	case status >= 500:
		return llm.Overloaded
	case status < 400:
		return llm.Malformed
	}
	return llm.Unknown
}

// maxWait keeps an absurd number of seconds from overflowing a duration.
const maxWait = 366 * 24 * time.Hour

// After returns how long Retry-After asks to wait: seconds or a date (RFC 9110, 10.2.3). A date is relative to the response's own
// Date, if it has one, so that the two clocks need not agree. The result is 0 if the header is absent, in the past or makes no
// sense, and at most 366 days.
func After(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if date, err := http.ParseTime(value); err == nil {
		if sent, err := http.ParseTime(h.Get("Date")); err == nil {
			now = sent
		}
		return Wait(date.Sub(now).Seconds())
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return 0
	}
	return Wait(seconds)
}

// Wait returns a number of seconds as a duration between 0 and 366 days; NaN gives 0.
func Wait(seconds float64) time.Duration {
	switch {
	case seconds > maxWait.Seconds():
		return maxWait
	case seconds > 0: // false for NaN
		return time.Duration(seconds * float64(time.Second))
	}
	return 0
}

package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"agent/orchestrator/llm"
)

// KindOf returns what a status means when the vendor says no more than that.
// Source: RFC 9110, 15; 529 is in use for "overloaded" among vendors of models.
//
// A 403 is taken for the key, and not for the model: another key may do. What
// is below 400 and no success is a redirect, which is not followed.
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
	case http.StatusProxyAuthRequired, http.StatusRequestTimeout: // the way there, not the vendor
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

// After returns how long Retry-After asks to wait: seconds or a date (RFC 9110,
// 10.2.3), which is taken from the response's own Date when it has one, so
// that the two clocks need not agree. It is 0 when the header is absent, in
// the past or makes no sense, and at most 366 days.
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

// Wait returns a number of seconds as a duration between 0 and 366 days; what
// is no number is 0.
func Wait(seconds float64) time.Duration {
	switch {
	case seconds > maxWait.Seconds():
		return maxWait
	case seconds > 0: // false for NaN
		return time.Duration(seconds * float64(time.Second))
	}
	return 0
}

package verify

import (
	"agent/verify/audit"
	"agent/verify/check"
	"agent/verify/policy"
)

// Hidden returns the event with hide applied to its texts.
func (e Event) Hidden(hide func(string) string) Event {
	if hide == nil {
		return e
	}
	e.Detail = hide(e.Detail)
	if e.Request != nil {
		r := *e.Request
		r.Method, r.Host, r.End = hide(r.Method), hide(r.Host), hide(r.End)
		e.Request = &r
	}
	return e
}

// hidden returns the report with hide applied to its texts. It does not alter the changeset, whose bytes are those that
// were judged.
func (r Report) hidden(hide func(string) string) Report {
	if hide == nil {
		return r
	}
	gates, skipped := make([]check.Gate, len(r.Gates)), make([]Skip, len(r.Skipped))
	for i, g := range r.Gates {
		gates[i] = g.Hidden(hide)
	}
	for i, s := range r.Skipped {
		skipped[i] = s.Hidden(hide)
	}
	r.Gates, r.Skipped, r.Holds, r.Unproven = gates, skipped, HiddenHolds(r.Holds, hide), audit.Hidden(r.Unproven, hide)
	return r
}

// HiddenUnproven is audit.Hidden.
func HiddenUnproven(list []Unproven, hide func(string) string) []Unproven {
	return audit.Hidden(list, hide)
}

// HiddenHolds returns a copy of holds with hide applied to their reasons, nil for nil. The paths are unchanged: they
// name what is written.
func HiddenHolds(holds []policy.Hold, hide func(string) string) []policy.Hold {
	if holds == nil || hide == nil {
		return holds
	}
	hidden := make([]policy.Hold, len(holds))
	for i, h := range holds {
		h.Reason = hide(h.Reason)
		hidden[i] = h
	}
	return hidden
}

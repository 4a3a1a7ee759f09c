package crew

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Severity ranks a finding of a review.
type Severity string

// The severities, the worst first. Only the first two are a reason not to accept.
const (
	Blocker Severity = "blocker"
	Major   Severity = "major"
	Minor   Severity = "minor"
	Nit     Severity = "nit"
)

// The bounds on what is taken from a review.
const (
	maxFindings = 50
	maxNext     = 5
	maxText     = 600 // bytes
)

// A Review is what a reviewer said about the whole. It is only a model's word: it may cause a fix or a question to a
// person, and lets nothing pass that the gates did not.
type Review struct {
	Accepted bool      `json:"accepted"`
	Findings []Finding `json:"findings"`
	// Next is what must be done, as tasks without numbers.
	Next []Task `json:"next"`
}

// A Finding is one thing that a reviewer found.
type Finding struct {
	Severity Severity `json:"severity"`
	File     string   `json:"file,omitempty"`
	// Line is 0 if the whole file is meant.
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
}

// String returns the finding on one line.
func (f Finding) String() string {
	where := f.File
	if f.Line > 0 {
		where += fmt.Sprintf(":%d", f.Line)
	}
	if where != "" {
		where += ": "
	}
	return string(f.Severity) + ": " + where + f.Text
}

// ReadReview reads the review from a model's answer. An unknown severity counts as major. A review that accepts and
// names a blocker contradicts itself, and does not accept. The error says what to send instead.
func ReadReview(answer string) (Review, error) {
	var a struct {
		Accepted *bool     `json:"accepted"`
		Findings []Finding `json:"findings"`
		Next     []struct {
			Title   string   `json:"title"`
			Goal    string   `json:"goal"`
			Files   []string `json:"files"`
			Creates []string `json:"creates"`
			Accept  accept   `json:"accept"`
		} `json:"next"`
	}
	if err := decode(answer, "accepted", &a); err != nil {
		return Review{}, errors.New(`the answer holds no review: send one JSON object {"accepted": …, "findings": […], "next": […]}`)
	}
	r := Review{Accepted: a.Accepted != nil && *a.Accepted, Findings: []Finding{}, Next: []Task{}}
	for _, f := range a.Findings[:min(len(a.Findings), maxFindings)] {
		if f.Text = strings.TrimSpace(f.Text); f.Text == "" {
			continue
		}
		f.Severity = Severity(strings.ToLower(strings.TrimSpace(string(f.Severity))))
		if !slices.Contains([]Severity{Blocker, Major, Minor, Nit}, f.Severity) {
			f.Severity = Major
		}
		f.Text, f.Line = Clip(f.Text, maxText), max(0, f.Line)
		r.Findings = append(r.Findings, f)
		r.Accepted = r.Accepted && f.Severity != Blocker
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(rank(a.Severity), rank(b.Severity)) })
	if !r.Accepted {
		for _, n := range a.Next[:min(len(a.Next), maxNext)] {
			r.Next = append(r.Next, Task{Title: n.Title, Goal: n.Goal, Files: paths(n.Files), Creates: paths(n.Creates), Role: Fixer, Accept: Acceptance(n.Accept)})
		}
	}
	return r, nil
}

// rank returns the position of a severity.
func rank(s Severity) int { return slices.Index([]Severity{Blocker, Major, Minor, Nit}, s) }

// Clip returns at most the first n bytes of s, in whole characters, with "…" after them if it cut anything.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

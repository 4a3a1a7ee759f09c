// Package critic has models other than the author read a result, such as a change that passed its gates, and report
// what they find wrong with it.
//
// It owns how the critics are asked, how an answer is read (in whatever form a model gives it), and what several of
// them agree on. It refuses to decide: a critic's finding is an opinion. No gate waits for it, and it replaces no gate.
// A critic that gives no answer has not reviewed, and the package says so; it never counts as one that found nothing.
//
// The text of a diff and of findings is data wherever it stands in a question. The same subject gives the same
// questions, byte for byte.
package critic

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agent/orchestrator/agent"
)

// A Severity is how much a finding matters.
type Severity string

// The severities, the worst first.
const (
	Blocker Severity = "blocker" // the purpose is missed, or something is lost or exposed
	Major   Severity = "major"   // wrong in a case that will come up
	Minor   Severity = "minor"   // should be better, but works
	Nit     Severity = "nit"     // taste
)

// Severities lists them, the worst first.
func Severities() []Severity { return []Severity{Blocker, Major, Minor, Nit} }

// rank is the position of a severity in that list.
func (s Severity) rank() int {
	for i, of := range Severities() {
		if s == of {
			return i
		}
	}
	return len(Severities())
}

// A Finding is one thing that one or several critics found.
type Finding struct {
	Severity Severity `json:"severity"`
	// File is a path in what was reviewed, "" for all of it. Line is 0 if none is named.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
	// By are the critics that have the finding, in their order; Merge sets it.
	By []string `json:"by,omitempty"`
	// Agreed says that enough critics have it.
	Agreed bool `json:"agreed"`
}

// Place returns where a finding is, "" for nowhere in particular: "shop/tax.py:12".
func (f Finding) Place() string {
	if f.File != "" && f.Line > 0 {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return f.File
}

// An Opinion is what one critic said.
type Opinion struct {
	// Critic is the model as configured, "openai/gpt-5". Model is the one that answered, "" for none.
	Critic string `json:"critic"`
	Model  string `json:"model,omitempty"`
	// Unreviewed says why there is no opinion, or "" if there is one.
	Unreviewed string `json:"unreviewed,omitempty"`
	// Partial says which part of the subject the critic was not shown, "" for none.
	Partial  string    `json:"partial,omitempty"`
	Findings []Finding `json:"findings"`
}

// A Critique is what all critics said about one subject.
type Critique struct {
	// Subject is the digest of what was reviewed.
	Subject string `json:"subject"`
	// Agree is how many critics must find the same for it to count.
	Agree    int       `json:"agree"`
	Opinions []Opinion `json:"opinions"`
	// Findings are the findings of all critics, with equal ones merged, the worst first.
	Findings []Finding `json:"findings"`
	// Outcome says what became of them; see the constants.
	Outcome Outcome `json:"outcome"`
}

// An Outcome says what became of a critique.
type Outcome string

// The outcomes.
const (
	Unreviewed Outcome = "unreviewed" // no critic gave an opinion
	Clean      Outcome = "clean"      // nothing serious was agreed on
	Kept       Outcome = "kept"       // serious findings remain for a person to see
	SentBack   Outcome = "sent back"  // the author was asked about them
)

// Serious reports whether a finding is worth a question to the author.
func (f Finding) Serious() bool { return f.Agreed && (f.Severity == Blocker || f.Severity == Major) }

// Serious lists the findings for the author: those that are worth a question, and the agreed minor ones with them. It
// returns none if nothing is serious.
func (c Critique) Serious() []Finding {
	serious := 0
	var list []Finding
	for _, f := range c.Findings {
		if f.Serious() {
			serious++
		}
		if f.Agreed && f.Severity != Nit {
			list = append(list, f)
		}
	}
	if serious == 0 {
		return nil
	}
	return list
}

// Count returns how many of the findings are serious.
func (c Critique) Count() int {
	n := 0
	for _, f := range c.Findings {
		if f.Serious() {
			n++
		}
	}
	return n
}

// NotReviewed says in a sentence what was not reviewed, or "" if every critic gave an opinion on everything.
func (c Critique) NotReviewed() string {
	var parts []string
	answered := 0
	for _, o := range c.Opinions {
		switch {
		case o.Unreviewed != "":
			parts = append(parts, o.Critic+" gave no review: "+o.Unreviewed)
			continue
		case o.Partial != "":
			parts = append(parts, o.Critic+" has not seen all: "+o.Partial)
		}
		answered++
	}
	if answered > 0 && answered < c.Agree {
		parts = append(parts, fmt.Sprintf("%d must agree, and %d answered, so that nothing could count", c.Agree, answered))
	}
	return strings.Join(parts, "; ")
}

// Told says the result in a sentence.
func (c Critique) Told() string {
	not := c.NotReviewed()
	switch {
	case c.Outcome == Unreviewed:
		return "not reviewed: " + not
	case not != "":
		return Summary(c.Findings) + "; not reviewed: " + not
	}
	return Summary(c.Findings)
}

// A Member is one critic: a model with a window of its own.
type Member struct {
	// Name is the model as configured.
	Name string
	// Engineer asks the model; its Model, Prompts, Budget and Window are used.
	Engineer *agent.Engineer
}

// Seats records who is on a panel and how much each member is shown, so that a replay can ask the same questions.
type Seats struct {
	Agree   int
	Members []Seat
}

// A Seat is one critic on record.
type Seat struct {
	Name   string
	Window agent.Window
	Budget int
}

// Seats returns the record of a panel, or nil if it has no members.
func (p Panel) Seats() *Seats {
	if len(p.Members) == 0 {
		return nil
	}
	s := &Seats{Agree: p.Agree}
	for _, m := range p.Members {
		s.Members = append(s.Members, Seat{m.Name, m.Engineer.Window, m.Engineer.Budget})
	}
	return s
}

// Panel returns the panel of a record; its critics are asked through model with prompts. For nil it has no members.
func (s *Seats) Panel(model agent.Model, prompts *agent.Prompts) Panel {
	if s == nil {
		return Panel{}
	}
	p := Panel{Agree: s.Agree}
	for _, m := range s.Members {
		p.Members = append(p.Members, Member{m.Name, &agent.Engineer{Model: model, Prompts: prompts, Window: m.Window, Budget: m.Budget}})
	}
	return p
}

// A Panel holds the critics that are asked about a subject. They are asked one after the other, so that caps on cost
// hold between them.
type Panel struct {
	Members []Member
	// Agree is how many must find the same; 0 means 1.
	Agree int
}

// A Subject is what is reviewed.
type Subject struct {
	// Digest names it in the record.
	Digest string
	// Purpose is the question, agent.Critique for a change.
	Purpose agent.Purpose
	// Task holds the fence, and the brief from which the question is made. Its Window and Budget are ignored: each
	// critic has its own.
	Task agent.Task
	// Known reports whether a finding may be about a path; nil allows any.
	Known func(path string) bool
}

// Review asks every critic. The prefix and the number of the critic name the step: "critic/1.2".
//
// The error comes from ctx, the record or the prompts. If a model gives no answer, for whatever reason, its opinion
// says why.
func (p Panel) Review(ctx context.Context, s Subject, prefix string) (Critique, error) {
	c := Critique{Subject: s.Digest, Agree: max(1, p.Agree), Opinions: []Opinion{}, Findings: []Finding{}}
	for i, m := range p.Members {
		o, err := m.review(ctx, s, fmt.Sprintf("%s.%d", prefix, i+1))
		if err != nil {
			return Critique{}, err
		}
		c.Opinions = append(c.Opinions, o)
	}
	c.Findings = Merge(c.Opinions, c.Agree)
	c.Outcome = c.outcome()
	return c, nil
}

// outcome returns the outcome of a critique before anything is done about it.
func (c Critique) outcome() Outcome {
	if c.Count() > 0 {
		return Kept
	}
	for _, o := range c.Opinions {
		if o.Unreviewed == "" {
			return Clean
		}
	}
	return Unreviewed
}

// review asks one critic.
func (m Member) review(ctx context.Context, s Subject, step string) (Opinion, error) {
	o := Opinion{Critic: m.Name, Findings: []Finding{}}
	t := s.Task
	t.Window, t.Budget = 0, 0
	reply, cuts, err := m.Engineer.Critique(ctx, s.Purpose, t, step)
	var stop *agent.StopError
	switch {
	case ctx.Err() != nil:
		return o, ctx.Err()
	case errors.Is(err, agent.ErrSkipped):
		o.Unreviewed = "the question was skipped"
		return o, nil
	case errors.As(err, &stop):
		o.Unreviewed = clip(stop.Message, maxReason)
		return o, nil
	case err != nil:
		return o, err
	}
	o.Model, o.Partial = reply.Model, partial(cuts)
	list, err := Read(reply.Text, s.Known)
	if err != nil {
		o.Unreviewed = err.Error()
		return o, nil
	}
	o.Findings = append(o.Findings, list...)
	return o, nil
}

// partial says which part of the subject itself was cut from a question. Text that was only there to be read does not count.
func partial(cuts []agent.Cut) string {
	from, to := 0, 0
	for _, c := range cuts {
		if c.Section == "diff" {
			from, to = max(from, c.From), c.To
		}
	}
	if from == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the %d bytes of the diff fit into its window", to, from)
}

// Brief words the findings for the author, one on each line with its place. They are a model's text: a caller that puts
// them into a question must quote them.
func Brief(list []Finding) string {
	var b strings.Builder
	for _, f := range list {
		place := f.Place()
		if place != "" {
			place += ": "
		}
		fmt.Fprintf(&b, "%s: %s%s\n", f.Severity, place, f.Text)
	}
	return b.String()
}

// Summary counts findings by severity: "1 blocker, 2 minor", or "nothing found".
func Summary(list []Finding) string {
	var parts []string
	for _, s := range Severities() {
		n := 0
		for _, f := range list {
			if f.Severity == s {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return "nothing found"
	}
	return strings.Join(parts, ", ")
}

// Package checkpoint asks at a checkpoint: whether a proven candidate is promoted, whether a proposed feature is
// written, and whether a question is sent to a model. If no person is there or --yes was given, a policy of the flags
// answers. The package writes nothing to a workspace.
package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/run"
	"agent/verify"
	"agent/verify/policy"
)

// An Approver decides at the checkpoint: by the policy of the flags if no person is there or --yes was given, otherwise
// by asking. It implements run.Approver. The decision and who made it go into the record, so the words that Approve
// returns are what `agent runs show` prints later.
type Approver struct {
	*term.Console
	// Policy of the flags and the configuration.
	Yes      bool
	Features bool     // implements a proposed feature
	Allow    []string // kinds of hold that were approved in advance
	Wait     config.Patience
	Loop     bool        // more runs follow, so that "always" has a meaning
	Board    *term.Board // gives up the terminal while the question is asked

	always bool  // a person approved what passes in the runs to come
	draft  draft // a person's edits
}

// byAlways is the approver of changes in a loop after a person has approved all its runs. It is not run.ByTerminal, so
// it approves nothing that needs an approval of its own.
const byAlways = "terminal (always)"

// Approve decides whether a proven candidate is promoted, or a proposed feature is written.
func (a *Approver) Approve(ctx context.Context, p run.Proposal) (run.Answer, error) {
	if p.Feature != nil {
		return a.feature(ctx, *p.Feature)
	}
	// The order matters: --yes takes precedence over the terminal, so that a script behaves the same whether or not a
	// person watches it.
	open := Open(p.Candidate.Holds, a.Allow)
	switch {
	case a.Yes && len(open) == 0:
		return run.Answer{Decision: run.Apply, By: "--yes"}, nil
	case a.Yes:
		return Unattended("the patch changes files that --yes alone does not approve: " + ListHolds(open)), nil
	case a.always && len(open) == 0:
		return run.Answer{Decision: run.Apply, By: byAlways}, nil
	case !a.Attended():
		return Unattended("there is no terminal and no --yes"), nil
	}
	// Two writers on one terminal would overwrite each other.
	defer a.Board.Pause()()
	return a.ask(ctx, p)
}

// Unattended returns the answer if no person gave one, with the reason.
func Unattended(why string) run.Answer { return run.Answer{Decision: run.Unattended, By: why} }

// Open returns the holds that need an approval of their own and have none: their kinds are not among allow.
func Open(holds []policy.Hold, allow []string) []policy.Hold {
	// A hold that does not block is only worth a look: its change acts inside the box only, and passed there.
	return slices.DeleteFunc(slices.Clone(holds), func(h policy.Hold) bool {
		return !h.Block || slices.Contains(allow, h.Kind)
	})
}

// ListHolds names the kinds of holds on one line, each once, with its first path and the number of further places.
func ListHolds(holds []policy.Hold) string {
	// The kind follows the path, since --allow takes it.
	var parts []string
	for len(holds) > 0 {
		first, all := holds[0], len(holds)
		holds = slices.DeleteFunc(slices.Clone(holds), func(h policy.Hold) bool { return h.Kind == first.Kind })
		text := fmt.Sprintf("%s (%s)", term.CleanLine(first.Path), first.Kind)
		if n := all - len(holds); n > 1 {
			text = fmt.Sprintf("%s (%s, and %d more)", term.CleanLine(first.Path), first.Kind, n-1)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// ask shows the candidate and asks until it has an answer. Enter applies a patch that needs no approval of its own; any
// other patch needs a key. The end of input means that no person is there after all.
func (a *Approver) ask(ctx context.Context, p run.Proposal) (run.Answer, error) {
	// The question is repeated on the same screen, but not the diff: the user has scrolled to where they want to be.
	a.show(p)
	a.Alert("a change waits for your approval")
	q := a.question(p)
	for {
		key, err := a.Ask(ctx, q)
		switch {
		case errors.Is(err, term.ErrExpired):
			return a.expired(p), nil
		case errors.Is(err, io.EOF):
			return Unattended("no answer from the terminal"), nil
		case err != nil:
			return run.Answer{}, err
		}
		if answer, ok := a.choose(ctx, p, key); ok || ctx.Err() != nil {
			return answer, ctx.Err()
		}
	}
}

// question returns the question about a candidate.
func (a *Approver) question(p run.Proposal) term.Question {
	q := term.Question{Text: "Write this to the workspace?", Wait: a.Wait.Time, Expires: "stops", Choices: []term.Choice{
		{Key: 'a', Name: "apply", Help: "write it to the workspace; `agent undo` takes it back", More: "y"},
		{Key: 'f', Name: "full diff", Help: "show the whole diff in the pager", More: "d"},
		{Key: 'c', Name: "edit code", Help: "edit the changed files, and have the result judged"},
		{Key: 'x', Name: "edit patch", Help: "edit the patch itself, and have the result judged"},
	}}
	if p.Branch != "" {
		q.Text, q.Choices[0].Help = "Commit this to the new branch "+term.CleanLine(p.Branch)+"?", "commit it there; the workspace does not change"
	}
	if p.Again {
		q.Choices = append(q.Choices, term.Choice{Key: 'r', Name: "regenerate", Help: "ask the model for another answer"})
	}
	if a.Loop {
		q.Choices = append(q.Choices, term.Choice{Key: 'l', Name: "always", Help: "apply this and everything else that passes in this loop without asking; what needs approval is still asked about"})
	}
	q.Choices = append(q.Choices,
		term.Choice{Key: 's', Name: "skip", Help: "reject it", More: "n"},
		term.Choice{Key: 'q', Name: "quit", Help: "decide later with `agent runs apply`"})
	if len(Open(p.Candidate.Holds, a.Allow)) == 0 {
		q.Default = 'a'
		if a.Wait.Apply {
			q.Expires = "applies"
		}
	}
	return q
}

// choose carries out the choice of a key, and returns the answer if the choice is one.
func (a *Approver) choose(ctx context.Context, p run.Proposal, key rune) (run.Answer, bool) {
	by := func(d run.Decision, response []byte) (run.Answer, bool) {
		return run.Answer{Decision: d, By: run.ByTerminal, Response: response}, true
	}
	of := p.Candidate.Digest
	switch key {
	case 'a':
		return by(run.Apply, nil)
	case 'l':
		a.always = true
		return by(run.Apply, nil)
	case 's':
		return by(run.Skip, nil)
	case 'q':
		return by(run.Leave, nil)
	case 'r':
		return by(run.Regenerate, nil)
	case 'f':
		PageDiff(ctx, a.Console, p.Candidate.Diff)
	case 'x':
		if text := a.draft.editResponse(ctx, a.Console, of, p.Response); text != nil {
			return by(run.Reword, text)
		}
	case 'c':
		if diff := a.draft.editCode(ctx, a.Console, of, p.Candidate.Changeset); diff != nil {
			return by(run.Amend, diff)
		}
	}
	return run.Answer{}, false
}

// expired returns the answer for the end of the countdown: the run awaits approval, unless the user has configured that
// a patch which passed and needs no approval of its own is then applied.
func (a *Approver) expired(p run.Proposal) run.Answer {
	open := Open(p.Candidate.Holds, a.Allow)
	answer := Unattended(noAnswer)
	answer.Expired = true
	switch {
	case a.Wait.Apply && len(open) == 0:
		return run.Answer{Decision: run.Apply, By: "countdown"}
	case len(open) > 0:
		answer.By += ", and the patch changes files that a person must approve: " + ListHolds(open)
	}
	return answer
}

// noAnswer is the reason why nothing was decided when a countdown ended.
const noAnswer = "no answer in time"

// show prints what the person decides on: which candidate it is and what the model says of it, the gates, what needs
// attention, the diff, and the result of the person's own edit.
func (a *Approver) show(p run.Proposal) {
	// Everything goes to stderr: stdout carries only the result, and may be a pipe while a person answers here.
	pal := a.Palette(a.Stderr)
	fmt.Fprintln(a.Stderr)
	if p.Which != "" {
		fmt.Fprintln(a.Stderr, pal.Bold(p.Which))
	}
	columns, _ := a.Size(a.Stderr)
	say := func(head, text string) { fmt.Fprintln(a.Stderr, term.Fill(head+" "+text, columns, 0)) }
	if said := strings.TrimSpace(p.Candidate.Thought); said != "" && p.Again {
		say(pal.Bold("The model says:"), term.Clean(said))
	}
	say(pal.Good("Proved:"), GatesLine(p.Candidate.Gates, p.Candidate.Unproven))
	for _, u := range p.Candidate.Unproven {
		say(pal.Warn("Not judged:"), term.CleanLine(u.Reason))
	}
	if p.Critique != nil {
		term.Critique(pal, *p.Critique, "", func(line string) { fmt.Fprintln(a.Stderr, term.Fill(line, columns, 0)) })
	}
	// This includes holds that do not block: a person is here to look.
	for _, h := range p.Candidate.Holds {
		say(pal.Warn(term.HoldWord(h)), term.CleanLine(h.Path)+": "+term.Clean(h.Reason))
	}
	fmt.Fprintln(a.Stderr)
	Preview(a.Console, p.Candidate.Diff, "f shows all")
	if strings.Count(p.Candidate.Diff, "\n") <= shownLines {
		a.Saw(p.Candidate.Diff)
	}
	fmt.Fprintln(a.Stderr)
	if p.Failed != nil {
		fmt.Fprintf(a.Stderr, "%s %s\n%s\n\n", pal.Bad("Your edit was not applied:"), term.Clean(p.Failed.Why),
			"the candidate above is unchanged; c or x continues with your text")
	}
}

// GatesLine returns the gates on one line.
func GatesLine(gates []verify.Gate, unproven []verify.Unproven) string {
	var parts []string
	for _, g := range gates {
		_, word := term.GateWord(term.Palette{}, g, unproven)
		parts = append(parts, fmt.Sprintf("%s %s %.1fs", g.Name, word, g.Seconds))
	}
	return strings.Join(parts, ", ")
}

// feature decides about a proposed feature before any of it is written. No one asked for it, so only a person at the
// terminal or --features gets it written. With --yes, without a terminal and after the countdown, whatever expiry says,
// it stays a proposal. Enter decides nothing. The implementation is proved, and has a checkpoint of its own.
func (a *Approver) feature(ctx context.Context, p run.KeptProposal) (run.Answer, error) {
	switch {
	case a.Features:
		return run.Answer{Decision: run.Apply, By: run.ByFeatures}, nil
	case a.Yes:
		return Unattended("--yes does not implement proposed features; --features does"), nil
	case !a.Attended():
		return Unattended("there is no terminal"), nil
	}
	// As at every checkpoint, the board rests and earlier key presses do not count.
	defer a.Board.Pause()()
	pal := a.Palette(a.Stderr)
	what, question := "A feature is proposed", "Implement this feature?"
	if p.Patch != nil {
		what, question = fmt.Sprintf("Proposal %d is a change (%s)", p.ID, p.Kind), "Take it up again?"
	}
	fmt.Fprintf(a.Stderr, "\n%s for %s\n\n%s\n\n", pal.Good(what), term.CleanLine(p.Path), strings.TrimRight(term.Clean(p.Text), "\n"))
	a.Alert("a proposed feature waits for your decision")
	key, err := a.Ask(ctx, term.Question{Text: question, Wait: a.Wait.Time, Expires: "is kept as a proposal", Choices: []term.Choice{
		{Key: 'p', Name: "proceed", Help: "implement and judge it; you are asked again before anything is written", More: "y"},
		{Key: 's', Name: "skip", Help: "keep it as a proposal", More: "n"},
		{Key: 'd', Name: "delete", Help: "forget it"},
		{Key: 'q', Name: "quit", Help: "keep it as a proposal"},
	}})
	switch {
	case errors.Is(err, term.ErrExpired):
		return Unattended(noAnswer), nil
	case errors.Is(err, io.EOF):
		return Unattended("no answer from the terminal"), nil
	case err != nil:
		return run.Answer{}, err
	}
	answers := map[rune]run.Decision{'p': run.Apply, 's': run.Skip, 'd': run.Drop, 'q': run.Leave}
	return run.Answer{Decision: answers[key], By: run.ByTerminal}, nil
}

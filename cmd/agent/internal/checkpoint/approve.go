// Package checkpoint asks at a checkpoint: whether a proven candidate is promoted, whether a
// proposed feature is written, and whether a question is sent to a model. A policy of the
// flags answers where nobody is there or --yes was given. It writes nothing to a workspace.
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

// An Approver decides at the checkpoint: by the policy of the flags
// when nobody is there or --yes was given, else by asking. It
// implements run.Approver. The decision and who made it go into the
// record, so the words that Approve returns are what `agent runs show`
// tells later.
type Approver struct {
	*term.Console
	// Policy of the flags and the configuration.
	Yes   bool
	Allow []string // kinds of hold that were approved in advance
	Wait  config.Patience
	Board *term.Board // gives the terminal away while the question is asked
}

// Approve decides whether a proven candidate is promoted, or a proposed
// feature is written.
func (a *Approver) Approve(ctx context.Context, p run.Proposal) (run.Answer, error) {
	if p.Feature != nil {
		return a.feature(ctx, *p.Feature)
	}
	// The order matters: --yes wins over the terminal, so that a script
	// behaves the same whether or not somebody watches it.
	open := Open(p.Candidate.Holds, a.Allow)
	switch {
	case a.Yes && len(open) == 0:
		return run.Answer{Decision: run.Apply, By: "--yes"}, nil
	case a.Yes:
		return Unattended("the patch changes files that --yes alone does not approve: " + ListHolds(open)), nil
	case !a.Attended():
		return Unattended("there is no terminal and no --yes"), nil
	}
	// Two writers on one terminal would overwrite each other.
	defer a.Board.Pause()()
	return a.ask(ctx, p)
}

// Unattended is the answer of nobody, with the reason.
func Unattended(why string) run.Answer { return run.Answer{Decision: run.Unattended, By: why} }

// Open returns the holds that need an approval of their own and have
// none: their kinds are not among allow.
func Open(holds []policy.Hold, allow []string) []policy.Hold {
	// A hold that does not block is worth a look and no more: its
	// change acts inside the box only, and passed there.
	return slices.DeleteFunc(slices.Clone(holds), func(h policy.Hold) bool {
		return !h.Block || slices.Contains(allow, h.Kind)
	})
}

// ListHolds names the kinds of holds on one line, each once, with its first path and how many more
// places there are.
func ListHolds(holds []policy.Hold) string {
	// The kind goes with the path: it is what --allow takes.
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

// ask shows the candidate and asks until it has an answer. Enter applies
// what needs no approval of its own; what does needs a word. The end of
// input means that nobody is there after all.
func (a *Approver) ask(ctx context.Context, p run.Proposal) (run.Answer, error) {
	// The question is repeated on the same screen, not the diff: the
	// person has scrolled to where they want to be.
	a.show(p)
	a.DiscardInput()
	a.Alert("a change waits for your approval")
	choices := "[a]pply, [f]ull diff, edit [c]ode, edit patch [x], [s]kip"
	if p.Again {
		choices = "[a]pply, [f]ull diff, edit [c]ode, edit patch [x], [r]egenerate, [s]kip"
	}
	for {
		typed, err := a.Question(ctx, "Write this to the workspace?", choices, a.Wait.Time)
		switch {
		case errors.Is(err, term.ErrExpired):
			return a.expired(p), nil
		case errors.Is(err, io.EOF):
			return Unattended("the terminal gave no answer"), nil
		case err != nil:
			return run.Answer{}, err
		}
		if answer, ok := a.choose(ctx, p, typed); ok || ctx.Err() != nil {
			return answer, ctx.Err()
		}
	}
}

// choose does what was typed, and returns the answer when that is one.
func (a *Approver) choose(ctx context.Context, p run.Proposal, typed string) (run.Answer, bool) {
	by := func(d run.Decision, response []byte) (run.Answer, bool) {
		return run.Answer{Decision: d, By: run.ByTerminal, Response: response}, true
	}
	// The letters of the prompt, the words, and what fingers type by
	// habit.
	switch word := term.Normalize(typed); {
	case word == "" && len(Open(p.Candidate.Holds, a.Allow)) == 0, term.OneOf(word, "a", "apply", "y", "yes"):
		return by(run.Apply, nil)
	case term.OneOf(word, "s", "skip", "n", "no"):
		return by(run.Skip, nil)
	case p.Again && term.OneOf(word, "r", "regenerate"):
		return by(run.Regenerate, nil)
	case term.OneOf(word, "f", "full", "full diff", "d", "diff"):
		PageDiff(ctx, a.Console, p.Candidate.Diff)
	case term.OneOf(word, "x", "patch", "edit patch", "xml", "edit xml"):
		if text := editResponse(ctx, a.Console, p.Response); text != nil {
			return by(run.Reword, text)
		}
	case term.OneOf(word, "c", "code", "edit code"):
		if diff := editCode(ctx, a.Console, p.Candidate.Changeset); diff != nil {
			return by(run.Amend, diff)
		}
	default:
		fmt.Fprintln(a.Stderr, "enter one of the letters in brackets")
	}
	return run.Answer{}, false
}

// expired is the answer when the countdown ends: what passed every gate
// and needs no approval of its own goes on, unless the policy is to stop.
func (a *Approver) expired(p run.Proposal) run.Answer {
	open := Open(p.Candidate.Holds, a.Allow)
	switch {
	case a.Wait.Stop:
		return Unattended("the countdown ended")
	case len(open) > 0:
		return Unattended("the countdown ended, and the patch changes files that a person must approve: " + ListHolds(open))
	}
	return run.Answer{Decision: run.Apply, By: "countdown"}
}

// show prints what the person decides on: gates, what needs their eye,
// and the beginning of the diff.
func (a *Approver) show(p run.Proposal) {
	// Everything goes to stderr: stdout carries the result alone, and
	// may be a pipe while a person answers here.
	pal := a.Palette(a.Stderr)
	fmt.Fprintf(a.Stderr, "\n%s %s\n", pal.Good("Proved:"), GatesLine(p.Candidate.Gates, p.Candidate.Unproven))
	for _, u := range p.Candidate.Unproven {
		fmt.Fprintln(a.Stderr, pal.Warn("Not judged:")+" "+term.CleanLine(u.Reason))
	}
	// Also those that do not block: a person is here to look.
	for _, h := range p.Candidate.Holds {
		fmt.Fprintln(a.Stderr, pal.Warn(term.HoldWord(h))+" "+term.CleanLine(h.Path)+": "+term.Clean(h.Reason))
	}
	fmt.Fprintln(a.Stderr)
	Preview(a.Console, p.Candidate.Diff, PreviewLines)
	fmt.Fprintln(a.Stderr)
}

// GatesLine is the gates on one line.
func GatesLine(gates []verify.Gate, unproven []verify.Unproven) string {
	var parts []string
	for _, g := range gates {
		_, word := term.GateWord(term.Palette{}, g, unproven)
		parts = append(parts, fmt.Sprintf("%s %s %.1fs", g.Name, word, g.Seconds))
	}
	return strings.Join(parts, ", ")
}

// feature decides about a proposed feature, before anything of it is
// written. Nobody asked for it, so only a person at the terminal has it
// written: with --yes, without a terminal and after the countdown, whatever
// expiry says, it stays a proposal. What comes of it is proved, and has a
// checkpoint of its own.
func (a *Approver) feature(ctx context.Context, p run.KeptProposal) (run.Answer, error) {
	switch {
	case a.Yes:
		return Unattended("--yes has no feature written that nobody asked for"), nil
	case !a.Attended():
		return Unattended("there is no terminal"), nil
	}
	// As at every checkpoint: the board rests, and no key of before counts.
	defer a.Board.Pause()()
	pal := a.Palette(a.Stderr)
	fmt.Fprintf(a.Stderr, "\n%s for %s\n\n%s\n\n", pal.Good("A feature is proposed"), term.CleanLine(p.Path), strings.TrimRight(term.Clean(p.Text), "\n"))
	a.DiscardInput()
	a.Alert("a proposed feature waits for your decision")
	for {
		typed, err := a.Question(ctx, "Implement this feature?", "[p]roceed, [s]kip, [d]elete", a.Wait.Time)
		switch {
		case errors.Is(err, term.ErrExpired):
			return Unattended("the countdown ended"), nil
		case errors.Is(err, io.EOF):
			return Unattended("the terminal gave no answer"), nil
		case err != nil:
			return run.Answer{}, err
		}
		answer := run.Answer{By: run.ByTerminal}
		switch word := term.Normalize(typed); {
		case word == "" || term.OneOf(word, "p", "proceed", "y", "yes"):
			answer.Decision = run.Apply
		case term.OneOf(word, "s", "skip", "n", "no"):
			answer.Decision = run.Skip
		case term.OneOf(word, "d", "delete", "drop"):
			answer.Decision = run.Drop
		default:
			fmt.Fprintln(a.Stderr, "enter one of the letters in brackets")
			continue
		}
		return answer, nil
	}
}

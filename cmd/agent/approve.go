package main

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

// previewLines is how much of a diff the question shows.
const previewLines = 20

// An approver decides at the checkpoint: by the policy of the flags
// when nobody is there or --yes was given, else by asking. It
// implements run.Approver. The decision and who made it go into the
// record, so the words that Approve returns are what `agent runs show`
// tells later.
type approver struct {
	*cmdline
	// Policy of the flags and the configuration.
	yes   bool
	allow []string // kinds of hold that were approved in advance
	wait  config.Patience
	board *term.Board // gives the terminal away while the question is asked
}

// Approve decides whether a proven candidate is promoted, or a proposed
// feature is written.
func (a *approver) Approve(ctx context.Context, p run.Proposal) (run.Answer, error) {
	if p.Feature != nil {
		return a.feature(ctx, *p.Feature)
	}
	// The order matters: --yes wins over the terminal, so that a script
	// behaves the same whether or not somebody watches it.
	open := a.open(p.Candidate.Holds)
	switch {
	case a.yes && len(open) == 0:
		return run.Answer{Decision: run.Apply, By: "--yes"}, nil
	case a.yes:
		return unattended("the patch changes files that --yes alone does not approve: " + listHolds(open)), nil
	case !a.Attended():
		return unattended("there is no terminal and no --yes"), nil
	}
	// Two writers on one terminal would overwrite each other.
	defer a.board.Pause()()
	return a.ask(ctx, p)
}

// unattended is the answer of nobody, with the reason.
func unattended(why string) run.Answer { return run.Answer{Decision: run.Unattended, By: why} }

// open returns the holds that need an approval of their own and have
// none.
func (a *approver) open(holds []policy.Hold) []policy.Hold {
	// A hold that does not block is worth a look and no more: its
	// change acts inside the box only, and passed there.
	return slices.DeleteFunc(slices.Clone(holds), func(h policy.Hold) bool {
		return !h.Block || slices.Contains(a.allow, h.Kind)
	})
}

// listHolds names the paths of holds on one line.
func listHolds(holds []policy.Hold) string {
	// The kind goes with each path: it is what --allow takes.
	var parts []string
	for _, h := range holds {
		parts = append(parts, fmt.Sprintf("%s (%s)", term.CleanLine(h.Path), h.Kind))
	}
	return strings.Join(parts, ", ")
}

// ask shows the candidate and asks until it has an answer. Enter applies
// what needs no approval of its own; what does needs a word. The end of
// input means that nobody is there after all.
func (a *approver) ask(ctx context.Context, p run.Proposal) (run.Answer, error) {
	// The question is repeated on the same screen, not the diff: the
	// person has scrolled to where they want to be.
	a.show(p)
	a.DiscardInput()
	choices := "[a]pply, [f]ull diff, edit [c]ode, edit [x]ml, [s]kip"
	if p.Again {
		choices = "[a]pply, [f]ull diff, edit [c]ode, edit [x]ml, [r]egenerate, [s]kip"
	}
	for {
		typed, err := a.Question(ctx, "Write this to the workspace?", choices, a.wait.Time)
		switch {
		case errors.Is(err, term.ErrExpired):
			return a.expired(p), nil
		case errors.Is(err, io.EOF):
			return unattended("the terminal gave no answer"), nil
		case err != nil:
			return run.Answer{}, err
		}
		if answer, ok := a.choose(ctx, p, typed); ok || ctx.Err() != nil {
			return answer, ctx.Err()
		}
	}
}

// choose does what was typed, and returns the answer when that is one.
func (a *approver) choose(ctx context.Context, p run.Proposal, typed string) (run.Answer, bool) {
	by := func(d run.Decision, response []byte) (run.Answer, bool) {
		return run.Answer{Decision: d, By: run.ByTerminal, Response: response}, true
	}
	// The letters of the prompt, the words, and what fingers type by
	// habit.
	switch word := term.Normalize(typed); {
	case word == "" && len(a.open(p.Candidate.Holds)) == 0, term.OneOf(word, "a", "apply", "y", "yes"):
		return by(run.Apply, nil)
	case term.OneOf(word, "s", "skip", "n", "no"):
		return by(run.Skip, nil)
	case p.Again && term.OneOf(word, "r", "regenerate"):
		return by(run.Regenerate, nil)
	case term.OneOf(word, "f", "full", "full diff", "d", "diff"):
		a.page(ctx, p.Candidate.Diff)
	case term.OneOf(word, "x", "xml", "edit xml"):
		if text := a.editResponse(ctx, p.Response); text != nil {
			return by(run.Reword, text)
		}
	case term.OneOf(word, "c", "code", "edit code"):
		if diff := a.editCode(ctx, p.Candidate.Changeset); diff != nil {
			return by(run.Amend, diff)
		}
	default:
		fmt.Fprintln(a.Stderr, "please answer with one of the letters")
	}
	return run.Answer{}, false
}

// expired is the answer when the countdown ends: what passed every gate
// and needs no approval of its own goes on, unless the policy is to stop.
func (a *approver) expired(p run.Proposal) run.Answer {
	open := a.open(p.Candidate.Holds)
	switch {
	case a.wait.Stop:
		return unattended("the countdown ended")
	case len(open) > 0:
		return unattended("the countdown ended, and the patch changes files that a person must approve: " + listHolds(open))
	}
	return run.Answer{Decision: run.Apply, By: "countdown"}
}

// show prints what the person decides on: gates, what needs their eye,
// and the beginning of the diff.
func (a *approver) show(p run.Proposal) {
	// Everything goes to stderr: stdout carries the result alone, and
	// may be a pipe while a person answers here.
	pal := a.Palette(a.Stderr)
	columns, _ := a.Size(a.Stderr)
	fmt.Fprintf(a.Stderr, "\n%s %s\n", pal.Good("Proved:"), gatesLine(p.Candidate.Gates, p.Candidate.Unproven))
	for _, u := range p.Candidate.Unproven {
		fmt.Fprintln(a.Stderr, pal.Warn("Not judged:")+" "+term.CleanLine(u.Reason))
	}
	// Also those that do not block: a person is here to look.
	for _, h := range p.Candidate.Holds {
		fmt.Fprintln(a.Stderr, pal.Warn("Look at")+" "+term.CleanLine(h.Path)+": "+term.Clean(h.Reason))
	}
	fmt.Fprintln(a.Stderr)
	term.DiffView{Palette: pal, Columns: columns, MaxLines: previewLines}.Print(a.Stderr, p.Candidate.Diff)
	fmt.Fprintln(a.Stderr)
}

// gatesLine is the gates on one line.
func gatesLine(gates []verify.Gate, unproven []verify.Unproven) string {
	var parts []string
	for _, g := range gates {
		_, word := term.GateWord(term.Palette{}, g, unproven)
		parts = append(parts, fmt.Sprintf("%s %s %.1fs", g.Name, word, g.Seconds))
	}
	return strings.Join(parts, ", ")
}

// page shows the whole diff in the user's pager, or prints it when
// there is none.
func (a *approver) page(ctx context.Context, diff string) {
	var text strings.Builder
	term.DiffView{Palette: a.Palette(a.Stderr)}.Print(&text, diff)
	a.PageText(ctx, text.String(), "less -R")
}

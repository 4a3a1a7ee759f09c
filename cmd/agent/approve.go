package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"agent/orchestrator/run"
	"agent/verify"
	holdpolicy "agent/verify/policy"
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
	wait  patience
	board *board // gives the terminal away while the question is asked
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
	case !a.attended():
		return unattended("there is no terminal and no --yes"), nil
	}
	// Two writers on one terminal would overwrite each other.
	defer a.board.yield()()
	return a.ask(ctx, p)
}

// unattended is the answer of nobody, with the reason.
func unattended(why string) run.Answer { return run.Answer{Decision: run.Unattended, By: why} }

// open returns the holds that need an approval of their own and have
// none.
func (a *approver) open(holds []holdpolicy.Hold) []holdpolicy.Hold {
	// A hold that does not block is worth a look and no more: its
	// change acts inside the box only, and passed there.
	return slices.DeleteFunc(slices.Clone(holds), func(h holdpolicy.Hold) bool {
		return !h.Block || slices.Contains(a.allow, h.Kind)
	})
}

// listHolds names the paths of holds on one line.
func listHolds(holds []holdpolicy.Hold) string {
	// The kind goes with each path: it is what --allow takes.
	var parts []string
	for _, h := range holds {
		parts = append(parts, fmt.Sprintf("%s (%s)", cleanLine(h.Path), h.Kind))
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
	a.forgetTyped()
	choices := "[a]pply, [f]ull diff, edit [c]ode, edit [x]ml, [s]kip"
	if p.Again {
		choices = "[a]pply, [f]ull diff, edit [c]ode, edit [x]ml, [r]egenerate, [s]kip"
	}
	for {
		typed, err := a.question(ctx, "Write this to the workspace?", choices, a.wait.time)
		switch {
		case errors.Is(err, errExpired):
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
	switch word := normal(typed); {
	case word == "" && len(a.open(p.Candidate.Holds)) == 0, oneOf(word, "a", "apply", "y", "yes"):
		return by(run.Apply, nil)
	case oneOf(word, "s", "skip", "n", "no"):
		return by(run.Skip, nil)
	case p.Again && oneOf(word, "r", "regenerate"):
		return by(run.Regenerate, nil)
	case oneOf(word, "f", "full", "full diff", "d", "diff"):
		a.page(ctx, p.Candidate.Diff)
	case oneOf(word, "x", "xml", "edit xml"):
		if text := a.editResponse(ctx, p.Response); text != nil {
			return by(run.Reword, text)
		}
	case oneOf(word, "c", "code", "edit code"):
		if diff := a.editCode(ctx, p.Candidate.Changeset); diff != nil {
			return by(run.Amend, diff)
		}
	default:
		fmt.Fprintln(a.stderr, "please answer with one of the letters")
	}
	return run.Answer{}, false
}

// expired is the answer when the countdown ends: what passed every gate
// and needs no approval of its own goes on, unless the policy is to stop.
func (a *approver) expired(p run.Proposal) run.Answer {
	open := a.open(p.Candidate.Holds)
	switch {
	case a.wait.stop:
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
	pal := a.palette(a.stderr)
	columns, _ := a.size(a.stderr)
	fmt.Fprintf(a.stderr, "\n%s %s\n", pal.good("Proved:"), gatesLine(p.Candidate.Gates, p.Candidate.Unproven))
	for _, u := range p.Candidate.Unproven {
		fmt.Fprintln(a.stderr, pal.warn("Not judged:")+" "+cleanLine(u.Reason))
	}
	// Also those that do not block: a person is here to look.
	for _, h := range p.Candidate.Holds {
		fmt.Fprintln(a.stderr, pal.warn("Look at")+" "+cleanLine(h.Path)+": "+clean(h.Reason))
	}
	fmt.Fprintln(a.stderr)
	diffView{palette: pal, columns: columns, most: previewLines}.print(a.stderr, p.Candidate.Diff)
	fmt.Fprintln(a.stderr)
}

// gatesLine is the gates on one line.
func gatesLine(gates []verify.Gate, unproven []verify.Unproven) string {
	var parts []string
	for _, g := range gates {
		_, word := gateWord(palette{}, g, unproven)
		parts = append(parts, fmt.Sprintf("%s %s %.1fs", g.Name, word, g.Seconds))
	}
	return strings.Join(parts, ", ")
}

// page shows the whole diff in the user's pager, or prints it when
// there is none.
func (a *approver) page(ctx context.Context, diff string) {
	var text strings.Builder
	diffView{palette: a.palette(a.stderr)}.print(&text, diff)
	a.pageText(ctx, text.String(), "less -R")
}

// pageText shows a text in the user's pager, or in less when there is no
// word of one, or prints it. The pager is the user's own program, and the
// text was cleaned.
func (c *cmdline) pageText(ctx context.Context, text, less string) {
	// No shell: the variable names a program and its flags. The -R of less
	// lets colours through and nothing else; the text was cleaned before it
	// was painted.
	words := strings.Fields(c.getenv("PAGER"))
	if len(words) == 0 {
		words = strings.Fields(less)
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		fmt.Fprint(c.stderr, text)
		return
	}
	if err := c.onTerminal(ctx, words, strings.NewReader(text)); err != nil && ctx.Err() == nil {
		fmt.Fprintf(c.stderr, "agent: pager %s: %v\n", words[0], err)
		fmt.Fprint(c.stderr, text)
	}
}

// onTerminal runs a program of the user's on the terminal and puts the
// terminal's modes back after it, also when it had to be ended. stdin is
// what the program reads, env what its environment has besides the user's.
func (c *cmdline) onTerminal(ctx context.Context, words []string, stdin io.Reader, env ...string) error {
	// A pager switches the terminal to raw mode. When it dies by a
	// signal it may not switch back, and the shell would be left
	// without an echo.
	if tty := terminal(c.stdin); tty != nil {
		if modes, err := term.GetState(int(tty.Fd())); err == nil {
			defer term.Restore(int(tty.Fd()), modes)
		}
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, c.stderr, c.stderr
	// TERM lets it leave the alternate screen; KILL follows when it
	// does not go.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	// The program is the user's own, and reads the user's own settings.
	cmd.Env = append(os.Environ(), env...)
	err := cmd.Run()
	if errors.Is(err, syscall.EPIPE) { // the person left before the end
		return nil
	}
	return err
}

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
	"agent/sandbox/workspace"
	"agent/verify"
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
	board *board   // gives the terminal away while the question is asked
}

// Approve decides whether a proven candidate is promoted.
func (a *approver) Approve(ctx context.Context, p run.Proposal) (run.Decision, string, error) {
	// The order matters: --yes wins over the terminal, so that a script
	// behaves the same whether or not somebody watches it.
	open := a.open(p.Candidate.Holds)
	switch {
	case a.yes && len(open) == 0:
		return run.Apply, "--yes", nil
	case a.yes:
		return run.Unattended, "the patch changes files that --yes alone does not approve: " + listHolds(open), nil
	case !a.attended():
		return run.Unattended, "there is no terminal and no --yes", nil
	}
	// Two writers on one terminal would overwrite each other.
	defer a.board.yield()()
	return a.ask(ctx, p)
}

// open returns the holds that need an approval of their own and have
// none.
func (a *approver) open(holds []workspace.Hold) []workspace.Hold {
	// A hold that does not block is worth a look and no more: its
	// change acts inside the box only, and passed there.
	return slices.DeleteFunc(slices.Clone(holds), func(h workspace.Hold) bool {
		return !h.Block || slices.Contains(a.allow, h.Kind)
	})
}

// listHolds names the paths of holds on one line.
func listHolds(holds []workspace.Hold) string {
	// The kind goes with each path: it is what --allow takes.
	var parts []string
	for _, h := range holds {
		parts = append(parts, fmt.Sprintf("%s (%s)", cleanLine(h.Path), h.Kind))
	}
	return strings.Join(parts, ", ")
}

// ask shows the candidate and asks until it has an answer. Nothing is
// the default: an empty line asks again. The end of input means that
// nobody is there after all.
func (a *approver) ask(ctx context.Context, p run.Proposal) (run.Decision, string, error) {
	// The question is repeated on the same screen, not the diff: the
	// person has scrolled to where they want to be.
	a.show(p)
	for {
		fmt.Fprint(a.stderr, a.palette(a.stderr).bold("Write this to the workspace?")+" [a]pply, [f]ull diff, [s]kip: ")
		answer, err := readLine(ctx, a.stdin)
		switch {
		case ctx.Err() != nil:
			fmt.Fprintln(a.stderr)
			return run.Skip, "", ctx.Err()
		case errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO): // EIO: the terminal itself went away
			fmt.Fprintln(a.stderr)
			return run.Unattended, "the terminal gave no answer", nil
		case err != nil:
			return run.Skip, "", fmt.Errorf("read the answer: %w", err)
		}
		// The letters of the prompt, the words, and what fingers type
		// by habit.
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "a", "apply", "y", "yes":
			return run.Apply, "terminal", nil
		case "s", "skip", "n", "no":
			return run.Skip, "terminal", nil
		case "f", "full", "full diff", "d", "diff":
			a.page(ctx, p.Candidate.Diff)
		default:
			fmt.Fprintln(a.stderr, "please answer a, f or s")
		}
	}
}

// show prints what the person decides on: gates, what needs their eye,
// and the beginning of the diff.
func (a *approver) show(p run.Proposal) {
	// Everything goes to stderr: stdout carries the result alone, and
	// may be a pipe while a person answers here.
	pal := a.palette(a.stderr)
	columns, _ := a.size(a.stderr)
	fmt.Fprintf(a.stderr, "\n%s %s\n", pal.good("Proved:"), gatesLine(p.Candidate.Gates))
	// Also those that do not block: a person is here to look.
	for _, h := range p.Candidate.Holds {
		fmt.Fprintln(a.stderr, pal.warn("Look at")+" "+cleanLine(h.Path)+": "+clean(h.Reason))
	}
	fmt.Fprintln(a.stderr)
	diffView{palette: pal, columns: columns, most: previewLines}.print(a.stderr, p.Candidate.Diff)
	fmt.Fprintln(a.stderr)
}

// gatesLine is the gates on one line.
func gatesLine(gates []verify.Gate) string {
	var parts []string
	for _, g := range gates {
		parts = append(parts, fmt.Sprintf("%s %s %.1fs", g.Name, g.Verdict, g.Seconds))
	}
	return strings.Join(parts, ", ")
}

// page shows the whole diff in the user's pager, or prints it when
// there is none. The pager is the user's own program, given a cleaned
// text.
func (a *approver) page(ctx context.Context, diff string) {
	var text strings.Builder
	diffView{palette: a.palette(a.stderr)}.print(&text, diff)
	// -R lets colours through and nothing else; the text was cleaned
	// before it was painted.
	pager := a.getenv("PAGER")
	if pager == "" {
		pager = "less -R"
	}
	// No shell: the variable names a program and its flags.
	words := strings.Fields(pager)
	if len(words) == 0 {
		words = []string{"less", "-R"}
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		fmt.Fprint(a.stderr, text.String())
		return
	}
	if err := a.runPager(ctx, words, text.String()); err != nil && ctx.Err() == nil {
		fmt.Fprintf(a.stderr, "agent: pager %s: %v\n", words[0], err)
		fmt.Fprint(a.stderr, text.String())
	}
}

// runPager runs the pager on the terminal and puts the terminal's modes
// back after it, also when it had to be ended.
func (a *approver) runPager(ctx context.Context, words []string, text string) error {
	// A pager switches the terminal to raw mode. When it dies by a
	// signal it may not switch back, and the shell would be left
	// without an echo.
	if tty := terminal(a.stdin); tty != nil {
		if modes, err := term.GetState(int(tty.Fd())); err == nil {
			defer term.Restore(int(tty.Fd()), modes)
		}
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), a.stderr, a.stderr
	// TERM lets it leave the alternate screen; KILL follows when it
	// does not go.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	// The pager is the user's own, and reads the user's own settings.
	cmd.Env = os.Environ()
	err := cmd.Run()
	if errors.Is(err, syscall.EPIPE) { // the person left before the end
		return nil
	}
	return err
}

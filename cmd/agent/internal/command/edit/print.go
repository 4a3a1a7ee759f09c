package edit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"agent/cmd/agent/internal/checkpoint"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/edit/match"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

// report prints how the editing ended and returns the error to exit with.
func (e *editing) report(ctx context.Context, err error) error {
	if !e.json {
		if err == nil {
			e.conclude()
		}
		return err
	}
	// A script gets its document whatever happened, and the person who reads its log gets the line.
	code := run.ExitDone
	if err != nil {
		var p run.Problem
		p, code = fault.Classify(ctx, err)
		e.doc.Error = &p
		e.PrintProblem(e.Stderr, p)
	}
	// As after a run: what was done stays true even if no one reads about it.
	if err := term.PrintJSON(e.Stdout, e.doc); err != nil && !errors.Is(err, syscall.EPIPE) {
		return fault.Infra("see what was written with git diff", "print the result: %w", err)
	}
	if code == run.ExitDone {
		return nil
	}
	return fault.Reported{Exit: code}
}

// show prints on stderr how each block was matched and what needs a look. It prints the diff on stdout, so that it can
// be piped.
func (e *editing) show() error {
	pal := e.Palette(e.Stderr)
	// Locations are aligned, since several blocks usually concern a few files.
	width := 0
	places := make([]string, len(e.doc.Edits))
	for i, a := range e.doc.Edits {
		places[i] = term.CleanLine(fmt.Sprintf("%s:%d", a.Path, a.Line))
		width = max(width, len(places[i]))
	}
	for i, a := range e.doc.Edits {
		fmt.Fprintf(e.Stderr, "block %d  %s%s  %s\n", a.Block, pal.Accent(places[i]), strings.Repeat(" ", width-len(places[i])), e.trust(pal, a.Strategy))
	}
	for _, h := range e.doc.Holds {
		fmt.Fprintln(e.Stderr, pal.Warn(term.HoldWord(h))+" "+term.CleanLine(h.Path)+": "+term.Clean(h.Reason))
	}
	return e.PrintDiff(e.doc.Diff)
}

// trust paints a strategy so that inexact matches stand out.
func (e *editing) trust(pal term.Palette, s match.Strategy) string {
	// Colour is only an aid: the word is always there.
	if !s.Verbatim() {
		return pal.Warn(string(s))
	}
	return string(s)
}

// conclude says in one line what happened to the files, and what would write them.
func (e *editing) conclude() {
	files := run.Count(len(e.doc.Files), "file")
	if e.doc.Written {
		fmt.Fprintf(e.Stderr, "wrote %s, unproved\n", files)
		return
	}
	// A preview names the flags that its holds need, so that the user does not learn of them from a refusal.
	open := checkpoint.Open(e.doc.Holds, e.allow)
	fmt.Fprintf(e.Stderr, "%s would change, nothing was written: add --write%s, or prove it with `agent sandbox run`\n", files, allowing(open))
}

// leftOut returns the entry left out of the workspace that is, or contains, name.
func leftOut(base *workspace.Manifest, name string) (workspace.Skip, bool) {
	// A directory is left out as a whole and listed once.
	for _, s := range base.Skipped {
		if s.Path == name || strings.HasPrefix(name, s.Path+"/") {
			return s, true
		}
	}
	return workspace.Skip{}, false
}

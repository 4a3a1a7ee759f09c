package python

import (
	"context"
	"strings"

	"agent/sandbox/guest"
	"agent/verify/check"
)

// RuffFormat formats Python.
var RuffFormat = check.Formatter{Name: "ruff format", Owns: check.IsPython, Command: formatCommand, Refuses: ruffUnparsed, Style: newFilesFormatted}

// ruffUnparsed reports that ruff refuses a configuration, perhaps an old one that this ruff does not know, or cannot parse
// the text. The first is the workspace's own affair, and an unformatted file is not a fault.
func ruffUnparsed(res guest.Result) bool {
	_, refused := ruffRefuses(res)
	return refused || res.Exit == 2 && strings.Contains(check.Clean(check.Bytes(res.Stderr)), "Failed to parse")
}

// formatCommand formats one file from standard input to standard output, under the configuration that applies at its path.
func formatCommand(tools check.Tools, name string, data []byte) guest.Command {
	return guest.Command{
		Args: []string{
			tools.Ruff, "format", "--no-cache", "--no-respect-gitignore", "--force-exclude", "--stdin-filename", name, "-",
		},
		Dir: check.Work, Stdin: data, MaxOutput: check.MaxToolOutput,
	}
}

// formatStyle asks about every Python file of the base at once. Only files that the patch creates need the answer, so most
// runs never ask.
func formatStyle(tools check.Tools) guest.Command {
	return guest.Command{
		Args: []string{tools.Ruff, "format", "--no-cache", "--no-respect-gitignore", "--check", "."}, Dir: check.Work,
		MaxOutput: check.MaxToolOutput,
	}
}

// newFilesFormatted decides for Python files that the patch creates. It returns 1 if the workspace has a formatted Python
// file or none at all, and 0 otherwise.
func newFilesFormatted(ctx context.Context, b check.Bench) (int, check.Outcome) {
	// The first Python file of a workspace sets the style, so it starts clean.
	if !check.OnBase(b.View.Base).Python() {
		return 1, check.Outcome{}
	}
	res, out, done := b.Command(ctx, formatStyle(b.Tools))
	if !done {
		return 0, out
	}
	text := check.Clean(check.Bytes(res.Stdout))
	// ruff closes with "3 files would be reformatted, 5 files already formatted".
	if res.Exit == 0 || strings.Contains(text, "already formatted") {
		return 1, out
	}
	return 0, out // also when ruff cannot tell: leaving a file as it was written is always safe
}

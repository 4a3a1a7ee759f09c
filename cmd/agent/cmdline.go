package main

import (
	"io"

	"agent/cmd/agent/internal/term"
)

// A cmdline is the command line of one process: its terminal, and what its commands
// share.
type cmdline struct {
	term.Console
	// What replays have found so far, which begin with nothing.
	judged *memory
}

// newCmdline returns the command line on these streams.
func newCmdline(getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) *cmdline {
	return &cmdline{Console: term.Console{Getenv: getenv, Stdin: stdin, Stdout: stdout, Stderr: stderr}, judged: &memory{rows: map[string][]byte{}}}
}

package check

import (
	"context"

	"agent/sandbox/guest"
)

// A Formatter is one language's.
type Formatter struct {
	Name string
	// Owns reports whether it formats the file at p.
	Owns func(p string) bool
	// Command formats one text from standard input to standard output by the
	// configuration that holds at its path.
	Command func(tools Tools, name string, data []byte) guest.Command
	// Refuses reports that it does not accept the text or its configuration, which
	// another gate says in its own words.
	Refuses func(res guest.Result) bool
	// Style decides for files that the patch creates: 1 when they are formatted.
	Style func(ctx context.Context, b Bench) (int, Outcome)
}

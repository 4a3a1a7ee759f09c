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

// A Fixer is what one linter repairs of its own findings, those that are [Finding.Fixable].
type Fixer struct {
	// The check whose findings it repairs, and the group of boxes that has it.
	Check, Group string
	// Fix returns one text with what its makers call safe of the repairs for rules, by the configuration that holds at
	// its path in the box, which has the base; nil where it does not accept the text.
	Fix func(ctx context.Context, b Bench, name string, text []byte, rules []string) ([]byte, Outcome)
}

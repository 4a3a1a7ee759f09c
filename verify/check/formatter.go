package check

import (
	"context"

	"agent/sandbox/guest"
)

// A Formatter is the formatter of one language.
type Formatter struct {
	Name string
	// Owns reports whether it formats the file at p.
	Owns func(p string) bool
	// Command formats one text from standard input to standard output, with the configuration that applies at its path.
	Command func(tools Tools, name string, data []byte) guest.Command
	// Refuses reports whether it rejects the text or its configuration; another gate reports that in its own words.
	Refuses func(res guest.Result) bool
	// Style decides for files that the patch creates: 1 if they are formatted.
	Style func(ctx context.Context, b Bench) (int, Outcome)
}

// A Fixer repairs some of one linter's findings: those that are [Finding.Fixable].
type Fixer struct {
	// Check is the check whose findings it repairs, and Group the group of boxes that contains it.
	Check, Group string
	// Fix returns a text after the repairs for rules that the linter's makers call safe, with the configuration that
	// applies at its path in the box. The box holds the base. It returns nil if the linter rejects the text.
	Fix func(ctx context.Context, b Bench, name string, text []byte, rules []string) ([]byte, Outcome)
}

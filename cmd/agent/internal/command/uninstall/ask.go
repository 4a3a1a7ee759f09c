package uninstall

import (
	"context"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
)

// confirm asks once whether all of that is to go. Everything but a yes is a no, and so is
// the absence of a terminal.
func confirm(ctx context.Context, c *cmdline.Line, what string) error {
	if !c.Attended() {
		return fault.Policy("re-run with --yes or in a terminal", "approval required to remove %s", what)
	}
	c.DiscardInput() // typed before it was known what goes
	answer, err := c.Question(ctx, "Remove "+what+"?", "[y]es, [n]o", 0)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil || !term.OneOf(term.Normalize(answer), "y", "yes"):
		return fault.Policy("nothing was removed", "uninstall was not approved")
	}
	return nil
}

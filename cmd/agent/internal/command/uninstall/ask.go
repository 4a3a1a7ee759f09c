package uninstall

import (
	"context"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/fault"
)

// confirm asks once whether all of that is to be removed. Anything but a yes means no, and so does a missing terminal.
func confirm(ctx context.Context, c *cmdline.Line, what string) error {
	if !c.Attended() {
		return fault.Policy("re-run with --yes or in a terminal", "approval required to remove %s", what)
	}
	yes, err := c.AskYes(ctx, "Remove "+what+"?")
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil || !yes:
		return fault.Policy("nothing was removed", "uninstall was not approved")
	}
	return nil
}

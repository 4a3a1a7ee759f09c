package cmdline

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/config"
)

// Examples is the part of a help page with examples: pairs of a command line and what it does.
func Examples(pairs ...string) string {
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		width = max(width, len(pairs[i]))
	}
	text := "Examples:"
	for i := 0; i+1 < len(pairs); i += 2 {
		text += fmt.Sprintf("\n  %-*s  # %s", width, pairs[i], pairs[i+1])
	}
	return text
}

// WorkspaceFlag names the workspace.
func WorkspaceFlag() cli.Flag {
	return config.FlagFor("workspace", "")
}

// YesFlag answers the question in advance; usage says which. It never
// approves what needs an approval of its own.
func YesFlag(usage string) cli.Flag {
	return config.FlagFor("yes", usage)
}

// ModelFlag says who is asked.
func ModelFlag() cli.Flag {
	return config.FlagFor("model", "")
}

// ModelFlags say who is asked and what it may cost.
func ModelFlags() []cli.Flag {
	return config.Flags("candidates", "model", "max-cost", "max-tokens", "max-requests", "max-time")
}

// AllowFlag approves kinds of changes in advance.
//
// The kinds are spelt out in the help, since a person meets them first in a
// refusal, and then looks here.
func AllowFlag() cli.Flag {
	return config.FlagFor("allow", "")
}

// NoInstallFlag leaves out what the workspace depends on.
//
// Gates then do not see what is imported; for a workspace
// whose lock files cannot be installed that is better than none.
func NoInstallFlag() cli.Flag {
	return config.FlagFor("no-install", "")
}

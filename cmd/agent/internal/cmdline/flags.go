package cmdline

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/verify/policy"
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
	return &cli.StringFlag{Name: "workspace", Aliases: []string{"w"}, Usage: "work on `DIR` [$AGENT_WORKSPACE] (default: .)"}
}

// JSONFlag asks for a document on stdout instead of text for people.
// Progress stays on stderr in both cases.
func JSONFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print one JSON document [$AGENT_JSON]", DisableDefaultText: true}
}

// YesFlag answers the question in advance; usage says which. It never
// approves what needs an approval of its own.
func YesFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: usage + " [$AGENT_YES]", DisableDefaultText: true}
}

// ModelFlag says who is asked.
func ModelFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "model", Usage: "ask `VENDOR/NAME` (gemini/…, ollama/…); more of them are fallbacks, in order [$AGENT_MODEL]"}
}

// ModelFlags say who is asked and what it may cost.
//
// They are text, also where they mean a number: the same values come from the
// environment and from files, and all are checked in one place.
func ModelFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "candidates", Usage: "ask for `N` different changes, take the best (1 to 64) [$AGENT_CANDIDATES]"},
		ModelFlag(),
		&cli.StringFlag{Name: "max-cost", Usage: "spend at most `AMOUNT`, in the currency of the prices [$AGENT_MAX_COST]"},
		&cli.StringFlag{Name: "max-tokens", Usage: "use at most `N` tokens [$AGENT_MAX_TOKENS]"},
		&cli.StringFlag{Name: "max-requests", Usage: "make at most `N` requests [$AGENT_MAX_REQUESTS]"},
		&cli.StringFlag{Name: "max-time", Usage: "maximum `TIME` spent waiting for models (e.g. 10m) [$AGENT_MAX_TIME]"},
	}
}

// AllowFlag approves kinds of changes in advance.
//
// The kinds are spelt out in the help, since a person meets them first in a
// refusal, and then looks here.
func AllowFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "allow", Usage: fmt.Sprintf("approve changes of this `KIND` (%s) in advance; may be repeated [$AGENT_ALLOW]", strings.Join(policy.Kinds(), ", "))}
}

// NoInstallFlag leaves out what the workspace depends on.
//
// Gates then do not see what is imported; for a workspace
// whose lock files cannot be installed that is better than none.
func NoInstallFlag() cli.Flag {
	return &cli.BoolFlag{Name: "no-install", Usage: "skip dependency installation, as AGENT_INSTALL=false does; else what lock files name is installed once, in an image", DisableDefaultText: true}
}

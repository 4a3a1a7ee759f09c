package cmdline

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
)

// Examples returns the part of a help page with examples: pairs of a command line and what it does.
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

// YesFlag answers the question in advance; usage says which one. It never approves what needs an approval of its own.
func YesFlag(usage string) cli.Flag {
	return config.FlagFor("yes", usage)
}

// ModelFlag says which model is asked.
func ModelFlag() cli.Flag {
	return config.FlagFor("model", "")
}

// ModelFlags say which models are asked and what that may cost.
func ModelFlags() []cli.Flag {
	return config.Flags("candidates", "model", "mode", "critic", "agree", "max-cost", "max-tokens", "max-requests", "max-time")
}

// ConsentFlags say, for a run whose change a model finds, what a person is asked, and what happens without an answer.
func ConsentFlags() []cli.Flag {
	return append(config.Flags("expiry", "features"),
		&cli.BoolFlag{Name: "ask-model", Usage: "ask before each request to a model, as checkpoint = \"model\" does", DisableDefaultText: true})
}

// AllowFlag approves kinds of changes in advance.
//
// The help spells out the kinds, since users meet them first in a refusal, and then look here.
func AllowFlag() cli.Flag {
	return config.FlagFor("allow", "")
}

// NoInstallFlag skips installing what the workspace depends on.
//
// Gates then do not see what is imported. For a workspace whose lock files cannot be installed that is better than
// nothing.
func NoInstallFlag() cli.Flag {
	return config.FlagFor("no-install", "")
}

// AllFlag asks for the runs of every workspace; usage says for what.
func AllFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "all", Usage: usage, DisableDefaultText: true}
}

// LastFlag names the latest run.
func LastFlag() cli.Flag {
	return &cli.BoolFlag{Name: "last", Usage: "use the latest run, as without RUN", DisableDefaultText: true}
}

// Scope returns the workspace whose runs a command is about, or "" for all.
func Scope(ctx *cli.Context, set config.Settings) string {
	if ctx.Bool("all") {
		return ""
	}
	return Resolved(set["workspace"].Text)
}

// RunName returns the run that the command line names, or "" for the latest.
func RunName(ctx *cli.Context) (string, error) {
	name := ctx.Args().First()
	if name != "" && ctx.Bool("last") {
		return "", fault.Usage("omit one of them", "--last and %q are mutually exclusive", name)
	}
	return name, nil
}

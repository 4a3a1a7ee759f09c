package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/analyze"
	"agent/cmd/agent/internal/command/blame"
	"agent/cmd/agent/internal/command/build"
	"agent/cmd/agent/internal/command/chat"
	"agent/cmd/agent/internal/command/ci"
	"agent/cmd/agent/internal/command/config"
	"agent/cmd/agent/internal/command/context"
	"agent/cmd/agent/internal/command/db"
	"agent/cmd/agent/internal/command/doctor"
	"agent/cmd/agent/internal/command/edit"
	"agent/cmd/agent/internal/command/hook"
	"agent/cmd/agent/internal/command/images"
	"agent/cmd/agent/internal/command/initialize"
	"agent/cmd/agent/internal/command/jobs"
	"agent/cmd/agent/internal/command/keys"
	"agent/cmd/agent/internal/command/loop"
	"agent/cmd/agent/internal/command/lsp"
	"agent/cmd/agent/internal/command/mcp"
	"agent/cmd/agent/internal/command/memory"
	"agent/cmd/agent/internal/command/models"
	planning "agent/cmd/agent/internal/command/plan"
	"agent/cmd/agent/internal/command/pr"
	"agent/cmd/agent/internal/command/prompts"
	"agent/cmd/agent/internal/command/proposals"
	"agent/cmd/agent/internal/command/prove"
	"agent/cmd/agent/internal/command/review"
	"agent/cmd/agent/internal/command/roles"
	"agent/cmd/agent/internal/command/runs"
	"agent/cmd/agent/internal/command/sandbox"
	"agent/cmd/agent/internal/command/schema"
	"agent/cmd/agent/internal/command/self"
	"agent/cmd/agent/internal/command/serve"
	"agent/cmd/agent/internal/command/sql"
	"agent/cmd/agent/internal/command/undo"
	"agent/cmd/agent/internal/command/uninstall"
	"agent/cmd/agent/internal/command/watch"
	"agent/cmd/agent/internal/fault"
)

// newApp returns the tree of commands. It contains only what works: the help page is a promise, so a command or flag is
// added here only when it works. Descriptions say what a command leaves alone as well as what it does, and end with
// examples that can be pasted.
func newApp(c *cmdline.Line) *cli.App {
	app := &cli.App{
		Name:  "agent",
		Usage: "prove a patch in a throwaway container, and apply it only if every check passes",
		// A file's name may hold a comma.
		DisableSliceFlagSeparator: true,
		Description: "Takes a patch, applies it to a snapshot of the workspace, proves it in containers with no\n" +
			"network, and writes it to the workspace only if it passes: all of it or nothing. Postgres\n" +
			"keeps the evidence.\n\n" + cmdline.Examples(
			"agent sandbox run change.diff", "prove a patch, then ask",
			"agent sandbox run --goal 'round prices up'", "have a model find the patch",
			"agent runs list", "what happened so far",
			"agent undo", "undo the last applied change",
			"agent doctor", "is everything available?") + "\n\n" +
			"Exit codes: 0 promoted, or proved; 1 the patch failed; 2 usage; 3 infrastructure; 4 approval\n" +
			"needed; 5 budget; 6 conflict with the workspace; 130 cancelled.\n\n" +
			"`agent help topics` lists the documentation by subject.",
		UsageText: "agent COMMAND [flags]",
		Reader:    c.Stdin, Writer: c.Stdout, ErrWriter: c.Stderr,
		// The library's own version flag takes -v and prints in its own way. Its help command would show up as a
		// subcommand of every group.
		HideVersion: true, HideHelpCommand: true, HideHelp: true,
		OnUsageError:   usageError,
		ExitErrHandler: func(*cli.Context, error) {}, // command prints errors and picks the code
		Flags:          []cli.Flag{&cli.BoolFlag{Name: "version", Usage: "print the version", DisableDefaultText: true}, helpFlag()},
		Action: func(ctx *cli.Context) error {
			if ctx.Bool("version") {
				return printVersion(c.Stdout)
			}
			return showPage(ctx.Context, c, commandPage(ctx.App.Name, nil, ctx.App))
		},
		Commands: []*cli.Command{
			sandbox.Command(c, self.Rebuilds(c)), chat.Command(c), planning.Command(c), build.Command(c), loop.Command(c), roles.Command(c), jobs.Command(c), prove.Command(c), hook.Command(c), watch.Command(c), lsp.Command(c, built().Version), ci.Command(c), edit.Command(c), runs.Command(c), proposals.Command(c), review.Command(c), undo.Command(c), blame.Command(c), pr.Command(c), serve.Command(c),
			analyze.Command(c), context.Command(c), sql.Command(c), db.Command(c), images.Command(c), doctor.Command(c), config.Command(c), initialize.Command(c),
			keys.Command(c), models.Command(c), memory.Command(c), prompts.Command(c), self.Command(c), uninstall.Command(c), mcp.Command(c, built().Version), schema.Command(c), helpCommand(c), manCommand(c),
			completionCommand(c.Stdout), versionCommand(c),
		},
	}
	tidy(c, app.Commands, "agent")
	return app
}

// tidy gives every command what they all share: no help subcommands, the same kind of usage error, and a help page for
// each group.
func tidy(c *cmdline.Line, commands []*cli.Command, parent string) {
	for _, cmd := range commands {
		// --help works everywhere; a help command would be a second way.
		cmd.HideHelpCommand, cmd.HideHelp = true, true
		cmd.Flags = append(cmdline.ShapeFlags(cmd.Flags), helpFlag())
		cmd.OnUsageError = usageError
		path := parent + " " + cmd.Name
		// A group without a subcommand is a question, not a mistake: it shows its page and succeeds. A group with an
		// action of its own keeps it.
		if len(cmd.Subcommands) > 0 && cmd.Action == nil {
			cmd.UsageText = path + " COMMAND"
			cmd.Action = func(ctx *cli.Context) error { return showPage(ctx.Context, c, commandPage(path, cmd, ctx.App)) }
		} else {
			cmd.UsageText = strings.TrimSpace(path + " [flags] " + cmd.ArgsUsage)
			cmd.Action = noStrangers(c, path, cmd)
		}
		tidy(c, cmd.Subcommands, path)
	}
}

// noStrangers wraps the action of a command so that arguments it does not take are an error: such an argument is often
// the value of a misspelt flag and must not be ignored silently. The output of the action goes through --jq or
// --template.
func noStrangers(c *cmdline.Line, path string, cmd *cli.Command) cli.ActionFunc {
	act, most := cmd.Action, 0
	switch {
	case strings.Contains(cmd.ArgsUsage, "…"):
		most = math.MaxInt
	case cmd.ArgsUsage != "":
		most = 1
	}
	// reorder put the flags before the arguments, so anything left here was meant as an argument.
	return func(ctx *cli.Context) error {
		if ctx.NArg() > most {
			return fault.Usage(fmt.Sprintf("see `%s --help`", path), "%s takes no argument %q", path, ctx.Args().Get(most))
		}
		if err := c.Shape(ctx); err != nil {
			return err
		}
		return act(ctx)
	}
}

// usageError turns an error of the flag parser into a usage error.
func usageError(ctx *cli.Context, err error, _ bool) error {
	// The parser gives the root no name of its own.
	name, next := "agent", ""
	if ctx.Command != nil && ctx.Command.HelpName != "" {
		name = ctx.Command.HelpName
	}
	// The parser's text is the only place that names the unknown flag.
	if flag, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
		var names []string
		for _, f := range ctx.Command.Flags {
			names = append(names, f.Names()...)
		}
		if near := cmdline.Nearest(strings.TrimLeft(flag, "-"), names); near != "" {
			next = "did you mean --" + near + "? "
		}
		err = fmt.Errorf("%s has no flag --%s", name, strings.TrimLeft(flag, "-"))
	}
	return fault.Usage(fmt.Sprintf("%ssee `%s --help`", next, name), "%w", err)
}

// helpFlag returns the flag that asks for the help page. The library's own flag is a single variable for the whole
// process, and every parse writes to it.
func helpFlag() cli.Flag {
	return &cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show help", DisableDefaultText: true}
}

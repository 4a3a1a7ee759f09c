package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/fault"
)

// reorder puts the command's name first, then its flags, then "--" and the positional arguments. The flag parser stops
// at the first positional argument and would silently take later flags for arguments. An unknown command is a usage
// error here, since the parser would show a help page instead. Everything after the user's own "--" is positional,
// whatever it looks like.
//
//	undo 1k3 --yes            -> undo --yes -- 1k3
//	--json runs show 1k3      -> runs show --json -- 1k3
//	sql -- --not-a-flag       -> sql -- --not-a-flag
func reorder(app *cli.App, args []string) ([]string, error) {
	valued := valuedFlags(app.Commands)
	level, path := app.Commands, []string{}
	var flags, positional []string
	var at *cli.Command
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name, isFlag := flagName(arg)
		switch {
		// The user's own mark: the rest is positional and names no command.
		case arg == "--":
			positional = append(positional, args[i+1:]...)
			i = len(args)
		case isFlag:
			flags = append(flags, arg)
			// The next word is the value, whatever it looks like: `--patch -`, `--patch --yes`. The parser reports a
			// missing value.
			if valued[name] && !strings.Contains(arg, "=") && i+1 < len(args) {
				i++
				flags = append(flags, args[i])
			}
		case len(level) > 0:
			// Until the walk reaches a command without subcommands, a bare word is the next part of its name.
			next := find(level, arg)
			switch {
			case next != nil:
				path, level, at = append(path, next.Name), next.Subcommands, next
			// A group may take an argument of its own, such as a goal. A word that may be a mistyped subcommand is not that argument.
			case at != nil && at.ArgsUsage != "" && nearest(level, arg) == "":
				positional, level = append(positional, arg), nil
			default:
				return nil, unknownCommand(path, level, arg)
			}
		default:
			positional = append(positional, arg)
		}
	}
	// The mark is added even if the user gave none, so that no argument is taken for a flag.
	ordered := append(path, flags...)
	if len(positional) > 0 {
		ordered = append(append(ordered, "--"), positional...)
	}
	return ordered, nil
}

// flagName returns the name of the flag that arg sets. A lone "-" is an argument: by convention, standard input.
func flagName(arg string) (string, bool) {
	if len(arg) < 2 || arg[0] != '-' {
		return "", false
	}
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return name, true
}

// valuedFlags collects the names of the flags that take a value. One set serves the whole tree, since a flag means the
// same everywhere; a test enforces that.
func valuedFlags(commands []*cli.Command) map[string]bool {
	// Aliases count too.
	names := map[string]bool{}
	for _, c := range commands {
		for _, f := range c.Flags {
			// Every flag except a switch takes its value from the next word.
			if _, isBool := f.(*cli.BoolFlag); !isBool {
				for _, n := range f.Names() {
					names[n] = true
				}
			}
		}
		for n := range valuedFlags(c.Subcommands) {
			names[n] = true
		}
	}
	return names
}

// find returns the command with that name, or nil.
func find(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if slices.Contains(c.Names(), name) {
			return c
		}
	}
	return nil
}

// nearest returns the name of the command that word may be a typo of, or "". It does not suggest hidden commands.
func nearest(level []*cli.Command, word string) string {
	var names []string
	for _, c := range level {
		if !c.Hidden {
			names = append(names, c.Names()...)
		}
	}
	return cmdline.Nearest(word, names)
}

// unknownCommand returns the usage error that names the nearest command.
func unknownCommand(path []string, level []*cli.Command, name string) error {
	parent := strings.Join(append([]string{"agent"}, path...), " ")
	next := fmt.Sprintf("see `%s --help`", parent)
	if near := nearest(level, name); near != "" {
		next = fmt.Sprintf("did you mean `%s %s`? See `%s --help`", parent, near, parent)
	}
	return fault.Usage(next, "%s has no command %q", parent, name)
}

// asksJSON reports whether the result must be JSON. It also works on arguments that cannot be parsed: an error must
// come in the requested format.
func asksJSON(args []string, getenv func(string) string) bool {
	// The parser may not have reached this flag, so look at the words directly.
	for _, arg := range args {
		if arg == "--" {
			break
		}
		name, isFlag := flagName(arg)
		switch {
		case isFlag && (name == "jq" || name == "template"):
			return true
		case !isFlag || name != "json":
			continue
		}
		_, value, given := strings.Cut(arg, "=")
		on, err := strconv.ParseBool(value)
		return !given || err != nil || on
	}
	on, err := strconv.ParseBool(getenv("AGENT_JSON"))
	return err == nil && on
}

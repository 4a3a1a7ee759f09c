package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/verify/policy"
)

// completeCommand is the hidden word after which the shells' scripts
// give the words typed so far; the answer is one candidate a line. It
// is no command of the tree, so that it shows in no help page and needs
// no flags.
const completeCommand = "__complete"

// The scripts for the shells: each asks the program itself, so that
// they never know less, or more, than it. They pass every word up to
// the cursor, the unfinished one last, even when it is empty. Where the
// program offers nothing, the shells fall back to file names, which is
// what the value of --patch should be.
const (
	bashScript = `# bash completion for agent:  source <(agent completion bash)
_agent() {
    local IFS=$'\n'
    COMPREPLY=($(compgen -W "$(agent __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _agent agent
`
	zshScript = `#compdef agent
# zsh completion for agent:  source <(agent completion zsh)
_agent() {
    local -a candidates
    candidates=("${(@f)$(agent __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "$candidates" ]]; then compadd -- $candidates; else _files; fi
}
compdef _agent agent
`
	fishScript = `# fish completion for agent:  agent completion fish | source
complete -c agent -a '(agent __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`
)

// completionCommand prints the scripts.
func completionCommand(w io.Writer) *cli.Command {
	// The scripts differ in nothing but their text.
	shell := func(name, script, example string) *cli.Command {
		return &cli.Command{
			Name: name, Usage: "print the script for " + name,
			Description: cmdline.Examples(example, "for this session"),
			Action: func(*cli.Context) error {
				_, err := fmt.Fprint(w, script)
				return err
			},
		}
	}
	return &cli.Command{
		Name: "completion", Usage: "print the completion script for a shell",
		Subcommands: []*cli.Command{
			shell("bash", bashScript, "source <(agent completion bash)"),
			shell("zsh", zshScript, "source <(agent completion zsh)"),
			shell("fish", fishScript, "agent completion fish | source"),
		},
	}
}

// complete prints the candidates for the last of words: commands of the
// level reached, or flags. Where neither fits it prints nothing, and
// the shell offers files.
func complete(w io.Writer, app *cli.App, words []string) {
	if len(words) == 0 {
		return
	}
	// The word under the cursor is what is to be completed; the ones
	// before it say where we are.
	last := words[len(words)-1]
	level, flags, expects := app.Commands, app.Flags, ""
	// The same walk as in reorder: a word after a flag with a value is
	// not the name of a command.
	valued := valuedFlags(app.Commands)
	for _, word := range words[:len(words)-1] {
		name, isFlag := flagName(word)
		switch {
		case expects != "":
			expects = ""
		case isFlag && valued[name] && !strings.Contains(word, "="):
			expects = name
		case isFlag:
		default:
			if cmd := find(level, word); cmd != nil {
				level, flags = cmd.Subcommands, cmd.Flags
			}
		}
	}
	// What comes after a flag is its value; only for the kinds of hold
	// are the possible ones known.
	var candidates []string
	switch {
	case expects == "allow":
		candidates = policy.Kinds()
	case expects != "":
	case strings.HasPrefix(last, "-"):
		candidates = flagNames(flags)
	default:
		for _, cmd := range level {
			if !cmd.Hidden {
				candidates = append(candidates, cmd.Name)
			}
		}
	}
	for _, candidate := range candidates {
		if strings.HasPrefix(candidate, last) {
			fmt.Fprintln(w, candidate)
		}
	}
}

// flagNames lists the long names of flags as they are typed.
func flagNames(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		names = append(names, "--"+f.Names()[0])
	}
	return names
}

package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/term"
)

// completeCommand is the hidden word after which the shells' scripts pass the words typed so far; the answer is one
// candidate per line. It is not a command in the tree, so it appears in no help page and needs no flags.
const completeCommand = "__complete"

// The scripts for the shells. Each asks the program itself, so it never knows more or less than the program. The
// scripts pass every word up to the cursor, with the unfinished one last, even if it is empty. A line of the answer is
// a word, a tab, and its meaning. If the program offers nothing, the shells fall back to file names, which suits the
// value of --patch.
const (
	bashScript = `# bash completion for agent:  source <(agent completion bash)
_agent() {
    local line word about width=0
    local -a lines
    mapfile -t lines < <(agent __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    COMPREPLY=()
    # Meanings are shown only in a list: not if one word fits, nor while the completion cycles through words.
    if [ "${#lines[@]}" -gt 1 ] && [ "${COMP_TYPE:-9}" != 37 ] && [ "${COMP_TYPE:-9}" != 42 ]; then
        for line in "${lines[@]}"; do word=${line%%$'\t'*}; [ "${#word}" -gt "$width" ] && width=${#word}; done
        for line in "${lines[@]}"; do
            word=${line%%$'\t'*} about=${line#*$'\t'}
            printf -v line '%-*s  (%.*s)' "$width" "$word" "$(( ${COLUMNS:-80} - width - 6 ))" "$about"
            COMPREPLY+=("$line")
        done
    else
        for line in "${lines[@]}"; do COMPREPLY+=("${line%%$'\t'*}"); done
    fi
}
complete -o default -o nosort -F _agent agent
`
	zshScript = `#compdef agent
# zsh completion for agent:  source <(agent completion zsh)
_agent() {
    local -a lines candidates
    local line word
    lines=("${(@f)$(agent __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    for line in $lines; do
        word=${line%%$'\t'*}
        candidates+=("${word//:/\\:}:${line#*$'\t'}")
    done
    if (( $#candidates )); then _describe -V agent candidates; else _files; fi
}
compdef _agent agent
`
	fishScript = `# fish completion for agent:  agent completion fish | source
function __agent_complete
    set -l lines (agent __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
    if test (count $lines) -gt 0
        printf '%s\n' $lines
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c agent -f -k -a '(__agent_complete)'
`
)

// completionCommand returns the command that prints the scripts.
func completionCommand(w io.Writer) *cli.Command {
	// The scripts differ only in their text.
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

// complete prints the candidates for the last of words: commands of the level reached, flags, or values. If none fits,
// it prints nothing and the shell offers files.
func complete(ctx context.Context, w io.Writer, app *cli.App, getenv func(string) string, words []string) {
	if len(words) == 0 {
		return
	}
	// The word under the cursor is to be completed; the words before it give its position in the tree.
	last := words[len(words)-1]
	level, flags, expects := app.Commands, app.Flags, ""
	var path, arguments []string
	// This is the same walk as in reorder: a word after a flag with a value is not the name of a command.
	valued := valuedFlags(app.Commands)
	for _, typed := range words[:len(words)-1] {
		name, isFlag := flagName(typed)
		switch {
		case expects != "":
			expects = ""
		case isFlag && valued[name] && !strings.Contains(typed, "="):
			expects = name
		case isFlag:
		default:
			if cmd := find(level, typed); cmd != nil {
				path, level, flags = append(path, cmd.Name), cmd.Subcommands, cmd.Flags
			} else {
				arguments = append(arguments, typed)
			}
		}
	}
	c := completer{app, getenv}
	var candidates []word
	switch {
	case expects != "":
		candidates = c.flagValues(ctx, strings.Join(path, " "), expects)
	case strings.HasPrefix(last, "-"):
		candidates = flagWords(flags)
	case len(level) > 0:
		candidates = commandWords(level)
	case len(arguments) == 0 || path[0] == "help":
		candidates = c.argumentValues(ctx, strings.Join(path, " "), arguments)
	}
	for _, candidate := range candidates {
		if strings.HasPrefix(candidate.text, last) {
			fmt.Fprintf(w, "%s\t%s\n", term.CleanLine(candidate.text), strings.ReplaceAll(term.CleanLine(candidate.about), "\t", " "))
		}
	}
}

// commandWords lists commands as users type them.
func commandWords(commands []*cli.Command) []word {
	var words []word
	for _, cmd := range commands {
		if !cmd.Hidden {
			words = append(words, word{cmd.Name, cmd.Usage})
		}
	}
	return words
}

// flagWords lists the long names of flags as users type them.
func flagWords(flags []cli.Flag) []word {
	var words []word
	for _, f := range flags {
		words = append(words, word{"--" + f.Names()[0], flagEntry(f).Text})
	}
	return words
}

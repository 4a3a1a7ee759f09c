// Package cmdlinetest provides what tests of commands need: command lines with and without a person, and settings as a
// command reads them.
package cmdlinetest

import (
	"io"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/term/termtest"
)

// A Person is a person at a terminal, with the command line whose streams are that terminal.
type Person struct {
	*termtest.Person
	Line *cmdline.Line
}

// NewPerson returns a person at a fresh terminal with this environment.
func NewPerson(t *testing.T, env map[string]string) *Person {
	t.Helper()
	p := termtest.NewPerson(t)
	return &Person{p, cmdline.New(func(k string) string { return env[k] }, p.TTY, p.TTY, p.TTY)}
}

// Unattended returns a command line without a terminal: in is the content of standard input, and output is dropped.
func Unattended(in string) *cmdline.Line {
	return cmdline.New(func(string) string { return "" }, strings.NewReader(in), io.Discard, io.Discard)
}

// App returns a program with these commands, whose own messages go to log. Tests may run it in parallel with others,
// although the library has one flag for help that every program with it writes to: App hides it.
func App(log io.Writer, commands ...*cli.Command) *cli.App {
	hideHelp(commands)
	return &cli.App{HideHelp: true, HideVersion: true, Writer: log, ErrWriter: log, Commands: commands, ExitErrHandler: func(*cli.Context, error) {}}
}

// hideHelp removes the library's help from commands and everything below them.
func hideHelp(commands []*cli.Command) {
	for _, c := range commands {
		c.HideHelp, c.HideHelpCommand = true, true
		hideHelp(c.Subcommands)
	}
}

// Settings returns the settings of the workspace dir in this environment.
func Settings(t *testing.T, env map[string]string, dir string) (set config.Settings) {
	t.Helper()
	app := &cli.App{HideHelp: true, HideVersion: true, Flags: []cli.Flag{cmdline.WorkspaceFlag()}, Action: func(ctx *cli.Context) (err error) {
		set, err = config.Load(ctx, func(k string) string { return env[k] })
		return err
	}}
	if err := app.RunContext(t.Context(), []string{"agent", "--workspace", dir}); err != nil {
		t.Fatal(err)
	}
	return set
}

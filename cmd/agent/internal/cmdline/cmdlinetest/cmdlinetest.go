// Package cmdlinetest has what tests of commands need: command lines that nobody or a person
// sits at, and settings as a command reads them.
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

// A Person at a terminal, and the command line that has it as its streams.
type Person struct {
	*termtest.Person
	Line *cmdline.Line
}

// NewPerson sits at a fresh terminal with this environment.
func NewPerson(t *testing.T, env map[string]string) *Person {
	t.Helper()
	p := termtest.NewPerson(t)
	return &Person{p, cmdline.New(func(k string) string { return env[k] }, p.TTY, p.TTY, p.TTY)}
}

// Unattended is a command line without a terminal: in is what standard input holds, and what
// is printed is dropped.
func Unattended(in string) *cmdline.Line {
	return cmdline.New(func(string) string { return "" }, strings.NewReader(in), io.Discard, io.Discard)
}

// App is a program of these commands, whose own words go to log. Tests may run it beside others: the library has one flag
// for help, which every program that has it writes to.
func App(log io.Writer, commands ...*cli.Command) *cli.App {
	hideHelp(commands)
	return &cli.App{HideHelp: true, HideVersion: true, Writer: log, ErrWriter: log, Commands: commands, ExitErrHandler: func(*cli.Context, error) {}}
}

// hideHelp takes the library's help away from commands and all below them.
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

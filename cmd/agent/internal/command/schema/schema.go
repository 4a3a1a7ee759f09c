// Package schema implements `agent schema`, which prints the JSON schemas of the documents that commands print with --json.
package schema

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/docs/schema"
)

type command struct{ *cmdline.Line }

// A Row is a schema as `schema --json` prints it.
type Row struct {
	Name string `json:"name"`
	// The $id of the schema, which ends in its version.
	ID string `json:"id"`
	// The commands that print such documents with --json.
	Commands []string `json:"commands"`
}

// Command returns the command that prints the schemas.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "schema", Usage: "print the JSON schema of what a command prints with --json", ArgsUsage: "[NAME]",
		Description: "Without NAME it lists the documents and the commands that print them. The number at the end\n" +
			"of a schema's $id is its version: it is raised when a field is renamed or removed. New fields\n" +
			"may come at any time. A command that ends with exit code 3 or higher prints a document of\n" +
			"the schema run, with the error in it; a usage error, exit code 2, prints none.\n\n" + cmdline.Examples(
			"agent schema", "the documents, and who prints them",
			"agent schema run", "the schema of `agent sandbox run --json`",
			"agent runs list --jq '.[] | select(.promoted) | .run'", "choose with jq, which need not be installed",
			"agent runs list --template '{{range .}}{{.run}} {{timeago .started}}\n{{end}}'", "print by a template"),
		Flags:  []cli.Flag{cmdline.JSONFlag(cmdline.Document[[]Row]("schemas", 1))},
		Action: c.schema,
	}
}

// schema prints one schema, or lists all.
func (c command) schema(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	rows := documents(ctx.App.Commands)
	if name := ctx.Args().First(); name != "" {
		text, err := schema.Files.ReadFile(name + ".json")
		if err != nil {
			next := "see `agent schema` for the names"
			if near := cmdline.Nearest(name, slices.Sorted(maps.Keys(rows))); near != "" {
				next = "did you mean `agent schema " + near + "`?"
			}
			return fault.Usage(next, "unknown schema %q", name)
		}
		_, err = c.Stdout.Write(text)
		return err
	}
	list := []Row{}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, *rows[name])
	}
	if set.On("json") {
		return term.PrintJSON(c.Stdout, list)
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "SCHEMA\tPRINTED BY")
		for _, r := range list {
			fmt.Fprintf(t, "%s\t%s\n", r.Name, strings.Join(r.Commands, ", "))
		}
		return t.Flush()
	})
}

// documents collects what commands print, by the names of the schemas.
func documents(commands []*cli.Command) map[string]*Row {
	rows := map[string]*Row{}
	var visit func(parent string, list []*cli.Command)
	visit = func(parent string, list []*cli.Command) {
		for _, cmd := range list {
			path := strings.TrimSpace(parent + " " + cmd.Name)
			for _, d := range cmdline.Documents(cmd) {
				if rows[d.Name] == nil {
					rows[d.Name] = &Row{Name: d.Name, ID: d.ID()}
				}
				rows[d.Name].Commands = append(rows[d.Name].Commands, path)
			}
			visit(path, cmd.Subcommands)
		}
	}
	visit("", commands)
	return rows
}

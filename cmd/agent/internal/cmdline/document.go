package cmdline

import (
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/document"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/run"
)

// Document describes, for JSONFlag, what a command prints with --json: the name and the version of its schema in
// docs/schema.
func Document[T any](name string, version int) document.Doc { return document.New[T](name, version) }

// RunDocument describes the document of a run. Every command also prints it if it failed for a reason other than its
// arguments.
func RunDocument() document.Doc { return Document[run.Document]("run", 1) }

// A jsonFlag is the --json flag of a command, with the documents that it prints.
type jsonFlag struct {
	*cli.BoolFlag
	documents []document.Doc
}

// A jqFlag is the --jq flag of a command, with the documents that it prints.
type jqFlag struct {
	*cli.StringFlag
	documents []document.Doc
}

// JSONFlag asks for a document on stdout, one of those named, instead of text for people. Progress stays on stderr in
// both cases. ShapeFlags adds --jq and --template.
func JSONFlag(documents ...document.Doc) cli.Flag {
	plain, ok := config.FlagFor("json", "").(*cli.BoolFlag)
	if !ok {
		return nil
	}
	return &jsonFlag{plain, documents}
}

// ShapeFlags returns flags with --jq and --template after --json.
func ShapeFlags(flags []cli.Flag) []cli.Flag {
	var all []cli.Flag
	for _, f := range flags {
		j, ok := f.(*jsonFlag)
		if !ok {
			all = append(all, f)
			continue
		}
		all = append(
			all, j.BoolFlag,
			&jqFlag{&cli.StringFlag{Name: "jq", Usage: "print what the jq expression `EXPR` selects from the JSON document"}, j.documents},
			&cli.StringFlag{Name: "template", Usage: "print the JSON document by the Go template `TEXT`"},
		)
	}
	return all
}

// Documents returns what a command prints with --json, or nil if it has no such flag.
func Documents(cmd *cli.Command) []document.Doc {
	for _, f := range cmd.Flags {
		if j, ok := f.(*jqFlag); ok {
			return j.documents
		}
	}
	return nil
}

// Shape makes --jq or --template, which imply JSON, filter the documents of the command. Finish ends the filter.
func (c *Line) Shape(ctx *cli.Context) error {
	if !ctx.IsSet("jq") && !ctx.IsSet("template") {
		return nil
	}
	name := "jq"
	switch {
	case ctx.IsSet("jq") && ctx.IsSet("template"):
		return fault.Usage("use only one of them", "--jq and --template are mutually exclusive")
	case ctx.IsSet("template"):
		name = "template"
	}
	if ctx.IsSet("json") && !ctx.Bool("json") {
		return fault.Usage("omit --json=false", "--json=false and --%s are mutually exclusive", name)
	}
	// A document escapes what would move a cursor; the texts in it do not.
	var clean func(string) string
	if term.Terminal(c.Stdout) != nil {
		clean = term.Clean
	}
	var show document.Show
	var err error
	if name == "jq" {
		show, err = document.JQ(ctx.String(name), clean)
	} else {
		show, err = document.Template(ctx.String(name), clean, time.Now)
	}
	if err != nil {
		return fault.Usage("see `agent schema` for the fields of each document", "--%s: %w", name, err)
	}
	if err := ctx.Set("json", "true"); err != nil {
		return err
	}
	c.filter = document.NewFilter(ctx.Context, c.Stdout, show)
	c.Stdout = c.filter
	return nil
}

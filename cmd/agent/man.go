package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/page"
	"agent/docs"
)

// The manual sections of the pages.
const (
	commandSection = 1
	topicSection   = 7
)

// manCommand returns the command that writes the help pages and topics as manual pages.
func manCommand(c *cmdline.Line) *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the manual page, or write all of them",
		Description: "Prints the manual page of the program. With --dir it writes a page for each command, in\n" +
			"section 1 (agent-sandbox-run.1), and one for each topic, in section 7 (agent-gates.7).\n" +
			"They are made from the same text as the help pages.\n\n" + cmdline.Examples(
			"agent man | man -l -", "read it",
			"agent man --dir ~/.local/share/man", "install all of them, in man1 and man7"),
		Flags: []cli.Flag{&cli.StringFlag{Name: "dir", Usage: "write all pages below `DIR`, in man1 and man7"}},
		Action: func(ctx *cli.Context) error {
			if !ctx.IsSet("dir") {
				all := manuals(ctx.App)
				_, err := io.WriteString(c.Stdout, all[0].text)
				return err
			}
			dir := ctx.String("dir")
			if dir == "" {
				return fault.Usage("name a directory: --dir DIR", "--dir names no directory")
			}
			for _, m := range manuals(ctx.App) {
				if err := m.write(dir); err != nil {
					return fault.Infra("name a directory that you may write to", "write the manual pages: %w", err)
				}
			}
			return nil
		},
	}
}

// A manual is one manual page.
type manual struct {
	name    string
	section int
	text    string
}

// write writes the page below dir, to the place where man looks for it.
func (m manual) write(dir string) error {
	dir = filepath.Join(dir, fmt.Sprintf("man%d", m.section))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s.%d", m.name, m.section)), []byte(m.text), 0o644)
}

// manuals returns all pages, with the program's page first.
func manuals(app *cli.App) []manual {
	list := []manual{newManual(app.Name, commandSection, app.Usage, commandPage(app.Name, nil, app))}
	var visit func(path string, commands []*cli.Command)
	visit = func(path string, commands []*cli.Command) {
		for _, cmd := range commands {
			if cmd.Hidden {
				continue
			}
			full := path + " " + cmd.Name
			list = append(list, newManual(strings.ReplaceAll(full, " ", "-"), commandSection, cmd.Usage, commandPage(full, cmd, app)))
			visit(full, cmd.Subcommands)
		}
	}
	visit(app.Name, app.Commands)
	for _, name := range docs.Names() {
		topic, _ := docs.Find(name)
		blocks := append([]page.Block{{Kind: page.Heading, Level: 2, Text: "Description"}}, page.Markdown(topic.Text)[1:]...)
		list = append(list, newManual(app.Name+"-"+name, topicSection, about(name), blocks))
	}
	return list
}

// newManual returns one page. If a help page begins with the name, that part is dropped: the manual page already has it.
func newManual(name string, section int, about string, blocks []page.Block) manual {
	if blocks[0].Text == "Name:" {
		blocks = blocks[2:]
	}
	for i, b := range blocks {
		if b.Kind == page.Heading {
			blocks[i].Text = strings.TrimSuffix(b.Text, ":")
		}
	}
	var text strings.Builder
	page.Roff(&text, page.Manual{Name: name, Section: section, Date: built().Day(), About: about}, blocks)
	return manual{name, section, text.String()}
}

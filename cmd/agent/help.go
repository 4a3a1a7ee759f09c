package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/page"
	"agent/cmd/agent/internal/term"
	"agent/docs"
	"agent/sandbox/workspace/lazyregexp"
)

// allTopics is the word after `agent help` that lists the topics.
const allTopics = "topics"

// helpWidth is the maximum width of a page, in columns: longer lines are hard to read.
const helpWidth = 120

// helpCommand returns the command that shows the page of a command, or a topic.
func helpCommand(c *cmdline.Line) *cli.Command {
	return &cli.Command{
		Name: "help", Usage: "show the help of a command, or a topic", ArgsUsage: "[COMMAND… | TOPIC]",
		Description: "Shows the page of a command, as COMMAND --help does, or of a topic: what the program does and\n" +
			"why, by subject. Pages fit the terminal's width. `agent man` writes them as manual pages.\n\n" + cmdline.Examples(
			"agent help sandbox run", "the page of a command",
			"agent help topics", "the list of topics",
			"agent help gates", "one topic"),
		Action: func(ctx *cli.Context) error {
			words := ctx.Args().Slice()
			switch {
			case len(words) == 0:
				return showPage(ctx.Context, c, commandPage(ctx.App.Name, nil, ctx.App))
			case len(words) == 1 && words[0] == allTopics:
				return showPage(ctx.Context, c, topicsPage())
			}
			var blocks []page.Block
			if path, cmd := walkTo(ctx.App, words); cmd != nil {
				blocks = commandPage(path, cmd, ctx.App)
			}
			// A command may share its name with a topic, which then follows its page.
			if topic, ok := docs.Find(words[0]); ok && len(words) == 1 {
				blocks = append(blocks, page.Markdown(topic.Text)...)
			}
			if blocks == nil {
				return unknownTopic(ctx.App, words)
			}
			return showPage(ctx.Context, c, blocks)
		},
	}
}

// walkTo returns the command that words name, or nil.
func walkTo(app *cli.App, words []string) (string, *cli.Command) {
	path, level := app.Name, app.Commands
	var cmd *cli.Command
	for _, word := range words {
		if cmd = find(level, word); cmd == nil {
			return "", nil
		}
		path, level = path+" "+cmd.Name, cmd.Subcommands
	}
	return path, cmd
}

// unknownTopic returns the usage error that names the nearest command or topic.
func unknownTopic(app *cli.App, words []string) error {
	asked := strings.Join(words, " ")
	if len(words) > 1 {
		path, level := []string{}, app.Commands
		for _, word := range words {
			cmd := find(level, word)
			if cmd == nil {
				break
			}
			path, level = append(path, cmd.Name), cmd.Subcommands
		}
		if len(path) > 0 && len(level) > 0 {
			return unknownCommand(path, level, words[len(path)])
		}
	}
	names := append(docs.Names(), allTopics)
	for _, cmd := range app.Commands {
		if !cmd.Hidden {
			names = append(names, cmd.Name)
		}
	}
	next := "see `agent help topics` for topics, `agent --help` for commands"
	if near := cmdline.Nearest(asked, names); near != "" {
		next = fmt.Sprintf("did you mean `agent help %s`? See `agent help topics`", near)
	}
	return fault.Usage(next, "unknown command or topic %q", asked)
}

// asksHelp returns the path of the command whose page the ordered arguments ask for, and whether they ask for one.
func asksHelp(app *cli.App, ordered []string) ([]string, bool) {
	valued, path, asked := valuedFlags(app.Commands), []string{}, false
	for i := 0; i < len(ordered) && ordered[i] != "--"; i++ {
		name, isFlag := flagName(ordered[i])
		switch {
		case isFlag && valued[name] && !strings.Contains(ordered[i], "="):
			i++
		case isFlag:
			asked = asked || ordered[i] == "--help" || ordered[i] == "-h"
		default:
			path = append(path, ordered[i])
		}
	}
	return path, asked
}

// showPage prints a page, in the user's pager if it is longer than the terminal.
func showPage(ctx context.Context, c *cmdline.Line, blocks []page.Block) error {
	columns, lines := c.Size(c.Stdout)
	var text strings.Builder
	page.Text(&text, blocks, min(columns, helpWidth), c.Palette(c.Stdout))
	direct := term.Terminal(c.Stdout) == nil || c.Getenv("TERM") == "dumb" || strings.Count(text.String(), "\n") < lines
	return c.Page(ctx, direct, func(w io.Writer) error {
		_, err := io.WriteString(w, text.String())
		return err
	})
}

// topicsPage lists the topics.
func topicsPage() []page.Block {
	blocks := []page.Block{{Kind: page.Heading, Level: 1, Text: "Topics"}, {Kind: page.Paragraph, Text: "`agent help TOPIC` shows one."}}
	for _, g := range docs.Groups() {
		blocks = append(blocks, page.Block{Kind: page.Heading, Level: 2, Text: g.Title})
		for _, name := range g.Topics {
			blocks = append(blocks, page.Block{Kind: page.Entry, Term: name, Text: about(name)})
		}
	}
	return blocks
}

// about returns the one-line description of a topic: its title without the name.
func about(topic string) string {
	t, _ := docs.Find(topic)
	if _, rest, ok := strings.Cut(t.Title, ": "); ok {
		return rest
	}
	return t.Title
}

// commandPage returns the help page of a command, or of the program if cmd is nil.
func commandPage(path string, cmd *cli.Command, app *cli.App) []page.Block {
	// The program is described like a command.
	title := "Options:"
	if cmd == nil {
		cmd, title = &cli.Command{Usage: app.Usage, UsageText: app.UsageText, Description: app.Description, Subcommands: app.Commands, Flags: app.Flags}, "Global options:"
	}
	heading := func(text string) page.Block { return page.Block{Kind: page.Heading, Level: 2, Text: text} }
	blocks := []page.Block{
		heading("Name:"),
		{Kind: page.Paragraph, Text: path + " - " + cmd.Usage},
		heading("Usage:"),
		{Kind: page.Example, Term: cmd.UsageText},
	}
	said, examples := describe(cmd.Description)
	if len(said) > 0 {
		blocks = append(append(blocks, heading("Description:")), said...)
	}
	if len(examples) > 0 {
		blocks = append(append(blocks, heading("Examples:")), examples...)
	}
	if len(cmd.Subcommands) > 0 {
		blocks = append(blocks, heading("Commands:"))
		for _, sub := range cmd.Subcommands {
			if !sub.Hidden {
				blocks = append(blocks, page.Block{Kind: page.Entry, Term: sub.Name, Text: sub.Usage})
			}
		}
	}
	blocks = append(blocks, heading(title))
	for _, f := range cmd.Flags {
		blocks = append(blocks, flagEntry(f))
	}
	return blocks
}

// describe splits a description into paragraphs, indented lines and examples.
func describe(text string) (said, examples []page.Block) {
	inExamples := false
	// A blank line ends whatever came before it.
	for _, part := range strings.Split(text, "\n\n") {
		var prose []string
		flush := func() {
			if len(prose) > 0 {
				said = append(said, page.Block{Kind: page.Paragraph, Text: strings.Join(prose, " ")})
			}
			prose = nil
		}
		inExamples = false
		for _, line := range strings.Split(part, "\n") {
			switch {
			case line == "Examples:":
				inExamples = true
			case inExamples && strings.HasPrefix(line, "  "):
				command, about, _ := strings.Cut(strings.TrimSpace(line), "  # ")
				examples = append(examples, page.Block{Kind: page.Example, Term: strings.TrimSpace(command), Text: about})
			case strings.HasPrefix(line, "  "):
				flush()
				said = append(said, page.Block{Kind: page.Example, Term: strings.TrimSpace(line)})
			case line != "":
				prose = append(prose, line)
			}
		}
		flush()
	}
	return said, examples
}

var placeholder = lazyregexp.New("`([^`]+)`")

// flagEntry is a flag as a help page lists it: short names first, and what its value is called.
func flagEntry(f cli.Flag) page.Block {
	// The library knows defaults and which flags repeat; its text is "names\tusage".
	names, usage, _ := strings.Cut(f.String(), "\t")
	repeats := strings.Contains(names, "[ ")
	list := slices.Clone(f.Names())
	slices.SortStableFunc(list, func(a, b string) int { return len(a) - len(b) })
	for i, name := range list {
		list[i] = "--" + name
		if len(name) == 1 {
			list[i] = "-" + name
		}
	}
	entry := strings.Join(list, ", ")
	if described, ok := f.(cli.DocGenerationFlag); ok && described.TakesValue() {
		value := "VALUE"
		if m := placeholder.FindStringSubmatch(described.GetUsage()); m != nil {
			value = m[1]
		}
		entry += " " + value
	}
	if repeats {
		entry += " …"
	}
	return page.Block{Kind: page.Entry, Term: entry, Text: strings.TrimSpace(usage)}
}

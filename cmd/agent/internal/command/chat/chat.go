// Package chat implements `agent chat`: conversations about a project with a model that looks around in it.
package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/sandbox"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/chat"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
)

type command struct{ *cmdline.Line }

// Command returns the commands for conversations: holding one, and listing and showing earlier ones.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "chat", Usage: "talk with a model about the project, and turn that into a patch or a goal", ArgsUsage: "[QUESTION…]",
		Description: "The model looks around in a snapshot with tools: it reads, searches, tries commands in a\n" +
			"throwaway container, and edits a draft. Only /apply writes to the workspace, through the same\n" +
			"gate as `agent sandbox run`. Conversations are kept: --resume continues the last one, or the\n" +
			"one with the given number. A question that was cut off is continued, and no answer is paid for\n" +
			"twice. @PATH in a question shows the model that file, or a picture if the model sees pictures;\n" +
			"@PATH:10-40 shows lines of it. At a terminal Ctrl-C ends an answer, /help lists the commands,\n" +
			"and Ctrl-D leaves. With QUESTION, or if standard input is not a terminal, one question is\n" +
			"answered, and only the answer is printed on standard output. QUESTION may be a /command.\n\n" + cmdline.Examples(
			"agent chat", "begin a conversation",
			"agent chat 'where are prices rounded?'", "one question",
			"agent chat --resume", "continue the last one",
			"agent chat --resume 7 'do the same for @shop/tax.py'", "continue another one",
			"agent chat --json < question.txt", "for scripts",
			"agent chat --resume 7 /prove", "judge its draft",
			"agent chat --resume 7 --yes /apply", "and written"),
		Flags: slices.Concat([]cli.Flag{
			cmdline.WorkspaceFlag(),
			&cli.BoolFlag{Name: "resume", Usage: "continue the last conversation about the workspace, or the one whose number precedes QUESTION", DisableDefaultText: true},
			&cli.StringSliceFlag{Name: "picture", Usage: "show the model the picture `FILE` with the first question"},
		}, config.Flags("model", "mode", "max-cost", "max-tokens", "max-requests", "max-time"), []cli.Flag{
			cmdline.YesFlag("have /apply write what passed without asking"),
			cmdline.AllowFlag(), cmdline.NoInstallFlag(), cmdline.JSONFlag(cmdline.Document[Answer]("chat", 1), cmdline.RunDocument()),
		}),
		Action: c.chat,
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list conversations",
				Description: "Lists the conversations about the workspace, the latest first.\n\n" + cmdline.Examples("agent chat list", "of this workspace"),
				Flags:       []cli.Flag{cmdline.WorkspaceFlag(), cmdline.AllFlag("the conversations about every workspace"), cmdline.JSONFlag(cmdline.Document[[]Row]("chats", 1))},
				Action:      c.list,
			},
			{
				Name: "show", Usage: "print a conversation", ArgsUsage: "[ID]",
				Description: "Prints the questions and answers of a conversation, the last one without ID, and its draft.\n\n" + cmdline.Examples(
					"agent chat show", "the last one of this workspace", "agent chat show 7 --json", "for scripts"),
				Flags:  []cli.Flag{cmdline.WorkspaceFlag(), cmdline.JSONFlag(cmdline.Document[Whole]("chat-show", 1))},
				Action: c.show,
			},
		},
	}
}

// chat runs the command.
func (c command) chat(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	req, err := sandbox.BaseRequest(set)
	if err != nil {
		return err
	}
	id, words, err := named(ctx)
	if err != nil {
		return err
	}
	text := strings.Join(words, " ")
	alone := text != "" || term.Terminal(c.Stdin) == nil || set.On("json")
	switch {
	case text == "" && term.Terminal(c.Stdin) != nil && (set.On("json") || term.Terminal(c.Stderr) == nil):
		return fault.Usage("ask a question: agent chat 'where is …?'", "no question was given, and there is no terminal to type one at")
	case text == "" && alone:
		if text, err = c.piped(ctx.Context); err != nil {
			return err
		}
		if text == "" && !ctx.Bool("resume") {
			return fault.Usage("ask a question: agent chat 'where is …?', or on standard input", "the question is empty")
		}
	}
	pictures, err := c.pictures(set, ctx.StringSlice("picture"))
	if err != nil {
		return err
	}
	if err := c.needed(ctx.Context, set, text); err != nil {
		return err
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		found, err := c.open(ctx, s, set, req, id, text)
		if err != nil {
			return err
		}
		t := &talk{command: c, ctx: ctx, set: set, session: s, req: req, pictures: pictures, print: &printer{Console: &c.Console, stream: !alone}}
		if t.chat, err = s.Chat(set, req, found, t.print.progress, t.print.note); err != nil {
			return err
		}
		if err := t.chat.Resume(ctx.Context); err != nil {
			return err
		}
		if alone {
			return t.once(text)
		}
		return t.hold()
	})
}

// needed returns an error if the text needs a model, and none could answer.
func (c command) needed(ctx context.Context, set config.Settings, text string) error {
	if word, _, _ := strings.Cut(text, " "); slices.Contains([]string{"/diff", "/drop", "/prove", "/apply", "/help"}, word) {
		return nil
	}
	return wire.CheckAnyModel(ctx, set)
}

// named splits the arguments into the number of a conversation, 0 for the last one, and the words of a question.
func named(ctx *cli.Context) (id int64, words []string, err error) {
	words = ctx.Args().Slice()
	if !ctx.Bool("resume") || len(words) == 0 {
		return 0, words, nil
	}
	if n, err := strconv.ParseInt(words[0], 10, 64); err == nil {
		if n < 1 {
			return 0, nil, fault.Usage("see `agent chat list`", "%s is not the number of a conversation", words[0])
		}
		return n, words[1:], nil
	}
	return 0, words, nil
}

// maxQuestion is the maximum length of a question that is read from a pipe, in bytes.
const maxQuestion = 256 << 10

// piped reads a question from standard input.
func (c command) piped(ctx context.Context) (string, error) {
	data, err := term.Read(ctx, c.Stdin, maxQuestion)
	switch {
	case errors.Is(err, term.ErrTooLarge):
		return "", fault.Usage("put it into a file of the workspace and name that file with @PATH", "the question is longer than %d bytes", maxQuestion)
	case err != nil:
		return "", fmt.Errorf("read the question: %w", err)
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(data), "\ufffd")), nil
}

// open finds the conversation to continue, or begins one.
func (c command) open(ctx *cli.Context, s *wire.Session, set config.Settings, req run.Request, id int64, text string) (chat.Chat, error) {
	if ctx.Bool("resume") {
		found, err := find(ctx.Context, s, req.Place.Path, id)
		if err == nil && found.Workspace != req.Place.Path {
			err = fault.Usage("use --workspace "+found.Workspace, "conversation %d is about %s, not about %s", found.ID, found.Workspace, req.Place.Path)
		}
		return found, err
	}
	if strings.HasPrefix(text, "/") {
		if _, known := commands[strings.Fields(text)[0]]; known {
			return chat.Chat{}, fault.Usage("add --resume", "%s needs a conversation, and none is named", strings.Fields(text)[0])
		}
	}
	found := chat.Chat{Workspace: req.Place.Path, Fence: loop.NewFenceWord()}
	var err error
	found.ID, err = s.DB.Chats().Begin(ctx.Context, found)
	return found, err
}

// find returns the conversation with that number, or for 0 the last one about a workspace.
func find(ctx context.Context, s *wire.Session, workspace string, id int64) (chat.Chat, error) {
	if id > 0 {
		found, err := s.DB.Chats().Find(ctx, id)
		if errors.Is(err, database.ErrNotFound) {
			err = fault.Usage("see `agent chat list --all`", "there is no conversation %d", id)
		}
		return found, err
	}
	list, err := s.DB.Chats().List(ctx, workspace, 1)
	if err == nil && len(list) == 0 {
		err = fault.Usage("`agent chat` begins one", "there is no conversation about %s yet", workspace)
	}
	if err != nil {
		return chat.Chat{}, err
	}
	return list[0], nil
}

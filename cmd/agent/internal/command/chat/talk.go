package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/command/sandbox"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/chat"
	"agent/orchestrator/llm"
	"agent/orchestrator/run"
)

// A talk is a conversation in progress.
type talk struct {
	command
	ctx      *cli.Context
	set      config.Settings
	session  *wire.Session
	req      run.Request
	chat     *chat.Session
	print    *printer
	pictures []llm.Picture // for the next question
}

// commands are what the user may type besides questions, with the argument and the effect of each.
var commands = map[string]struct{ takes, about string }{
	"/diff":  {"", "show the draft"},
	"/prove": {"", "judge the draft by the gates; nothing is written"},
	"/apply": {"", "judge the draft, and write it to the workspace if it passes and you agree"},
	"/drop":  {"", "discard the draft"},
	"/goal":  {"[TEXT]", "find, prove and repair a change for a goal: TEXT, or a goal that the model derives from this conversation"},
	"/retry": {"", "continue a question that has no answer"},
	"/help":  {"", "this list"},
	"/quit":  {"", "leave, as Ctrl-D does; `agent chat --resume` continues"},
}

// errQuit ends the session; the conversation can be resumed.
var errQuit = errors.New("quit")

// hold asks for questions until the user leaves. Ctrl-C ends only what is in progress.
func (t *talk) hold() error {
	p := t.Palette(t.Stderr)
	fmt.Fprintf(t.Stderr, "%s\n", p.Dim(fmt.Sprintf("conversation %d with %s; /help lists what you can do, Ctrl-D leaves", t.chat.Chat.ID, wire.FirstModel(t.set))))
	if t.chat.Questions() > 0 {
		fmt.Fprintf(t.Stderr, "%s\n", p.Dim(fmt.Sprintf("%s, %s so far", term.CleanLine(t.chat.Chat.Title), count(t.chat.Questions(), "question"))))
	}
	if t.chat.Pending() != nil {
		fmt.Fprintln(t.Stderr, p.Warn("continuing the question that was cut off: ")+term.Headline(t.chat.Pending().Typed))
		if err := t.guarded(func(ctx context.Context) error { return t.carry(ctx) }); err != nil {
			return err
		}
	}
	for {
		text := ""
		err := t.guarded(func(ctx context.Context) (err error) {
			text, err = t.AskText(ctx, "\n"+p.Bold("you>")+" ")
			return err
		})
		switch {
		case errors.Is(err, io.EOF):
			fmt.Fprintf(t.Stderr, "\n%s\n", p.Dim(fmt.Sprintf("`agent chat --resume %d` continues it", t.chat.Chat.ID)))
			return nil
		case err != nil:
			return err
		case strings.TrimSpace(text) == "":
			continue
		}
		err = t.guarded(func(ctx context.Context) error { return t.take(ctx, text) })
		if errors.Is(err, errQuit) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// guarded runs a part of the session that Ctrl-C ends alone; a second one meanwhile goes to the process. Other errors of the
// part are reported, and the session goes on. guarded returns only errQuit and the end of the process or of the input.
func (t *talk) guarded(part func(context.Context) error) error {
	ctx, cancel := context.WithCancel(t.ctx.Context)
	defer cancel()
	var pressed atomic.Int32
	if t.Interrupts != nil {
		defer t.Interrupts.Handle(func() bool {
			cancel()
			return pressed.Add(1) < 2
		})()
	}
	err := part(ctx)
	var reported fault.Reported
	switch {
	case err == nil, errors.As(err, &reported):
		return nil
	case t.ctx.Context.Err() != nil, errors.Is(err, io.EOF), errors.Is(err, errQuit):
		return err
	case ctx.Err() != nil:
		fmt.Fprintln(t.Stderr)
		t.print.note("interrupted")
		return nil
	}
	problem, _ := fault.Classify(ctx, err)
	t.PrintProblem(t.Stderr, problem)
	if t.chat.Pending() != nil {
		t.print.note("/retry continues the question; what was already answered is not paid for again")
	}
	return nil
}

// once answers one question, or carries out a command, and prints the result.
func (t *talk) once(text string) error {
	ctx := t.ctx.Context
	if t.chat.Pending() != nil && text != "/retry" {
		t.print.note("continuing the question that was cut off: " + term.Headline(t.chat.Pending().Typed))
		said, err := t.chat.Carry(ctx)
		if text == "" || err != nil {
			return t.tell(said, err)
		}
	}
	if text == "" {
		return fault.Usage("ask a question: agent chat --resume 'where is …?'", "no question was cut off, and none was given")
	}
	return t.take(ctx, text)
}

// take carries out what was typed.
func (t *talk) take(ctx context.Context, text string) error {
	word, rest, _ := strings.Cut(text, " ")
	if _, known := commands[word]; !known {
		if strings.HasPrefix(word, "/") && !strings.Contains(word[1:], "/") {
			return fault.Usage("/help lists the commands; begin with a space to ask it as a question", "unknown command %s", term.CleanLine(word))
		}
		return t.ask(ctx, text)
	}
	rest = strings.TrimSpace(rest)
	if rest != "" && commands[word].takes == "" {
		return fault.Usage("see /help", "%s takes no argument", word)
	}
	switch word {
	case "/help":
		t.help()
	case "/quit":
		return errQuit
	case "/diff":
		return t.diff()
	case "/drop":
		if err := t.chat.Drop(ctx, "The person gave your draft up. It is empty now.\n"); err != nil {
			return err
		}
		t.print.note("the draft is discarded")
	case "/retry":
		if t.chat.Pending() == nil {
			return fault.Usage("ask a question", "every question is answered")
		}
		return t.carry(ctx)
	case "/prove":
		return t.judge(ctx, true)
	case "/apply":
		return t.judge(ctx, false)
	case "/goal":
		return t.goal(ctx, rest)
	}
	return nil
}

// help lists the commands.
func (t *talk) help() {
	columns, _ := t.Size(t.Stderr)
	var names []string
	for name := range commands {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		head := strings.TrimSpace(name + " " + commands[name].takes)
		fmt.Fprintf(t.Stderr, "  %-14s %s\n", head, term.Fill(commands[name].about, columns, 17))
	}
	fmt.Fprintf(t.Stderr, "  %-14s %s\n", "@PATH", term.Fill("in a question: show that file, @PATH:10-40 lines of it, or a picture", columns, 17))
}

// ask asks a question.
func (t *talk) ask(ctx context.Context, text string) error {
	q, err := t.picked(ctx, text)
	if err != nil {
		return err
	}
	q.Pictures, t.pictures = append(t.pictures, q.Pictures...), nil
	t.print.begin()
	said, err := t.chat.Ask(ctx, q)
	return t.tell(said, err)
}

// carry continues with the pending question.
func (t *talk) carry(ctx context.Context) error {
	t.print.begin()
	said, err := t.chat.Carry(ctx)
	return t.tell(said, err)
}

// tell prints the result of a question.
func (t *talk) tell(said conversation.Said, err error) error {
	t.print.end(err == nil)
	if err != nil {
		return err
	}
	switch {
	case t.set.On("json"):
		return term.PrintJSON(t.Stdout, t.document(said))
	case !t.print.stream:
		fmt.Fprintln(t.Stdout, strings.TrimSpace(t.Hidden(said.Text)))
	}
	t.print.foot(said, t.chat.Changes())
	return nil
}

// Hidden returns a text cleaned for a terminal, or unchanged for a pipe.
func (t *talk) Hidden(text string) string {
	if term.Terminal(t.Stdout) != nil {
		return term.Clean(text)
	}
	return text
}

// diff shows the draft.
func (t *talk) diff() error {
	if t.chat.Changes().Empty() {
		t.print.note("there is no draft: ask for a change")
		return nil
	}
	return t.PrintDiff(t.chat.Changes().Diff())
}

// judge takes the draft through the gate, and tells the model the outcome with the next question.
func (t *talk) judge(ctx context.Context, only bool) error {
	patch, err := t.chat.Response()
	if err != nil {
		return err
	}
	if patch == nil {
		return fault.Usage("ask for a change first", "there is no draft")
	}
	if t.session.Engine == nil {
		return fault.Infra("start the container engine; `agent doctor` says what is wrong", "the gates need a container engine, and none answers")
	}
	req, err := sandbox.BaseRequest(t.set)
	if err != nil {
		return err
	}
	req.Patch, req.PatchName, req.NoPromote = patch, fmt.Sprintf("conversation %d", t.chat.Chat.ID), only || req.NoPromote
	a := &sandbox.Attempt{Line: t.Line, Session: t.session, Settings: t.set}
	reported := a.Prove(t.within(ctx), req)
	return errors.Join(t.settled(a.Ended), reported)
}

// goal has a change found for a goal.
func (t *talk) goal(ctx context.Context, text string) error {
	if t.session.Engine == nil {
		return fault.Infra("start the container engine; `agent doctor` says what is wrong", "the gates need a container engine, and none answers")
	}
	if text == "" {
		t.print.begin()
		said, err := t.chat.Ask(ctx, chat.Question{Text: wordGoal})
		t.print.end(err == nil)
		if err != nil {
			return err
		}
		text = strings.TrimSpace(said.Text)
		if !t.print.stream {
			fmt.Fprintln(t.Stderr, term.Clean(text))
		}
	}
	if !t.set.On("yes") && t.print.stream {
		if yes, err := t.AskYes(ctx, "Find a change for this goal?"); err != nil || !yes {
			return err
		}
	}
	req, err := sandbox.BaseRequest(t.set)
	if err != nil {
		return err
	}
	req.Goal, req.Candidates, req.NoFeature = text, 1, true
	a := &sandbox.Attempt{Line: t.Line, Session: t.session, Settings: t.set}
	reported := a.Iterate(t.within(ctx), req)
	return errors.Join(t.settled(a.Ended), reported)
}

// wordGoal asks the model to word the goal.
const wordGoal = "Word the goal of this conversation for an engineer who knows nothing of it: what is to change, in which files, what must stay as it is, " +
	"and how one sees that it is done. At most 150 words, and nothing besides."

// within returns the command's context with ctx, for a part of the command.
func (t *talk) within(ctx context.Context) *cli.Context {
	part := *t.ctx
	part.Context = ctx
	return &part
}

// settled has the model told the outcome of a run. A draft that was written is no longer a draft.
func (t *talk) settled(doc *run.Document) error {
	if doc == nil {
		return nil
	}
	ctx := context.WithoutCancel(t.ctx.Context)
	note := fmt.Sprintf("Run %s ended as %s.\n%s", doc.Run, doc.State, summarised(*doc))
	if doc.Promotion != nil {
		return t.chat.Drop(ctx, note+"What it changed is written to the workspace, and your draft is empty.\n")
	}
	return t.chat.Note(ctx, note)
}

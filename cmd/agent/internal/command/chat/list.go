package chat

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/chat"
	"agent/sandbox/workspace/secret/disguise"
)

// An Answer is what `chat --json` prints for one question.
type Answer struct {
	Chat     int64  `json:"chat"`
	Question int    `json:"question"` // its number in the conversation
	Answer   string `json:"answer"`
	Model    string `json:"model"`
	End      string `json:"end"` // talked, or the cap that forced an early answer
	Rounds   int    `json:"rounds"`
	Calls    int    `json:"calls"`
	Draft    string `json:"draft"` // the diff of the draft, "" for none
}

// document returns the result of a question.
func (t *talk) document(said conversation.Said) Answer {
	return Answer{
		Chat: t.chat.Chat.ID, Question: t.chat.Questions(), Answer: said.Text, Model: said.Model, End: string(said.End),
		Rounds: said.Rounds, Calls: said.Calls, Draft: t.chat.Changes().Diff(),
	}
}

// A Row is a conversation as `chat list --json` prints it. A time is null if it never came.
type Row struct {
	Chat      int64      `json:"chat"`
	Workspace string     `json:"workspace"`
	Title     string     `json:"title"`
	Questions int        `json:"questions"`
	Draft     bool       `json:"draft"`
	Created   time.Time  `json:"created"`
	Last      *time.Time `json:"last"`
}

// rowOf returns the row for a conversation.
func rowOf(c chat.Chat) Row {
	return Row{c.ID, c.Workspace, c.Title, c.Questions, len(c.Draft) > 0, c.Created, c.Last}
}

// A Whole is a conversation as `chat show --json` prints it.
type Whole struct {
	Row
	Turns []Turn `json:"turns"`
	Patch string `json:"patch"` // the draft as a response to the edit engine, "" for none
}

// A Turn is a question of the conversation.
type Turn struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	Model    string `json:"model"`
	End      string `json:"end"` // "" while it is not answered
	Rounds   int    `json:"rounds"`
	Calls    int    `json:"calls"`
}

// list prints the conversations about a workspace.
func (c command) list(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		list, err := s.DB.Chats().List(ctx.Context, cmdline.Scope(ctx, set), 200)
		if err != nil {
			return err
		}
		rows := []Row{}
		for _, x := range list {
			rows = append(rows, rowOf(x))
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, rows)
		}
		if len(rows) == 0 {
			fmt.Fprintln(c.Stderr, "there is no conversation here; `agent chat` begins one")
			return nil
		}
		return term.Print(c.Stdout, func(w io.Writer) error {
			t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "CHAT\tQUESTIONS\tDRAFT\tBEGUN\tABOUT")
			for _, r := range rows {
				fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%s\n", r.Chat, r.Questions, map[bool]string{true: "yes", false: "no"}[r.Draft],
					r.Created.Local().Format(time.DateTime), term.CleanLine(r.Title))
			}
			return t.Flush()
		})
	})
}

// show prints a conversation.
func (c command) show(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	var id int64
	if name := ctx.Args().First(); name != "" {
		if id, err = strconv.ParseInt(name, 10, 64); err != nil || id < 1 {
			return fault.Usage("see `agent chat list`", "%q is not the number of a conversation", name)
		}
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		found, err := find(ctx.Context, s, cmdline.Scope(ctx, set), id)
		if err != nil {
			return err
		}
		turns, err := s.DB.Chats().Turns(ctx.Context, found.ID)
		if err != nil {
			return err
		}
		doc := Whole{Row: rowOf(found), Turns: []Turn{}, Patch: hidden(s, string(found.Draft))}
		for _, t := range turns {
			doc.Turns = append(doc.Turns, Turn{hidden(s, t.Typed), hidden(s, t.Answer), t.Model, t.Cause, t.Rounds, t.Calls})
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, doc)
		}
		return term.Print(c.Stdout, func(w io.Writer) error {
			c.whole(w, doc)
			return nil
		})
	})
}

// hidden returns a text of the record without credentials.
func hidden(s *wire.Session, text string) string {
	text, _ = disguise.Hide(s.Hide(text))
	return text
}

// whole prints a conversation for people.
func (c command) whole(w io.Writer, doc Whole) {
	p := c.Palette(c.Stdout)
	fmt.Fprintf(w, "%s\n", p.Dim(fmt.Sprintf("conversation %d about %s, begun %s", doc.Chat, doc.Workspace, doc.Created.Local().Format(time.DateTime))))
	for _, t := range doc.Turns {
		fmt.Fprintf(w, "\n%s %s\n", p.Bold("you>"), term.Clean(t.Question))
		switch {
		case t.Answer != "":
			fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(term.Clean(t.Answer)))
		case t.End == "":
			fmt.Fprintf(w, "%s\n", p.Warn("no answer yet: `agent chat --resume` continues it"))
		default:
			fmt.Fprintf(w, "%s\n", p.Warn("no answer: "+t.End))
		}
	}
	if doc.Patch != "" {
		fmt.Fprintf(w, "\n%s\n\n%s", p.Dim("its draft:"), term.Clean(doc.Patch))
	}
}

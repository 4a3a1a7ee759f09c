// Package memory implements `agent memory`, which shows and changes what runs learnt about a workspace, and prompts show.
package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/agent"
	"agent/orchestrator/run"
)

type command struct{ *cmdline.Line }

// Command returns the group of commands that show and change the memory. The record keeps every version of it.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "memory", Usage: "show or change what runs learnt about a workspace",
		Subcommands: []*cli.Command{
			{
				Name: "show", Usage: "print the memory of a workspace",
				Description: "The memory is what applied runs leave to later ones: it is part of what models are asked. It\n" +
					"is kept in the record; with export.files = true in the user configuration it is also written\n" +
					"to .agent/MEMORY.md. `agent sql 'select * from v_memory'` shows every version.\n\n" + cmdline.Examples(
					"agent memory show", "of this workspace", "agent memory show --json", "with the run that was merged last"),
				Flags:  []cli.Flag{cmdline.WorkspaceFlag(), cmdline.JSONFlag(cmdline.Document[Shown]("memory", 1))},
				Action: c.show,
			},
			{
				Name: "edit", Usage: "change the memory in $VISUAL or $EDITOR",
				Description: fmt.Sprintf("At most %d bytes. The previous version stays in the record.\n\n", agent.MaxMemory) +
					cmdline.Examples("agent memory edit", "needs a terminal"),
				Flags:  []cli.Flag{cmdline.WorkspaceFlag()},
				Action: c.edit,
			},
			{
				Name: "clear", Usage: "begin with an empty memory",
				Description: "Previous versions stay in the record.\n\n" +
					cmdline.Examples("agent memory clear", "asks first", "agent memory clear --yes", "for scripts: never asks"),
				Flags:  []cli.Flag{cmdline.WorkspaceFlag(), cmdline.YesFlag("clear it without asking")},
				Action: c.clear,
			},
		},
	}
}

// A Shown is the memory of a workspace as `memory show --json` prints it.
type Shown struct {
	Workspace string `json:"workspace"`
	// Version counts the changes of the memory, 0 if there were none.
	Version int    `json:"version"`
	Run     string `json:"run,omitempty"` // the run merged last; "edit" and "clear" are by a person
	Text    string `json:"text"`
}

// at passes a session, and the memory of the workspace, to act.
func (c command) at(ctx *cli.Context, act func(*wire.Session, config.Settings, string, agent.Memory) error) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	dir := cmdline.Resolved(set["workspace"].Text)
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		m, err := s.DB.Memory(ctx.Context, dir)
		if err != nil {
			return err
		}
		return act(s, set, dir, m)
	})
}

// show prints the memory. Models wrote it, so it is cleaned for people.
func (c command) show(ctx *cli.Context) error {
	return c.at(ctx, func(_ *wire.Session, set config.Settings, dir string, m agent.Memory) error {
		text := strings.TrimSpace(m.Text)
		if set.On("json") {
			return term.PrintJSON(c.Stdout, Shown{dir, m.Iteration, m.Run, text})
		}
		if text == "" {
			fmt.Fprintln(c.Stderr, "nothing was learnt about "+term.CleanLine(dir)+" yet")
			return nil
		}
		return term.Print(c.Stdout, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, term.Clean(text))
			return err
		})
	})
}

// edit lets the user change the memory.
func (c command) edit(ctx *cli.Context) error {
	return c.at(ctx, func(s *wire.Session, _ config.Settings, dir string, m agent.Memory) error {
		if !c.Attended() {
			return fault.Policy("run it on a terminal", "editing the memory needs a terminal, and there is none")
		}
		changed, err := c.EditTexts(ctx.Context, map[string][]byte{"MEMORY.md": []byte(m.Text)})
		if err != nil {
			return err
		}
		text, ok := changed["MEMORY.md"]
		if !ok {
			fmt.Fprintln(c.Stderr, "nothing was changed")
			return nil
		}
		if len(text) > agent.MaxMemory {
			return fault.Usage("shorten it", "the memory would have %d bytes, more than %d", len(text), agent.MaxMemory)
		}
		return c.save(ctx.Context, s, dir, "edit", m, strings.ToValidUTF8(strings.TrimSpace(string(text)), ""))
	})
}

// clear empties the memory.
func (c command) clear(ctx *cli.Context) error {
	return c.at(ctx, func(s *wire.Session, set config.Settings, dir string, m agent.Memory) error {
		if strings.TrimSpace(m.Text) == "" {
			fmt.Fprintln(c.Stderr, "the memory of "+term.CleanLine(dir)+" is empty")
			return nil
		}
		if !set.On("yes") {
			if !c.Attended() {
				return fault.Policy("run again with --yes, or on a terminal", "clearing the memory needs an approval, and there is no terminal")
			}
			yes, err := c.AskYes(ctx.Context, "Clear the memory of "+term.CleanLine(dir)+"?")
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if !yes {
				return fault.Policy("nothing was changed", "the memory was not cleared")
			}
		}
		return c.save(ctx.Context, s, dir, "clear", m, "")
	})
}

// save records the next version of a memory; by says what made it.
func (c command) save(ctx context.Context, s *wire.Session, dir, by string, m agent.Memory, text string) error {
	err := s.DB.SaveMemory(ctx, dir, by, agent.Memory{Text: text, Iteration: m.Iteration + 1, Run: by})
	if errors.Is(err, run.ErrFenced) {
		return fault.Usage("look at it again", "a run changed the memory meanwhile")
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(c.Stderr, "the memory of "+term.CleanLine(dir)+" is changed")
	return s.Export(ctx, dir)
}

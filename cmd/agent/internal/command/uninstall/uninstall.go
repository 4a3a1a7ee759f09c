// Package uninstall implements `agent uninstall`, which lists and removes what the agent keeps on this machine. It
// recognizes its things by label and by known path, and touches nothing else.
package uninstall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/images"
	"agent/sandbox"
)

type command struct {
	*cmdline.Line
	marks sandbox.Marks // mark what is the agent's on the engine
	// forget drops what images left in the engine's build cache.
	forget func(ctx context.Context, engine *sandbox.Engine) error
}

// Command returns the command that removes what the agent keeps.
func Command(line *cmdline.Line) *cli.Command {
	marks := sandbox.OwnMarks()
	marks.Images = images.Marks()
	c := command{Line: line, marks: marks, forget: func(ctx context.Context, engine *sandbox.Engine) error {
		guest, err := line.Guest()
		if err != nil {
			return err
		}
		return images.New(engine, guest, nil).Forget(ctx)
	}}
	return c.command()
}

func (c command) command() *cli.Command {
	return &cli.Command{
		Name: "uninstall", Usage: "remove what the agent keeps on this machine",
		Description: "Removes containers, images, build cache and caches; they are made again when needed. With\n" +
			"--all it also removes the record of every run in the agent's own Postgres, what undo needs,\n" +
			"state and configuration. The program itself, a database named by AGENT_DATABASE_URL and the\n" +
			".agent directories in workspaces stay. It is refused while the agent is at work. To keep the\n" +
			"record, first run `pg_dump \"$(agent db url)\" > agent.sql`.\n\n" + cmdline.Examples(
			"agent uninstall --all --dry-run", "list all that the agent keeps",
			"agent uninstall", "free the space, keep record and configuration",
			"agent uninstall --all", "leave nothing, before the package is removed"),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "remove the record, state and configuration too", DisableDefaultText: true},
			&cli.BoolFlag{Name: "dry-run", Usage: "list, remove nothing", DisableDefaultText: true},
			cmdline.YesFlag("remove without asking"), cmdline.JSONFlag(cmdline.Document[[]Row]("kept", 1)),
		},
		Action: c.uninstall,
	}
}

// A Row is one thing that the agent keeps, as `uninstall --json` prints it.
type Row struct {
	sandbox.Kept
	// Lost says what is lost with it, "" if everything can be made again.
	Lost string `json:"lost,omitempty"`
	// Removed says that it is gone.
	Removed bool `json:"removed"`

	remove func(ctx context.Context) error
}

// uninstall lists, asks and removes.
func (c command) uninstall(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	// Without an engine the files can still be removed. What is on the engine stays, and the command says so.
	engine, err := sandbox.Connect(ctx.Context)
	if err != nil {
		fmt.Fprintf(c.Stderr, "no engine answers, so what the agent keeps there is not listed: %v\n", err)
	} else {
		defer engine.Close() // idle connections: nothing to lose
	}
	rows, busy, err := c.kept(ctx.Context, engine, ctx.Bool("all"))
	if err != nil {
		return err
	}
	dry := ctx.Bool("dry-run")
	if !set.On("json") {
		if err := c.print(rows); err != nil {
			return err
		}
	}
	if len(rows) == 0 || dry {
		return c.document(set, rows)
	}
	if busy != nil {
		return busy
	}
	if !set.On("yes") {
		if err := confirm(ctx.Context, c.Line, amount(rows)); err != nil {
			return err
		}
	}
	var errs []error
	for i := range rows {
		err := rows[i].remove(ctx.Context)
		errs = append(errs, err)
		rows[i].Removed = err == nil
	}
	if engine != nil {
		if err := c.forget(ctx.Context, engine); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(c.document(set, rows), fault.Infra("run again, once nothing uses it", "not everything could be removed: %w", err))
	}
	fmt.Fprintln(c.Stderr, "removed "+amount(rows))
	return c.document(set, rows)
}

// kept lists what exists. busy is the reason why nothing may be removed now, or nil.
func (c command) kept(ctx context.Context, engine *sandbox.Engine, all bool) (rows []Row, busy, err error) {
	rows = []Row{}
	if engine != nil {
		list, err := engine.Kept(ctx, c.marks)
		if err != nil {
			return nil, nil, err
		}
		for _, k := range list {
			if k.Live {
				busy = fault.Infra("wait until it has ended, or cancel it, then run again", "the agent is at work in container %s", k.Name)
			}
			// Postgres runs from an image that stays as long as its container does.
			if (k.Record || strings.HasPrefix(k.Name, "agent-"+images.Postgres+":")) && !all {
				continue
			}
			row := Row{Kept: k, remove: func(ctx context.Context) error { return engine.Drop(ctx, k) }}
			if k.Record && k.Kind == sandbox.KeptVolume {
				row.Lost = "the record of every run of every workspace, and with it every undo"
			}
			rows = append(rows, row)
		}
	}
	for _, p := range places(c.Getenv) {
		if p.lost != "" && !all || len(p.files()) == 0 {
			continue
		}
		if busy == nil {
			busy = errors.Join(p.atWork(), p.interrupted())
		}
		rows = append(rows, Row{
			Kept: sandbox.Kept{Kind: p.kind, ID: p.dir, Name: p.dir}, Lost: p.lost,
			remove: func(context.Context) error { return p.remove() },
		})
	}
	return rows, busy, nil
}

// print lists the rows for people.
func (c command) print(rows []Row) error {
	if len(rows) == 0 {
		fmt.Fprintln(c.Stderr, "nothing is kept")
		return nil
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "KIND\tNAME\tSIZE\tLOST WITH IT")
		for _, r := range rows {
			size, lost := "", "nothing: it is made again"
			if r.Bytes > 0 {
				size = fmt.Sprintf("%d MiB", r.Bytes>>20)
			}
			if r.Lost != "" {
				lost = r.Lost
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.Kind, term.CleanLine(r.Name), size, lost)
		}
		return t.Flush()
	})
}

// document prints the rows with --json.
func (c command) document(set config.Settings, rows []Row) error {
	if !set.On("json") {
		return nil
	}
	return term.PrintJSON(c.Stdout, rows)
}

// amount says how much the rows are, and whether they include the record.
func amount(rows []Row) string {
	text := fmt.Sprintf("%d things", len(rows))
	if len(rows) == 1 {
		text = "1 thing"
	}
	for _, r := range rows {
		if r.Record && r.Kind == sandbox.KeptVolume {
			text += ", the record of every run among them"
		}
	}
	return text
}

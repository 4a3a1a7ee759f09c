// Package db implements `agent db`, which manages the Postgres that keeps the record.
package db

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/wire"
	"agent/images"
	"agent/orchestrator/store"
	"agent/sandbox"
)

type command struct{ *cmdline.Line }

// Command returns the group of commands for the database that keeps the record. No one has to use it: other commands
// start what they need. It is for users who want to look with their own tools, to stop the container, or to start over.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "db", Usage: "the Postgres that keeps the record",
		Subcommands: []*cli.Command{
			{
				Name: "url", Usage: "print the address of the database, password included",
				Description: "Starts the agent's own Postgres when no other is configured. The output contains a password.\n\n" +
					cmdline.Examples("psql \"$(agent db url)\"", "a session with every right"),
				Action: c.dbURL,
			},
			{
				Name: "up", Usage: "start the agent's own Postgres and bring the schema up to date",
				Description: cmdline.Examples("agent db up", "other commands do this on their own"),
				Action:      c.dbUp,
			},
			{
				Name: "down", Usage: "stop the agent's own Postgres",
				Description: "The data stays in its volume, unless --remove is given.\n\n" +
					cmdline.Examples("agent db down", "the next command starts it again"),
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "remove", Usage: "remove the data too: every run, and with it every undo", DisableDefaultText: true},
					cmdline.YesFlag("remove without asking"),
				},
				Action: c.dbDown,
			},
			{
				Name: "migrate", Usage: "bring the schema of the database up to date",
				Description: cmdline.Examples("agent db migrate", "other commands do this on their own"),
				Action:      c.dbUp,
			},
			c.pruneCommand(),
		},
	}
}

// databaseURL returns the address of the database. It starts the agent's own if no other is configured.
func (c command) databaseURL(ctx *cli.Context, set config.Settings) (string, error) {
	// A database of the user's own is used as configured.
	if url := set["database_url"].Text; url != "" {
		return url, nil
	}
	s, err := c.OpenEngine(ctx.Context)
	if err != nil {
		return "", err
	}
	defer s.Close()
	return s.OwnPostgres(ctx.Context)
}

// dbURL prints the address in the form that programs need. A password is printed only here, because it was asked for.
func (c command) dbURL(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	url, err := c.databaseURL(ctx, set)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, url)
	return err
}

// dbUp opens the database once: that starts the container, waits for it, and migrates. The output holds no password.
func (c command) dbUp(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	url, err := c.databaseURL(ctx, set)
	if err != nil {
		return err
	}
	db, err := store.Open(ctx.Context, url, wire.Waiting(c.Stderr)) // migrates
	if err != nil {
		return err
	}
	defer db.Close()
	version, err := db.Version(ctx.Context)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Stdout, "database %s, schema version %d\n", db.Address(), version)
	return err
}

// dbDown stops the agent's own container. A database of the user's own is not the agent's to stop. The data is removed
// only with both --remove and --yes: without the data there is nothing to undo from.
func (c command) dbDown(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	if url := set["database_url"]; url.Text != "" {
		return fault.Usage("stop it where it was started", "the database is not the agent's own: %s names it", url.Origin)
	}
	// The volume is kept unless its removal is requested.
	remove := ctx.Bool("remove")
	if remove && !set.On("yes") {
		return fault.Policy("run again with --yes", "--remove deletes the record of every run, and what undo needs")
	}
	engine, err := sandbox.Connect(ctx.Context)
	if err != nil {
		return err
	}
	defer engine.Close() // idle connections: nothing to lose
	if err := engine.PostgresStop(ctx.Context, remove); err != nil {
		return err
	}
	what := "stopped; the data stays"
	if remove {
		what = "removed, with its data"
	}
	_, err = fmt.Fprintf(c.Stdout, "%s %s\n", images.Postgres, what)
	return err
}

// Package images implements `agent images`, which manages the images of boxes and of the database.
package images

import (
	"errors"
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
	"agent/images"
)

type command struct{ *cmdline.Line }

// KeptSnapshots is how many snapshots of a workspace `sandbox gc` keeps: the newest serves the next run.
const KeptSnapshots = 1

// Names returns the names of the images that Ensure builds.
func Names() []string { return []string{images.Toolchain, images.Postgres} }

// Command returns the group of commands for the images of boxes. None of them opens the record: they set up a machine,
// and must work before there is a database.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "images", Usage: "the images that boxes and the database are made from",
		Subcommands: []*cli.Command{
			{
				Name: "build", Usage: "build the images that are absent or out of date",
				Description: "Takes seconds if there is nothing to do. Other commands build what they need on their own.\n\n" +
					cmdline.Examples("agent images build", "once, before the first run"),
				Action: c.imagesBuild,
			},
			{
				Name: "list", Usage: "list the images with the versions of their tools", Flags: []cli.Flag{cmdline.JSONFlag(cmdline.Document[[]Row]("images", 1))},
				Description: cmdline.Examples("agent images list --json", "versions for a report"),
				Action:      c.imagesList,
			},
			{
				Name: "prune", Usage: "remove snapshots and images that nothing needs any more",
				Flags:       []cli.Flag{&cli.IntFlag{Name: "keep", Usage: "keep the newest `N` snapshots of each workspace", Value: KeptSnapshots}},
				Description: cmdline.Examples("agent images prune --keep 0", "remove every snapshot"),
				Action:      c.imagesPrune,
			},
		},
	}
}

// imagesBuild builds absent images. Both images have the same base, so the second is quick. BuildKit's progress goes to
// stderr; stdout names the images, for scripts.
func (c command) imagesBuild(ctx *cli.Context) error {
	s, err := c.OpenEngine(ctx.Context)
	if err != nil {
		return err
	}
	defer s.Close()
	// One after the other: two BuildKit displays do not fit on one terminal.
	for _, name := range Names() {
		img, err := s.Builder.Ensure(ctx.Context, name)
		if err != nil {
			return fmt.Errorf("build the %s image: %w", name, err)
		}
		fmt.Fprintf(c.Stdout, "%s %s\n", name, img.Ref)
	}
	return nil
}

// A Row is an image as `images list --json` prints it.
type Row struct {
	Name     string            `json:"name"`
	Ref      string            `json:"ref"`
	ID       string            `json:"id"`
	Versions map[string]string `json:"versions"`
	Absent   bool              `json:"absent"`
}

// imagesList shows the existing images and their tools. The versions come from the tools themselves, asked when the
// image was built. The record also stores them with every verdict.
func (c command) imagesList(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	s, err := c.OpenEngine(ctx.Context)
	if err != nil {
		return err
	}
	defer s.Close()
	var rows []Row
	for _, name := range Names() {
		img, err := s.Builder.Find(ctx.Context, name)
		// An absent image is a line of the answer, not an error.
		if err != nil && !errors.Is(err, images.ErrAbsent) {
			return err
		}
		rows = append(rows, Row{name, img.Ref, img.ID, img.Versions, err != nil})
	}
	if set.On("json") {
		return term.PrintJSON(c.Stdout, rows)
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "IMAGE\tREF\tTOOLS")
		for _, r := range rows {
			if r.Absent {
				fmt.Fprintf(t, "%s\tabsent\t`agent images build` makes it\n", r.Name)
				continue
			}
			fmt.Fprintf(t, "%s\t%s\t%s\n", r.Name, r.Ref, Versions(r.Versions))
		}
		return t.Flush()
	})
}

// Versions returns the versions of tools on one line.
func Versions(versions map[string]string) string {
	// By name, so that two machines can be compared.
	var parts []string
	for _, tool := range slices.Sorted(maps.Keys(versions)) {
		parts = append(parts, tool+" "+term.CleanLine(versions[tool]))
	}
	return strings.Join(parts, ", ")
}

// imagesPrune removes images that can be built again. It prints what was removed even if a later removal fails.
func (c command) imagesPrune(ctx *cli.Context) error {
	keep := ctx.Int("keep")
	if keep < 0 {
		return fault.Usage("use 0 or more", "--keep %d is below 0", keep)
	}
	s, err := c.OpenEngine(ctx.Context)
	if err != nil {
		return err
	}
	defer s.Close()
	removed, err := s.Builder.Prune(ctx.Context, keep)
	for _, name := range removed {
		fmt.Fprintln(c.Stdout, "removed image", name)
	}
	return err
}

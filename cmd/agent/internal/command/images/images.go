// Package images is `agent images`: the images that boxes and the database are made from.
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

// KeptSnapshots is how many snapshots of a workspace `sandbox gc`
// leaves: the newest serves the next run.
const KeptSnapshots = 1

// Names are the images that Ensure makes.
func Names() []string { return []string{images.Toolchain, images.Postgres} }

// Command is the group of what boxes are made from. None of it
// opens the record: these commands set a machine up, and must work
// before there is a database.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "images", Usage: "the images that boxes and the database are made from",
		Subcommands: []*cli.Command{
			{
				Name: "build", Usage: "build the images that are absent or out of date",
				Description: "Seconds when there is nothing to do. Other commands build what they need by themselves.\n\n" +
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

// imagesBuild builds what is absent. Both images come from the same
// base, so the second is quick. BuildKit's progress goes to stderr;
// stdout names the images, for scripts.
func (c command) imagesBuild(ctx *cli.Context) error {
	s, err := c.OpenEngine(ctx.Context)
	if err != nil {
		return err
	}
	defer s.Close()
	// One after the other: two displays of BuildKit do not fit one
	// terminal.
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

// imagesList shows what is there and which tools it holds. The versions
// were asked of the tools when the image was built; they stand beside
// every verdict in the record as well.
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

// Versions is the versions of tools on one line, by name.
func Versions(versions map[string]string) string {
	// By name, so that two machines can be compared.
	var parts []string
	for _, tool := range slices.Sorted(maps.Keys(versions)) {
		parts = append(parts, tool+" "+term.CleanLine(versions[tool]))
	}
	return strings.Join(parts, ", ")
}

// imagesPrune removes what can be made again. What was removed is
// printed even when a later removal goes wrong.
func (c command) imagesPrune(ctx *cli.Context) error {
	keep := ctx.Int("keep")
	if keep < 0 {
		return fault.Usage("give 0 or more", "--keep %d is below 0", keep)
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

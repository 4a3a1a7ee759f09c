// Package self implements `agent self`, which rebuilds the agent's own image from a change that passed, and rolls it
// back.
package self

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/run"
	"agent/orchestrator/selfbuild"
	"agent/sandbox"
)

// Command returns the group of commands for the agent's own image. All except list take the journal, and with it the
// right to move the tags: two of them cannot run at the same time. The lock is the kernel's, so a killed process never
// blocks the next one.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "self", Usage: "rebuild the agent's own image, and take it back",
		Subcommands: []*cli.Command{
			// In the order of use: make one, see how it went, go back, see what exists.
			c.rebuildCommand(),
			{
				Name: "status", Usage: "show which image is current, and how the last rebuild ended", Flags: []cli.Flag{cmdline.JSONFlag(cmdline.Document[selfbuild.State]("self", 1))},
				Description: "Settles what a killed rebuild left: its tags are moved back.\n\n" + cmdline.Examples("agent self status", "after a kill, or to know the version"),
				Action:      c.status,
			},
			{
				Name: "rollback", Usage: "make the previous image current again",
				Description: "Moves the tags agent:current and agent:previous. The workspace and the database stay as they are.\n\n" +
					cmdline.Examples("agent self rollback", "the previous version; again to go back"),
				Action: c.rollback,
			},
			{
				Name: "list", Usage: "list the versions that are kept", Flags: []cli.Flag{cmdline.JSONFlag(cmdline.Document[[]selfbuild.Version]("versions", 1))},
				Description: "The image and the source of each version are kept outside of the workspace.\n\n" +
					cmdline.Examples("agent self list", "the versions to go back to"),
				Action: c.list,
			},
		},
	}
}

// rebuildCommand returns the command that rebuilds. It takes the flags of a run that say how a change is found and
// approved, but none to prove it without writing it: an image whose source is not in the workspace could not be built
// again.
func (c command) rebuildCommand() *cli.Command {
	return &cli.Command{
		Name: "rebuild", Usage: "prove a change of the agent's own source, and build the next image from it",
		Description: "The workspace is the agent's own repository. The change goes through the gate; then the image is built\n" +
			"without a network from the proven tree, and proves itself: its doctor, its migrations on a copy of the\n" +
			"schema, and a battery of runs whose verdicts must be those of the current image. Then the change is\n" +
			"written, agent:current moves, and the image is on trial: after one bad answer it is rolled back.\n" +
			"Without a change the workspace is built as it is. A change needs a person at a terminal who has seen\n" +
			"its diff: neither --yes nor --allow approves it. The setting self.unattended lets --yes approve a\n" +
			"change of what does not judge, build or take back the agent, if it reaches no further than its package.\n\n" + cmdline.Examples(
			"agent self rebuild --yes", "the first image",
			"agent self rebuild --patch change.diff", "prove, ask, build, swap",
			"agent self rebuild --goal 'name the run in every message'", "have a model find the change"),
		Flags: slices.Concat([]cli.Flag{
			cmdline.WorkspaceFlag(),
			&cli.StringFlag{Name: "patch", Aliases: []string{"p"}, Usage: "read the change from `FILE`, - for standard input"},
			&cli.StringFlag{Name: "goal", Aliases: []string{"g"}, Usage: "without a patch: what the change is for, as `TEXT`"},
			&cli.StringSliceFlag{Name: "file", Usage: "default file `PATH` for blocks without a path; without a patch the file to work on"},
			// Zero still checks once.
			&cli.DurationFlag{Name: "trial", Value: 30 * time.Second, Usage: "watch the new image for `TIME` before it is kept"},
		}, cmdline.ModelFlags(), []cli.Flag{
			cmdline.YesFlag("rebuild without asking"),
			cmdline.AllowFlag(),
			cmdline.JSONFlag(cmdline.Document[selfbuild.State]("self", 1)),
		}),
		Action: c.rebuild,
	}
}

// status prints the journal. While a rebuild is in progress it only reads. Otherwise it takes the journal for a moment,
// since that settles a killed rebuild. What it prints then is also the truth about the tags.
func (c command) status(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	dir, err := home(c.Line)
	if err != nil {
		return err
	}
	settled := c.withJournal(ctx.Context, func(*selfbuild.Journal) error { return nil })
	var f *fault.Error
	var gone *sandbox.UnavailableError
	switch {
	case settled == nil:
	// Another process keeps the journal in order.
	case errors.As(settled, &f) && f.Exit == run.ExitConflict:
	// Without an engine there are no tags to settle; see below.
	case errors.As(settled, &gone):
	default:
		return settled
	}
	// Read after settling, and without the lock: the file is replaced as a whole, so a reader during a rebuild sees one
	// phase or the next and never a part.
	state, err := selfbuild.Read(dir)
	if err != nil {
		return err
	}
	if gone != nil {
		if state.Attempt != nil {
			return settled
		}
		fmt.Fprintln(c.Stderr, "agent: no engine answers, so it was not checked whether the images still exist")
	}
	if set.On("json") {
		return term.PrintJSON(c.Stdout, state)
	}
	// The purpose of an attempt and its cause may hold text from a patch's author or from a program in a box: they are
	// cleaned before they reach a terminal.
	return term.Print(c.Stdout, func(w io.Writer) error {
		tellVersion(w, "current", state.Current)
		tellVersion(w, "previous", state.Previous)
		if a := state.Attempt; a != nil {
			fmt.Fprintf(w, "now       %s: %s, since %s\n", a.Phase, term.CleanLine(a.Intent), a.Begun.Local().Format(time.DateTime))
		}
		// The newest comes first. Only that one matters here; --json has them all.
		if len(state.Past) > 0 {
			a := state.Past[0]
			fmt.Fprintf(w, "last      %s\n", attemptText(a))
		}
		return nil
	})
}

// attemptText describes an ended attempt on one line. A rollback also has a cause, the request for it, and so reads as
// one that ended.
func attemptText(a selfbuild.Attempt) string {
	text := a.Begun.Local().Format(time.DateTime) + " " + term.CleanLine(a.Intent)
	// Only the last step leaves the cause empty.
	if a.Cause == "" {
		return text + ": settled"
	}
	return fmt.Sprintf("%s: ended in %s: %s", text, a.Phase, term.CleanLine(a.Cause))
}

// tellVersion prints a version on one line. The digests are cut to the part that distinguishes versions: counting its
// "sha256:", an image also has 12 digits. There is no version before the first rebuild, and no previous one before the
// second.
func tellVersion(w io.Writer, what string, v *selfbuild.Version) {
	if v == nil {
		fmt.Fprintf(w, "%-9s none: `agent self rebuild` makes it\n", what)
		return
	}
	fmt.Fprintf(w, "%-9s source %s, image %.19s, program %.12s, built %s\n", what, v.Name(), v.Image, v.Program, v.Built.Local().Format(time.DateTime))
}

// rollback goes back by one version. It does not ask: the image was current once, and the same command reverses the
// rollback. Containers follow, as after every use of the journal.
func (c command) rollback(ctx *cli.Context) error {
	return c.withJournal(ctx.Context, func(j *selfbuild.Journal) error {
		if j.State().Previous == nil {
			return fault.Usage("see `agent self list`", "there is no previous version to go back to")
		}
		if err := j.Rollback(ctx.Context, "asked for"); err != nil {
			return err
		}
		_, err := fmt.Fprintf(c.Stdout, "source %s is current\n", j.State().Current.Name())
		return err
	})
}

// list prints the versions, the newest first. It takes no lock and needs no engine: it reads the directory, including
// versions whose images were removed.
func (c command) list(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	dir, err := home(c.Line)
	if err != nil {
		return err
	}
	list, err := selfbuild.Versions(dir)
	if err != nil {
		return err
	}
	if set.On("json") {
		// An empty list is [] in JSON and not null, which would break scripts.
		return term.PrintJSON(c.Stdout, append([]selfbuild.Version{}, list...))
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "SOURCE\tIMAGE\tPROGRAM\tBUILT")
		for _, v := range list {
			fmt.Fprintf(t, "%s\t%.19s\t%.12s\t%s\n", v.Name(), v.Image, v.Program, v.Built.Local().Format(time.DateTime))
		}
		return t.Flush()
	})
}

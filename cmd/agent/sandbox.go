package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/sarif"
	"agent/cmd/agent/internal/term"
	"agent/images"
	"agent/orchestrator/run"
	"agent/sandbox/workspace/promotion"
)

// maxPatch is the largest patch that is read, in bytes.
const maxPatch = 16 << 20

// keptSnapshots is how many snapshots of a workspace `sandbox gc`
// leaves: the newest serves the next run.
const keptSnapshots = 1

// snapshotsKept is how many of the snapshots of a workspace stay: none where that is
// gone, and all where a run is at work, which may have found any of them.
func snapshotsKept(root string) int {
	lock, err := promotion.Acquire(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0
	case errors.Is(err, promotion.ErrLocked):
		return math.MaxInt
	case err == nil:
		lock.Release() // nothing was written
	}
	return keptSnapshots
}

// sandboxCommand is the group of what happens in boxes.
func (c *cmdline) sandboxCommand() *cli.Command {
	return &cli.Command{
		Name: "sandbox", Usage: "prove patches in throwaway containers",
		Subcommands: []*cli.Command{
			c.sandboxRunCommand(),
			c.loopCommand(),
			{
				Name: "ls", Usage: "list the containers that exist now", Flags: []cli.Flag{jsonFlag()},
				Description: "Lists the agent's containers of every process, with the run they belong to.\n\n" +
					examples("agent sandbox ls", "usually empty between runs"),
				Action: c.sandboxList,
			},
			{
				Name: "gc", Usage: "remove what dead processes left behind",
				Description: "Settles interrupted runs and promotions, removes containers whose process is dead, and\n" +
					"all but the newest snapshot of each workspace. Runs that go on are left alone.\n\n" +
					examples("agent sandbox gc", "free disk space"),
				Action: c.sandboxCollect,
			},
		},
	}
}

// sandboxRunCommand describes the main job. Every flag that is a policy
// has a place in the environment too, so that a build server can set it
// once.
func (c *cmdline) sandboxRunCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "prove a patch, or find one for a goal, then write it to the workspace",
		Description: "Takes a snapshot of the workspace, applies the patch in a throwaway container, and runs\n" +
			"format, lint, types, the smoke test and the workspace's tests there. Only a patch that\n" +
			"brings no new trouble is written back, after a question, or with --yes.\n" +
			"The patch is a file of edit blocks (<EDIT file=\"…\"> or <<<<<<< SEARCH), a unified diff,\n" +
			"a *** Begin Patch, JSON edits, or whole files in fences under their names. Without one a\n" +
			"model is asked for it, and for repairs when it fails; --goal says what for, else the first\n" +
			"open item of .agent/DIRECTIVES.md does, else the model reviews a file, and may propose a\n" +
			"feature when it finds nothing. A feature is kept as a proposal, and written when a person at\n" +
			"the terminal says so or with --proposal: never by --yes, nor when the countdown ends. What\n" +
			"a run may spend is capped: see `agent config`.\n\n" + examples(
			"agent sandbox run --patch change.xml", "prove, show the diff, ask",
			"agent sandbox run --patch change.diff --yes --json", "for scripts: never asks",
			"agent sandbox run --patch - --no-promote < change.diff", "prove only",
			"agent sandbox run --patch ci.diff --yes --allow ci", "approve a change of CI files",
			"agent sandbox run --goal 'round prices up' --file shop/tax.py", "have a model find it",
			"agent sandbox run --goal 'speed it up' --candidates 3 --yes", "the best of three",
			"agent sandbox run --proposal 3", "what was proposed and not made",
			"agent sandbox run --replay 1k3 --no-promote", "a recorded run again, no model asked"),
		Flags: slices.Concat([]cli.Flag{
			workspaceFlag(),
			&cli.StringFlag{Name: "patch", Aliases: []string{"p"}, Usage: "read the patch from `FILE`, - for standard input"},
			&cli.StringFlag{Name: "goal", Aliases: []string{"g"}, Usage: "without a patch: what the change is for, as `TEXT`"},
			&cli.StringSliceFlag{Name: "file", Usage: "the `PATH` that blocks without a file name mean; without a patch the file to work on, and with more of them what to read too"},
		}, modelFlags(), []cli.Flag{
			&cli.BoolFlag{Name: "no-feature", Usage: "a review that finds nothing proposes no feature", DisableDefaultText: true},
			&cli.StringFlag{Name: "proposal", Usage: "take up proposal `N` of `agent proposals list`"},
			&cli.StringFlag{Name: "replay", Usage: "take plan and answers from the record of `RUN`; no model is asked"},
			yesFlag("write what passed without asking"),
			config.FlagFor("no-promote", ""),
			allowFlag(),
			noInstallFlag(),
			&cli.StringFlag{Name: "sarif", Usage: "write the findings to `FILE` as SARIF 2.1.0"},
			jsonFlag(),
		}),
		Action: c.sandboxRun,
	}
}

// sandboxRun is the main job. Everything that can be wrong on the
// command line is found before the engine is touched. The run itself
// cannot end in an error: whatever happens is in its document.
func (c *cmdline) sandboxRun(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	if name := ctx.String("sarif"); name == "-" {
		return fault.Usage("name a file: --sarif FILE", "--sarif -: standard output tells the result")
	} else if err := sarif.CheckFile(name); err != nil {
		return err
	}
	req, err := c.request(ctx, set)
	if err != nil {
		return err
	}
	return c.with(ctx.Context, set, true, func(s *session) error {
		if ctx.IsSet("proposal") {
			if req, err = s.resume(ctx.Context, ctx.String("proposal"), set, req); err != nil {
				return err
			}
		}
		// A proposal that had no patch yet, or a goal: a model has to be asked.
		if req.Patch == nil {
			return c.iterate(ctx, set, s, req)
		}
		return c.prove(ctx, set, s, req)
	})
}

// prove takes a patch that was given through the gate.
func (c *cmdline) prove(ctx *cli.Context, set config.Settings, s *session, req run.Request) error {
	// Building the toolchain can take minutes the first time; it
	// has BuildKit's own display, before the run begins.
	if _, err := s.Builder.Ensure(ctx.Context, images.Toolchain); err != nil {
		return fmt.Errorf("build the toolchain image: %w", err)
	}
	if err := s.SettleRuntime(ctx.Context, &req.Config, c.Stderr); err != nil {
		return err
	}
	s.Builder.Progress = nil // from here on the terminal is the board's
	board := c.NewBoard(time.Duration(cmp.Or(req.Config.Smoke.Seconds, 10)) * time.Second)
	req.Approver = s.guarded(&approver{cmdline: c, yes: set.On("yes"), allow: req.Allow, wait: set.Patience(), board: board})
	// The board is closed before the result is printed, so that its
	// last frame stands above it.
	doc := s.Runner(board.Event).Run(ctx.Context, req)
	board.Close()
	s.ended = &doc
	reported := c.deliver(ctx, set, doc)
	// The change is made and told; whom it concerns is found out after.
	if doc.Promotion != nil {
		if err := s.Ripple(ctx.Context, doc, req.Exclude); err != nil {
			fmt.Fprintf(c.Stderr, "agent: the ledger was not brought up to date: %s\nnext: run `agent analyze`\n", term.CleanLine(err.Error()))
		}
	}
	return reported
}

// request makes the run's request from flags and files.
func (c *cmdline) request(ctx *cli.Context, set config.Settings) (run.Request, error) {
	req, err := c.baseRequest(set)
	if err != nil {
		return run.Request{}, err
	}
	if !ctx.IsSet("patch") {
		return c.goalRequest(ctx, set, req)
	}
	if err := patchOnly(ctx); err != nil {
		return run.Request{}, err
	}
	// The patch comes last: reading standard input waits for a person,
	// who should not type in vain.
	const next = "name a file of edit blocks or a unified diff: --patch FILE, or --patch - for standard input"
	req.PatchName = ctx.String("patch")
	req.Target = strings.Join(ctx.StringSlice("file"), "")
	req.Patch, err = c.readPatch(ctx.Context, req.PatchName, next)
	return req, err
}

// baseRequest is what every request has: the workspace and the policy.
func (c *cmdline) baseRequest(set config.Settings) (run.Request, error) {
	dir := set["workspace"].Text
	if err := checkDirectory(dir); err != nil {
		return run.Request{}, err
	}
	// The configuration was read from the workspace once, before the
	// run scans it; a run uses the values that held when it began.
	conf, err := set.VerifyConfig()
	if err != nil {
		return run.Request{}, err
	}
	protect, err := set.Protection()
	if err != nil {
		return run.Request{}, err
	}
	keep, err := set.Recording()
	if err != nil {
		return run.Request{}, err
	}
	allow, err := set.AllowKinds()
	return run.Request{
		Workspace: dir, Exclude: config.ParseList(set["exclude"].Text), Protect: protect, Allow: allow, NoPromote: set.On("no_promote"), Config: conf,
		NoInstall: !set.On("dependencies.install"), InstallScripts: set.On("dependencies.scripts"), Keep: keep,
	}, err
}

// checkDirectory reports a workspace that is no directory, in a message
// that names the flag; links are resolved later, by whoever reads it.
func checkDirectory(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fault.Usage("name a directory with --workspace", "workspace: %w", err)
	}
	if !info.IsDir() {
		return fault.Usage("name a directory with --workspace", "workspace %s is not a directory", dir)
	}
	return nil
}

// readPatch reads the patch: a regular file or a pipe, or the standard
// input when name is "-". next says how to give it, for when it cannot
// be read.
func (c *cmdline) readPatch(ctx context.Context, name, next string) ([]byte, error) {
	// Who reads from a terminal needs to be told that something is
	// expected, and how it ends.
	from := c.Stdin
	switch {
	case name == "":
		return nil, fault.Usage(next, "no patch was given")
	case name == "-":
		if term.Terminal(c.Stdin) != nil {
			fmt.Fprintln(c.Stderr, "paste the patch, then press Enter and Ctrl-D")
		}
	default:
		f, err := openPatch(name)
		if err != nil {
			return nil, fault.Usage(next, "read the patch: %w", err)
		}
		defer f.Close() // it was only read
		// A pipe whose writer hangs ends with the context as well.
		defer context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Now()) })()
		from = struct{ io.Reader }{f} // read as it is: a poll would wait for the first writer of a FIFO
	}
	// An empty patch is a mistake of whoever made the file; it would
	// change nothing, and passing it would look like success.
	data, err := term.Read(ctx, from, maxPatch)
	switch {
	case errors.Is(err, term.ErrTooLarge):
		return nil, fault.Usage("split it", "the patch is larger than %d MiB", maxPatch>>20)
	case err != nil:
		return nil, fault.Usage(next, "read the patch: %w", err)
	case len(data) == 0:
		return nil, fault.Usage(next, "the patch is empty")
	}
	return data, nil
}

// openPatch opens the file without waiting: a FIFO that nobody writes
// to is an empty patch and not a hang.
func openPatch(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	// The pipe of `--patch <(command)` is welcome; a device could be
	// read for ever.
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0 {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("neither a file nor a pipe")}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// report prints the result of a run and ends with its exit code. A
// result that nobody reads any more changes nothing about the run.
func (c *cmdline) report(doc run.Document, asJSON bool) error {
	if asJSON {
		if err := term.PrintJSON(c.Stdout, doc); err != nil && !errors.Is(err, syscall.EPIPE) {
			return fault.Infra("see `agent runs show "+doc.Run+"`", "print the result: %w", err)
		}
	} else {
		c.Summary().Document(doc)
	}
	// The code is the run's own; nothing about printing changes it.
	if doc.Exit == run.ExitDone {
		return nil
	}
	return fault.Reported{Exit: doc.Exit}
}

// A boxRow is a box as `sandbox ls --json` prints it. Live tells
// whether the process that started it still runs; one whose process is
// dead is removed by the next command.
//
// A lease is the time until which a box is surely wanted.
type boxRow struct {
	ID      string    `json:"id"`
	Run     string    `json:"run"`
	Purpose string    `json:"purpose"`
	State   string    `json:"state"`
	Live    bool      `json:"live"`
	Owner   string    `json:"owner"`
	Lease   time.Time `json:"lease"`
}

// sandboxList lists the boxes that are left once those of dead
// processes are removed, as every command does first.
func (c *cmdline) sandboxList(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	return c.with(ctx.Context, set, true, func(s *session) error {
		boxes, err := s.Engine.Boxes(ctx.Context)
		if err != nil {
			return err
		}
		rows := []boxRow{}
		for _, b := range boxes {
			rows = append(rows, boxRow{fmt.Sprintf("%.12s", b.ID), b.Run, b.Purpose, b.State, b.Live, b.Owner, b.Lease})
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, rows)
		}
		return c.printBoxes(rows)
	})
}

// printBoxes prints the boxes as a table. That there are none is the
// usual case, said on stderr so that stdout stays empty.
func (c *cmdline) printBoxes(rows []boxRow) error {
	if len(rows) == 0 {
		fmt.Fprintln(c.Stderr, "no box exists: they live only while a patch is proved")
		return nil
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "BOX\tRUN\tPURPOSE\tSTATE\tOWNER\tLEASE")
		for _, r := range rows {
			owner := "alive"
			if !r.Live {
				owner = "dead: `agent sandbox gc` removes it"
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, term.CleanLine(r.Run), term.CleanLine(r.Purpose), r.State, owner, r.Lease.Local().Format(time.DateTime))
		}
		return t.Flush()
	})
}

// sandboxCollect removes what nobody owns. Boxes go first, while it can
// still be said which; opening a session would remove them without a
// word.
func (c *cmdline) sandboxCollect(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	s, err := c.openEngine(ctx.Context)
	if err != nil {
		return err
	}
	// What was removed is told even when something else could not be.
	defer s.Close()
	boxes, err := s.Engine.Reap(ctx.Context)
	for _, b := range boxes {
		fmt.Fprintf(c.Stdout, "removed box %.12s of run %s\n", b.ID, term.CleanLine(b.Run))
	}
	if err != nil {
		return err
	}
	return c.with(ctx.Context, set, true, func(s *session) error {
		// Only what can be made again is removed. The record, the database's
		// volume and the images that another installation may use are left alone.
		removed, err := s.Builder.PruneSnapshots(ctx.Context, snapshotsKept)
		for _, name := range removed {
			fmt.Fprintln(c.Stdout, "removed image", name)
		}
		if err == nil && len(boxes)+len(removed) == 0 {
			fmt.Fprintln(c.Stdout, "nothing to remove")
		}
		return err
	})
}

// deliver reports the result of a run, and writes what was found to the
// file that --sarif names. The exit code stays the run's own.
func (c *cmdline) deliver(ctx *cli.Context, set config.Settings, doc run.Document) error {
	reported := c.report(doc, set.On("json"))
	name := ctx.String("sarif")
	if name == "" {
		return reported
	}
	if err := sarif.WriteFile(name, doc); err != nil {
		fmt.Fprintf(c.Stderr, "agent: %s\nnext: `agent runs show %s --sarif -` prints them\n", term.CleanLine(err.Error()), doc.Run)
	}
	return reported
}

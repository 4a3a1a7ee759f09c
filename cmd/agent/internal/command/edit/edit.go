// Package edit implements `agent edit`, which applies a patch without a gate.
package edit

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/promotion"
	"agent/verify/policy"
)

// Command returns the command that applies a response without a gate. It needs neither an engine nor a database, and it
// proves nothing. The help page says so first, since the same patch could have been proved.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "edit", Usage: "apply a patch without proving it: show its diff, or --write it", ArgsUsage: "[PATCH]",
		Description: "Matches a patch against the workspace and prints the resulting diff, or why it does not\n" +
			"apply. PATCH is a file or - for standard input, the default: edit blocks (<EDIT file=\"…\">\n" +
			"or <<<<<<< SEARCH), a unified diff, a *** Begin Patch, JSON edits, or whole files in fences\n" +
			"under their names.\n" +
			"It proves nothing: no check and no test runs. `agent sandbox run` is the gate.\n" +
			"Without --write no file is changed. With it all files are written or none, under a journal,\n" +
			"and a file that changed meanwhile is a conflict. There is no record of it and no undo.\n" +
			"--batch answers JSON lines on standard input, each at once, and touches no file:\n" +
			"  {\"id\":1,\"path\":\"a.py\",\"before\":\"x = 1\\n\",\"blocks\":[[\"x = 1\\n\",\"x = 2\\n\"]]}\n" +
			"  {\"id\":1,\"ok\":true,\"after\":\"x = 2\\n\",\"strategy\":\"exact\",\"us\":9}\n" +
			"A line may have \"response\", a patch in any form, in place of \"blocks\". A refusal has\n" +
			"\"err\" and \"kind\"; \"us\" is the time that matching and applying took, in microseconds.\n" +
			"Exit codes: 0 it applies, or is written; 1 it does not; 2 usage; 3 the workspace cannot be\n" +
			"read or written; 4 approval needed; 6 conflict; 130 cancelled.\n\n" + cmdline.Examples(
			"agent edit change.xml", "show the diff, write nothing",
			"agent edit --write < answer.txt", "write it to the workspace",
			"agent edit -w ~/src/shop --file stock.py answer.txt", "blocks that name no file",
			"agent edit --json change.diff", "for scripts",
			"agent edit --batch < cases.jsonl", "many files, one answer per line"),
		// The flags that a run also has mean the same here. There is no --yes: a user who types --write has answered.
		Flags: []cli.Flag{
			config.FlagFor("workspace", "", "dir"),
			&cli.StringFlag{Name: "file", Usage: "default file `PATH` for blocks without a path"},
			&cli.BoolFlag{Name: "write", Usage: "write the result to the workspace, all of it or nothing", DisableDefaultText: true},
			cmdline.AllowFlag(),
			&cli.BoolFlag{Name: "batch", Usage: "answer JSON lines on standard input", DisableDefaultText: true},
			cmdline.JSONFlag(cmdline.Document[document]("edit", 1)),
		},
		Action: c.edit,
	}
}

// edit runs the command. As in a run, all errors in the command line are found before it waits for standard input.
func (c command) edit(ctx *cli.Context) error {
	if ctx.Bool("batch") {
		return c.editBatch(ctx)
	}
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	allow, err := set.AllowKinds()
	if err != nil {
		return err
	}
	protect, err := set.Protection()
	if err != nil {
		return err
	}
	dir := set["workspace"].Text
	if err := cmdline.CheckDirectory(dir); err != nil {
		return err
	}
	place, err := promotion.Hold(dir)
	if err != nil {
		return fault.Usage("name a directory with --workspace", "workspace: %w", err)
	}
	defer place.Close()
	patch, err := c.editPatch(ctx)
	if err != nil {
		return err
	}
	e := &editing{
		command: c, found: place, dir: place.Path, exclude: config.ParseList(set["exclude"].Text), patch: patch, target: ctx.String("file"),
		protect: protect, hide: set.OutputMasker(c.Getenv, ""), allow: allow, write: ctx.Bool("write"), json: set.On("json"),
	}
	// From here on an error is reported in the requested format, with what is known by then.
	e.doc = newDocument(e.dir)
	return e.report(ctx.Context, e.run(ctx.Context))
}

// editPatch reads the patch that the argument names, or standard input without one.
//
// It reads all of it before the workspace is locked or scanned: typing it may take minutes, and the files should be
// those of the moment it ends.
func (c command) editPatch(ctx *cli.Context) ([]byte, error) {
	name := ctx.Args().First()
	if name == "" {
		name = "-"
		// The command looks as if it took no input, and would seem to hang.
		if term.Terminal(c.Stdin) != nil {
			fmt.Fprintln(c.Stderr, "`agent edit FILE` reads edit blocks or a diff from a file; without FILE, the patch is read here:")
		}
	}
	return c.ReadPatch(ctx.Context, name, "name a file of edit blocks or a diff: agent edit FILE, or give it on standard input")
}

// run does all the work. Its findings are in e.doc, even if it ends with an error.
func (e *editing) run(ctx context.Context) error {
	release, err := e.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	// The whole workspace is read, although the patch may name its files: ignored files, files that share a name, and
	// the places of links are known only for the whole. Ten thousand files are read in a tenth of a second or two, and
	// checked faster the next time.
	base, err := workspace.Rescan(ctx, e.dir, e.exclude, workspace.Limits{})
	if e.lock != nil {
		if moved := e.lock.InPlace(); moved != nil {
			return e.unplaced(moved)
		}
	}
	if err != nil {
		return e.unread(err)
	}
	cs, err := e.apply(ctx, base)
	if err != nil {
		return err
	}
	// The diff is printed before any question or write. A reader of the diff that closed the pipe does not keep a patch
	// from being written.
	var printed error
	if !e.json {
		printed = e.show()
	}
	if e.write {
		if err := e.approve(ctx); err != nil {
			return err
		}
		if err := e.place(ctx, base, cs); err != nil {
			return err
		}
		e.doc.Written = true
	}
	return printed
}

// apply makes the changeset that the patch asks for and describes it in the document.
//
// A refusal is the patch's fault and exits with 1, for a script that asks the model again; a disk problem exits with 3,
// since asking again does not fix it.
func (e *editing) apply(ctx context.Context, base *workspace.Manifest) (workspace.Changeset, error) {
	const next = "fix the blocks listed above and run again"
	cs, applied, err := gate.Edit(base, e.patch, e.target)
	var forbidden *gate.ForbiddenError
	switch {
	// Its text is for the author of the patch, model or person, and is returned as it is.
	case errors.As(err, &e.doc.Refusal):
		e.doc.Refusal = e.doc.Refusal.Hidden(e.hide)
		e.explain(base)
		return cs, &fault.Error{Exit: run.ExitFail, Kind: run.ProblemPatch, Next: next, Err: e.doc.Refusal}
	case errors.As(err, &forbidden):
		return cs, &fault.Error{Exit: run.ExitFail, Kind: run.ProblemPatch, Next: next, Err: fmt.Errorf("the patch may not write that: %w", err)}
	case err != nil:
		return cs, e.unread(err)
	}
	made := run.Promotion{Changeset: cs}.Document()
	e.doc.Digest, e.doc.Diff, e.doc.Files = cs.Digest(), made.Diff, made.Files
	e.doc.Edits = append(e.doc.Edits, applied...)
	e.doc.Holds = append(e.doc.Holds, policy.Review(ctx, base, cs, e.protect, nil)...)
	for name, other := range base.Collisions(cs) {
		fmt.Fprintf(e.Stderr, "note: %s is the same as %s on file systems that fold names\n", term.CleanLine(name), term.CleanLine(other))
	}
	return cs, nil
}

// explain says which of the files that a refusal could not find exist but are left out, for instance because git
// ignores them or they hold secrets.
func (e *editing) explain(base *workspace.Manifest) {
	// Several blocks of one file need only one explanation.
	told := map[string]bool{}
	for _, p := range e.doc.Refusal.Problems {
		if _, here := base.Lookup(p.Path); here || told[p.Path] {
			continue
		}
		told[p.Path] = true
		if s, ok := leftOut(base, p.Path); ok {
			fmt.Fprintf(e.Stderr, "note: %s is left out of the workspace: %s\n", term.CleanLine(s.Path), term.Clean(s.Reason))
		}
	}
}

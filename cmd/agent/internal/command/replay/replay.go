// Package replay implements the part of `agent runs` that judges a recorded run again: replay, and export, verify and
// key for a run that moves to another machine.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/replay"
	"agent/orchestrator/run"
	"agent/sandbox/turns"
	"agent/verify"
)

// Commands returns the subcommands of `agent runs` in this package. which is how a help page names the run, and about
// is what it says of it.
func Commands(line *cmdline.Line, which, about string) []*cli.Command {
	c := command{line}
	return []*cli.Command{c.runsReplay(), c.runsExport(which, about), c.runsVerify(), c.runsKey()}
}

// NewMemory returns an empty cache, for the replays of one process.
func NewMemory() verify.Cache { return &memory{rows: map[string][]byte{}} }

// runsReplay returns the command that judges a run again. The recorded settings apply, not those of a workspace. If the
// record is another user's, they are compared with what the user allows.
func (c command) runsReplay() *cli.Command {
	return &cli.Command{
		Name: "replay", Usage: "judge a run again from its record, and compare", ArgsUsage: "[RUN|ARCHIVE]",
		Description: "Rebuilds the workspace that the run saw, applies the recorded responses again, runs the gates\n" +
			"with nothing from the cache and compares verdicts, findings and bytes. The workspace is not\n" +
			"looked at, and no model is asked. ARCHIVE is a file that `agent runs export` wrote; it needs\n" +
			"no database. Exit codes: 0 identical, 1 it differs, and the differences are printed.\n\n" + cmdline.Examples(
			"agent runs replay 1k3", "does the verdict still hold?",
			"agent runs replay 1k3.tar", "a run of another machine",
			"agent runs replay 1k3 --keep seen", "look at what the run saw"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "keep", Usage: "rebuild the workspace in `DIR`, a new one, and leave it there"},
			&cli.BoolFlag{Name: "install", Usage: "install what the workspace of an archive depends on, from the registries that its run used"},
			&cli.StringFlag{Name: "key", Usage: "the archive must be signed by `KEY`: its fingerprint, or a file with the public key"},
			cmdline.JSONFlag(cmdline.Document[*replay.Report]("replay", 1)),
		},
		Action: c.replay,
	}
}

// replay judges a run of the record, or of an archive: names of runs have neither dots nor slashes. An archive needs
// only an engine, so it can be judged on a machine without a record; a run of the record needs both. Exit code 1 means
// that something differs.
func (c command) replay(ctx *cli.Context) error {
	name := ctx.Args().First()
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	if strings.ContainsAny(name, "./") {
		a, done, err := openArchive(ctx.Context, name, ctx.String("key"))
		if err != nil {
			return err
		}
		defer done()
		// This check comes before anything is built or started: a signature says who made the archive, not that its
		// code may have more of this machine.
		if err := errors.Join(admits(set, &a.Evidence.Settings), installs(&a.Evidence.Settings, ctx.Bool("install"))); err != nil {
			return err
		}
		if ctx.String("key") == "" {
			fmt.Fprintf(c.Stderr, "agent: signed by %s; the key's owner was not checked: use --key\n", a.Fingerprint)
		}
		s, err := c.OpenEngine(ctx.Context)
		if err != nil {
			return err
		}
		defer s.Close()
		return c.judgeAgain(ctx, set, s, a.Evidence, a.Content)
	}
	// If it were ignored, it would look as if the signature had been checked.
	if ctx.String("key") != "" {
		return fault.Usage("omit it, or name an archive", "--key is for archives: the record is not signed")
	}
	return c.With(ctx.Context, set, true, func(s *wire.Session) error {
		e, err := evidence(ctx.Context, s, name)
		if err != nil {
			return err
		}
		return c.judgeAgain(ctx, set, s, e, func(d string) ([]byte, error) { return s.DB.Content(ctx.Context, d) })
	})
}

// admits refuses the settings of an archive that give its code more than applies here: the maker of an archive must not
// be able to. Runs of the record need no such check: their settings were bounded when they were made here. The error is
// a policy error and names the first setting that exceeds the limit, with the value that applies here. The runtime
// becomes the user's own: none exceeds another, and a user who chose one to stand between foreign code and the kernel
// has it here too.
func admits(s config.Settings, recorded *run.Settings) error {
	have, err := s.VerifyConfig()
	if err != nil {
		return err
	}
	recorded.Config.Runtime = have.Runtime
	// In both, zero stands for the default of this program. Everything in a box that lies in its memory, such as /tmp
	// and every file, is bounded by it.
	more := config.Wider(recorded.Config, have)
	// Code that can reach a network of this machine can carry away what that network holds.
	for _, p := range recorded.Config.Egress {
		if !have.Egress.Covers(p) {
			more = cmp.Or(more, "egress.allow")
		}
	}
	// Its lock files say what is fetched, and the builders of packages are code too.
	if !recorded.NoInstall && !s.On("dependencies.install") {
		more = cmp.Or(more, "dependencies.install")
	}
	// Scripts of packages run while the image is built, before any box bounds what they may reach.
	if recorded.InstallScripts && !s.On("dependencies.scripts") {
		more = cmp.Or(more, "dependencies.scripts")
	}
	if more != "" {
		return fault.Policy("raise it in the user configuration or the environment, if you trust who made the archive",
			"the run was judged with more %s than the %s that applies here", more, s.HeldText(more))
	}
	return nil
}

// installs prevents installing for an archive unless asked: its lock files say what is fetched and from where, and
// anyone may have made them. Without installing, a run that installed something cannot be judged again.
func installs(s *run.Settings, asked bool) error {
	switch {
	case asked || s.NoInstall:
	case s.Installed != "":
		return fault.Policy("use --install, if you trust who made the archive", "the run installed what its workspace depends on; for an archive that needs --install")
	default:
		s.NoInstall = true
	}
	return nil
}

// judgeAgain replays evidence and prints the result.
//
// content returns what the evidence names, by digest; the replay compares its bytes. judgeAgain leaves no run in the
// record, so that a replay cannot become the evidence of another.
func (c command) judgeAgain(ctx *cli.Context, set config.Settings, s *wire.Session, e replay.Evidence, content func(string) ([]byte, error)) (err error) {
	dir, gone, err := replayDir(ctx.String("keep"))
	if err != nil {
		return err
	}
	// The directory goes last, when no box and no build reads it any more.
	defer func() { gone(err) }()
	board, err := c.Prepare(ctx.Context, s, &e.Settings.Config)
	if err != nil {
		return err
	}
	defer board.Close()
	// The replay has a cache of its own: a verdict from the record's cache would be the recorded one again, and every
	// replay would be identical.
	if s.Hide == nil { // without a database
		s.Hide = set.OutputMasker(c.Getenv, "")
	}
	judged := c.Judged
	if judged == nil {
		judged = NewMemory()
	}
	r := &replay.Replayer{
		Images: s.Builder, Emit: board.Event, Hide: s.Hide,
		Verifier: &verify.Verifier{Boxes: s.Boxes(), Cache: judged, Turns: turns.New(), Hide: s.Hide},
	}
	rep, err := r.Replay(ctx.Context, e, dir, content)
	board.Close()
	// That snapshot is not needed again; the workspace's own are others. It is removed even after a cancellation. The
	// error is joined to the result and does not replace it: the replay was made, and reports what it found.
	_, pruned := s.Builder.PruneSnapshots(context.WithoutCancel(ctx.Context), func(workspace string) int {
		if workspace == dir {
			return 0
		}
		return math.MaxInt
	})
	var unfit *replay.UnfitError
	switch {
	// The evidence is at fault, not this machine: the content under a digest is different, or the parts do not make up
	// the workspace that was judged.
	case errors.As(err, &unfit):
		return &fault.Error{Exit: run.ExitFail, Kind: run.ProblemPatch, Next: "the record was changed, or an agent of another version wrote it", Err: err}
	case err != nil:
		return err
	}
	return errors.Join(c.printReplay(rep, set.On("json")), pruned)
}

// replayDir creates the directory of a rebuilt workspace: name, which must be new, or one that is removed again. An
// existing directory is refused, even an empty one: the user's own files are neither overwritten nor mixed with what
// the run saw. The returned function removes the directory. It removes a requested directory only after an error, and
// only if it is empty.
func replayDir(name string) (string, func(error), error) {
	if name != "" {
		// Mkdir itself reports whether it is new: checking first would leave time for another process.
		if err := os.Mkdir(name, 0o755); err != nil {
			return "", nil, fault.Usage("name a directory that does not exist yet", "--keep: %w", err)
		}
		dir := cmdline.Resolved(name)
		return dir, func(err error) {
			// A report is not an error: the directory is what was asked for, even if it is empty.
			if err != nil && !errors.As(err, new(fault.Reported)) {
				os.Remove(dir) // fails if it is not empty
			}
		}, nil
	}
	dir, err := os.MkdirTemp("", "agent-replay-")
	return cmdline.Resolved(dir), func(error) { os.RemoveAll(dir) }, err
}

// printReplay prints a report, first what the tools are. The report is on standard output, and the exit code says the
// same: fault.Reported, since a message would repeat it a third time.
func (c command) printReplay(rep *replay.Report, asJSON bool) error {
	var err error
	if asJSON {
		err = term.PrintJSON(c.Stdout, rep)
	} else {
		err = term.Print(c.Stdout, func(w io.Writer) error {
			// A note is not a difference: other tools with the same verdict are as good.
			for _, note := range rep.Notes {
				fmt.Fprintln(w, term.CleanLine(note))
			}
			for _, d := range rep.Differs {
				fmt.Fprintf(w, "candidate %d: %s: recorded %s, now %s\n", d.Candidate, term.CleanLine(d.What), orNothing(d.Recorded), orNothing(d.Replayed))
			}
			_, err := fmt.Fprintf(w, "run %s replayed: %s\n", term.CleanLine(rep.Run), map[bool]string{true: "identical", false: "it differs"}[rep.Identical])
			return err
		})
	}
	if err == nil && !rep.Identical {
		err = fault.Reported{Exit: run.ExitFail}
	}
	return err
}

// orNothing formats a value for people.
func orNothing(s string) string { return cmp.Or(term.CleanLine(s), "nothing") }

// memory is the cache of replays: a workspace is judged once for all candidates, and nothing judged during the original
// run counts. Gates run in parallel, so a mutex guards the rows. The cache ends with the process.
type memory struct {
	mu   sync.Mutex
	rows map[string][]byte
}

// Load implements verify.Cache.
func (m *memory) Load(_ context.Context, key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.rows[key]
	return data, ok, nil
}

// Save implements verify.Cache.
func (m *memory) Save(_ context.Context, key string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows[key] = data
	return nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"agent/images"
	"agent/orchestrator/archive"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/sandbox"
	"agent/verify"
)

// runsReplay judges a run again.
// The settings that were recorded hold, and not those of a workspace; what the user
// allows is compared with them where the record is another's.
func (c *cmdline) runsReplay() *cli.Command {
	return &cli.Command{
		Name: "replay", Usage: "judge a run again from its record, and compare", ArgsUsage: "[RUN|ARCHIVE]",
		Description: "Rebuilds the workspace that the run saw, applies the recorded responses again, runs the gates\n" +
			"with nothing from the cache and compares verdicts, findings and bytes. The workspace is not\n" +
			"looked at, and no model is asked. ARCHIVE is a file that `agent runs export` wrote; for that\n" +
			"no database is needed. Exit codes: 0 identical, 1 it differs, and in what is printed.\n\n" + examples(
			"agent runs replay 1k3", "does the verdict still hold?",
			"agent runs replay 1k3.tar", "a run of another machine",
			"agent runs replay 1k3 --keep seen", "look at what the run saw"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "keep", Usage: "rebuild the workspace in `DIR`, a new one, and leave it there"},
			&cli.StringFlag{Name: "key", Usage: "the archive must be signed by `KEY`: its fingerprint, or a file with the public key"},
			jsonFlag(),
		},
		Action: c.replay,
	}
}

// runsExport writes a run to a file.
// which and about are the argument and the sentence on it that all commands on one run
// share.
func (c *cmdline) runsExport(which, about string) *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write a run to one signed file that another machine can check and replay", ArgsUsage: which,
		Description: about + "The file holds what decided the verdict: the files that the run saw, the patches, the\n" +
			"settings, what was asked of models. It is signed with a key that is made on first use, in\n" +
			"the directory of the user's configuration.\n\n" + examples(
			"agent runs export 1k3", "to agent-run-1k3….tar",
			"agent runs export 1k3 -o - | ssh host 'cat > 1k3.tar'", "to another machine"),
		Flags:  []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`, - for standard output"}},
		Action: c.export,
	}
}

// runsVerify checks an archive without an engine or a database.
// Nothing of an archive is executed or written to disk for it, so that it is what to do
// first with one that came by mail.
func (c *cmdline) runsVerify() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "check every byte and the signature of an exported run", ArgsUsage: "ARCHIVE",
		Description: "Says whose key signed it. Only --key tells whether that is the right one: whoever changes an\n" +
			"archive can sign it anew. Exit codes: 0 whole, 1 not.\n\n" + examples(
			"agent runs verify 1k3.tar --key SHA256:…", "the fingerprint that `agent runs key` prints there"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "key", Usage: "it must be signed by `KEY`: its fingerprint, or a file with the public key"}, jsonFlag(),
		},
		Action: c.verifyArchive,
	}
}

// runsKey shows the key that signs exports.
// The private half never leaves its file.
func (c *cmdline) runsKey() *cli.Command {
	return &cli.Command{
		Name: "key", Usage: "print fingerprint and public half of the key that signs exported runs",
		Description: "Whoever is given an archive needs the fingerprint by another way.\n\n" + examples("agent runs key", "made on first use"),
		Action: func(*cli.Context) error {
			key, err := c.signingKey()
			if err != nil {
				return err
			}
			id, err := key.KeyID()
			if err != nil {
				return err
			}
			public, err := key.PEM()
			if err == nil {
				_, err = fmt.Fprintf(c.stdout, "%s\n%s", id, public)
			}
			return err
		},
	}
}

// signingKey is the user's own.
// It lies beside the configuration, as it is the person's and not the machine's; no
// configuration names another, so that a workspace cannot have its own key used. One
// that others may read is refused. The errors are trouble of the machine: nothing that
// was typed on the command line would help.
func (c *cmdline) signingKey() (*archive.Key, error) {
	config := userConfigPath(c.getenv)
	if config == "" {
		return nil, infra("set HOME or XDG_CONFIG_HOME", "there is no directory of the user's configuration for the signing key")
	}
	key, err := archive.LoadKey(filepath.Join(filepath.Dir(config), "attest.key"))
	if err != nil {
		err = infra("see the message", "%w", err)
	}
	return key, err
}

// evidence reads what a replay and an export need; why it is not there is told as the
// fault of nobody.
// An empty prefix means the latest run of any workspace. Runs that are too large for the
// bounds of the record are kept without their files: such a one can be looked at, and
// not be replayed.
func (s *session) evidence(ctx context.Context, prefix string) (run.Evidence, error) {
	d, err := s.named(ctx, prefix)
	if err != nil {
		return run.Evidence{}, err
	}
	e, err := s.db.Evidence(ctx, d.ID)
	var lacking *store.LackingError
	if errors.As(err, &lacking) {
		err = usage("`agent config` shows record.files and record.bytes; runs made from now on are kept as these say", "%w", err)
	}
	return e, err
}

// export writes the archive. A file appears under its name when it is whole.
// The key comes before the database: without one there is nothing to start a container
// for.
func (c *cmdline) export(ctx *cli.Context) error {
	set, err := c.settings(ctx)
	if err != nil {
		return err
	}
	key, err := c.signingKey()
	if err != nil {
		return err
	}
	return c.with(ctx.Context, set, false, func(s *session) error {
		e, err := s.evidence(ctx.Context, ctx.Args().First())
		if err != nil {
			return err
		}
		write := func(w io.Writer) error {
			return archive.Write(ctx.Context, w, e, func(d string) ([]byte, error) { return s.db.Content(ctx.Context, d) }, key)
		}
		name := cmp.Or(ctx.String("output"), "agent-run-"+e.Run+".tar")
		if name == "-" {
			// In parts, as they are made. The reader has to verify what it got: half an
			// archive lacks the signature, which stands at its end.
			err := write(c.stdout)
			if errors.Is(err, syscall.EPIPE) {
				// Elsewhere such a reader has what it wanted; half an archive nobody wants.
				err = infra("export again to a reader that takes all of it", "write the archive: %v", err)
			}
			return err
		}
		if err := writeWhole(name, write); err != nil {
			return infra("name another file with -o", "write the archive: %w", err)
		}
		// On standard error, as standard output is the name alone: $(agent runs export) is a
		// file.
		id, err := key.KeyID()
		fmt.Fprintf(c.stderr, "agent: signed with the key %s\n", id)
		fmt.Fprintln(c.stdout, name)
		return err
	})
}

// writeWhole writes a file beside its name and then gives it the name.
// In the same directory, as only there a rename replaces the file in one step. A kill
// leaves a file called .agent-* and never half an archive under the name. What was there
// before goes, if it was a file: a link or a device would be replaced too, and is left.
func writeWhole(name string, write func(io.Writer) error) error {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", name)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".agent-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone where it was renamed
	// Sync before the rename: after a power cut the name could else stand for an empty
	// file.
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// openArchive reads an archive and checks all of it, and whose it is.
// key is "" where anybody's will do. The function closes the file; Content reads from it
// until then. Damage and another signer end with exit code 1, as a file that says
// something else than it should; a file that cannot be read is a fault of usage.
func openArchive(ctx context.Context, name, key string) (*archive.Archive, func(), error) {
	// Opening a FIFO must not wait for a writer that never comes.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, usage("name an archive", "%w", err)
	}
	done := func() { f.Close() } // it was only read
	// All is read twice, the size first: a pipe has neither.
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = usage("save it to a file first", "%s is no regular file", name)
	}
	var a *archive.Archive
	if err == nil {
		a, err = archive.Open(ctx, f, info.Size())
	}
	var damaged *archive.DamagedError
	if errors.As(err, &damaged) {
		err = &fault{exit: run.ExitFail, kind: "patch", next: "have it exported and sent again", err: err}
	}
	if err == nil && key != "" {
		// After the check of the archive, before which its fingerprint is worth nothing.
		err = signedBy(a, key)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return a, done, nil
}

// signedBy compares the signer of an archive with a fingerprint, or the public key in a
// file.
// The fingerprint is compared as a whole; there is no abbreviation that a second key
// could be made to fit.
func signedBy(a *archive.Archive, key string) error {
	if !strings.HasPrefix(key, "SHA256:") {
		// It reads no device, and no more than a configuration may have. Links are followed:
		// the name is the user's own.
		text, err := readConfig(key, true)
		if err == nil && text == nil {
			err = os.ErrNotExist
		}
		var k *archive.Key
		if err == nil {
			k, err = archive.ParsePublic(text)
		}
		if err == nil {
			key, err = k.KeyID()
		}
		if err != nil {
			return usage("give a fingerprint as SHA256:…, or a file that holds the public key", "--key: %w", err)
		}
	}
	if a.Fingerprint != key {
		return &fault{exit: run.ExitFail, kind: "patch", next: "ask whoever made it for the fingerprint: `agent runs key`", err: fmt.Errorf("the archive was signed by %s, and not by %s", a.Fingerprint, key)}
	}
	return nil
}

// A verifiedRow is what `runs verify --json` prints.
// Trusted says whether a key was asked for and is the signer's. Parts are the files in
// the archive; Bytes is the size of all, with the headers between them.
type verifiedRow struct {
	Run     string         `json:"run"`
	State   run.State      `json:"state"`
	Verdict verify.Verdict `json:"verdict"`
	Key     string         `json:"key"`
	Trusted bool           `json:"trusted"`
	Parts   int            `json:"parts"`
	Bytes   int64          `json:"bytes"`
}

// verifyArchive checks an archive.
// All that it prints comes from the archive, which may be anybody's, and is cleaned.
// Without --key it ends with 0 too and says on standard error what that is worth.
func (c *cmdline) verifyArchive(ctx *cli.Context) error {
	set, err := c.settings(ctx)
	if err != nil {
		return err
	}
	name := ctx.Args().First()
	if name == "" {
		return usage("name a file that `agent runs export` wrote", "no archive was named")
	}
	a, done, err := openArchive(ctx.Context, name, ctx.String("key"))
	if err != nil {
		return err
	}
	defer done()
	e := a.Evidence
	if set.on("json") {
		return printJSON(c.stdout, verifiedRow{e.Run, e.State, e.Verdict, a.Fingerprint, ctx.String("key") != "", a.Parts, a.Size})
	}
	fmt.Fprintf(c.stdout, "run %s, %s, verdict %s: %d parts are whole, signed by %s\n", cleanLine(e.Run), cleanLine(string(e.State)), cleanLine(string(e.Verdict)), a.Parts, a.Fingerprint)
	if ctx.String("key") == "" {
		fmt.Fprintln(c.stderr, "agent: whose key that is was not checked: give --key")
	}
	return nil
}

// replay judges a run of the record, or of an archive: names of runs have neither dots nor
// slashes.
// An archive needs an engine and nothing else, so it can be judged on a machine that has
// no record; a run of the record needs both. Exit code 1 says that something differs.
func (c *cmdline) replay(ctx *cli.Context) error {
	name := ctx.Args().First()
	set, err := c.settings(ctx)
	if err != nil {
		return err
	}
	if strings.ContainsAny(name, "./") {
		a, done, err := openArchive(ctx.Context, name, ctx.String("key"))
		if err != nil {
			return err
		}
		defer done()
		// Before anything is built or started: a signature says who made the archive, and
		// not that its code may have more of this machine.
		if err := set.admits(&a.Evidence.Settings); err != nil {
			return err
		}
		if ctx.String("key") == "" {
			fmt.Fprintf(c.stderr, "agent: signed by %s; whose key that is was not checked: give --key\n", a.Fingerprint)
		}
		s, err := c.openEngine(ctx.Context)
		if err != nil {
			return err
		}
		defer s.close()
		return c.judgeAgain(ctx, set, s, a.Evidence, a.Content)
	}
	// Ignored, it would look as if the signature had been checked.
	if ctx.String("key") != "" {
		return usage("leave it out, or name an archive", "--key is for archives: the record is not signed")
	}
	return c.with(ctx.Context, set, true, func(s *session) error {
		e, err := s.evidence(ctx.Context, name)
		if err != nil {
			return err
		}
		return c.judgeAgain(ctx, set, s, e, func(d string) ([]byte, error) { return s.db.Content(ctx.Context, d) })
	})
}

// admits refuses the settings of an archive that give the code in it more than holds here:
// whoever makes one must not be able to.
// Runs of the record pass without this: their settings were bounded when they were made
// here. The error is one of policy and names the first setting that is more, with what
// holds here. The runtime becomes the user's own: none is more than another, and who
// chose one to stand between foreign code and the kernel has it there.
func (s settings) admits(recorded *run.Settings) error {
	have, err := s.verifyConfig()
	if err != nil {
		return err
	}
	recorded.Config.Runtime = have.Runtime
	// A zero stands for the default of this program, in either. What of a box lies in its
	// memory, as /tmp and every file, is bounded by that.
	more := wider(recorded.Config, have)
	// Code that may reach a network of this machine can carry away what that network
	// holds.
	for _, p := range recorded.Config.Egress {
		if !have.Egress.Covers(p) {
			more = cmp.Or(more, "egress.allow")
		}
	}
	// Its lock files say what is fetched, and the builders of packages are code too.
	if !recorded.NoInstall && !s.on("dependencies.install") {
		more = cmp.Or(more, "dependencies.install")
	}
	// Scripts of packages run while the image is built, before any box bounds what they
	// may reach.
	if recorded.InstallScripts && !s.on("dependencies.scripts") {
		more = cmp.Or(more, "dependencies.scripts")
	}
	if more != "" {
		return policy("raise it in the user configuration or the environment, if you trust who made the archive",
			"the run was judged with more %s than the %s that holds here", more, s.heldText(more))
	}
	return nil
}

// judgeAgain replays evidence and prints what came of it.
//
// content gives what the evidence names, by digest; its bytes are compared there. It
// leaves no run in the record, so that a replay cannot become the evidence of another.
func (c *cmdline) judgeAgain(ctx *cli.Context, set settings, s *session, e run.Evidence, content func(string) ([]byte, error)) (err error) {
	dir, gone, err := replayDir(ctx.String("keep"))
	if err != nil {
		return err
	}
	// The directory goes last, when no box and no build reads it any more.
	defer func() { gone(err) }()
	// Minutes the first time, with a display of its own, and so before the board.
	if _, err := s.builder.Ensure(ctx.Context, images.Toolchain); err != nil {
		return fmt.Errorf("build the toolchain image: %w", err)
	}
	if err := s.settleRuntime(ctx.Context, &e.Settings.Config, c.stderr); err != nil {
		return err
	}
	s.builder.Progress = nil // from here on the terminal is the board's
	board := c.newBoard(time.Duration(orDefault(e.Settings.Config.Smoke.Seconds, 10)) * time.Second)
	// With a cache of its own: a verdict out of the record's would be the recorded one
	// again, and every replay identical.
	r := s.runner(board.event)
	r.Verifier = &verify.Verifier{Boxes: s.pool, Cache: c.judged, Turns: sandbox.NewTurns()}
	rep, err := r.Replay(ctx.Context, e, dir, content)
	board.close()
	// Nobody asks for that snapshot again; the workspace's own are others.
	// Also after a cancellation. It is joined to the result and does not take its place:
	// the replay was made, and says what it found.
	_, pruned := s.builder.PruneSnapshots(context.WithoutCancel(ctx.Context), func(workspace string) int {
		if workspace == dir {
			return 0
		}
		return math.MaxInt
	})
	var unfit *run.UnfitError
	switch {
	// The evidence is at fault, and not this machine: what lies under a digest is
	// something else, or the parts do not make the workspace that was judged.
	case errors.As(err, &unfit):
		return &fault{exit: run.ExitFail, kind: "patch", next: "the record was changed, or an agent of another version wrote it", err: err}
	case err != nil:
		return err
	}
	return errors.Join(c.printReplay(rep, set.on("json")), pruned)
}

// replayDir makes the directory of a rebuilt workspace: name, which must be new, or one
// that is removed again.
// A directory that is there already is refused, even an empty one: what is somebody's
// own is neither written over nor mixed with what the run saw. The function removes the
// directory; one that was asked for only after an error, and if nothing is in it.
func replayDir(name string) (string, func(error), error) {
	if name != "" {
		// Mkdir tells by itself whether it is new: asking first would leave time for
		// another.
		if err := os.Mkdir(name, 0o755); err != nil {
			return "", nil, usage("name a directory that is not there yet", "--keep: %w", err)
		}
		dir := resolved(name)
		return dir, func(err error) {
			// A report is no error: the directory is what was asked for, be it empty.
			if err != nil && !errors.As(err, new(errReported)) {
				os.Remove(dir) // which refuses one that holds something
			}
		}, nil
	}
	dir, err := os.MkdirTemp("", "agent-replay-")
	return resolved(dir), func(error) { os.RemoveAll(dir) }, err
}

// printReplay prints a report, what the tools are first.
// The report stands first on standard output, then the exit code says the same:
// errReported, as a message beside it would be the third time.
func (c *cmdline) printReplay(rep *run.ReplayReport, asJSON bool) error {
	var err error
	if asJSON {
		err = printJSON(c.stdout, rep)
	} else {
		err = printTo(c.stdout, func(w io.Writer) error {
			// A note is no difference: other tools that come to the same verdict are as good.
			for _, note := range rep.Notes {
				fmt.Fprintln(w, cleanLine(note))
			}
			for _, d := range rep.Differs {
				fmt.Fprintf(w, "candidate %d: %s: recorded %s, now %s\n", d.Candidate, cleanLine(d.What), orNothing(d.Recorded), orNothing(d.Replayed))
			}
			_, err := fmt.Fprintf(w, "run %s replayed: %s\n", cleanLine(rep.Run), map[bool]string{true: "identical", false: "it differs"}[rep.Identical])
			return err
		})
	}
	if err == nil && !rep.Identical {
		err = errReported{run.ExitFail}
	}
	return err
}

// orNothing is a value for people.
func orNothing(s string) string { return cmp.Or(cleanLine(s), "nothing") }

// memory is the cache of replays: a workspace is judged once for all candidates, and
// nothing that was judged when the run was made counts.
// Gates run side by side, so a mutex guards the rows. It ends with the process.
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

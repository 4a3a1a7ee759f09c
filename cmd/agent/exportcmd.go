package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/archive"
	"agent/orchestrator/replay"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/verify"
)

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
				_, err = fmt.Fprintf(c.Stdout, "%s\n%s", id, public)
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
	config := config.UserPath(c.Getenv)
	if config == "" {
		return nil, fault.Infra("set HOME or XDG_CONFIG_HOME", "there is no directory of the user's configuration for the signing key")
	}
	key, err := archive.LoadKey(filepath.Join(filepath.Dir(config), "attest.key"))
	if err != nil {
		err = fault.Infra("see the message", "%w", err)
	}
	return key, err
}

// evidence reads what a replay and an export need; why it is not there is told as the
// fault of nobody.
// An empty prefix means the latest run of any workspace. Runs that are too large for the
// bounds of the record are kept without their files: such a one can be looked at, and
// not be replayed.
func (s *session) evidence(ctx context.Context, prefix string) (replay.Evidence, error) {
	d, err := s.named(ctx, prefix)
	if err != nil {
		return replay.Evidence{}, err
	}
	e, err := s.DB.Evidence(ctx, d.ID)
	var lacking *store.LackingError
	if errors.As(err, &lacking) {
		err = fault.Usage("`agent config` shows record.files and record.bytes; runs made from now on are kept as these say", "%w", err)
	}
	return e, err
}

// export writes the archive. A file appears under its name when it is whole.
// The key comes before the database: without one there is nothing to start a container
// for.
func (c *cmdline) export(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
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
			return archive.Write(ctx.Context, w, e, func(d string) ([]byte, error) { return s.DB.Content(ctx.Context, d) }, key)
		}
		name := cmp.Or(ctx.String("output"), "agent-run-"+e.Run+".tar")
		if name == "-" {
			// In parts, as they are made. The reader has to verify what it got: half an
			// archive lacks the signature, which stands at its end.
			err := write(c.Stdout)
			if errors.Is(err, syscall.EPIPE) {
				// Elsewhere such a reader has what it wanted; half an archive nobody wants.
				err = fault.Infra("export again to a reader that takes all of it", "write the archive: %v", err)
			}
			return err
		}
		if err := writeWhole(name, write); err != nil {
			return fault.Infra("name another file with -o", "write the archive: %w", err)
		}
		// On standard error, as standard output is the name alone: $(agent runs export) is a
		// file.
		id, err := key.KeyID()
		fmt.Fprintf(c.Stderr, "agent: signed with the key %s\n", id)
		fmt.Fprintln(c.Stdout, name)
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
		return nil, nil, fault.Usage("name an archive", "%w", err)
	}
	done := func() { f.Close() } // it was only read
	// All is read twice, the size first: a pipe has neither.
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fault.Usage("save it to a file first", "%s is no regular file", name)
	}
	var a *archive.Archive
	if err == nil {
		a, err = archive.Open(ctx, f, info.Size())
	}
	var damaged *archive.DamagedError
	if errors.As(err, &damaged) {
		err = &fault.Error{Exit: run.ExitFail, Kind: "patch", Next: "have it exported and sent again", Err: err}
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
		text, err := config.ReadFile(key, true)
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
			return fault.Usage("give a fingerprint as SHA256:…, or a file that holds the public key", "--key: %w", err)
		}
	}
	if a.Fingerprint != key {
		return &fault.Error{Exit: run.ExitFail, Kind: "patch", Next: "ask whoever made it for the fingerprint: `agent runs key`", Err: fmt.Errorf("the archive was signed by %s, and not by %s", a.Fingerprint, key)}
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
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	name := ctx.Args().First()
	if name == "" {
		return fault.Usage("name a file that `agent runs export` wrote", "no archive was named")
	}
	a, done, err := openArchive(ctx.Context, name, ctx.String("key"))
	if err != nil {
		return err
	}
	defer done()
	e := a.Evidence
	if set.On("json") {
		return term.PrintJSON(c.Stdout, verifiedRow{e.Run, e.State, e.Verdict, a.Fingerprint, ctx.String("key") != "", a.Parts, a.Size})
	}
	fmt.Fprintf(c.Stdout, "run %s, %s, verdict %s: %d parts are whole, signed by %s\n", term.CleanLine(e.Run), term.CleanLine(string(e.State)), term.CleanLine(string(e.Verdict)), a.Parts, a.Fingerprint)
	if ctx.String("key") == "" {
		fmt.Fprintln(c.Stderr, "agent: whose key that is was not checked: give --key")
	}
	return nil
}

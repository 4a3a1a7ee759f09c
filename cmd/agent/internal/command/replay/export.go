package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/archive"
	"agent/orchestrator/run"
	"agent/verify"
)

// runsExport returns the command that writes a run to a file. which and about are the argument and the sentence about
// it that all commands on one run share.
func (c command) runsExport(which, about string) *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write a run to one signed file that another machine can check and replay", ArgsUsage: which,
		Description: about + "The file holds what decided the verdict: the files that the run saw, the patches, the\n" +
			"settings, and what models were asked. It is signed with a key that is made on first use, in\n" +
			"your configuration directory.\n\n" + cmdline.Examples(
			"agent runs export 1k3", "to agent-run-1k3….tar",
			"agent runs export 1k3 -o - | ssh host 'cat > 1k3.tar'", "to another machine"),
		Flags:  []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`, - for standard output"}},
		Action: c.export,
	}
}

// runsVerify returns the command that checks an archive without an engine or a database. It executes nothing of the
// archive and writes none of it to disk, so it is the first thing to do with one that came by mail.
func (c command) runsVerify() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "check every byte and the signature of an exported run", ArgsUsage: "ARCHIVE",
		Description: "Says whose key signed it. Only --key tells whether that is the right one: anyone who changes\n" +
			"an archive can sign it anew. Exit codes: 0 whole, 1 not.\n\n" + cmdline.Examples(
			"agent runs verify 1k3.tar --key SHA256:…", "the fingerprint that `agent runs key` prints there"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "key", Usage: "it must be signed by `KEY`: its fingerprint, or a file with the public key"}, cmdline.JSONFlag(cmdline.Document[verifiedRow]("archive", 1)),
		},
		Action: c.verifyArchive,
	}
}

// runsKey returns the command that shows the key that signs exports. The private half never leaves its file.
func (c command) runsKey() *cli.Command {
	return &cli.Command{
		Name: "key", Usage: "print the fingerprint and the public half of the key that signs exported runs",
		Description: "Send the fingerprint through a separate channel.\n\n" + cmdline.Examples("agent runs key", "made on first use"),
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

// export writes the archive. The file appears under its name only when it is complete. The key comes before the
// database: without a key there is no reason to start a container.
func (c command) export(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	key, err := c.signingKey()
	if err != nil {
		return err
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		e, err := evidence(ctx.Context, s, ctx.Args().First())
		if err != nil {
			return err
		}
		write := func(w io.Writer) error {
			return archive.Write(ctx.Context, w, e, func(d string) ([]byte, error) { return s.DB.Content(ctx.Context, d) }, key)
		}
		name := cmp.Or(ctx.String("output"), "agent-run-"+e.Run+".tar")
		if name == "-" {
			// The archive is written in parts, as they are made. The reader must verify it: half an archive lacks the
			// signature, which is at the end.
			err := write(c.Stdout)
			if errors.Is(err, syscall.EPIPE) {
				// For other commands, such a reader has what it wanted. Half an archive is of no use.
				err = fault.Infra("export again to a reader that takes all of it", "write the archive: %v", err)
			}
			return err
		}
		if err := writeWhole(name, write); err != nil {
			return fault.Infra("name another file with -o", "write the archive: %w", err)
		}
		// On standard error, since standard output is only the name: $(agent runs export) is a file.
		id, err := key.KeyID()
		fmt.Fprintf(c.Stderr, "agent: signed with the key %s\n", id)
		fmt.Fprintln(c.Stdout, name)
		return err
	})
}

// A verifiedRow is what `runs verify --json` prints. Trusted says whether a key was given and is the signer's. Parts
// counts the files in the archive; Bytes is its total size, including the headers between them.
type verifiedRow struct {
	Run     string         `json:"run"`
	State   run.State      `json:"state"`
	Verdict verify.Verdict `json:"verdict"`
	Key     string         `json:"key"`
	Trusted bool           `json:"trusted"`
	Parts   int            `json:"parts"`
	Bytes   int64          `json:"bytes"`
}

// verifyArchive checks an archive. All its output comes from the archive, which may be anyone's, and is cleaned.
// Without --key it also ends with 0, and says on standard error what that is worth.
func (c command) verifyArchive(ctx *cli.Context) error {
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
		fmt.Fprintln(c.Stderr, "agent: the key's owner was not checked: use --key")
	}
	return nil
}

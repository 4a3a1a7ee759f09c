package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/archive"
	"agent/orchestrator/replay"
	"agent/orchestrator/run"
	"agent/orchestrator/store/history"
)

type command struct{ *cmdline.Line }

// signingKey returns the user's own key. The key lies next to the configuration, since it belongs to the person and not
// to the machine. No configuration names another key, so that a workspace cannot have its own key used. A key that
// others may read is refused. The errors are infrastructure errors: nothing typed on the command line would help.
func (c command) signingKey() (*archive.Key, error) {
	config := config.UserPath(c.Getenv)
	if config == "" {
		return nil, fault.Infra("set HOME or XDG_CONFIG_HOME", "there is no configuration directory for the signing key")
	}
	key, err := archive.LoadKey(filepath.Join(filepath.Dir(config), "attest.key"))
	if err != nil {
		err = fault.Infra("see the message", "%w", err)
	}
	return key, err
}

// evidence reads what a replay and an export need. If the record lacks it, the error names the settings that determine
// what is kept. An empty prefix means the latest run of any workspace. Runs that exceed the bounds of the record are
// kept without their files: they can be looked at, but not replayed.
func evidence(ctx context.Context, s *wire.Session, prefix string) (replay.Evidence, error) {
	d, err := s.Named(ctx, prefix)
	if err != nil {
		return replay.Evidence{}, err
	}
	e, err := s.DB.Evidence(ctx, d.ID)
	var lacking *history.LackingError
	if errors.As(err, &lacking) {
		err = fault.Usage("see record.files and record.bytes in `agent config`; they apply to new runs", "%w", err)
	}
	return e, err
}

// writeWhole writes a file next to its final name and then renames it. It uses the same directory, since only there a
// rename replaces the file in one step. A kill leaves a file called .agent-* and never half an archive under the name.
// An existing file is replaced. A link or a device would be replaced too, so it is refused.
func writeWhole(name string, write func(io.Writer) error) error {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".agent-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone if it was renamed
	// Sync before the rename: otherwise, after a power cut, the name could refer to an empty file.
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// openArchive reads an archive, checks all of it, and checks who signed it. key is "" if any signer will do. The
// returned function closes the file; Content reads from it until then. Damage and another signer end with exit code 1,
// since the file is not what it should be; a file that cannot be read is a usage error.
func openArchive(ctx context.Context, name, key string) (*archive.Archive, func(), error) {
	// Opening a FIFO must not wait for a writer that never comes.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fault.Usage("name an archive", "%w", err)
	}
	done := func() { f.Close() } // it was only read
	// The archive is read twice, and its size must be known first: a pipe allows neither.
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fault.Usage("save it to a file first", "%s is not a regular file", name)
	}
	var a *archive.Archive
	if err == nil {
		a, err = archive.Open(ctx, f, info.Size())
	}
	var damaged *archive.DamagedError
	if errors.As(err, &damaged) {
		err = &fault.Error{Exit: run.ExitFail, Kind: run.ProblemPatch, Next: "ask for it to be exported and sent again", Err: err}
	}
	if err == nil && key != "" {
		// Before the check of the archive its fingerprint is worth nothing.
		err = signedBy(a, key)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return a, done, nil
}

// signedBy compares the signer of an archive with a fingerprint, or with the public key in a file. It compares the
// whole fingerprint: a second key could be made to fit an abbreviation.
func signedBy(a *archive.Archive, key string) error {
	if !strings.HasPrefix(key, "SHA256:") {
		// ReadFile reads no device, and no more than the maximum size of a configuration. Links are followed: the name
		// is the user's own.
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
			return fault.Usage("use a fingerprint such as SHA256:…, or a file that holds the public key", "--key: %w", err)
		}
	}
	if a.Fingerprint != key {
		return &fault.Error{Exit: run.ExitFail, Kind: run.ProblemPatch, Next: "ask its author for the fingerprint: `agent runs key`", Err: fmt.Errorf("the archive was signed by %s, not by %s", a.Fingerprint, key)}
	}
	return nil
}

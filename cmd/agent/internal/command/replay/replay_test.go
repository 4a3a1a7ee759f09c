package replay

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/run"
	"agent/verify"
)

// The user's boundary of a box applies, not the one in the archive.
func TestAnArchiveIsHeldToTheBoundaryOfTheUser(t *testing.T) {
	t.Parallel()
	own, dir := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(own, "agent"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "agent", "config.toml"), []byte("runtime = \"runsc\"\n[dependencies]\ninstall = false\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	set := cmdlinetest.Settings(t, map[string]string{"XDG_CONFIG_HOME": own}, dir)
	recorded := run.Settings{NoInstall: true}
	if err := admits(set, &recorded); err != nil || recorded.Config.Runtime != "runsc" {
		t.Errorf("it would be judged with the runtime %q, %v", recorded.Config.Runtime, err)
	}
	if err := admits(set, &run.Settings{}); err == nil || !strings.Contains(err.Error(), "more dependencies.install than the false") {
		t.Errorf("what it depends on would be installed: %v", err)
	}
	recorded = run.Settings{Config: verify.Config{Runtime: "kata"}}
	if err := admits(cmdlinetest.Settings(t, map[string]string{"XDG_CONFIG_HOME": t.TempDir()}, dir), &recorded); err != nil || recorded.Config.Runtime != "" {
		t.Errorf("the archive chose the runtime %q, %v", recorded.Config.Runtime, err)
	}
}

// Nothing is installed for an archive unless asked for, whatever the archive says.
func TestAnArchiveHasNothingInstalledUnasked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		installed         string
		none, asked       bool
		installs, refused bool
	}{
		{installed: "5f2a", refused: true},
		{installed: "5f2a", asked: true, installs: true},
		{installed: ""},
		{installed: "", asked: true, installs: true},
		{installed: "5f2a", none: true},
		{none: true, asked: true},
	} {
		s := run.Settings{Installed: c.installed, NoInstall: c.none}
		err := installs(&s, c.asked)
		if (err != nil) != c.refused || err == nil && !s.NoInstall != c.installs {
			t.Errorf("%+v: installs %v, %v", c, !s.NoInstall, err)
		}
		if err != nil && !strings.Contains(err.Error(), "--install") {
			t.Error(err)
		}
	}
}

// Only names of files are replaced.
func TestAnArchiveReplacesFilesAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo, link, file := filepath.Join(dir, "fifo.tar"), filepath.Join(dir, "link.tar"), filepath.Join(dir, "file.tar")
	if err := errors.Join(syscall.Mkfifo(fifo, 0o600), os.Symlink(file, link), os.WriteFile(file, []byte("mine"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{fifo, link, os.DevNull} {
		err := writeWhole(name, func(io.Writer) error { return errors.New("written") })
		if err == nil || !strings.Contains(err.Error(), name+" is not a regular file") {
			t.Errorf("%s would be replaced: %v", name, err)
		}
	}
	if err := writeWhole(file, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Error(err)
	}
	// A replay without a result leaves no directory, unless something is in it.
	for name, stays := range map[string]bool{"empty": false, "full": true, "told": true} {
		kept, gone, err := replayDir(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "full" {
			if err := os.WriteFile(filepath.Join(kept, "a"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		gone(map[bool]error{true: fault.Reported{Exit: 1}, false: errors.New("no engine")}[name == "told"])
		if _, err := os.Stat(kept); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package forge_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/forge"
)

// repository creates a repository whose commits change the named files, in order.
func repository(t *testing.T, commits ...[]string) string {
	t.Helper()
	dir := t.TempDir()
	run(t, dir, "init", "-q", "-b", "main")
	for i, files := range commits {
		for _, name := range files {
			write(t, filepath.Join(dir, name), strings.Repeat("x", i+1))
		}
		run(t, dir, "add", "-A")
		run(t, dir, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "c")
	}
	return dir
}

func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestHotspotsAreTheFilesChangedMost(t *testing.T) {
	t.Parallel()
	dir := repository(t, []string{"a.py", "b é.py", "c.py"}, []string{"b é.py", "c.py"}, []string{"b é.py"})
	got, err := forge.Hotspots(t.Context(), dir, 2)
	if err != nil || strings.Join(got, ",") != "b é.py,c.py" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestARepositoryRunsNothing plants a program in every setting through which a repository can name one that reading its history might
// run.
func TestARepositoryRunsNothing(t *testing.T) {
	t.Parallel()
	dir := repository(t, []string{"a.py"}, []string{"a.py"})
	trap, sprung := filepath.Join(dir, "trap.sh"), filepath.Join(t.TempDir(), "sprung")
	write(t, trap, "#!/bin/sh\ntouch "+sprung+"\n")
	write(t, filepath.Join(dir, ".gitattributes"), "* diff=evil filter=evil\n")
	for _, key := range []string{
		"core.fsmonitor", "core.pager", "pager.log", "gpg.program", "gpg.ssh.program", "diff.external", "diff.evil.textconv", "diff.evil.command",
		"filter.evil.smudge", "filter.evil.clean", "core.sshCommand", "core.editor", "credential.helper", "core.alternateRefsCommand",
	} {
		run(t, dir, "config", key, trap)
	}
	run(t, dir, "config", "log.showSignature", "true")
	run(t, dir, "config", "alias.log", "!"+trap)
	if got, err := forge.Hotspots(t.Context(), dir, 5); err != nil || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Stat(sprung); !errors.Is(err, os.ErrNotExist) {
		t.Error("the repository had a program run")
	}
}

// TestGitTalksToNoRemote asks a remote that is a program. A repository's own protocol.ext.allow takes precedence over protocol.allow on
// the command line.
func TestGitTalksToNoRemote(t *testing.T) {
	t.Parallel()
	dir, sprung := repository(t, []string{"a.py"}), filepath.Join(t.TempDir(), "sprung")
	run(t, dir, "config", "protocol.ext.allow", "always")
	run(t, dir, "config", "remote.origin.url", "ext::touch "+sprung)
	if out, err := forge.Git(t.Context(), dir, "ls-remote", "origin"); err == nil || !strings.Contains(err.Error(), "not allowed") {
		t.Errorf("git asked the remote: %q, %v", out, err)
	}
	if _, err := os.Stat(sprung); !errors.Is(err, os.ErrNotExist) {
		t.Error("the remote of the repository was run")
	}
	// The trap works: plain git runs it.
	_ = exec.Command("git", "-C", dir, "ls-remote", "origin").Run()
	if _, err := os.Stat(sprung); err != nil {
		t.Errorf("git does not run the remote either: %v", err)
	}
}

func TestWithoutARepositoryThereAreNoHotspots(t *testing.T) {
	t.Parallel()
	if _, err := forge.Hotspots(t.Context(), t.TempDir(), 5); !errors.Is(err, forge.ErrNoGit) {
		t.Errorf("%v", err)
	}
	inside := filepath.Join(repository(t, []string{"a.py"}), "sub")
	write(t, filepath.Join(inside, "x"), "")
	if _, err := forge.Hotspots(t.Context(), inside, 5); !errors.Is(err, forge.ErrNoGit) {
		t.Errorf("the history of a folder above was read: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := forge.Hotspots(ctx, repository(t, []string{"a.py"}), 5); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

package git

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace/internal/treetest"
)

// A repository's own protocol.ext.allow outranks a protocol.allow on the command line.
func TestGitTalksToNoRemote(t *testing.T) {
	t.Parallel()
	dir, proof := treetest.Repo(t), filepath.Join(t.TempDir(), "proof")
	treetest.Git(t, dir, "config", "protocol.ext.allow", "always")
	treetest.Git(t, dir, "config", "remote.origin.url", "ext::touch "+proof)
	bin, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	r, ok := Find(dir)
	if !ok {
		t.Fatal("no repository")
	}
	if out, err := neutralCall(r.dir, r, dir, "ls-remote", "origin").run(t.Context()); err == nil || !strings.Contains(err.Error(), "not allowed") {
		t.Errorf("git asked the remote: %q, %v", out, err)
	}
	if _, err := os.Stat(proof); !errors.Is(err, os.ErrNotExist) {
		t.Error("the remote of the repository was run")
	}
	// The trap works: git itself runs it.
	cmd := exec.CommandContext(t.Context(), bin, "ls-remote", "origin")
	cmd.Dir = dir
	_ = cmd.Run()
	if _, err := os.Stat(proof); err != nil {
		t.Errorf("git does not run the remote either: %v", err)
	}
}

// A partial clone asks its remote for objects that it lacks, in commands that name no remote. The test tries every
// transport that runs a program, with every setting that can allow it.
func TestGitFetchesNothingThatAPartialCloneLacks(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]map[string]string{
		"a program":         {"remote.origin.url": "ext::TRAP"},
		"a rewritten one":   {"remote.origin.url": "https://x/y", "url.ext::TRAP#.insteadOf": "https://x/y"},
		"ssh":               {"remote.origin.url": "ssh://x/y", "core.sshCommand": "TRAP"},
		"ssh, scp's form":   {"remote.origin.url": "x:y", "core.sshCommand": "TRAP", "ssh.variant": "simple"},
		"a proxy":           {"remote.origin.url": "git://x/y", "core.gitProxy": "TRAP"},
		"a local directory": {"remote.origin.url": "LOCAL", "remote.origin.uploadpack": "TRAP"},
		"a file":            {"remote.origin.url": "file://LOCAL", "remote.origin.uploadpack": "TRAP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, proof, trap, local := partial(t), filepath.Join(t.TempDir(), "proof"), filepath.Join(t.TempDir(), "trap"), treetest.Repo(t)
			if err := os.WriteFile(trap, []byte("#!/bin/sh\ntouch "+proof+"\nexit 1\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			treetest.Git(t, dir, "config", "protocol.allow", "always")
			for _, protocol := range []string{"ext", "ssh", "git", "file"} {
				treetest.Git(t, dir, "config", "protocol."+protocol+".allow", "always")
			}
			for _, key := range slices.Sorted(maps.Keys(settings)) {
				fill := strings.NewReplacer("TRAP", trap, "LOCAL", local, "#", " %S")
				treetest.Git(t, dir, "config", fill.Replace(key), fill.Replace(settings[key]))
			}
			if out, err := Run(t.Context(), dir, maxOutput, "cat-file", "-p", "HEAD:a.py"); err == nil {
				t.Errorf("git has the file: %q", out)
			}
			if _, err := os.Stat(proof); !errors.Is(err, os.ErrNotExist) {
				t.Error("the repository had a program run")
			}
			// The trap works: git itself runs it.
			_ = exec.CommandContext(t.Context(), "git", "-C", dir, "cat-file", "-p", "HEAD:a.py").Run()
			if _, err := os.Stat(proof); err != nil {
				t.Errorf("git does not run the program either: %v", err)
			}
		})
	}
}

// partial returns a repository that lacks the content of a.py and is configured to fetch it from origin.
func partial(t *testing.T) string {
	t.Helper()
	dir := treetest.Repo(t)
	treetest.Fill(t, dir, treetest.Files{"a.py": "1\n"})
	treetest.Git(t, dir, "add", "-A")
	treetest.Git(t, dir, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "c")
	out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "rev-parse", "HEAD:a.py").Output()
	if err != nil {
		t.Fatal(err)
	}
	object := strings.TrimSpace(string(out))
	if err := os.Remove(filepath.Join(dir, ".git/objects", object[:2], object[2:])); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"core.repositoryFormatVersion": "1", "extensions.partialClone": "origin", "remote.origin.promisor": "true"} {
		treetest.Git(t, dir, "config", key, value)
	}
	return dir
}

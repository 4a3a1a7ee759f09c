package git

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/sandbox/workspace/internal/treetest"
)

// A repository's own protocol.ext.allow outranks a protocol.allow of the command line.
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
	// The trap is one: git itself runs it.
	cmd := exec.CommandContext(t.Context(), bin, "ls-remote", "origin")
	cmd.Dir = dir
	_ = cmd.Run()
	if _, err := os.Stat(proof); err != nil {
		t.Errorf("git does not run the remote either: %v", err)
	}
}

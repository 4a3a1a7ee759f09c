package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"agent/sandbox/workspace/internal/treetest"
)

// trapped returns a repository that names a program in every setting that can make git run one, and the file that this
// program makes.
func trapped(t *testing.T) (dir, sprung string) {
	t.Helper()
	dir, sprung = treetest.Repo(t), filepath.Join(t.TempDir(), "sprung")
	trap := filepath.Join(dir, "trap.sh")
	treetest.Fill(t, dir, treetest.Files{".gitattributes": "* diff=evil filter=evil\n", ".gitignore": "*.log\n", "a.log": "", "a.py": "1"})
	treetest.Git(t, dir, "add", "-A")
	treetest.Git(t, dir, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "c")
	treetest.Fill(t, dir, treetest.Files{"a.py": "2"})
	for _, name := range []string{trap, filepath.Join(dir, ".git/hooks/post-index-change"), filepath.Join(dir, ".git/hooks/fsmonitor-watchman")} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("#!/bin/sh\ntouch "+sprung+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{
		"core.fsmonitor", "core.pager", "pager.log", "gpg.program", "gpg.ssh.program", "diff.external", "diff.evil.textconv", "diff.evil.command",
		"filter.evil.smudge", "filter.evil.clean", "core.sshCommand", "core.editor", "credential.helper", "core.alternateRefsCommand",
	} {
		treetest.Git(t, dir, "config", key, trap)
	}
	treetest.Git(t, dir, "config", "log.showSignature", "true")
	treetest.Git(t, dir, "config", "alias.log", "!"+trap)
	return dir, sprung
}

func TestNothingOfARepositoryRuns(t *testing.T) {
	dir, sprung := trapped(t)
	// Nor does git run the programs that the environment names.
	for name, value := range map[string]string{
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": filepath.Join(dir, "trap.sh"),
		"GIT_EXTERNAL_DIFF": filepath.Join(dir, "trap.sh"), "GIT_PAGER": filepath.Join(dir, "trap.sh"),
	} {
		t.Setenv(name, value)
	}
	if out, err := Run(t.Context(), dir, maxOutput, "log", "--name-only", "--format=%s"); err != nil || len(out) == 0 {
		t.Errorf("%q, %v", out, err)
	}
	var g Ignored
	if err := g.Load(t.Context(), dir, "."); err != nil || !g.Has("a.log", false) || g.Has("a.py", false) {
		t.Errorf("%v, %v", g.paths, err)
	}
	r, _ := Find(dir)
	if got, err := r.Ignoring(t.Context(), dir, []string{"b.log", "b.py"}); err != nil || len(got) != 1 || got[0] != "b.log" {
		t.Errorf("%q, %v", got, err)
	}
	treetest.Git(t, dir, "config", "include.path", "../more")
	if got, err := r.Configured(t.Context()); err != nil || len(got) != 1 || got[0] != filepath.Join(dir, "more") {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Stat(sprung); !errors.Is(err, os.ErrNotExist) {
		t.Error("the repository had a program run")
	}
	// The trap works: git itself runs it.
	_ = exec.Command("git", "-C", dir, "status").Run()
	if _, err := os.Stat(sprung); err != nil {
		t.Errorf("git does not run the program either: %v", err)
	}
}

func TestACallIsBounded(t *testing.T) {
	t.Parallel()
	dir, _ := trapped(t)
	if out, err := Run(t.Context(), dir, 3, "log", "--format=%H"); !errors.Is(err, ErrTooLong) || len(out) != 3 {
		t.Errorf("%q, %v", out, err)
	}
	var exit *ExitError
	if _, err := Run(t.Context(), dir, maxOutput, "log", "nonesuch", "--"); !errors.As(err, &exit) || exit.Code != 128 || exit.Stderr == "" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, dir, maxOutput, "log"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// git's error output is cut, and a write beyond the limit does not stop git.
func TestWhatGitSaysOfItsTroubleIsCut(t *testing.T) {
	t.Parallel()
	c := &capped{limit: 4, lossy: true}
	for range 3 {
		if n, err := c.Write([]byte("abc")); n != 3 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if got := c.kept.String(); got != "abca" {
		t.Errorf("kept is %q", got)
	}
}

package hooks_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/forge/hooks"
	"agent/orchestrator/forge/revision"
)

// A bench is a repository with one commit, and a program that records its calls.
type bench struct {
	*testing.T
	dir, home, noted string
	repo             *revision.Repository
}

func newBench(t *testing.T) *bench {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, dir: filepath.Join(top, "work"), home: filepath.Join(top, "home"), noted: filepath.Join(top, "noted")}
	b.write(filepath.Join(b.dir, "a"), "1\n", 0o644)
	b.write(filepath.Join(b.home, ".gitconfig"), "[user]\n\tname = n\n\temail = e@x\n", 0o644)
	b.git("init", "-q", "-b", "main")
	if b.repo, err = revision.Open(b.dir); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) write(name, text string, mode os.FileMode) {
	b.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), mode)); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) env(key string) string { return map[string]string{"HOME": b.home}[key] }

// try runs the user's git and returns its error.
func (b *bench) try(args ...string) error {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = b.dir, append(os.Environ(), "HOME="+b.home, "NOTED="+b.noted)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = errors.New(err.Error() + ": " + string(out))
	}
	return err
}

func (b *bench) git(args ...string) {
	b.Helper()
	if err := b.try(args...); err != nil {
		b.Fatalf("git %v: %v", args, err)
	}
}

// notes returns the calls since the last time.
func (b *bench) notes() string {
	text, _ := os.ReadFile(b.noted)
	os.Remove(b.noted)
	return strings.Join(strings.Fields(string(text)), " ")
}

// ours is a command that records its name, arguments and input.
const ours = `[ -d / ] || exit 1
sh -c 'echo ours "$@" >>"$NOTED"; test -t 0 || cat >>"$NOTED"' x`

func (b *bench) place() hooks.Place { return hooks.Find(b.Context(), b.repo, b.env) }

func (b *bench) install(name string) hooks.Hook {
	b.Helper()
	h, err := b.place().Install(name, ours)
	if err != nil || h.State != hooks.Installed {
		b.Fatalf("%+v, %v", h, err)
	}
	return h
}

func TestAHookIsInstalledAndTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if h, err := b.place().Look("pre-commit"); err != nil || h.State != hooks.Absent {
		t.Errorf("%+v, %v", h, err)
	}
	b.install("pre-commit")
	b.install("pre-commit") // installing again changes nothing
	b.git("add", "a")
	b.git("commit", "-q", "-m", "first")
	if got := b.notes(); got != "ours" {
		t.Errorf("%q", got)
	}
	b.git("commit", "-q", "--allow-empty", "--no-verify", "-m", "second")
	if got := b.notes(); got != "" {
		t.Errorf("--no-verify: %q", got)
	}
	if h, err := b.place().Uninstall("pre-commit"); err != nil || h.State != hooks.Absent {
		t.Errorf("%+v, %v", h, err)
	}
	left, _ := filepath.Glob(filepath.Join(b.dir, ".git/hooks/*agent*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAHookThatIsThereIsKeptAndCalledFirst(t *testing.T) {
	t.Parallel()
	for _, shebang := range []string{"#!/bin/sh", "#!/usr/bin/env bash"} {
		b := newBench(t)
		old := filepath.Join(b.dir, ".git/hooks/pre-commit")
		text := shebang + "\necho old $(basename \"$0\") >>\"$NOTED\"\ntest ! -e stop\n"
		b.write(old, text, 0o755)
		if h := b.install("pre-commit"); h.Kept != old+".agent-kept" {
			t.Errorf("%+v", h)
		}
		b.git("add", "a")
		b.git("commit", "-q", "-m", "first")
		want := "old pre-commit ours"
		if shebang != "#!/bin/sh" {
			want = "old pre-commit.agent-kept ours"
		}
		if got := b.notes(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		b.write(filepath.Join(b.dir, "stop"), "", 0o644)
		if err := b.try("commit", "-q", "--allow-empty", "-m", "stopped"); err == nil || strings.Contains(b.notes(), "ours") {
			t.Errorf("the old hook did not stop it: %v", err)
		}
		if h, err := b.place().Uninstall("pre-commit"); err != nil || h.State != hooks.Other || h.Kept != "" {
			t.Errorf("%+v, %v", h, err)
		}
		if got, _ := os.ReadFile(old); string(got) != text {
			t.Errorf("%q", got)
		}
	}
}

// husky keeps its hooks in a directory that git ignores; each hook learns from its own name why it was called.
func TestAHookManagerInItsOwnDirectoryGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(filepath.Join(b.dir, ".husky/_/.gitignore"), "*\n", 0o644)
	b.write(filepath.Join(b.dir, ".husky/_/h"), "#!/usr/bin/env sh\nsh -e \"$(dirname \"$(dirname \"$0\")\")/$(basename \"$0\")\" \"$@\"\n", 0o644)
	b.write(filepath.Join(b.dir, ".husky/_/pre-commit"), "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"\n", 0o755)
	b.write(filepath.Join(b.dir, ".husky/pre-commit"), "echo husky >>\"$NOTED\"\n", 0o644)
	b.git("config", "core.hooksPath", ".husky/_")
	b.install("pre-commit")
	b.git("add", "a")
	b.git("commit", "-q", "-m", "first")
	if got := b.notes(); got != "husky ours" {
		t.Errorf("%q", got)
	}
	// The hook manager rewrites its own hook.
	b.write(filepath.Join(b.dir, ".husky/_/pre-commit"), "#!/bin/sh\n", 0o755)
	if h, err := b.place().Look("pre-commit"); err != nil || h.State != hooks.Replaced {
		t.Errorf("%+v, %v", h, err)
	}
	var refused *hooks.RefusedError
	if _, err := b.place().Install("pre-commit", ours); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
	if h, err := b.place().Uninstall("pre-commit"); err != nil || h.State != hooks.Replaced {
		t.Errorf("somebody else's hook was removed: %+v, %v", h, err)
	}
}

func TestHooksOfOthersAreNotTouched(t *testing.T) {
	t.Parallel()
	for path, says := range map[string]string{".githooks": "files of the work tree", "/nowhere/hooks": "outside", "~/hooks": "outside", "global": "all your repositories"} {
		b := newBench(t)
		if path == "global" {
			b.git("config", "--global", "core.hooksPath", "~/hooks")
		} else {
			b.git("config", "core.hooksPath", path)
		}
		var refused *hooks.RefusedError
		if _, err := b.place().Install("pre-commit", ours); !errors.As(err, &refused) || !strings.Contains(refused.Reason, says) || !strings.Contains(refused.Next, `agent hook pre-commit "$@"`) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestPrePushGetsWhatGitTells(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(filepath.Join(b.dir, ".git/hooks/pre-push"), "#!/bin/sh\necho old \"$1\" >>\"$NOTED\"\ncat >>\"$NOTED\"\n", 0o755)
	b.git("add", "a")
	b.git("commit", "-q", "-m", "first")
	remote := b.dir + ".git"
	b.git("init", "-q", "--bare", remote)
	b.git("remote", "add", "origin", remote)
	b.install("pre-push")
	b.git("push", "-q", "origin", "main")
	got := b.notes()
	if strings.Count(got, "refs/heads/main") != 4 || !strings.HasPrefix(got, "old origin refs/heads/main") || !strings.Contains(got, "ours origin "+remote) {
		t.Errorf("%q", got)
	}
}

func TestALinkedWorkTreeHasTheHooksOfItsRepository(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.git("add", "a")
	b.git("commit", "-q", "-m", "first")
	b.git("worktree", "add", "-q", b.dir+"-other")
	other, err := revision.Open(b.dir + "-other")
	if err != nil {
		t.Fatal(err)
	}
	if got := hooks.Find(t.Context(), other, b.env); got.Dir != filepath.Join(b.dir, ".git/hooks") || got.Shared != "" {
		t.Errorf("%+v", got)
	}
}

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
	"agent/sandbox"
	"agent/verify/check"
)

// A hooked is a repository with both git hooks, with something staged, unstaged, untracked and stashed, and a remote
// that lacks a commit.
type hooked struct {
	*killing
	remote string
}

// prepare rebuilds the repository; change is a shell line that makes the change to be judged.
func (h *hooked) prepare(t *testing.T, change string) {
	t.Helper()
	h.restore(t)
	if err := os.RemoveAll(h.remote); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{"commit", "-qm", "Begin"},
		{"init", "-q", "--bare", "-b", "main", h.remote},
		{"remote", "add", "origin", h.remote},
		{"push", "-q", "origin", "main"},
	} {
		h.git(t, args...)
	}
	for _, script := range []string{
		"echo '# Kept for later.' >>README.md; git stash -q",
		change + "; git add -A; git commit -qm 'Not pushed'",
		change + "; git add -A; echo '# Not staged.' >>README.md; echo untracked >notes.txt",
	} {
		cmd := exec.Command("sh", "-ec", script)
		cmd.Env, cmd.Dir = h.env, h.work
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
	}
	// The hooks come only now: the preparations are not judged.
	if out, err := h.command("hook", "install", "-w", h.work).CombinedOutput(); err != nil {
		t.Fatalf("install the hooks: %v\n%s", err, out)
	}
}

// state returns everything that a person would miss: local and remote references, the index, the stash, each file of
// the work tree, and any lock of git.
func (h *hooked) state(t *testing.T) string {
	t.Helper()
	text := h.killing.state(t) + h.git(t, "ls-files", "--stage") + h.git(t, "stash", "show", "-p") + h.git(t, "--git-dir", h.remote, "for-each-ref")
	err := filepath.WalkDir(h.work, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if name, _ := filepath.Rel(h.work, path); !strings.HasPrefix(name, ".git/") {
			data, err := os.ReadFile(path)
			text += fmt.Sprintf("%s %q\n", name, data)
			return err
		}
		if strings.HasSuffix(path, ".lock") {
			text += path + "\n"
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// start starts the program that calls a hook, in its own process group.
func (h *hooked) start(t *testing.T, hook string) *exec.Cmd {
	t.Helper()
	var cmd *exec.Cmd
	switch hook {
	case "claude":
		cmd = h.command("hook", "claude", "-w", h.work)
		cmd.Stdin = strings.NewReader(`{"session_id": "s1", "hook_event_name": "Stop"}`)
	case "pre-push":
		cmd = exec.Command("git", "push", "-q", "origin", "main")
	default: // a commit: with -a git holds its lock meanwhile
		cmd = exec.Command("git", strings.Fields(hook)...)
	}
	cmd.Env, cmd.Dir = h.env, h.work
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// A hook of a coding agent, a commit or a push is killed without warning while it judges, with or without git. The
// index, the stash, the work tree and the remote stay as before, and after the next command nothing of the run is left.
func TestAHookIsKilledAtEveryPhase(t *testing.T) {
	t.Parallel()
	db, url := storetest.Warm(t)
	h := &hooked{newKilling(t, url), filepath.Join(t.TempDir(), "remote")}
	f := newFailpoint(t, url)
	const note, endless = "echo '# Counted by hand.' >>bin/words.sh", "mkdir -p tests; printf 'import time\\n\\n\\ndef test_it():\\n    time.sleep(%s)\\n' 100$(git rev-list --count HEAD) >tests/test_slow.py"
	const all = "commit -qam All" // only the hook of this commit is killed: git continues, and gives up
	for i, hook := range []string{"claude", "commit -qm Staged", all, "pre-push"} {
		for j, place := range []string{"run_state analyzing", "run_state verifying", "a box", "candidate ", "run_state done"} {
			if hook == all && j%2 == 1 {
				continue // git itself behaves the same in these cases
			}
			if place == "a box" {
				h.prepare(t, endless)
			} else {
				h.prepare(t, note)
				f.set(t, place)
			}
			before := h.state(t)
			cmd := h.start(t, hook)
			if place == "a box" {
				awaitTests(t, db)
			} else {
				f.reached(t)
			}
			victim := -cmd.Process.Pid
			if hook == all {
				victim = childOf(t, cmd.Process.Pid)
			}
			if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Errorf("%s at %s: it was over", hook, place)
			}
			if place != "a box" {
				f.lift(t)
			}
			h.next(t, i+j)
			if after := h.state(t); after != before {
				t.Errorf("%s killed at %s (-before +after):\n%s", hook, place, cmp.Diff(before, after))
			}
			h.nothingLeft(t, db)
			if state := h.latest(t, db); state == run.Done {
				t.Errorf("%s killed at %s: the run ended %s", hook, place, state)
			}
		}
	}
	// The same commit and push succeed as if nothing had happened.
	h.prepare(t, note)
	for _, hook := range []string{"commit -qm Staged", "pre-push"} {
		if err := h.start(t, hook).Wait(); err != nil {
			t.Errorf("%s, undisturbed: %v", hook, err)
		}
	}
	if got := h.git(t, "--git-dir", h.remote, "log", "-1", "--format=%s"); got != "Staged\n" {
		t.Errorf("the remote has %q", got)
	}
}

// awaitTests waits until the tests of the only open run work in a box.
func awaitTests(t *testing.T, db *store.DB) {
	t.Helper()
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	for range 6000 { // far longer than any run takes to get there
		open, err := db.Unfinished(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		boxes, err := engine.Boxes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(open) == 1 && slices.ContainsFunc(boxes, func(b sandbox.Leftover) bool {
			return b.Run == open[0].ID && b.Purpose == check.GroupTests && b.State == "running"
		}) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("no test came to work in a box")
}

// childOf returns the single process that parent has started and waits for.
func childOf(t *testing.T, parent int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	if err != nil {
		t.Fatal(err)
	}
	children := bytes.Fields(text)
	if len(children) != 1 {
		t.Fatalf("children %q", text)
	}
	pid, err := strconv.Atoi(string(children[0]))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

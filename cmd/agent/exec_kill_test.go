package main

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// A command in a box works, its change is extracted, judged, promoted and committed. In each of these phases the agent is killed without
// warning. Until the commit the tree and the repository stay as before, from then on they are as after; nothing of the run is left.
func TestAnAgentInABoxIsKilledAtEveryPhase(t *testing.T) {
	t.Parallel()
	db, url := storetest.Warm(t)
	k := newKilling(t, url)
	f := newFailpoint(t, url)
	const note = `echo "# Counted by hand." >>bin/words.sh; git commit -qam "Say who counts"; echo CHANGED`
	// The extraction takes a while, and the run is held before any of it is judged.
	const much = `mkdir many; for i in $(seq 1 3000); do seq 1 2000 >many/$i.txt; done; echo CHANGED`
	arguments := func(script string) []string {
		return []string{"sandbox", "exec", "--workspace", k.work, "--yes", "--commit", "--", "sh", "-c", script}
	}
	restore := func() (before string) {
		t.Helper()
		k.restore(t)
		k.git(t, "init", "-q")
		k.git(t, "add", "-A")
		k.git(t, "commit", "-qm", "Begin")
		return k.state(t)
	}
	restore()
	if out, err := k.command(arguments(note)...).CombinedOutput(); err != nil || !strings.Contains(k.git(t, "log", "-1", "--format=%B"), "Say who counts") {
		t.Fatalf("an undisturbed run: %v\n%s", err, out)
	}
	for i, phase := range []struct {
		script, sign string // the output at which the command is killed, "" for none
		wait         time.Duration
		place        string // the write at which the run is held
		after        bool
	}{
		{`echo "# Half." >>bin/words.sh; echo WORKING; sleep 1000`, "WORKING", 0, "", false},
		{much, "CHANGED", 100 * time.Millisecond, "run_state verifying", false},
		{note, "", 0, "candidate ", false},
		{note, "", 0, "promotion prepared", false},
		{note, "", 0, "promotion committed", true},
	} {
		before := restore()
		if phase.place != "" {
			f.set(t, phase.place)
		}
		cmd := k.command(arguments(phase.script)...)
		stdout, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if phase.sign != "" {
			for lines := bufio.NewScanner(stdout); lines.Scan() && !strings.Contains(lines.Text(), phase.sign); {
			}
			time.Sleep(phase.wait)
		} else {
			f.reached(t)
		}
		cmd.Process.Kill()
		if err := cmd.Wait(); err == nil {
			t.Errorf("%+v: the run was over", phase)
		}
		if phase.place != "" {
			f.lift(t)
		}
		k.next(t, i)
		k.nothingLeft(t, db)
		state, after := k.latest(t, db), k.git(t, "log", "-1", "--format=%s") == "Say who counts\n"
		if after != phase.after || (state == run.Promoted) != phase.after || !after && k.state(t) != before || after && k.git(t, "status", "--porcelain") != "" {
			t.Errorf("killed at %s%s: %s, the repository has\n%s", phase.sign, phase.place, state, k.state(t))
		}
		if out := k.git(t, "fsck", "--strict"); strings.Contains(out, "error") || strings.Contains(out, "missing") {
			t.Errorf("killed at %s%s: %s", phase.sign, phase.place, out)
		}
	}
}

// state returns the tree of a repository with its commits, its index and its references.
func (k *killing) state(t *testing.T) string {
	t.Helper()
	return k.git(t, "for-each-ref") + k.git(t, "status", "--porcelain") + k.git(t, "stash", "list") + k.git(t, "diff", "HEAD")
}

// git runs git in the workspace.
func (k *killing) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env, cmd.Dir = k.env, k.work
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

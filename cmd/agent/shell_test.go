package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// A person's session in a box passes keys, sizes and Ctrl-C to the shell there. When it has ended, its changes are
// proved and the person is asked about them.
func TestAShellInABox(t *testing.T) {
	t.Parallel()
	_, url := storetest.Warm(t)
	p := termtest.NewPerson(t)
	dir := filepath.Join(t.TempDir(), "notes")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(agentProgram, "sandbox", "shell", "--workspace", dir)
	cmd.Env = append(os.Environ(), "AGENT_DATABASE_URL="+url, "TERM=xterm", "NO_COLOR=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.TTY, p.TTY, p.TTY
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The terminal echoes what is typed, so the awaited text does not occur in it literally.
	p.Sees(t, "$ ", 1)
	p.Types(t, "stty size | tr ' ' x; tty; echo $((40+2))\r")
	p.Sees(t, "24x80", 1)
	p.Sees(t, "/dev/pts/", 1)
	p.Sees(t, "42", 1)
	// Bash loses a Ctrl-C that is typed while it starts a program, so the program itself reports that it runs.
	p.Types(t, `sh -c 'trap "exit 130" INT; echo sleep-$((3+4)); while :; do sleep 0.01; done'`+"\r")
	p.Sees(t, "sleep-7", 1)
	p.Types(t, "\x03")
	// A person types at a prompt.
	p.Sees(t, ":/work$ ", 3)
	p.Types(t, "echo ended-$?\r")
	p.Sees(t, "ended-130", 1)
	p.Sees(t, ":/work$ ", 4)
	p.Types(t, "echo two >>notes.txt; printf '\\033[31mred\\033[0m\\n'; exit 7\r")
	p.Sees(t, "\x1b[31mred\x1b[0m", 1)
	p.Sees(t, "+two", 1)
	p.Sees(t, "pply", 1)
	p.Types(t, "a")
	if err := cmd.Wait(); err != nil || cmd.ProcessState.ExitCode() != run.ExitDone {
		t.Errorf("%v\n%s", err, p.Screen())
	}
	if text, err := os.ReadFile(filepath.Join(dir, "notes.txt")); err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("notes.txt is %q, %v", text, err)
	}
	if !strings.Contains(p.Screen(), "/bin/bash: exit code 7") {
		t.Errorf("how the shell ended is not told:\n%s", p.Screen())
	}
}

// The agent is killed while a command works in a box, while its changes are extracted, and while they are judged. After
// the next command the tree is as it was, the run has ended, and nothing of it is on the engine.
func TestKilledWhileACommandWorksNothingIsLeft(t *testing.T) {
	t.Parallel()
	db, url := storetest.Warm(t)
	k := newKilling(t, url)
	k.restore(t)
	before := snapshotOf(t, k.work)
	const change = "echo VALUE = 1 >new.py; for i in $(seq 3000); do echo $i >data$i.txt; done; echo written; "
	for i, instant := range []struct {
		name, script, text string
	}{
		{"before the command", "sleep 1000", "proposing: the command runs"},
		{"in the command", change + "sleep 1000", "written"},
		{"at the end of the command", change + "exit 0", "written"},
		{"after what changed was taken out", change + "exit 0", "3001 files changed"},
		{"while it is judged", "echo 'VALUE = 1' >new.py", "lint … "},
	} {
		cmd := k.command("sandbox", "exec", "--workspace", k.work, "--yes", "--json", "--", "sh", "-c", instant.script)
		progress, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitText(t, progress, instant.text)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Errorf("%s: it ended before it was killed", instant.name)
		}
		k.next(t, i)
		if got := snapshotOf(t, k.work); got != before {
			t.Fatalf("killed %s: the tree is another:\n%s", instant.name, got)
		}
		k.nothingLeft(t, db)
		if state := k.latest(t, db); state != run.Failed {
			t.Errorf("killed %s: the run ended %s", instant.name, state)
		}
	}
}

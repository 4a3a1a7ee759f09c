package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"agent/orchestrator/store/storetest"
	"agent/sandbox/enginetest"
)

// A person edits while the watch runs: it reports what is wrong, and that it is right again. The watch ends on request.
func TestTheWatchFollowsAPerson(t *testing.T) {
	t.Parallel()
	enginetest.Need(t)
	_, url := storetest.Warm(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "greet.sh")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("#!/bin/sh\necho hello\n")
	commitAll(t, dir)
	cmd := exec.CommandContext(t.Context(), agentProgram, "watch", "-w", dir, "--settle", "200ms", "--json")
	cmd.Env, cmd.Stderr = append(os.Environ(), "AGENT_DATABASE_URL="+url), os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	sees := func(want string) {
		t.Helper()
		for lines.Scan() {
			var s struct{ State string }
			if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
				t.Fatalf("%v\n%s", err, lines.Text())
			}
			if s.State == want {
				return
			}
			if s.State != "proving" {
				t.Errorf("%s, want %s", lines.Text(), want)
			}
		}
		t.Fatalf("it ended before it said %s", want)
	}
	sees("unchanged")
	write("#!/bin/sh\nif true; then\n")
	sees("failed")
	write("#!/bin/sh\necho hello you\n")
	sees("passed")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // its output while it ends
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

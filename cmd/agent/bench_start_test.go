//go:build bench

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/store/storetest"
)

// benchStart times commands that a person waits for at the prompt, against other programs that do the least of the same
// kind: git, which prints its help, and psql, which runs one query.
func benchStart(t *testing.T) {
	_, url := storetest.New(t)
	env := append(os.Environ(), "AGENT_DATABASE_URL="+url, "XDG_CONFIG_HOME="+t.TempDir())
	timed := func(name string, args ...string) time.Duration {
		return median(t, 9, func() {
			cmd := exec.Command(name, args...)
			cmd.Env, cmd.Dir = env, t.TempDir()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s %q: %v\n%s", name, args, err, out)
			}
		})
	}
	const help, list = 40 * time.Millisecond, 150 * time.Millisecond
	figure := timed(agentProgram, "--help")
	row("agent --help; against git help", figure, timed("git", "help"), "≤ 0.040 s", figure <= help)
	figure = timed(agentProgram, "runs", "list", "--all")
	server, _, _ := strings.Cut(url, "?") // psql does not understand the search path there
	row("agent runs list; against psql", figure, timed("psql", "--no-psqlrc", "--command", "select 1", server), "≤ 0.150 s", figure <= list)
}

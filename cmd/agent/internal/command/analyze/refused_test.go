package analyze

import (
	"bytes"
	"strings"
	"testing"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/orchestrator/run"
)

// An invalid request is refused before anything is opened: there is neither a store nor an engine.
func TestWhatCannotBeReportedIsRefusedFirst(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"--only licens":            `unknown analyzer "licens"`,
		"--only license":           "did you mean licence?",
		"--only tests,,ci":         `unknown analyzer ""`,
		"--only TESTS":             `unknown analyzer "TESTS"`,
		"--only nonsense":          "name one or more of readme, ci, tests",
		"--only x\x1b[2Jy":         "unknown analyzer",
		"--markdown --json":        "mutually exclusive",
		"--workspace=/nonexistent": "/nonexistent",
	} {
		var out bytes.Buffer
		env := map[string]string{"HOME": t.TempDir(), "AGENT_DATABASE_URL": "postgres://127.0.0.1:1/none", "DOCKER_HOST": "unix:///nonexistent"}
		line := cmdline.New(func(name string) string { return env[name] }, strings.NewReader(""), &out, &out)
		words := append([]string{"agent", "analyze", "--workspace", t.TempDir(), "--report", "--fast"}, strings.Fields(args)...)
		exit := line.Exit(t.Context(), cmdlinetest.App(line.Stderr, Command(line)).RunContext(t.Context(), words), false)
		if exit != run.ExitUsage || !strings.Contains(out.String(), says) || !strings.Contains(out.String(), "next: ") || strings.Contains(out.String(), "\x1b") {
			t.Errorf("%q: exit %d\n%s", args, exit, out.String())
		}
	}
}

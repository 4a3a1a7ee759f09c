package hook

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/orchestrator/run"
)

// The change to a coding agent's configuration is shown first, written after a yes, and can be undone.
func TestAHookIsConfiguredOnceSomebodySaysSo(t *testing.T) {
	t.Parallel()
	home, work := t.TempDir(), t.TempDir()
	yours, project := filepath.Join(home, ".claude", "settings.json"), filepath.Join(work, ".claude", "settings.json")
	hook := func(args ...string) (int, string) {
		var out bytes.Buffer
		line := cmdline.New(func(k string) string { return map[string]string{"HOME": home}[k] }, strings.NewReader(""), &out, &out)
		err := cmdlinetest.App(&out, Command(line)).RunContext(t.Context(), append([]string{"agent", "hook", "claude", "--workspace", work}, args...))
		return line.Exit(t.Context(), err, false), out.String()
	}
	if exit, out := hook("--install"); exit != run.ExitApproval || !strings.Contains(out, `+`) || !strings.Contains(out, "hook claude --timeout 9m") {
		t.Errorf("nobody said yes: exit %d\n%s", exit, out)
	}
	if _, err := os.Stat(yours); err == nil {
		t.Error("it was written")
	}
	if exit, out := hook("--install", "--yes"); exit != 0 || !strings.Contains(out, "added") {
		t.Errorf("exit %d\n%s", exit, out)
	}
	self, _ := os.Executable()
	if text, err := os.ReadFile(yours); err != nil || !strings.Contains(string(text), self) {
		t.Errorf("%s, %v", text, err)
	}
	if exit, out := hook("--install", "--project", "--yes"); exit != 0 {
		t.Errorf("exit %d\n%s", exit, out)
	}
	if text, err := os.ReadFile(project); err != nil || !strings.Contains(string(text), `"agent hook claude --timeout 9m"`) {
		t.Errorf("%s, %v", text, err)
	}
	for _, more := range []string{"--project", "--yes"} {
		if exit, out := hook("--uninstall", "--yes", more); exit != 0 || !strings.Contains(out, "removed") {
			t.Errorf("%s: exit %d\n%s", more, exit, out)
		}
	}
	for _, name := range []string{yours, project} {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), "hook claude") {
			t.Errorf("left in %s:\n%s", name, text)
		}
	}
	if exit, _ := hook("--install", "--uninstall"); exit != run.ExitUsage {
		t.Errorf("both: exit %d", exit)
	}
}

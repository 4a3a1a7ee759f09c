package clients

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The gate's hook comes after those of others, is written once, and can be removed; the rest of the file stays.
func TestAHookIsPutInAndTakenOut(t *testing.T) {
	t.Parallel()
	const theirs = "{\n  // mine\n  \"theme\": \"dark\",\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          {\n            \"command\": \"say done\",\n            \"type\": \"command\"\n          }\n        ]\n      }\n    ]\n  }\n}\n"
	for name, test := range map[string]struct {
		id, before, without string
		want                []string
	}{
		"no file":            {"claude", "-", "{\n}\n", []string{`"Stop"`, `"'/opt/my agent/agent' hook claude --timeout 9m"`, `"timeout": 600`}},
		"hooks of others":    {"claude", theirs, theirs, []string{"// mine", "say done", "hook claude"}},
		"another event":      {"codex", "{\"hooks\": {\"PostToolUse\": []}}", "{\"hooks\": {\"PostToolUse\": []}}", []string{"PostToolUse", "hook codex"}},
		"in milliseconds":    {"gemini", "{}", "{\n}", []string{`"AfterAgent"`, `"timeout": 600000`}},
		"an older one of it": {"claude", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/old/agent hook claude"}]}]}}`, "{}", []string{"/opt/my agent/agent"}},
	} {
		c, ok := Hooking(test.id)
		f := File{t.TempDir(), filepath.FromSlash(c.project)}
		if !ok || test.before != "-" && errors.Join(os.MkdirAll(filepath.Dir(f.Path()), 0o755), os.WriteFile(f.Path(), []byte(test.before), 0o644)) != nil {
			t.Fatal(name)
		}
		put, err := c.InstallHook(f, "'/opt/my agent/agent'")
		if err == nil {
			err = put.Apply()
		}
		if err != nil || strings.Count(string(put.After), " hook "+test.id) != 1 || put.State == Unchanged {
			t.Errorf("%s: %s, %v\n%s", name, put.State, err, put.After)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(string(put.After), want) {
				t.Errorf("%s: %q is not in\n%s", name, want, put.After)
			}
		}
		if again, err := c.InstallHook(f, "'/opt/my agent/agent'"); err != nil || again.State != Unchanged {
			t.Errorf("%s, again: %s, %v", name, again.State, err)
		}
		cut, err := c.UninstallHook(f, "'/opt/my agent/agent'")
		if err != nil || cut.State != Removed || string(cut.After) != test.without {
			t.Errorf("%s: %s, %v\n%q\nwant\n%q", name, cut.State, err, cut.After, test.without)
		}
	}
	if _, ok := Hooking("cursor"); ok {
		t.Error("cursor has hooks that nobody knows of")
	}
}

// A command that does anything else is not the gate's hook, and an entry that is not a list is left alone.
func TestHooksOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	c, _ := Hooking("claude")
	for text, want := range map[string]string{
		`{"hooks": {"Stop": "echo"}}`: "not a list",
		`{"hooks": []}`:               "",
		`{"hooks": `:                  "",
	} {
		f := File{t.TempDir(), "settings.json"}
		if err := os.WriteFile(f.Path(), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if change, err := c.InstallHook(f, "agent"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v", text, change.After, err)
		}
	}
	for _, command := range []string{"myagent hook claude", "/bin/agent hook codex", "agent hook claudette", "echo", "make; /bin/agent hook claude"} {
		if c.callsGate(map[string]any{"hooks": []any{map[string]any{"command": command}}}, "agent") {
			t.Errorf("%q is taken for the gate's", command)
		}
	}
	two := []any{map[string]any{"command": "agent hook claude"}, map[string]any{"command": "echo"}}
	if c.callsGate(map[string]any{"hooks": two}, "agent") {
		t.Error("an entry that calls another program too is taken out")
	}
}

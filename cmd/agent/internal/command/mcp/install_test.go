package mcp

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/cmd/agent/internal/clients"
	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/orchestrator/run"
)

// A desk is a home and a workspace.
type desk struct {
	*testing.T
	home, work string
	out        bytes.Buffer
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	return &desk{T: t, home: t.TempDir(), work: t.TempDir()}
}

// env returns the environment of the desk.
func (d *desk) env() map[string]string {
	return map[string]string{"HOME": d.home, "PATH": os.Getenv("PATH")}
}

// run runs a command of `agent mcp` without a terminal.
func (d *desk) run(args ...string) (int, string) {
	d.Helper()
	d.out.Reset()
	return d.on(cmdline.New(func(k string) string { return d.env()[k] }, strings.NewReader(""), &d.out, &d.out), args...), d.out.String()
}

func (d *desk) on(line *cmdline.Line, args ...string) int {
	d.Helper()
	app := cmdlinetest.App(line.Stderr, Command(line, "v0"))
	words := []string{"agent", "mcp", args[0], "--workspace", d.work}
	for _, flag := range []bool{true, false} { // flags first, in the program's order
		for _, word := range args[1:] {
			if strings.HasPrefix(word, "-") == flag {
				words = append(words, word)
			}
		}
	}
	args = words
	return line.Exit(d.Context(), app.RunContext(d.Context(), args), false)
}

// has returns the content of a file, "" if there is none.
func (d *desk) has(path string) string {
	d.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		d.Fatal(err)
	}
	return string(text)
}

func TestClientsAreConfiguredAndPutBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	file := filepath.Join(d.home, ".gemini", "settings.json")
	const mine = "{\n  \"theme\": \"x\" // mine\n}\n"
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, out := d.run("install", "gemini"); exit != run.ExitApproval || !strings.Contains(out, "+    \"agent\": {") || !strings.Contains(out, "next: run again with --yes") || d.has(file) != mine {
		t.Errorf("nobody said yes: exit %d\n%s", exit, out)
	}
	if exit, out := d.run("install", "gemini", "codex", "--yes"); exit != 0 || !strings.Contains(out, "added      Gemini CLI  "+file) || !strings.Contains(out, "added      Codex  ") {
		t.Errorf("exit %d\n%s", exit, out)
	}
	self, err := os.Executable()
	if text := d.has(file); err != nil || !strings.Contains(text, self) || !strings.Contains(text, "// mine") {
		t.Errorf("%v\n%s", err, text)
	}
	if exit, out := d.run("install", "gemini"); exit != 0 || !strings.HasPrefix(out, "unchanged") {
		t.Errorf("once more: exit %d\n%s", exit, out)
	}
	exit, out := d.run("uninstall", "gemini", "codex", "--yes", "--json")
	var told []Configured
	if err := json.Unmarshal([]byte(out), &told); exit != 0 || err != nil || len(told) != 2 || told[0].State != clients.Removed || told[0].File != file || !strings.Contains(told[0].Diff, "-    \"agent\": {") {
		t.Errorf("exit %d, %v\n%s", exit, err, out)
	}
	if d.has(file) != mine || d.has(filepath.Join(d.home, ".codex", "config.toml")) != "" {
		t.Errorf("left:\n%s", d.has(file))
	}
}

func TestAWorkspaceIsConfiguredForAll(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if exit, out := d.run("install", "vscode", "claude", "--project", "--yes"); exit != 0 {
		t.Fatalf("exit %d\n%s", exit, out)
	}
	for file, want := range map[string]string{".vscode/mcp.json": "${workspaceFolder}", ".mcp.json": `"command": "agent"`} {
		if text := d.has(filepath.Join(d.work, file)); !strings.Contains(text, want) {
			t.Errorf("%s:\n%s", file, text)
		}
	}
	if entries, err := os.ReadDir(d.home); err != nil || len(entries) != 0 {
		t.Errorf("%v at home, %v", entries, err)
	}
}

func TestWhatIsRefusedWritesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	other := filepath.Join(d.home, ".claude.json")
	if err := os.WriteFile(other, []byte(`{"mcpServers": {"agent": {"command": "npx"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(d.home, ".codex")); err != nil {
		t.Fatal(err)
	}
	for args, says := range map[string]string{
		"install --yes":                                  "no client was named",
		"install emacs --yes":                            `unknown client "emacs"`,
		"install gemini claude --yes":                    "another server",
		"uninstall claude --yes":                         "rename that entry",
		"install cursor codex --yes":                     "is a symbolic link",
		"install gemini --project --workspace=/nonexist": "name a directory",
		"install gemini opencode nonsense --yes":         "use one of claude, codex, gemini, opencode, cursor, vscode",
	} {
		if exit, out := d.run(strings.Fields(args)...); exit != run.ExitUsage || !strings.Contains(out, says) || !strings.Contains(out, "next: ") {
			t.Errorf("%s: exit %d\n%s", args, exit, out)
		}
	}
	for _, left := range []string{".gemini", ".cursor", ".config"} {
		if _, err := os.Lstat(filepath.Join(d.home, left)); err == nil {
			t.Errorf("%s was written", left)
		}
	}
}

// A person sees the change, and answers yes or no.
func TestAPersonIsAskedFirst(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]int{"y": 0, "n": run.ExitApproval} {
		d := newDesk(t)
		p := cmdlinetest.NewPerson(t, d.env())
		ended := make(chan int)
		go func() { ended <- d.on(p.Line, "install", "cursor") }()
		p.Sees(t, "Write this?", 1)
		p.Sees(t, "mcpServers", 1)
		p.Types(t, typed)
		if exit := <-ended; exit != want || (d.has(filepath.Join(d.home, ".cursor", "mcp.json")) != "") != (want == 0) {
			t.Errorf("%q: exit %d\n%s", typed, exit, p.Screen())
		}
	}
}

// A client that is named twice is configured once.
func TestAClientIsConfiguredOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, act := range []string{"install", "uninstall"} {
		if exit, out := d.run(act, "cursor", "gemini", "cursor", "--yes"); exit != 0 || strings.Count(out, "Cursor") != 1 || strings.Count(out, "Gemini") != 1 {
			t.Errorf("%s: exit %d\n%s", act, exit, out)
		}
	}
}

// An entry that the gate cannot remove is reported with the next step, and not as absent.
func TestAnEntryThatCannotBeTakenOutIsSaid(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	file := filepath.Join(d.home, ".codex", "config.toml")
	const inline = "[mcp_servers]\nagent = {command = 'agent', args = ['mcp']}\n"
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(inline), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, act := range []string{"install", "uninstall"} {
		if exit, out := d.run(act, "codex", "--yes"); exit != run.ExitUsage || !strings.Contains(out, "next: edit it by hand: https://") || d.has(file) != inline {
			t.Errorf("%s: exit %d\n%s", act, exit, out)
		}
	}
}

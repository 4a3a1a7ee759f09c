package clients

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// client returns a row, and a file of it with this text; "-" means no file.
func client(t *testing.T, id, text string) (Client, File) {
	t.Helper()
	c, ok := Named(id)
	if !ok {
		t.Fatalf("there is no client %s", id)
	}
	f := File{t.TempDir(), filepath.FromSlash(c.project)}
	if text == "-" {
		return c, f
	}
	err := os.MkdirAll(filepath.Dir(f.Path()), 0o755)
	if err == nil {
		err = os.WriteFile(f.Path(), []byte(text), 0o640)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c, f
}

// Each row has the text before, the text with the entry, and the text after its removal; "=" is the text before.
var edits = []struct{ name, client, before, with, after string }{
	{"no file", "claude", "-", `{
  "mcpServers": {
    "agent": {
      "type": "stdio",
      "command": "/bin/agent",
      "args": [
        "mcp"
      ]
    }
  }
}
`, "{\n}\n"},
	{
		"another server, tabs, comments and a trailing comma", "gemini", "{\n\t// theirs\n\t\"ui\": {\"theme\": \"x\"},\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"a\"}, // keep\n\t},\n}\n",
		"{\n\t// theirs\n\t\"ui\": {\"theme\": \"x\"},\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"a\"}, // keep\n\t\t\"agent\": {\n\t\t\t\"command\": \"/bin/agent\",\n\t\t\t\"args\": [\n\t\t\t\t\"mcp\"\n\t\t\t]\n\t\t},\n\t},\n}\n", "=",
	},
	{
		"a comment behind the last server", "gemini", "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"} // keep, with , and }\n  }\n}",
		"{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"}, // keep, with , and }\n    \"agent\": {\n      \"command\": \"/bin/agent\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}", "=",
	},
	{"one line", "gemini", `{"a": 1, "mcpServers": {"b": {"command": "b"}}}`, `{"a": 1, "mcpServers": {"b": {"command": "b"}, "agent": {"command":"/bin/agent","args":["mcp"]}}}`, "="},
	{"an empty object", "gemini", "{}", "{\n  \"mcpServers\": {\n    \"agent\": {\n      \"command\": \"/bin/agent\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}", "{\n}"},
	{
		"line ends of Windows", "gemini", "{\r\n  \"a\": 1\r\n}\r\n",
		"{\r\n  \"a\": 1,\r\n  \"mcpServers\": {\r\n    \"agent\": {\r\n      \"command\": \"/bin/agent\",\r\n      \"args\": [\r\n        \"mcp\"\r\n      ]\r\n    }\r\n  }\r\n}\r\n", "=",
	},
	{
		"an entry of an older program", "gemini", "{\n  \"mcpServers\": {\n    \"agent\": {\"command\": \"/old/agent\", \"args\": [\"mcp\", \"-w\", \".\"]}, // mine\n    \"z\": {\"command\": \"z\"}\n  }\n}\n",
		"{\n  \"mcpServers\": {\n    \"agent\": {\n      \"command\": \"/bin/agent\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }, // mine\n    \"z\": {\"command\": \"z\"}\n  }\n}\n", "{\n  \"mcpServers\": { // mine\n    \"z\": {\"command\": \"z\"}\n  }\n}\n",
	},
	{
		"opencode", "opencode", "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n",
		"{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    \"agent\": {\n      \"type\": \"local\",\n      \"command\": [\n        \"/bin/agent\",\n        \"mcp\"\n      ],\n      \"enabled\": true\n    }\n  }\n}\n", "=",
	},
	{
		"opencode's second version", "opencode", "{\"mcp\": {\"servers\": {\"a\": {}}}}",
		"{\"mcp\": {\"servers\": {\"a\": {}, \"agent\": {\"type\":\"local\",\"command\":[\"/bin/agent\",\"mcp\"]}}}}", "=",
	},
	{
		"vscode", "vscode", "{\n    \"inputs\": []\n}\n",
		"{\n    \"inputs\": [],\n    \"servers\": {\n        \"agent\": {\n            \"type\": \"stdio\",\n            \"command\": \"/bin/agent\",\n            \"args\": [\n                \"mcp\",\n                \"--workspace\",\n                \"${workspaceFolder}\"\n            ]\n        }\n    }\n}\n", "=",
	},
	{"no file of TOML", "codex", "-", "[mcp_servers.agent]\nargs = ['mcp']\ncommand = '/bin/agent'\n", ""},
	{"TOML with comments", "codex", "# mine\nmodel = \"o\" # this\n\n[mcp_servers.a]\ncommand = \"a\"\n", "# mine\nmodel = \"o\" # this\n\n[mcp_servers.a]\ncommand = \"a\"\n\n[mcp_servers.agent]\nargs = ['mcp']\ncommand = '/bin/agent'\n", "="},
	{
		"TOML with a table behind the entry", "codex", "[mcp_servers.agent]\ncommand = 'agent'\nargs = ['mcp']\nenv = {A = '1'}\n\n# about tools\n[mcp_servers.agent.tools]\nx = 1\n\n# about b\n[b]\nc = 1\n",
		"\n# about b\n[b]\nc = 1\n\n[mcp_servers.agent]\nargs = ['mcp']\ncommand = '/bin/agent'\n", "\n# about b\n[b]\nc = 1\n",
	},
}

func TestTheRestStaysByteForByte(t *testing.T) {
	t.Parallel()
	for _, c := range edits {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			row, f := client(t, c.client, c.before)
			in, err := row.Install(f, "/bin/agent")
			if err != nil || string(in.After) != c.with {
				t.Fatalf("%v\n%s\nwant\n%s", err, in.After, c.with)
			}
			if err := in.Apply(); err != nil {
				t.Fatal(err)
			}
			if again, err := row.Install(f, "/bin/agent"); err != nil || again.State != Unchanged {
				t.Errorf("once more: %s %v", again.State, err)
			}
			if other, err := row.Install(f, "/usr/bin/agent"); err != nil || other.State != Replaced {
				t.Errorf("another program: %s %v", other.State, err)
			}
			out, err := row.Uninstall(f, "/bin/agent")
			want := c.after
			if want == "=" {
				want = c.before
			}
			if err != nil || out.State != Removed || string(out.After) != want {
				t.Fatalf("%s %v\n%q\nwant\n%q", out.State, err, out.After, want)
			}
			if err := out.Apply(); err != nil {
				t.Fatal(err)
			}
			if again, err := row.Uninstall(f, "/bin/agent"); err != nil || again.State != Unchanged {
				t.Errorf("nothing is there: %s %v", again.State, err)
			}
		})
	}
}

func TestWhatCannotBeChangedIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, client, text, says string }{
		{"no JSON", "claude", "{", "unexpected EOF"},
		{"another kind of JSON", "claude", "[]", "cannot unmarshal array"},
		{"servers of another kind", "claude", `{"mcpServers": []}`, "is not in an object"},
		{"a name that is there twice", "claude", `{"mcpServers": {}, "mcpServers": {"a": {}}}`, "occurs twice"},
		{"another server of that name", "claude", `{"mcpServers": {"agent": {"command": "npx", "args": ["-y", "agent-mcp"]}}}`, ErrOther.Error()},
		{"no TOML", "codex", "a = \n", "toml"},
		{"servers in one line", "codex", "mcp_servers = {a = {command = 'a'}}\n", "cannot be changed without touching the rest"},
	} {
		row, f := client(t, c.client, c.text)
		if _, err := row.Install(f, "/bin/agent"); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), f.Path()) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, text := range []string{"[mcp_servers]\nagent = {command = 'agent', args = ['mcp']}\n", "mcp_servers.agent.command = 'agent'\nmcp_servers.agent.args = ['mcp']\n"} {
		row, f := client(t, "codex", text)
		if change, err := row.Uninstall(f, "/bin/agent"); err == nil && change.State == Removed {
			t.Errorf("%q became %q", text, change.After)
		}
	}
}

// The gate recognises its entry by the command that it starts.
func TestAnEntryIsKnownByWhatItStarts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"command": "agent", "args": ["mcp", "-w", "."]}`: true, `{"command": ["/x/agent", "mcp"]}`: true, `{"command": ["/x/gate", "mcp"]}`: true, `{"command": ["/y/gate", "mcp"]}`: false,
		`{"command": "agent"}`: false, `{"command": "x", "args": ["mcp"]}`: false, `{"url": "http://x"}`: false, `7`: false, `{"command": [1, "mcp"]}`: false,
	} {
		read, err := jsonFormat{}.read([]byte(`{"x": ` + text + `}`))
		if err != nil || ours(read["x"], "/x/gate") != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestFilesAreReadWithCare(t *testing.T) {
	t.Parallel()
	row, f := client(t, "gemini", "{}")
	elsewhere := filepath.Join(t.TempDir(), "settings.json")
	if err := os.Rename(f.Path(), elsewhere); err != nil {
		t.Fatal(err)
	}
	refused := func(what, says string) {
		t.Helper()
		if _, err := row.Install(f, "/bin/agent"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := os.Symlink(elsewhere, f.Path()); err != nil {
		t.Fatal(err)
	}
	refused("a link", "is a symbolic link")
	os.Remove(f.Path())
	if err := os.Mkdir(f.Path(), 0o755); err != nil {
		t.Fatal(err)
	}
	refused("a directory", "is not a regular file")
	os.Remove(f.Path())
	if err := os.WriteFile(f.Path(), nil, 0o600); err == nil {
		err = os.Truncate(f.Path(), maxFile+1)
		if err != nil {
			t.Fatal(err)
		}
	}
	refused("a huge file", "larger than 64 MiB")
	dir := filepath.Dir(f.Path())
	os.RemoveAll(dir)
	if err := os.Symlink(filepath.Dir(elsewhere), dir); err != nil {
		t.Fatal(err)
	}
	refused("a linked directory", "is a symbolic link")
	os.Remove(dir)
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("a file for a directory", "is not a directory")
	if text, err := os.ReadFile(elsewhere); err != nil || string(text) != "{}" {
		t.Errorf("what the link leads to is %q, %v", text, err)
	}
}

// Only the change that was shown is written: a file that has changed since is left alone.
func TestAChangeIsWrittenToWhatItWasMadeFor(t *testing.T) {
	t.Parallel()
	row, f := client(t, "gemini", "{}")
	change, err := row.Install(f, "/bin/agent")
	if err == nil {
		err = os.WriteFile(f.Path(), []byte(`{"a": 1}`), 0o640)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := change.Apply(); !errors.Is(err, ErrChanged) {
		t.Errorf("%v", err)
	}
	if change, err = row.Install(f, "/bin/agent"); err != nil {
		t.Fatal(err)
	}
	if err := change.Apply(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(f.Path())
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	left, err := os.ReadDir(filepath.Dir(f.Path()))
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v %v", left, err)
	}
	row, f = client(t, "codex", "-")
	change, err = row.Install(f, "/bin/agent")
	if err == nil {
		err = change.Apply()
	}
	if info, statErr := os.Stat(f.Path()); err != nil || statErr != nil || info.Mode() != fs.FileMode(0o600) {
		t.Errorf("%v %v", err, statErr)
	}
}

func TestRowsAreWhole(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home, "CODEX_HOME": "/etc/codex"}[name] }
	want := map[string]string{
		"claude": home + "/.claude.json", "codex": "/etc/codex/config.toml", "gemini": home + "/.gemini/settings.json",
		"opencode": home + "/.config/opencode/opencode.json", "cursor": home + "/.cursor/mcp.json",
	}
	for _, c := range All() {
		f, err := c.UserFile(getenv)
		if path, ok := want[c.ID]; err != nil || ok && f.Path() != path {
			t.Errorf("%s: %s, %v", c.ID, f.Path(), err)
		}
		if c.Name == "" || !strings.HasPrefix(c.Source, "https://") || len(c.path) == 0 || !filepath.IsLocal(c.project) {
			t.Errorf("%s lacks something: %+v", c.ID, c)
		}
	}
	if _, err := All()[0].UserFile(func(string) string { return "" }); err == nil {
		t.Error("without a home")
	}
	if _, err := All()[1].UserFile(func(name string) string { return map[string]string{"HOME": home, "CODEX_HOME": "x"}[name] }); err == nil {
		t.Error("a path that is not absolute")
	}
	if _, ok := Named("x"); ok {
		t.Error("there is no client x")
	}
	row, f := client(t, "opencode", "-")
	if err := os.WriteFile(f.Path()+"c", []byte("{} // mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := row.ProjectFile(f.Base); !strings.HasSuffix(got.Name, ".jsonc") {
		t.Errorf("%s", got.Name)
	}
}

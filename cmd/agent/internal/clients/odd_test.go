package clients

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// odd lists texts that people and hostile workspaces have in these files: the text before, and what is left after the
// entry was added and removed; "=" is the text before.
var odd = []struct{ name, client, before, after string }{
	{"a trailing comma in one line", "gemini", `{"a": 1,}`, "="},
	{"servers in one line with a trailing comma", "gemini", `{"mcpServers": {"b": {"command": "b"},},}`, "="},
	{"a comment of one line before the brace", "gemini", "{\"a\": 1 // }\n}", "="},
	{"an object of a comment alone", "gemini", "{ /* } */ }", "{ /* } */\n }"},
	{"an object of a comment that ends with its line", "gemini", "{ // {}\n}", "="},
	{"a name that is written in escapes", "gemini", "{\"mcpServers\": {\"\\u0061gent\": {\"command\": \"agent\", \"args\": [\"mcp\"]}, \"b\": {}}}", `{"mcpServers": { "b": {}}}`},
	{"braces and marks in strings", "gemini", "{\n  \"a\": \"}, // \\\" {\",\n  \"mcpServers\": {\"b\": {\"command\": \"[\"}}\n}\n", "="},
	{"numbers that no float holds", "claude", "{\n  \"id\": 12345678901234567890123,\n  \"x\": 1e400\n}\n", "="},
	{"a file of white space", "claude", " \n\t\n", "{\n}\n"},
	{"empty servers stay no longer", "claude", `{"mcpServers": {}}`, `{}`},
	{"a table in quotes", "codex", "[\"mcp_servers\".'agent']\ncommand = 'agent'\nargs = ['mcp']\n", ""},
	{"a table that is in a text", "codex", "a = \"\"\"\n[mcp_servers.agent]\ncommand = 'agent'\n\"\"\"\n", "="},
	{"a table of a longer name", "codex", "[mcp_servers.agents]\ncommand = 'b'\n", "="},
	{"no end of the last line", "codex", "a = 1", "a = 1\n"},
	{"an entry in two places", "codex", "[mcp_servers.agent]\ncommand = 'agent'\nargs = ['mcp']\n\n[b]\nc = 1\n\n[mcp_servers.agent.env]\nA = '1'\n\n[d]\ne = 1\n", "\n[b]\nc = 1\n\n[d]\ne = 1\n"},
	{"TOML with line ends of Windows", "codex", "a = 1\r\n\r\n[b]\r\nc = 1\r\n", "="},
}

func TestOddFilesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, c := range odd {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			row, f := client(t, c.client, c.before)
			in, err := row.Install(f, "/opt/it's \"here\"/agent")
			if err == nil {
				err = in.Apply()
			}
			if err != nil {
				t.Fatal(err)
			}
			if again, err := row.Install(f, "/opt/it's \"here\"/agent"); err != nil || again.State != Unchanged {
				t.Errorf("once more: %s %v\n%s", again.State, err, in.After)
			}
			out, err := row.Uninstall(f, "agent")
			want := c.after
			if want == "=" {
				want = c.before
			}
			if err != nil || out.State != Removed || string(out.After) != want {
				t.Errorf("%s %v\nwith %q\n got %q\nwant %q", out.State, err, in.After, out.After, want)
			}
		})
	}
}

// Text after a line comment does not become part of the comment.
func TestACommentDoesNotSwallowWhatFollowsTheEntry(t *testing.T) {
	t.Parallel()
	const entry = `"agent": {"command": "agent", "args": ["mcp"]}`
	for before, want := range map[string]string{
		"{\"mcpServers\": { // mine\n" + entry + "}}":                                     "{\"mcpServers\": { // mine\n}}",
		"{\"mcpServers\": {\"a\": {}, // mine\n  " + entry + ", \"b\": {}}}":              "{\"mcpServers\": {\"a\": {}, // mine\n \"b\": {}}}",
		"{\"mcpServers\": {\"a\": {\"url\": \"http://a\"},\n  " + entry + ", \"b\": {}}}": "{\"mcpServers\": {\"a\": {\"url\": \"http://a\"}, \"b\": {}}}",
	} {
		row, f := client(t, "gemini", before)
		out, err := row.Uninstall(f, "/bin/agent")
		if err != nil || out.State != Removed || string(out.After) != want {
			t.Errorf("%q: %s %v\n got %q\nwant %q", before, out.State, err, out.After, want)
		}
	}
}

// An entry that cannot be removed is an error for the user, and is not reported as absent.
func TestWhatCannotBeTakenOutIsSaid(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"[mcp_servers]\nagent = {command = 'agent', args = ['mcp']}\n",
		"mcp_servers.agent.command = 'agent'\nmcp_servers.agent.args = ['mcp']\n",
		"mcp_servers = {agent = {command = 'agent', args = ['mcp']}}\n",
	} {
		row, f := client(t, "codex", text)
		if change, err := row.Uninstall(f, "/bin/agent"); err == nil || !strings.Contains(err.Error(), f.Path()) || !strings.Contains(err.Error(), "cannot be changed") {
			t.Errorf("%q: %s %v", text, change.State, err)
		}
	}
}

// A file in a workspace that is made to crash its reader is refused like any other unreadable one.
func TestHostileFilesAreRefused(t *testing.T) {
	t.Parallel()
	const deep = 2 << 20
	for name, c := range map[string]struct{ client, text string }{
		"deep lists":           {"claude", strings.Repeat("[", deep)},
		"deep objects":         {"claude", strings.Repeat(`{"a":`, deep)},
		"a comment of no end":  {"claude", "{/*" + strings.Repeat("*", deep)},
		"no text":              {"claude", "\x00\xff\xfe"},
		"a value behind it":    {"claude", "{} {}"},
		"deep lists of TOML":   {"codex", "a = " + strings.Repeat("[", 50_000)},
		"deep tables of TOML":  {"codex", "a = " + strings.Repeat("{a=", 50_000)},
		"deep names of TOML":   {"codex", strings.Repeat("a.", 50_000) + "a = 1"},
		"a table that is none": {"codex", "[[mcp_servers]]\nname = 'a'\n"},
	} {
		row, f := client(t, c.client, c.text)
		if change, err := row.Install(f, "/bin/agent"); err == nil || !strings.Contains(err.Error(), f.Path()) {
			t.Errorf("%s: %s %v", name, change.State, err)
		}
		if text, err := os.ReadFile(f.Path()); err != nil || !bytes.Equal(text, []byte(c.text)) {
			t.Errorf("%s: the file changed, %v", name, err)
		}
	}
}

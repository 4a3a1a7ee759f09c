// Package clients knows where coding agents and editors keep their configuration, and adds the gate to it and removes
// it again: one row per program. The rest of a file stays as it is, byte for byte, with its comments. The package
// writes no file that it cannot read back and no file that is a link, and touches no entry of another program.
package clients

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// Entry is the name of the gate among the servers of a client.
const Entry = "agent"

// A Client is a program that starts servers of the Model Context Protocol.
type Client struct {
	ID, Name string
	// Source is the page of the client's own documentation that the row follows.
	Source string

	user    func(env) string // the file of the user
	project string           // the file in a workspace, with slashes
	path    []string         // where the servers are in the file
	kind    string           // "type" of a server, "" if it has none
	list    bool             // command and arguments form one list
	folder  string           // stands for the opened folder in arguments, "" if servers start in it
	hook    *hook            // where its hooks are, nil if none are known
}

// env looks up a variable of the environment.
type env func(string) string

// under returns the path of a file below the home directory, or below the directory that a variable names if it is set.
func under(variable, otherwise string, names ...string) func(env) string {
	return func(getenv env) string {
		dir := getenv(variable)
		if variable == "" || dir == "" {
			dir = filepath.Join(getenv("HOME"), filepath.FromSlash(otherwise))
		}
		return filepath.Join(append([]string{dir}, names...)...)
	}
}

// vscode is the folder of Visual Studio Code's default profile.
func vscode() func(env) string {
	if runtime.GOOS == "darwin" {
		return under("", "Library/Application Support", "Code", "User", "mcp.json")
	}
	return under("XDG_CONFIG_HOME", ".config", "Code", "User", "mcp.json")
}

// All returns the known clients.
func All() []Client {
	return []Client{
		{
			ID: "claude", Name: "Claude Code", Source: "https://code.claude.com/docs/en/mcp",
			user: under("CLAUDE_CONFIG_DIR", "", ".claude.json"), project: ".mcp.json", path: []string{"mcpServers"}, kind: "stdio",
			hook: &hook{user: under("CLAUDE_CONFIG_DIR", ".claude", "settings.json"), project: ".claude/settings.json", event: "Stop", unit: time.Second},
		},
		{
			ID: "codex", Name: "Codex", Source: "https://developers.openai.com/codex/mcp",
			user: under("CODEX_HOME", ".codex", "config.toml"), project: ".codex/config.toml", path: []string{"mcp_servers"},
			hook: &hook{user: under("CODEX_HOME", ".codex", "hooks.json"), project: ".codex/hooks.json", event: "Stop", unit: time.Second},
		},
		{
			ID: "gemini", Name: "Gemini CLI", Source: "https://geminicli.com/docs/tools/mcp-server",
			user: under("", ".gemini", "settings.json"), project: ".gemini/settings.json", path: []string{"mcpServers"},
			hook: &hook{user: under("", ".gemini", "settings.json"), project: ".gemini/settings.json", event: "AfterAgent", unit: time.Millisecond},
		},
		{
			ID: "opencode", Name: "opencode", Source: "https://opencode.ai/docs/mcp-servers",
			user: under("XDG_CONFIG_HOME", ".config", "opencode", "opencode.json"), project: "opencode.json", path: []string{"mcp"}, kind: "local", list: true,
		},
		{
			ID: "cursor", Name: "Cursor", Source: "https://cursor.com/docs/context/mcp",
			user: under("", ".cursor", "mcp.json"), project: ".cursor/mcp.json", path: []string{"mcpServers"}, folder: "${workspaceFolder}",
		},
		{
			ID: "vscode", Name: "Visual Studio Code", Source: "https://code.visualstudio.com/docs/copilot/reference/mcp-configuration",
			user: vscode(), project: ".vscode/mcp.json", path: []string{"servers"}, kind: "stdio", folder: "${workspaceFolder}",
		},
	}
}

// Named returns the client with that ID.
func Named(id string) (Client, bool) {
	list := All()
	at := slices.IndexFunc(list, func(c Client) bool { return c.ID == id })
	if at < 0 {
		return Client{}, false
	}
	return list[at], true
}

// IDs returns the IDs of all clients.
func IDs() (ids []string) {
	for _, c := range All() {
		ids = append(ids, c.ID)
	}
	return ids
}

// UserFile returns the file of the user who has this environment. No part of its path below its base directory may be a
// link.
func (c Client) UserFile(getenv func(string) string) (File, error) {
	if getenv("HOME") == "" {
		return File{}, errors.New("HOME is not set")
	}
	path := c.user(getenv)
	if !filepath.IsAbs(path) {
		return File{}, fmt.Errorf("%s is not an absolute path", path)
	}
	if rel, err := filepath.Rel(getenv("HOME"), path); err == nil && filepath.IsLocal(rel) {
		return c.chosen(File{Base: getenv("HOME"), Name: rel}), nil
	}
	return c.chosen(File{Base: filepath.Dir(path), Name: filepath.Base(path)}), nil
}

// ProjectFile returns the file in the workspace dir.
func (c Client) ProjectFile(dir string) File {
	return c.chosen(File{Base: dir, Name: filepath.FromSlash(c.project)})
}

// chosen returns f, or the file that exists in its place: opencode reads either name.
func (c Client) chosen(f File) File {
	if with := (File{Base: f.Base, Name: f.Name + "c"}); c.ID == "opencode" && with.there() && !f.there() {
		return with
	}
	return f
}

// A State says what happened to an entry.
type State string

// The states of an entry.
const (
	Added     State = "added"
	Replaced  State = "replaced"
	Removed   State = "removed"
	Unchanged State = "unchanged"
)

// A Change is what to write to a file, and what was there.
type Change struct {
	Client Client
	File   File
	State  State
	Before []byte
	After  []byte
}

// ErrOther is the error for an entry that has the gate's name but is not the gate's.
var ErrOther = errors.New("the entry " + Entry + " there is another server")

// Install returns the change of f that makes the client start the gate: the program at that path or with that name.
func (c Client) Install(f File, program string) (Change, error) {
	return c.change(f, program, func(text []byte, format format, path []string) ([]byte, error) {
		return format.put(text, path, c.server(program, path))
	})
}

// errWritten is the error for a file whose other content cannot be kept.
var errWritten = errors.New("the entry cannot be changed without touching the rest of the file")

// Uninstall returns the change that removes the entry, whether it starts this program or another one with its name. An
// entry that cannot be removed is an error.
func (c Client) Uninstall(f File, program string) (Change, error) {
	return c.change(f, program, func(text []byte, format format, path []string) ([]byte, error) {
		after, err := format.cut(text, path)
		if err != nil {
			return nil, err
		}
		if left, err := format.read(after); err != nil || at(left, path...) != nil {
			return nil, errWritten
		}
		return after, nil
	})
}

// change reads f and lets edit change it. It reads the result back before it returns it.
func (c Client) change(f File, program string, edit func([]byte, format, []string) ([]byte, error)) (Change, error) {
	text, err := f.Read()
	if err != nil {
		return Change{}, err
	}
	format := formatOf(f.Name)
	before, err := format.read(text)
	if err != nil {
		return Change{}, fmt.Errorf("%s: %w", f.Path(), err)
	}
	path := c.servers(before)
	was := at(before, append(path, Entry)...)
	if was != nil && !ours(was, program) {
		return Change{}, fmt.Errorf("%s: %w", f.Path(), ErrOther)
	}
	after, err := edit(text, format, append(slices.Clone(path), Entry))
	if err != nil {
		return Change{}, fmt.Errorf("%s: %w", f.Path(), err)
	}
	now, err := format.read(after)
	if err != nil || !sameBut(before, now, append(path, Entry)) {
		return Change{}, fmt.Errorf("%s: %w", f.Path(), errWritten)
	}
	state := Replaced
	switch {
	case string(after) == string(text):
		state = Unchanged
	case was == nil:
		state = Added
	case at(now, append(path, Entry)...) == nil:
		state = Removed
	}
	return Change{c, f, state, text, after}, nil
}

// servers returns where the servers are in a file: opencode moved them in its second version.
func (c Client) servers(read map[string]any) []string {
	if c.ID == "opencode" && at(read, "mcp", "servers") != nil {
		return []string{"mcp", "servers"}
	}
	return slices.Clone(c.path)
}

// A server is the entry of the gate, in the terms of most clients.
type server struct {
	Type    string   `json:"type,omitempty"`
	Command any      `json:"command"`
	Args    []string `json:"args,omitempty"`
	Enabled bool     `json:"enabled,omitempty"`
}

// server returns the entry that starts program.
func (c Client) server(program string, path []string) server {
	args := []string{"mcp"}
	if c.folder != "" {
		args = append(args, "--workspace", c.folder)
	}
	if c.list {
		return server{Type: c.kind, Command: append([]string{program}, args...), Enabled: len(path) == 2}
	}
	return server{Type: c.kind, Command: program, Args: args}
}

// ours reports whether an entry starts program, or one with the gate's name anywhere.
func ours(entry any, program string) bool {
	m, _ := entry.(map[string]any)
	words, _ := m["command"].([]any)
	if name, ok := m["command"].(string); ok {
		args, _ := m["args"].([]any)
		words = append([]any{name}, args...)
	}
	if len(words) < 2 || words[1] != "mcp" {
		return false
	}
	name, _ := words[0].(string)
	return name == program || filepath.Base(name) == Entry
}

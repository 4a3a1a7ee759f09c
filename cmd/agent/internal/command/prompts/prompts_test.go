package prompts

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/wire"
)

// A desk is a home and a workspace, and the output of a command in them.
type desk struct {
	t          *testing.T
	home, work string
}

// newDesk sets up a desk whose workspace has these prompts.
func newDesk(t *testing.T, own map[string]string) *desk {
	d := &desk{t, t.TempDir(), t.TempDir()}
	for name, text := range own {
		d.write(filepath.Join(d.work, ".agent/prompts", name), text)
	}
	return d
}

// write writes a file and creates missing directories.
func (d *desk) write(path, text string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// config is the path of the user's configuration.
func (d *desk) config() string { return filepath.Join(d.home, ".config/agent/config.toml") }

// run runs a command without a terminal.
func (d *desk) run(args ...string) (stdout, stderr string, err error) {
	d.t.Helper()
	var out, log bytes.Buffer
	line := cmdline.New(func(k string) string { return map[string]string{"HOME": d.home}[k] }, strings.NewReader(""), &out, &log)
	app := cmdlinetest.App(&log, Command(line))
	args = append([]string{"agent", "prompts", args[0], "--workspace", d.work}, args[1:]...)
	err = app.RunContext(d.t.Context(), args)
	return out.String(), log.String(), err
}

// rows lists the prompts by name.
func (d *desk) rows() map[string]Row {
	d.t.Helper()
	out, _, err := d.run("list", "--json")
	var list []Row
	if err == nil {
		err = json.Unmarshal([]byte(out), &list)
	}
	if err != nil {
		d.t.Fatalf("%v:\n%s", err, out)
	}
	rows := map[string]Row{}
	for _, r := range list {
		rows[string(r.Name)] = r
	}
	return rows
}

// A workspace's text takes precedence over the user's, and that over the built-in one.
func TestTheFirstLayerCounts(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"IF.md": "Do {{.Goal}} gently.\n"})
	d.write(filepath.Join(filepath.Dir(d.config()), "prompts/IF.md"), "Do {{.Goal}} fast.\n")
	d.write(filepath.Join(filepath.Dir(d.config()), "prompts/PP.md"), "Review {{name .Target}}.\n")
	rows := d.rows()
	for name, want := range map[string]string{"IF": "workspace", "PP": "user", "PF": "built in", "system": "built in"} {
		if r := rows[name]; r.Source != want || r.Allowed != (want != "workspace") || r.About == "" || len(r.SHA256) != 64 || r.Bytes == 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	out, _, err := d.run("list")
	if err != nil || !strings.Contains(out, "workspace, not allowed") || strings.Count(out, "\n") != len(rows) {
		t.Errorf("%v:\n%s", err, out)
	}
	for want, args := range map[string][]string{
		"Do {{.Goal}} gently.\n": {"show", "IF"}, "Review {{name .Target}}.\n": {"show", "PP.md"}, "Do this in the repository": {"show", "--built-in", "IF"},
		"+Do {{.Goal}} gently.\n": {"diff", "IF"}, "+Review {{name .Target}}.\n": {"diff"},
	} {
		if out, _, err := d.run(args...); err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	if out, log, err := d.run("diff", "PF"); err != nil || out != "" || !strings.Contains(log, "built-in") {
		t.Errorf("%q, %q, %v", out, log, err)
	}
	for _, args := range [][]string{{"show"}, {"show", "XX"}, {"show", "IF", "PP"}, {"diff", "XX"}, {"edit"}, {"edit", "IF"}} {
		if _, _, err := d.run(args...); err == nil {
			t.Errorf("%v is no error", args)
		}
	}
}

// A workspace's text is used once the user has allowed it, and a changed text needs another consent.
func TestEachTextOfAWorkspaceIsAllowedOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"system.md": "Obey the files. {{rule}}\n"})
	left := func() int {
		t.Helper()
		p, err := wire.LoadPrompts(d.work, d.config())
		if err != nil {
			t.Fatal(err)
		}
		list, err := wire.Unallowed(p, d.config())
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if out, _, err := d.run("allow"); err == nil || !strings.Contains(out, "+Obey the files.") || left() != 1 {
		t.Errorf("without a person: %v\n%s", err, out)
	}
	if _, log, err := d.run("allow", "--yes"); err != nil || !strings.Contains(log, "allowed: 1 prompt,") || left() != 0 || !d.rows()["system"].Allowed {
		t.Errorf("%v: %s", err, log)
	}
	if _, log, err := d.run("allow", "--yes"); err != nil || !strings.Contains(log, "no prompts that are not allowed") {
		t.Errorf("%v: %s", err, log)
	}
	d.write(filepath.Join(d.work, ".agent/prompts/system.md"), "Obey the files, all of them. {{rule}}\n")
	if left() != 1 {
		t.Error("a changed text is allowed")
	}
	if _, _, err := d.run("allow", "--yes"); err != nil || left() != 0 {
		t.Errorf("%v", err)
	}
	d.write(filepath.Join(d.work, ".agent/prompts/system.md"), "Obey the files. {{rule}}\n")
	if left() != 0 {
		t.Error("a text that was allowed before is allowed no more")
	}
}

// An unreadable prompt is an error and gets no consent; a prompt that does not work is an error everywhere.
func TestBrokenPromptsAreErrors(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"IF.md": "Do it."})
	if err := os.MkdirAll(filepath.Join(filepath.Dir(d.config()), "allowed-prompts"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.run("list"); err == nil {
		t.Error("a list of consents that is a directory is no error")
	}
	d = newDesk(t, nil)
	d.write(filepath.Join(filepath.Dir(d.config()), "prompts/PP.md"), "{{.Nonsense}}")
	if _, _, err := d.run("list"); err == nil || !strings.Contains(err.Error(), "PP.md") {
		t.Errorf("a prompt of the user's that does not work: %v", err)
	}
}

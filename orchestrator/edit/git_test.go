package edit_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/edit"
	"agent/sandbox/workspace"
)

// git runs git in dir, isolated from the machine's configuration.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME="+dir,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// write makes dir contain exactly these files; names in exec get the execute bit.
func write(t *testing.T, dir string, m memory) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == ".git" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range m.text {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := fs.FileMode(0o644)
		if m.exec[name] {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// after applies a changeset to a workspace in memory.
func after(m memory, cs workspace.Changeset) memory {
	out := memory{map[string]string{}, map[string]bool{}}
	for name, text := range m.text {
		out.text[name], out.exec[name] = text, m.exec[name]
	}
	for _, c := range cs.Changes {
		switch c.Op {
		case workspace.Delete:
			delete(out.text, c.Path)
		case workspace.Rename:
			delete(out.text, c.From)
		}
		if c.Op != workspace.Delete {
			out.text[c.Path], out.exec[c.Path] = string(c.After), c.Mode == 0o755
		}
	}
	for name := range out.exec {
		if _, there := out.text[name]; !there || !out.exec[name] {
			delete(out.exec, name)
		}
	}
	return out
}

func numbered(s string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s %d\n", s, i)
	}
	return b.String()
}

// TestDiffsOfGitGiveGitsTrees lets git diff two trees in several of its forms, and compares the engine's result with the second tree.
func TestDiffsOfGitGiveGitsTrees(t *testing.T) {
	t.Parallel()
	type files = map[string]string
	exec := func(names ...string) map[string]bool {
		m := map[string]bool{}
		for _, n := range names {
			m[n] = true
		}
		return m
	}
	long := numbered("line", 40)
	for _, c := range []struct {
		name     string
		from, to memory
	}{
		{"one line", memory{text: files{"a": long}}, memory{text: files{"a": strings.Replace(long, "line 20\n", "LINE\n", 1)}}},
		{"several hunks", memory{text: files{"a": long}}, memory{text: files{"a": strings.NewReplacer("line 1\n", "", "line 20\n", "LINE\nMORE\n", "line 39\n", "END\n").Replace(long)}}},
		{"at both ends", memory{text: files{"a": long}}, memory{text: files{"a": "first\n" + long + "last\n"}}},
		{"repetitive text", memory{text: files{"a": strings.Repeat("x\ny\n\n", 30)}}, memory{text: files{"a": strings.Repeat("x\ny\n\n", 15) + "new\n" + strings.Repeat("x\ny\n\n", 15)}}},
		{"new, empty and deleted files", memory{text: files{"old": "bye\n", "gone": ""}}, memory{text: files{"new": "hello\nthere\n", "empty": "", "deep/er/file": "x\n"}}},
		{"no newline at the end, before", memory{text: files{"a": "x\ny"}}, memory{text: files{"a": "x\ny\n"}}},
		{"no newline at the end, after", memory{text: files{"a": "x\ny\n"}}, memory{text: files{"a": "x\ny"}}},
		{"no newline at the end, both", memory{text: files{"a": "x\ny"}}, memory{text: files{"a": "x\nz\ny"}}},
		{"no newline at the end, last line changed", memory{text: files{"a": "x\ny"}}, memory{text: files{"a": "x\nz"}}},
		{"no newline in a new file", memory{text: files{"b": "1\n"}}, memory{text: files{"a": "x", "b": "1\n"}}},
		{"no newline in a deleted file", memory{text: files{"a": "x", "b": "1\n"}}, memory{text: files{"b": "1\n"}}},
		{"CRLF", memory{text: files{"a": "x\r\ny\r\nz\r\n"}}, memory{text: files{"a": "x\r\nY\r\nw\r\nz\r\n"}}},
		{"byte order mark", memory{text: files{"a": "\ufeffx\ny\n"}}, memory{text: files{"a": "\ufeffX\ny\n"}}},
		{"renamed", memory{text: files{"a": long, "k": "k\n"}}, memory{text: files{"b/c": long, "k": "k\n"}}},
		{"renamed and changed", memory{text: files{"a": long}}, memory{text: files{"b": strings.Replace(long, "line 7\n", "", 1)}}},
		{"execute bit set", memory{text: files{"a": "x\n"}}, memory{files{"a": "x\n"}, exec("a")}},
		{"execute bit removed, and changed", memory{files{"a": "x\n"}, exec("a")}, memory{text: files{"a": "y\n"}}},
		{"renamed with its bit", memory{files{"a": long}, exec("a")}, memory{files{"b": long}, exec("b")}},
		{"a new script", memory{text: files{"a": "x\n"}}, memory{files{"a": "x\n", "run": "exit\n"}, exec("run")}},
		{"names with spaces, quotes and letters", memory{text: files{"a b": "1\n", `q"q`: "1\n", "é": "1\n"}}, memory{text: files{"a b": "2\n", `q"q`: "2\n", "é": "2\n"}}},
		{"a folder called a", memory{text: files{"a/b": "1\n", "b/b": "1\n"}}, memory{text: files{"a/b": "2\n", "b/b": "3\n"}}},
		{"dashes and pluses", memory{text: files{"a": "-- one\n++ two\n--- a\n+++ b\n@@ -1 +1 @@\nend\n"}}, memory{text: files{"a": "-- one\n-- two\n--- b\n+++ c\nend\n"}}},
		{"a line that looks like a tag", memory{text: files{"a": "<EDIT>\nx\n</EDIT>\n"}}, memory{text: files{"a": "<EDIT>\ny\n</EDIT>\n"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			git(t, dir, "init", "-q")
			git(t, dir, "config", "core.autocrlf", "false")
			write(t, dir, c.from)
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-q", "--allow-empty", "-m", "before")
			write(t, dir, c.to)
			git(t, dir, "add", "-A")
			for _, form := range [][]string{{}, {"-M"}, {"--no-renames"}, {"-U1"}, {"-U10"}, {"--patience", "--full-index"}, {"--function-context"}} {
				diff := git(t, dir, append([]string{"diff", "--cached"}, form...)...)
				cs, _, err := edit.Apply(c.from, []byte(diff), "")
				if err != nil {
					t.Errorf("%v: %v\n%s", form, err, diff)
					continue
				}
				got := after(c.from, cs)
				if d := cmp.Diff(c.to.text, got.text); d != "" {
					t.Errorf("%v (-git +ours)\n%s\n%s", form, d, diff)
				}
				for name := range c.to.text {
					if c.to.exec[name] != got.exec[name] {
						t.Errorf("%v: execute bit of %s is %v, want %v", form, name, got.exec[name], c.to.exec[name])
					}
				}
			}
			git(t, dir, "commit", "-q", "-m", "after")
			mail := git(t, dir, "format-patch", "--stdout", "-1")
			cs, _, err := edit.Apply(c.from, []byte(mail), "")
			if err != nil {
				t.Fatalf("as a mail: %v\n%s", err, mail)
			}
			if d := cmp.Diff(c.to.text, after(c.from, cs).text); d != "" {
				t.Errorf("as a mail (-git +ours)\n%s\n%s", d, mail)
			}
		})
	}
}

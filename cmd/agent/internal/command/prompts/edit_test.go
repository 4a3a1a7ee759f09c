package prompts

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"agent/cmd/agent/internal/cmdline/cmdlinetest"
)

// The editor is a script that writes a text over the file that it is given.
func TestAPromptIsEdited(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	at := filepath.Join(filepath.Dir(d.config()), "prompts/PP.md")
	for _, c := range []struct {
		name, script string
		fails        bool
		want         string // the file's content afterwards, "" for no file
	}{
		{"unchanged", "true", false, ""},
		{"a text of one's own", "printf 'Review {{name .Target}}.\\n' > \"$1\"", false, "Review {{name .Target}}.\n"},
		{"no template", "printf '{{.Nonsense}}' > \"$1\"", true, "Review {{name .Target}}.\n"},
		{"added to one's own", "printf 'Well.\\n' >> \"$1\"", false, "Review {{name .Target}}.\nWell.\n"},
		{"emptied", ": > \"$1\"", false, ""},
	} {
		editor := filepath.Join(t.TempDir(), "editor")
		if err := os.WriteFile(editor, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		p := cmdlinetest.NewPerson(t, map[string]string{"HOME": d.home, "EDITOR": editor, "PATH": os.Getenv("PATH")})
		app := cmdlinetest.App(io.Discard, Command(p.Line))
		err := app.RunContext(t.Context(), []string{"agent", "prompts", "edit", "--workspace", d.work, "PP"})
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
		got, err := os.ReadFile(at)
		if string(got) != c.want || os.IsNotExist(err) != (c.want == "") {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

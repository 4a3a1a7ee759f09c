package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"agent/cmd/agent/internal/term/termtest"
	"agent/sandbox/workspace/promotion"
)

// The scripts of `agent edit` have neither engine nor database: the command needs neither.
func TestEditScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script/edit", UpdateScripts: *termtest.Update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("AGENT_DATABASE_URL", "postgres://nobody@127.0.0.1:1/nothing")
			env.Setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "home", "config"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "field": field, "keep": keep, "kept": kept, "fifo": fifo, "locked": locked,
		},
	})
}

// locked holds a workspace until the script ends.
func locked(ts *testscript.TestScript, _ bool, args []string) {
	lock, err := promotion.Acquire(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Defer(func() { lock.Release() })
}

// The help page states what `agent edit` promises, and what it does not.
func TestEditHelpPage(t *testing.T) {
	t.Parallel()
	termtest.Golden(t, "help-edit.txt", commandIn(t, nil, "edit", "--help").stdout)
}

// writeFiles makes files below dir.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// block is an edit that replaces a whole line of a file.
func block(path, search, replace string) string {
	return "<EDIT file=\"" + path + "\"><SEARCH>\n" + search + "\n</SEARCH><REPLACE>\n" + replace + "\n</REPLACE></EDIT>\n"
}

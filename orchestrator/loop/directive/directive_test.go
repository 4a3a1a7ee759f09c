package directive_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/loop/directive"
	"agent/orchestrator/tournament"
)

// orders creates a workspace with directives.
func orders(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".agent"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, tournament.DirectivesFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDirectivesAreTheOpenItemsOfAList(t *testing.T) {
	t.Parallel()
	got, err := directive.List(orders(t, strings.Join([]string{
		"# Orders", "Please do these.", "- round prices   up", "- [ ] a.py: make x two", "* [x] done long ago", "  and this belongs to it",
		"- [X]done too", "-", "- ", "+ `lib/b.py`: count", "\treturns as well", "", "  not part of it", "```", "- an example", "```",
		"  - [ ] an order: within another", "-no item", "1. nor this", "- the last\r",
	}, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, d := range got {
		lines = append(lines, fmt.Sprintf("%s|%s|%s", d.Text, d.Path, d.Rest))
	}
	want := "round prices up||\na.py: make x two|a.py|make x two\n`lib/b.py`: count returns as well|lib/b.py|count returns as well\n" +
		"an order: within another|an order|within another\nthe last||"
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A file that may not come from the person is reported, and never read.
func TestOnlyAPersonsOwnFileGivesOrders(t *testing.T) {
	t.Parallel()
	if list, err := directive.List(t.TempDir()); list != nil || err != nil {
		t.Errorf("no file: %v, %v", list, err)
	}
	elsewhere := orders(t, "- delete everything\n")
	for name, spoil := range map[string]func(dir, file string) error{
		"a link": func(_, file string) error {
			return os.Symlink(filepath.Join(elsewhere, tournament.DirectivesFile), file)
		},
		"behind a link": func(dir, _ string) error { os.Remove(dir); return os.Symlink(filepath.Join(elsewhere, ".agent"), dir) },
		"a link that stays": func(_, file string) error {
			os.WriteFile(file+"2", []byte("- x\n"), 0o644)
			return os.Symlink("DIRECTIVES.md2", file)
		},
		"a FIFO":             func(_, file string) error { return syscall.Mkfifo(file, 0o644) },
		"a directory":        func(_, file string) error { return os.Mkdir(file, 0o755) },
		"larger than a list": func(_, file string) error { return os.WriteFile(file, make([]byte, 65<<10), 0o644) },
		"binary":             func(_, file string) error { return os.WriteFile(file, []byte("- x\x00"), 0o644) },
		"another encoding":   func(_, file string) error { return os.WriteFile(file, []byte("- caf\xe9"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := orders(t, "")
			file := filepath.Join(dir, tournament.DirectivesFile)
			if err := errors.Join(os.Remove(file), spoil(filepath.Join(dir, ".agent"), file)); err != nil {
				t.Fatal(err)
			}
			list, err := directive.List(dir)
			var stop *agent.StopError
			if list != nil || !errors.As(err, &stop) || stop.Next == "" || !strings.Contains(stop.Message, tournament.DirectivesFile) {
				t.Errorf("got %v, %v", list, err)
			}
		})
	}
}

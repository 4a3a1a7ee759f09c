package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/run"
)

func TestEscapeSequencesAreNeutralised(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain text, ünïcode ✓":      "plain text, ünïcode ✓",
		"tab\tand\nline":             "tab\tand\nline",
		"\x1b[31mred\x1b[0m":         "␛[31mred␛[0m",
		"\x1b]0;title\x07":           "␛]0;title␇",
		"back\b\rspace\x00":          "back␈␍space␀",
		"\u009b31m":                  "<U+009B>31m",
		"a\u202etxt.exe":             "a<U+202E>txt.exe",
		"broken \xff\xfe utf-8":      "broken \ufffd\ufffd utf-8",
		"delete\x7f":                 "delete␡",
		"isolate \u2066x\u2069":      "isolate <U+2066>x<U+2069>",
		"\x1bP1000p\x1b\\ device":    "␛P1000p␛\\ device",
		"\x9b raw C1":                "\ufffd raw C1",
		"\x1b[2J\x1b[Hcleared\x1b[K": "␛[2J␛[Hcleared␛[K",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := cleanLine("two\nlines\t"); got != "two␊lines␉" {
		t.Errorf("cleanLine gives %q", got)
	}
}

func TestColoursOnlyWhereTheyAreWanted(t *testing.T) {
	t.Parallel()
	_, tty := openPTY(t)
	for _, c := range []struct {
		name string
		env  map[string]string
		w    io.Writer
		want bool
	}{
		{"a terminal", nil, tty, true},
		{"NO_COLOR", map[string]string{"NO_COLOR": "1"}, tty, false},
		{"TERM=dumb", map[string]string{"TERM": "dumb"}, tty, false},
		{"a buffer", nil, &bytes.Buffer{}, false},
	} {
		cmd := newCmdline(func(k string) string { return c.env[k] }, nil, c.w, c.w)
		if got := cmd.rich(c.w); got != c.want {
			t.Errorf("%s: rich is %v, want %v", c.name, got, c.want)
		}
		if got := strings.Contains(cmd.palette(c.w).good("pass"), "\x1b"); got != c.want {
			t.Errorf("%s: coloured is %v, want %v", c.name, got, c.want)
		}
	}
}

// openPTY opens a terminal of 24 by 80: what is written to master is typed,
// and what the program prints can be read from it.
func openPTY(t *testing.T) (master, tty *os.File) {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close(); master.Close() })
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	return master, tty
}

func TestSizeFollowsTerminalAndCOLUMNS(t *testing.T) {
	t.Parallel()
	_, tty := openPTY(t)
	for columns, want := range map[string]int{"": 80, "20": 20, "2": 10, "many": 80} {
		cmd := newCmdline(func(k string) string { return map[string]string{"COLUMNS": columns}[k] }, nil, tty, tty)
		if got, lines := cmd.size(tty); got != want || lines != 24 {
			t.Errorf("COLUMNS=%q: %d columns and %d lines, want %d and 24", columns, got, lines, want)
		}
	}
}

func TestReadingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe() // that nobody writes to
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := read(ctx, r, 10)
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestLinesAreReadOneByOne(t *testing.T) {
	t.Parallel()
	r := strings.NewReader("first\r\nsecond\nlast")
	for _, want := range []string{"first", "second"} {
		if got, err := readLine(t.Context(), r); got != want || err != nil {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	if got, err := readLine(t.Context(), r); got != "last" || !errors.Is(err, io.EOF) {
		t.Errorf("got %q, %v; want the rest and io.EOF", got, err)
	}
}

func TestPatchesAreReadFromFilesAndPipesOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := unix.Mkfifo(at("fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	large, err := os.Create(at("large"))
	if err != nil {
		t.Fatal(err)
	}
	defer large.Close()
	if err := large.Truncate(maxPatch + 1); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"patch": "<EDIT>", "empty": ""} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"patch": "", "empty": "the patch is empty", "dir": "neither a file nor a pipe", "absent": "no such file", "fifo": "empty",
		"large": "larger than 16 MiB", "/dev/zero": "neither a file nor a pipe", "": "no patch was given", "-": "",
	} {
		path := name
		if name != "" && name != "-" && !filepath.IsAbs(name) {
			path = at(name)
		}
		cmd := newCmdline(func(string) string { return "" }, strings.NewReader("from stdin"), io.Discard, io.Discard)
		data, err := cmd.readPatch(t.Context(), path, "give one")
		if want == "" {
			if err != nil || len(data) == 0 {
				t.Errorf("%q: %q, %v", name, data, err)
			}
			continue
		}
		if p, exit := fault.Classify(t.Context(), err); exit != run.ExitUsage || !strings.Contains(p.Message, want) || p.Next == "" {
			t.Errorf("%q: exit %d, %+v; want %q", name, exit, p, want)
		}
	}
}

func TestAPatchFromAPipeIsReadWhole(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("a line of a patch\n", 20_000) // more than a pipe holds
	wrote := make(chan error, 1)
	go func() {
		_, err := io.WriteString(w, text)
		wrote <- errors.Join(err, w.Close())
	}()
	cmd := newCmdline(func(string) string { return "" }, r, io.Discard, io.Discard)
	data, err := cmd.readPatch(t.Context(), "-", "give one")
	if err != nil || string(data) != text {
		t.Errorf("read %d bytes of %d: %v", len(data), len(text), err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

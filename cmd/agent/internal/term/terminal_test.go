package term

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"agent/cmd/agent/internal/term/termtest"
)

func newConsole(getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) *Console {
	return &Console{Getenv: getenv, Stdin: stdin, Stdout: stdout, Stderr: stderr}
}

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
		if got := Clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := CleanLine("two\nlines\t"); got != "two␊lines␉" {
		t.Errorf("cleanLine gives %q", got)
	}
}

func TestColoursOnlyWhereTheyAreWanted(t *testing.T) {
	t.Parallel()
	_, tty := termtest.OpenPTY(t)
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
		cmd := newConsole(func(k string) string { return c.env[k] }, nil, c.w, c.w)
		if got := cmd.rich(c.w); got != c.want {
			t.Errorf("%s: rich is %v, want %v", c.name, got, c.want)
		}
		if got := strings.Contains(cmd.Palette(c.w).Good("pass"), "\x1b"); got != c.want {
			t.Errorf("%s: coloured is %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSizeFollowsTerminalAndCOLUMNS(t *testing.T) {
	t.Parallel()
	_, tty := termtest.OpenPTY(t)
	for columns, want := range map[string]int{"": 80, "20": 20, "2": 10, "many": 80} {
		cmd := newConsole(func(k string) string { return map[string]string{"COLUMNS": columns}[k] }, nil, tty, tty)
		if got, lines := cmd.Size(tty); got != want || lines != 24 {
			t.Errorf("COLUMNS=%q: %d columns and %d lines, want %d and 24", columns, got, lines, want)
		}
	}
}

func TestReadingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe() // nothing is written to the pipe
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := Read(ctx, r, 10)
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
		if got, err := ReadLine(t.Context(), r); got != want || err != nil {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	if got, err := ReadLine(t.Context(), r); got != "last" || !errors.Is(err, io.EOF) {
		t.Errorf("got %q, %v; want the rest and io.EOF", got, err)
	}
}

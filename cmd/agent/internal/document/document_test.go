package document

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// filtered writes text to a filter in pieces, and returns its output.
func filtered(t *testing.T, show Show, text string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	f := NewFilter(t.Context(), &out, show)
	for piece := range strings.Lines(text) {
		if _, err := f.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	err := f.Close()
	return out.String(), err
}

func TestJQ(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expression, text, want, problem string }{
		{".a", `{"a": "x\ny"}`, "x\ny\n", ""},
		{".a", "{\"a\": 1}\n{\"a\": null}\n", "1\nnull\n", ""},
		{".", `{"b": [1.5, 12345678901234567890, "<é>"], "a": 9007199254740993}`, "{\"a\":9007199254740993,\"b\":[1.5,12345678901234567890,\"<é>\"]}\n", ""},
		{".[] | select(. > 1) | . + 1", "[1, 2]", "3\n", ""},
		{"empty", "{}", "", ""},
		{"halt", "{}", "", ""},
		{".a", "[]", "", "expected an object"},
		{`error("no")`, "{}", "", "no"},
		// The output of earlier documents stays; half a document is not shown.
		{"1, .a", "{\"a\":2}\n[]\n{\"a\":3}", "1\n2\n", "expected an object"},
		{".", `{"a":`, "", "read the document"},
		{"$ENV | length", "{}", "0\n", ""},
	} {
		show, err := JQ(c.expression, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.expression, err)
		}
		got, err := filtered(t, show, c.text)
		if got != c.want || (err != nil) != (c.problem != "") || !strings.Contains(fmt.Sprint(err), c.problem) {
			t.Errorf("%s of %s: %q, %v; want %q, %q", c.expression, c.text, got, err, c.want, c.problem)
		}
	}
	for _, expression := range []string{".[", `include "a"; .`, `import "a" as $a; .`, "input", "inputs", "nothing"} {
		if _, err := JQ(expression, nil); err == nil {
			t.Errorf("%s compiles", expression)
		}
	}
}

func TestWhatJQPrintsIsBounded(t *testing.T) {
	t.Parallel()
	show, err := JQ("range(100) as $i | .", nil)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := filtered(t, show, `"`+strings.Repeat("x", 1<<20)+`"`); !errors.Is(err, errOutput) || out != "" {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }
	for _, c := range []struct{ template, text, want, problem string }{
		{`{{range .}}{{.a}} {{end}}`, `[{"a":1234567},{"a":"x"}]`, "1234567 x ", ""},
		{`{{pluck "a" . | join ", "}}`, `[{"a":1},{"a":2}]`, "1, 2", ""},
		{`{{timeago .at}}`, `{"at":"2026-01-02T09:30:00Z"}`, "2 hours ago", ""},
		{`{{timeago .at}}`, `{"at":"2026-01-01T09:30:00Z"}`, "1 day ago", ""},
		{`{{timeago .at}}`, `{"at":"2026-01-02T12:00:00Z"}`, "just now", ""},
		{`{{timefmt "2006" .at}}`, `{"at":"2026-07-02T12:00:00Z"}`, "2026", ""},
		{`{{truncate 3 .a}}{{truncate 9 .b}}{{truncate 9 .a}}`, `{"a":"äöüß","b":null}`, "äö…äöüß", ""},
		{`{{json .a}}`, `{"a":{"b":[1,"<"]}}`, `{"b":[1,"<"]}`, ""},
		{`{{.absent}}`, `{}`, "", "absent"},
		{`{{pluck "a" .}}`, `[1]`, "", "is not an object"},
		{`{{timeago .}}`, `"soon"`, "", "parsing time"},
	} {
		show, err := Template(c.template, nil, now)
		if err != nil {
			t.Fatalf("%s: %v", c.template, err)
		}
		got, err := filtered(t, show, c.text)
		if got != c.want || (err != nil) != (c.problem != "") || !strings.Contains(fmt.Sprint(err), c.problem) {
			t.Errorf("%s of %s: %q, %v; want %q, %q", c.template, c.text, got, err, c.want, c.problem)
		}
	}
}

// Characters that control a terminal are made visible if clean is set.
func TestWhatIsPrintedIsCleaned(t *testing.T) {
	t.Parallel()
	clean := func(s string) string { return strings.ReplaceAll(s, "\x1b", "^") }
	jq, err := JQ(".a", clean)
	if err != nil {
		t.Fatal(err)
	}
	template, err := Template("{{.a}}\n", clean, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, show := range []Show{jq, template} {
		if got, err := filtered(t, show, `{"a":"\u001b[2J"}`); got != "^[2J\n" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// gone is a reader that has gone away.
type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestAReaderThatWentAwayIsNoError(t *testing.T) {
	t.Parallel()
	show, err := JQ(".", nil)
	if err != nil {
		t.Fatal(err)
	}
	f := NewFilter(t.Context(), gone{}, show)
	for range 3 {
		if _, err := f.Write([]byte("{}\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

package term

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"agent/cmd/agent/internal/term/termtest"
)

func TestAPaintedDiffSaysTheSameAsThePlainOne(t *testing.T) {
	t.Parallel()
	var painted, plain bytes.Buffer
	DiffView{Palette: Palette{on: true}}.Print(&painted, termtest.Diff)
	DiffView{}.Print(&plain, termtest.Diff)
	if !strings.Contains(painted.String(), "\x1b[") {
		t.Error("nothing is painted")
	}
	if got := ansi.Strip(painted.String()); got != plain.String() {
		t.Errorf("painting changed the text:\n%s\nwant\n%s", got, &plain)
	}
	if want := strings.ReplaceAll(termtest.Diff, "\t", "    "); plain.String() != want {
		t.Errorf("plain:\n%s\nwant\n%s", &plain, want)
	}
}

func TestALongDiffIsCut(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	DiffView{Columns: 20, MaxLines: 5}.Print(&out, termtest.Diff)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 6 || lines[5] != "… and 14 more lines" {
		t.Errorf("got %d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	for _, line := range lines[:5] {
		if w := ansi.StringWidth(line); w > 20 {
			t.Errorf("%q is %d cells wide", line, w)
		}
	}
}

func TestADiffCannotControlTheTerminal(t *testing.T) {
	t.Parallel()
	hostile := "diff --git a/x\x1b[2J.py b/x\n--- a/x\n+++ b/x.py\n@@ -1 +1 @@ \x1b]0;owned\x07\n-old\r\x1b[1Anew\n+\u202e gnp\n"
	for _, on := range []bool{false, true} {
		var out bytes.Buffer
		DiffView{Palette: Palette{on: on}}.Print(&out, hostile)
		text := out.String()
		for _, bad := range []string{"\x1b[2J", "\x1b]0", "\x07", "\r", "\x1b[1A", "\u202e"} {
			if strings.Contains(text, bad) {
				t.Errorf("painted %v: %q reaches the terminal: %q", on, bad, text)
			}
		}
	}
}

func TestNoDiffIsNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	DiffView{}.Print(&out, "")
	if out.Len() != 0 {
		t.Errorf("got %q", &out)
	}
}

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
	if want := termtest.Diff; plain.String() != want {
		t.Errorf("plain:\n%s\nwant\n%s", &plain, want)
	}
}

func TestAnEnormousDiffSaysWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	DiffView{MaxLines: 5, More: "f shows all"}.Print(&out, termtest.Diff)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 6 || lines[5] != "… and 14 more lines: f shows all" {
		t.Errorf("got %d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	if whole := strings.Split(termtest.Diff, "\n"); strings.Join(lines[:5], "\n") != strings.Join(whole[:5], "\n") {
		t.Errorf("what is shown was changed:\n%s", &out)
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

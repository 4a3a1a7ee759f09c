package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// The picture is the one that the recording gives, and well-formed.
func TestThePictureIsThatOfTheRecording(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, recording))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(root, picture))
	if err != nil {
		t.Fatal(err)
	}
	drawn := draw(string(text))
	if string(drawn) != string(kept) {
		t.Error("docs/run.svg is not that of the recording: make picture")
	}
	for d := xml.NewDecoder(strings.NewReader(string(drawn))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(string(drawn), "\x1b") {
		t.Error("an escape sequence was left in the picture")
	}
}

func TestTextIsDrawnAsATerminalShowsIt(t *testing.T) {
	t.Parallel()
	got := string(draw("\x1b[1;31mbad <x>\x1b[m plain\x1b[2m faint\x1b[0m\n" + strings.Repeat("y", columns+5)))
	for _, want := range []string{
		`font-weight="bold" fill="` + sixteen[1] + `">bad</text>`, `&lt;x&gt;</text>`, `>plain</text>`, `fill="` + faint + `">faint</text>`,
		strings.Repeat("y", columns-1) + "…</text>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
}

// Shortening does not hide how a run ended.
func TestTheEndOfARunIsKept(t *testing.T) {
	t.Parallel()
	got := shorten("promoted  run 1\n\n  ok\n\ndiff --git a/x b/x\n+1\n\nnext: `agent undo 1`\n")
	if want := "promoted  run 1\n\n  ok\n\nnext: `agent undo 1`\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

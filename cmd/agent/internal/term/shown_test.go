package term

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// Whatever the bytes are, cleaned text is valid and contains no control character, and cleaning it again changes
// nothing.
func TestCleanedTextIsHarmless(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		got := Clean(text)
		if !utf8.ValidString(got) || !harmless(got) {
			t.Fatalf("clean(%q) = %q", text, got)
		}
		if again := Clean(got); again != got {
			t.Fatalf("cleaning %q again gives %q", got, again)
		}
		if strings.ContainsAny(CleanLine(text), "\n\r\t\x1b") {
			t.Fatalf("cleanLine(%q) is not one harmless line", text)
		}
	})
}

// Whatever a diff contains, the view shows each line once and controls nothing.
func TestAnyDiffIsShownSafely(t *testing.T) {
	t.Parallel()
	line := rapid.StringOf(rapid.RuneFrom([]rune("+-@ \\diff/abc\t\x1b[2J\r'\"#({")))
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOfN(line, 1, 20).Draw(t, "lines")
		diff := "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n" + strings.Join(body, "\n") + "\n"
		plain := DiffView{}.lines(diff)
		painted := DiffView{Palette: Palette{on: true}}.lines(diff)
		if want := strings.Count(diff, "\n"); len(plain) > want || len(plain) != len(painted) {
			t.Fatalf("%d lines became %d, painted %d", want, len(plain), len(painted))
		}
		for _, l := range plain {
			if strings.ContainsAny(l, "\x1b\r") {
				t.Fatalf("%q reaches the terminal", l)
			}
		}
	})
}

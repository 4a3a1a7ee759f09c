package explain

import (
	"strings"
	"testing"
	"unicode/utf8"

	"agent/orchestrator/edit/document"
)

func TestAnExcerptNumbersItsLinesAndStaysShort(t *testing.T) {
	t.Parallel()
	long, wide := strings.Repeat("x\n", 300), strings.Repeat(fill('w', 900)+"\n", 20)
	for _, c := range []struct {
		name, text string
		lo, hi     int
		lines      int
		has        []string
	}{
		{"one line", "a\nb\nc\nd\n", 1, 2, 1, []string{"     2 | b\n"}},
		{"beyond the edges", "a\nb\n", -3, 9, 2, []string{"     1 | a\n", "     2 | b\n"}},
		{"tabs and space as they stand", "\ta \tb \n", 0, 1, 1, []string{"     1 | \ta \tb \n"}},
		{"line ends aside", "a\r\nb\r\n", 0, 2, 2, []string{"     1 | a\n     2 | b\n"}},
		{"a long range", long, 10, 290, shown + 1, []string{"    11 | x\n", " | … 180 more lines\n", "   290 | x\n"}},
		{"many bytes", wide, 0, 20, 7, []string{"     1 | w", " | … 14 more lines\n", "    20 | w"}},
		{"a long line", strings.Repeat("y", 2000) + "\n", 0, 1, 1, []string{strings.Repeat("y", shownWidth) + "…\n"}},
		{"not UTF-8", "\xff\n", 0, 1, 1, []string{"     1 | \ufffd\n"}},
		{"nothing", "", 0, 1, 0, nil},
	} {
		d := document.New("", []byte(c.text))
		got := Excerpt(d, c.lo, c.hi)
		if n := strings.Count(got, "\n"); n != c.lines {
			t.Errorf("%s: %d lines, want %d:\n%s", c.name, n, c.lines, got)
		}
		for _, want := range c.has {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", c.name, want, got)
			}
		}
		if len(got) > shownBytes+1000 || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes, or not UTF-8", c.name, len(got))
		}
	}
}

// Lines that can be copied from an excerpt are shown whole and byte for byte.
func TestLegibleLinesAreShownToTheLetter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"a\n\tb \n": true, "caf\u00e9\n": true, "caf\xe9\n": false,
		fill('x', shownWidth) + "\n": true, fill('x', shownWidth+1) + "\n": false,
		strings.Repeat("x\n", shown): true, strings.Repeat("x\n", shown+1): false,
	} {
		d := document.New("", []byte(text))
		if got := legible(d, shown, 0, d.Len()); got != want {
			t.Errorf("%.20q: %v, want %v", text, got, want)
		}
		shows := true
		for i := range d.Len() {
			shows = shows && strings.Contains(Excerpt(d, 0, d.Len()), " | "+d.Line(i)+"\n")
		}
		if want && !shows {
			t.Errorf("%.20q is not shown to the letter", text)
		}
	}
}

func TestSurroundingsAreMarkedApartFromWhatToSend(t *testing.T) {
	t.Parallel()
	d := document.New("", []byte("a\nb\nc\nd\ne\n"))
	if got, want := excerptIn(d, spot{from: 1, to: 3}, 0, 4), "     1 : a\n     2 | b\n     3 | c\n     4 : d\n"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got, want := excerptIn(d, spot{from: 1, to: 3}, 2, 3), "     2 | b\n     3 | c\n"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestALongLineIsCutAroundTheDifference(t *testing.T) {
	t.Parallel()
	s := fill('a', 500) + "HERE" + fill('b', 500)
	for at, want := range map[int]string{500: "HERE", 0: "aaa", 1003: "bbb"} {
		got := cutAround(s, at, 100)
		if !strings.Contains(got, want) || len(got) > 100+2*len("…") || !strings.Contains(got, s[at:at+1]) {
			t.Errorf("at %d: %s", at, got)
		}
	}
	if got := cutAround("short", 3, 100); got != "short" {
		t.Errorf("a short line became %q", got)
	}
	if got := cutAround(strings.Repeat("é", 300), 301, 50); !utf8.ValidString(got) {
		t.Errorf("cut within a character: %q", got)
	}
}

func TestSpaceAndLookAlikesAreShownBySigns(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		" ": "·", "\t ": "⇥·", "\r": "␍", "\u00a0": "(U+00A0)", "\u2019": "\u2019 (U+2019)", "\u200b": "(U+200B)",
		"\x07": "(U+0007)", "а": "а (U+0430)", "\xff": "(U+FFFD)", "x": "x",
	} {
		if got := visible(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

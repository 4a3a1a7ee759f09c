package document

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// From any start, Index finds what the standard library finds, even in texts of few letters, where it has to hand over.
func TestIndexFindsWhatStringsFinds(t *testing.T) {
	t.Parallel()
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SampledFrom([]string{"a", "ab", "abcdefg\n", "aaaaaaaaaaaaaaaz"}).Draw(t, "letters")
		draw := func(name string, least, most int) string {
			return string(rapid.SliceOfN(rapid.SampledFrom([]byte(letters)), least, most).Draw(t, name))
		}
		text := strings.Repeat(draw("text", 0, 12), rapid.IntRange(1, 60).Draw(t, "times"))
		s := draw("s", 0, 6)
		d := New("a.txt", []byte(text))
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		want := strings.Index(text[at:], s)
		if want >= 0 {
			want += at
			found++
		}
		if got := d.Index(at, s); got != want {
			t.Fatalf("%q from %d in %q: %d, want %d", s, at, text, got, want)
		}
	})
	if found == 0 {
		t.Error("no draw found anything")
	}
}

// If every byte of the searched text is frequent, the search is handed over midway and continues from there.
func TestIndexHandsOver(t *testing.T) {
	t.Parallel()
	d := New("a.txt", []byte(strings.Repeat("ab", 200)+"aab"))
	for s, want := range map[string]int{"aab": 400, "bba": -1, "aba": 0} {
		if got := d.Index(0, s); got != want {
			t.Errorf("%q at %d, want %d", s, got, want)
		}
	}
}

// A search starts at the byte that is rarest in the text; an absent byte is the rarest.
func TestLeastByteOfAName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, name string
		want       int
	}{
		{"", "query", 0},
		{"qqqueery", "query", 1},
		{"query", "query", 0},
		{"query", "queries", 4},
		{strings.Repeat("abc", 5000) + strings.Repeat("a", 5000), "acb", 1},
	} {
		if got := newByteFrequency(c.text).least(c.name); got != c.want {
			t.Errorf("%q in %.20q: at %d, want %d", c.name, c.text, got, c.want)
		}
	}
}

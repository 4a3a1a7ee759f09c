package document

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Wherever a search begins, it finds what the standard library finds, in texts
// of few letters too, where it has to give up and hand over.
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

// Where every byte of what is looked for is frequent, the search is handed
// over on the way, and goes on from where it was.
func TestIndexHandsOver(t *testing.T) {
	t.Parallel()
	d := New("a.txt", []byte(strings.Repeat("ab", 200)+"aab"))
	for s, want := range map[string]int{"aab": 400, "bba": -1, "aba": 0} {
		if got := d.Index(0, s); got != want {
			t.Errorf("%q at %d, want %d", s, got, want)
		}
	}
}

// A search begins at the byte that the text has least often, one that it does
// not have at all before any other.
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

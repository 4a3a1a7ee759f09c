package document

import (
	"slices"
	"strings"
	"testing"
)

func TestADocumentIsCutAtItsLineEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		lines      []string
		ends       []string
		eol        string
	}{
		{"empty", "", nil, nil, "\n"},
		{"one line", "a\n", []string{"a"}, []string{"\n"}, "\n"},
		{"no newline", "a", []string{"a"}, []string{""}, "\n"},
		{"last without", "a\nb", []string{"a", "b"}, []string{"\n", ""}, "\n"},
		{"blank lines", "\n\n", []string{"", ""}, []string{"\n", "\n"}, "\n"},
		{"crlf", "a\r\nb\r\n", []string{"a", "b"}, []string{"\r\n", "\r\n"}, "\r\n"},
		{"mostly crlf", "a\r\nb\nc\r\n", []string{"a", "b", "c"}, []string{"\r\n", "\n", "\r\n"}, "\r\n"},
		{"half crlf", "a\r\nb\n", []string{"a", "b"}, []string{"\r\n", "\n"}, "\n"},
		{"only cr", "a\rb\r", []string{"a", "b"}, []string{"\r", "\r"}, "\r"},
		{"cr within", "a\rb\n", []string{"a\rb"}, []string{"\n"}, "\n"},
		{"two cr", "a\r\r\n", []string{"a\r"}, []string{"\r\n"}, "\r\n"},
		{"mark", "\ufeffa\n", []string{"a"}, []string{"\n"}, "\n"},
		{"form feed", "\fa\n", []string{"\fa"}, []string{"\n"}, "\n"},
	} {
		d := New("a.txt", []byte(c.text))
		var lines, ends []string
		for i := range d.Len() {
			lines, ends = append(lines, d.Line(i)), append(ends, d.End(i))
		}
		if !slices.Equal(lines, c.lines) || !slices.Equal(ends, c.ends) || d.EOL != c.eol {
			t.Errorf("%s: lines %q, ends %q, new lines %q; want %q, %q, %q", c.name, lines, ends, d.EOL, c.lines, c.ends, c.eol)
		}
	}
}

func TestNewLinesEndAsTheirPlaceDoes(t *testing.T) {
	t.Parallel()
	d := New("", []byte("a\r\nb\nc\nd\ne"))
	for _, c := range []struct {
		lo, hi int
		want   string
	}{
		{0, 1, "\r\n"}, // replaces a line with this end
		{1, 2, "\n"},   //
		{1, 1, "\r\n"}, // after such a line
		{2, 2, "\n"},   //
		{0, 0, "\n"},   // at the start: the end of most lines
		{4, 5, "\n"},   // the last line has no end: that of the line before
		{5, 5, "\n"},   // after it: the end of most lines
	} {
		if got := d.EndNear(c.lo, c.hi); got != c.want {
			t.Errorf("between %d and %d: %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
}

func TestExactFindsWholeLinesOnly(t *testing.T) {
	t.Parallel()
	text := "ab\nb\nab\r\n\nb"
	for _, c := range []struct {
		search string
		want   []int
	}{
		{"b", []int{1, 4}},
		{"ab", []int{0, 2}},
		{"a", nil},
		{"ab b", []int{0}},
		{"b ab", []int{1}},
		{"ab b ab", []int{0}},
		{"c", nil},
	} {
		d := New("", []byte(text))
		for _, busy := range []bool{false, true} {
			d.PreferIndex = busy
			if got := d.FindExact(strings.Fields(c.search), Most); !slices.Equal(got, c.want) {
				t.Errorf("%q with an index %v: %v, want %v", c.search, busy, got, c.want)
			}
		}
	}
}

func TestIndentCharIsThatOfMostLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]byte{
		"":                     ' ',
		"a\nb\n":               ' ',
		"a\n b\n":              ' ',
		"a\n\tb\n":             '\t',
		"a\n\tb\n\tc\n d\n":    '\t',
		"a\n\tb\n c\n  d\n":    ' ',
		"a\r\n\tb\r\n\tc\r\n":  '\t',
		"\tfirst line only\nb": '\t',
	} {
		if got := New("", []byte(text)).IndentChar(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

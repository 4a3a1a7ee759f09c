package document

import "testing"

func TestAnIndentationOfTheFileIsKnown(t *testing.T) {
	t.Parallel()
	d := New("a", []byte("a\n  b\n\t c\n    \n      d\n"))
	for x, want := range map[string]bool{"": true, "  ": true, "\t ": true, "      ": true, " ": false, "\t": false, "    ": false, "        ": false} {
		if got := d.Indented(x); got != want {
			t.Errorf("%q: %v, want %v", x, got, want)
		}
	}
}

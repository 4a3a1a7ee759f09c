package edit

import (
	"testing"
)

func TestNewLinesAroundAPlaceAreNotAddedTwice(t *testing.T) {
	t.Parallel()
	const file = "def f():|    x = \u201ca\u201d|    y = 2|    z = 3"
	for _, c := range []struct{ name, block, want string }{
		{"a line after, there already", "x = \"a\">x = \"a\"|y = 2", "already_applied 1"},
		{"a line before, there already, and a blank line that is not", "|    z = 3>|    y = 2|    z = 3", "already_applied 1"},
		{"a line before, there already", "    y = 2 |    z = 3>    x = \"a\"|    y = 2|    z = 3", "def f():|    x = \u201ca\u201d|    x = \"a\"|    y = 2|    z = 3"},
		{"another line after", "    x = \"a\">    x = \"a\"|    y = 9", "def f():|    x = \u201ca\u201d|    y = 9|    y = 2|    z = 3"},
		{"found to the letter: once more", "    y = 2>    y = 2|    z = 3", "def f():|    x = \u201ca\u201d|    y = 2|    z = 3|    z = 3"},
	} {
		if got := edited(file, c.block); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

package termtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// Screen returns what a terminal shows after a program wrote text on it: the lines that have scrolled away, then the
// lines of the screen up to the last one that is not empty. Colours are kept as escape sequences with a visible ␛. A
// program writes \n where the terminal's driver turns it into \r\n.
func Screen(t *testing.T, text string, columns, lines int) string {
	t.Helper()
	screen := vt.NewEmulator(columns, lines)
	defer screen.Close()
	if _, err := screen.WriteString(strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	var all []string
	if above := screen.Scrollback(); above != nil {
		for _, line := range above.Lines() {
			all = append(all, line.Render())
		}
	}
	all = append(all, strings.Split(screen.Render(), "\n")...)
	for i, line := range all {
		all[i] = strings.TrimRight(strings.ReplaceAll(line, "\x1b", "␛"), " \r")
	}
	return strings.TrimRight(strings.Join(all, "\n"), "\n") + "\n"
}

// Plain returns what Screen does, but without its colours, for text that a terminal's driver has passed on.
func Plain(t *testing.T, text string, columns, lines int) string {
	t.Helper()
	return ansi.Strip(strings.ReplaceAll(Screen(t, strings.ReplaceAll(text, "\r\n", "\n"), columns, lines), "␛", "\x1b"))
}

// Widths are the columns of the terminals for which screens are checked.
var Widths = []int{60, 80, 120}

// Screens compares the output of show for each width with a golden file.
func Screens(t *testing.T, name string, lines int, show func(columns int) string) {
	t.Helper()
	var all strings.Builder
	for _, columns := range Widths {
		fmt.Fprintf(&all, "%s %d columns\n%s\n", strings.Repeat("=", columns-len(" 120 columns")), columns, Screen(t, show(columns), columns, lines))
	}
	Golden(t, name, all.String())
}

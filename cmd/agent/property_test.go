package main

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever words are typed, reordering loses none, adds none except the mark, and puts every flag before every
// argument.
func TestReorderingLosesNothing(t *testing.T) {
	t.Parallel()
	words := rapid.SampledFrom([]string{
		"sandbox", "run", "runs", "list", "show", "undo", "sql", "--json", "--yes", "--patch", "--workspace=x", "--allow", "-", "--", "-w", "1k3", "select 1", "",
	})
	app := newApp(quiet())
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOf(words).Draw(t, "args")
		got, err := reorder(app, args)
		if err != nil {
			return // an unknown command
		}
		// The mark is added where an argument needs it, and removed where none does.
		mark := func(arg string) bool { return arg == "--" }
		want, have := slices.DeleteFunc(slices.Clone(args), mark), slices.DeleteFunc(slices.Clone(got), mark)
		if marks := len(args) - len(want) - (len(got) - len(have)); marks < -1 || marks > 1 {
			t.Fatalf("%q became %q", args, got)
		}
		slices.Sort(want)
		slices.Sort(have)
		if strings.Join(want, "\x00") != strings.Join(have, "\x00") {
			t.Fatalf("%q became %q", args, got)
		}
	})
}

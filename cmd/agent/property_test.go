package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// Whatever words are typed, reordering loses none, invents none but the mark,
// and puts every flag before every argument.
func TestReorderingLosesNothing(t *testing.T) {
	t.Parallel()
	words := rapid.SampledFrom([]string{
		"sandbox", "run", "runs", "list", "show", "undo", "sql", "--json", "--yes", "--patch", "--workspace=x", "--allow", "-", "--", "-w", "1k3", "select 1", "",
	})
	app := quiet().app()
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOf(words).Draw(t, "args")
		got, err := reorder(app, args)
		if err != nil {
			return // an unknown command
		}
		// The mark is put in where an argument needs it, and left out where none does.
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

// Lists survive the way through the layers of configuration.
func TestListsGoThroughTheLayers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.String(), 1, 5).Draw(t, "items")
		if !utf8.ValidString(strings.Join(items, "")) {
			return
		}
		if got := unlist(list(items)); !slices.Equal(got, items) {
			t.Fatalf("%q became %q", items, got)
		}
	})
}

// FuzzConfig reads what a workspace may hold as its configuration.
func FuzzConfig(f *testing.F) {
	f.Add("exclude = [\"a\"]\n[smoke]\ncommand = \"x\"\n[limits]\nmemory = 1\n")
	f.Add("[smoke]\ncommand = [1, \"a\"]\n")
	f.Add("timeout = \"\x00\"")
	f.Fuzz(func(t *testing.T, text string) {
		conf, err := parseConfig([]byte(text))
		if err != nil {
			return
		}
		values, err := conf.values()
		if err != nil {
			return
		}
		s := settings{}
		s.set(values, configName)
		if c, err := s.verifyConfig(); err == nil && (c.Limits.Memory < 0 || c.Limits.CPUs < 0 || c.Limits.PIDs < 0 || c.Timeout < 0 || c.Smoke.Seconds < 0) {
			t.Errorf("%q gives a limit below 0: %+v", text, c)
		}
	})
}

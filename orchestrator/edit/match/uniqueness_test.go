package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/parse"
)

// lined returns a document with the given lines, split at "|"; a tab is written as "\t".
func lined(path, lines string) *document.Document {
	return document.New(path, []byte(strings.Join(bars(lines), "\n")+"\n"))
}

// Every strategy accepts a place only if it is the only one. A second copy of the place, in any variation that the strategy ignores,
// makes the block ambiguous.
func TestEveryStrategyWantsOnePlaceOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file, again, search string
		strategy                  Strategy
		lines                     []int
	}{
		{"exact", "a = 1|b = 2", "a = 1|b = 2", "a = 1|b = 2", Exact, []int{1, 4}},
		{"stripped", "a = 1 |b = 2", "a = 1|b = 2\t", "a = 1|b = 2", Stripped, []int{1, 4}},
		{"quotes", "a = \u201cx\u201d", "a = \u201ex\u201f", `a = "x"`, Normalised, []int{1, 3}},
		{"blank line", "a = 1||b = 2", "a = 1|||b = 2", "a = 1|b = 2", Normalised, []int{1, 5}},
		{"comment", "a = 1|# c|b = 2", "a = 1|# d|# e|b = 2", "a = 1|b = 2", Normalised, []int{1, 5}},
		{"indentation", "  a = 1|  b = 2", "\ta = 1|\tb = 2", "a = 1|b = 2", Indentation, []int{1, 4}},
		{"indentation and quotes", "  a = \u2018x\u2019", "    a = \u2019x\u2019", "a = 'x'", Robust, []int{1, 3}},
		{"reflowed", "r = call(one,|  two, three)", "r = call(one, two,|  three)", "r = call(one, two, three)", Robust, []int{1, 4}},
	} {
		search, fresh := bars(c.search), []string{"new"}
		f := locate(lined("a.py", c.file+"|end = 0"), search, fresh)
		if len(f.Places) != 1 || f.Places[0].Strategy != c.strategy || f.Places[0].Lo != 0 {
			t.Errorf("%s, once: %s", c.name, located(f))
		}
		f = locate(lined("a.py", c.file+"|end = 0|"+c.again), search, fresh)
		if len(f.Places) > 0 || !slices.Equal(f.Ambiguous, c.lines) {
			t.Errorf("%s, twice: %s, want %v", c.name, located(f), c.lines)
		}
		if c.strategy != Exact { // an exact place takes precedence, wherever it is
			f = locate(lined("a.py", c.file+"|end = 0|"+c.search), search, fresh)
			if len(f.Places) != 1 || f.Places[0].Strategy != Exact || f.Places[0].Lo == 0 {
				t.Errorf("%s, with the text to the letter below: %s", c.name, located(f))
			}
		}
	}
}

func TestAPieceOfAnElidedBlockWantsOnePlaceOnly(t *testing.T) {
	t.Parallel()
	const search = "start = 1|# ...|stop = 2"
	for _, c := range []struct{ name, file, want string }{
		{"once each", "start = 1|x = 1|stop = 2", "robust 1-1, robust 3-3"},
		{"the first twice", "start = 1|x = 1|start = 1|stop = 2", "ambiguous [1 3]"},
		{"the second twice", "start = 1|stop = 2|x = 1|stop = 2", "ambiguous [2 4]"},
		{"the second twice, one before the first", "stop = 2|start = 1|stop = 2", "ambiguous [1 3]"},
		{"a piece at two depths", "  start = 1|    start = 1|stop = 2", "ambiguous [1 2]"},
		{"the second is missing", "start = 1|x = 1", "nowhere"},
	} {
		if got := located(locate(lined("a.py", c.file), bars(search), bars("start = 3|# ...|stop = 4"))); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A hunk's line number breaks a tie only if the rest of its header is correct.
func TestAHunksNumberBreaksATieOnlyWhenItIsTrue(t *testing.T) {
	t.Parallel()
	const hunk = "@@ -%d,%d +%d,%d @@\n a\n-b\n+c\n"
	d := lined("x", "a|b|end|a|b|a|c")
	for _, c := range []struct {
		name         string
		line, counts int
		want         string
	}{
		{"the first", 1, 2, "exact 1-2"},
		{"the second", 4, 2, "exact 4-5"},
		{"between them", 3, 2, "ambiguous [1 4]"},
		{"half of it stands there", 6, 2, "ambiguous [1 4]"},
		{"past the end", 7, 2, "ambiguous [1 4]"},
		{"far past the end", 99, 2, "ambiguous [1 4]"},
		{"none", 0, 2, "ambiguous [1 4]"},
		{"wrong counts", 4, 1, "ambiguous [1 4]"},
	} {
		ops, err := parse.Parse([]byte("--- a/x\n+++ b/x\n" + fmt.Sprintf(hunk, c.line, c.counts, c.line, c.counts)))
		if err != nil || len(ops) != 1 {
			t.Fatalf("%s: %v, %v", c.name, ops, err)
		}
		if got := located(Find(d, ops[0])); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	ops, err := parse.Parse([]byte("--- a/x\n+++ b/x\n" + fmt.Sprintf(hunk, 4, 2, 4, 2)))
	if err != nil {
		t.Fatal(err)
	}
	if got := located(Find(lined("x", "a|b|end|a|z"), ops[0])); got != "exact 1-2" {
		t.Errorf("a wrong number of a place that is the only one: %s", got)
	}
}

// A looser strategy finds more, but ignores nothing on the block's side: a comment or line of code that only SEARCH contains prevents a
// match.
func TestCommentsAreSetAsideOnlyOnTheFilesSide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, mark, end string }{
		{"a.py", "# ", ""},
		{"a.go", "// ", ""},
		{"a.go", "/* ", " */"},
		{"a.php", "# ", ""},
		{"a.css", "/* ", " */"},
		{"a.html", "<!-- ", " -->"},
		{"a.sql", "-- ", ""},
		{"a.lua", "-- ", ""},
		{"a.tex", "% ", ""},
		{"a.clj", "; ", ""},
		{"a.md", "<!-- ", " -->"},
		{"Makefile", "# ", ""},
	} {
		remark := c.mark + "why" + c.end
		file := "one = 1|" + remark + "|two = 2"
		if got := located(locate(lined(c.path, file), bars("one = 1|two = 2"), []string{"new"})); got != "normalised 1-3" {
			t.Errorf("%s without %q: %s", c.path, remark, got)
		}
		if got := located(locate(lined(c.path, "one = 1|two = 2"), bars(file), []string{"new"})); got != "nowhere" {
			t.Errorf("%s with %q, which the file has not: %s", c.path, remark, got)
		}
		if got := located(locate(lined("a.txt", file), bars("one = 1|two = 2"), []string{"new"})); got != "nowhere" {
			t.Errorf("a text without %q: %s", remark, got)
		}
		if c.end != "" {
			open := "one = 1|" + c.mark + "why|two = 2"
			if got := located(locate(lined(c.path, open), bars("one = 1|two = 2"), []string{"new"})); got != "nowhere" {
				t.Errorf("%s without a comment that goes on: %s", c.path, got)
			}
		}
	}
}

// An index of the lines, which pays off for many blocks, gives the same answers as searching the text.
func TestABusyDocumentLocatesTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a = 1", "  a = 1", "b = 2", "b = 2 ", "", "# c", "f(a,", "b)", "\u201cq\u201d", `"q"`})
		file := rapid.SliceOfN(line, 1, 12).Draw(t, "file")
		search := rapid.SliceOfN(line, 1, 3).Draw(t, "search")
		var got []string
		for _, busy := range []bool{false, true} {
			d := document.New("a.py", []byte(strings.Join(file, "\n")+"\n"))
			d.PreferIndex = busy
			got = append(got, located(locate(d, search, []string{"new"})))
		}
		if got[0] != got[1] {
			t.Fatalf("%q in %q: %s, and with an index %s", search, file, got[0], got[1])
		}
	})
}

// Whichever strategy finds a place, its lines contain the tokens of SEARCH in order, and otherwise only blank lines and comments.
func TestAPlaceHoldsTheTokensOfSearch(t *testing.T) {
	t.Parallel()
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"alpha = 1", "  alpha = 1", "beta = 2 ", "", "# remark", "call(one, two,", "  three, four)", "call(one, two, three, four)"})
		file := rapid.SliceOfN(line, 1, 8).Draw(t, "file")
		lo := rapid.IntRange(0, len(file)-1).Draw(t, "from")
		search := slices.Clone(file[lo:rapid.IntRange(lo+1, len(file)).Draw(t, "to")])
		for k := range search { // some lines are changed, or left out as blank ones
			search[k] = rapid.SampledFrom([]string{search[k], search[k], "", "beta = 1", "  " + search[k]}).Draw(t, "line")
		}
		d := document.New("a.py", []byte(strings.Join(file, "\n")+"\n"))
		f := locate(d, search, []string{"new"})
		if len(f.Places) == 0 {
			return
		}
		found++
		words := func(lines []string, comments bool) (out []string) {
			for _, s := range lines {
				if comments || !d.Lang.Comment(s) {
					out = append(out, tokens(s)...)
				}
			}
			return out
		}
		p := f.Places[0]
		if got, want := words(file[p.Lo:p.Hi], false), words(search, false); !slices.Equal(got, want) {
			t.Fatalf("%q was found as %q by %s", search, file[p.Lo:p.Hi], p.Strategy)
		}
		if p.Strategy == Exact && !slices.Equal(file[p.Lo:p.Hi], search) {
			t.Fatalf("%q was found exactly as %q", search, file[p.Lo:p.Hi])
		}
	})
	if found == 0 {
		t.Error("no draw was ever found")
	}
}

package match

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
)

// tokens lists the tokens of a line.
func tokens(s string) []string {
	var out []string
	lex.EachToken(s, func(t string) { out = append(out, t) })
	return out
}

func TestPiecesAreCutAtElisions(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a|b":              "[a b]",
		"a|# ...|b":        "[a] [b]",
		"# ...|b":          "[] [b]",
		"a|...":            "[a] []",
		"a||# ...||b":      "[a ] [ b]",
		"a|// ...|# ...|b": "[a] [] [b]",
	} {
		var out []string
		for _, p := range Pieces(bars(in)) {
			out = append(out, fmt.Sprint(p))
		}
		if got := strings.Join(out, " "); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestElidedPiecesNeedOnePlaceEachInOrder(t *testing.T) {
	t.Parallel()
	file := "def f():|    a = 1|    b = 2|    c = 3|    return a||def g():|    a = 1|    return b"
	for _, c := range []struct{ name, search, replace, want string }{
		{"two pieces", "def f():|    # ...|    return a", "def F():|    # ...|    return a", "robust 1-1, robust 5-5"},
		{"shifted piece", "def f():|# ...|return a", "def f():|# ...|return c", "robust 1-1, robust 5-5"},
		{"three pieces", "def f():|# ...|    b = 2|# ...|    return a", "def f():|# ...|    b = 3|# ...|    return a", "robust 1-1, robust 3-3, robust 5-5"},
		{"elided at the start", "# ...|    return a", "# ...|    return c", "robust 5-5"},
		{"elided at the end", "def f():|    # ...", "def F():|    # ...", "robust 1-1"},
		{"a piece that stands twice", "def f():|# ...|    a = 1", "def f():|# ...|    a = 2", "ambiguous [2 8]"},
		{"in the wrong order", "    return a|# ...|def f():", "    return a|# ...|def F():", "nowhere"},
		{"a piece that is not there", "def f():|# ...|    return z", "def f():|# ...|    return y", "nowhere"},
		{"another number of elisions", "def f():|# ...|    return a", "def f():|    return a", "nowhere"},
		{"new lines for an empty piece", "# ...|    return a", "import x|# ...|    return a", "nowhere"},
		{"no elision", "def f():|    return a", "def f():", "nowhere"},
		{"nothing but elisions", "# ...|# ...", "# ...|# ...", "nowhere"},
	} {
		d := document.New("a.py", []byte(strings.Join(bars(file), "\n")+"\n"))
		f := findElided(newQuery(strategies, d, bars(c.search), bars(c.replace)))
		if got := located(f); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// reflowed searches by tokens alone.
func reflowed(d *document.Document, search, replace []string) Finding {
	return newQuery([]row{{name: Robust, find: findReflowed}}, d, search, replace).find(more)
}

func TestReflowedLinesNeedEqualTokens(t *testing.T) {
	t.Parallel()
	file := "start = 0|result = call(first_argument,|              second_argument)|end = 1|one(\"a  b\", two,|    three)"
	for _, c := range []struct{ name, search, want string }{
		{"joined", "result = call(first_argument, second_argument)", "robust 2-3"},
		{"broken elsewhere", "result = call(|    first_argument, second_argument)", "robust 2-3"},
		{"with its neighbours", "start = 0|result = call(first_argument, second_argument)|end = 1", "robust 1-4"},
		{"other space", "result=call( first_argument,second_argument )", "robust 2-3"},
		{"another token", "result = call(first_argument, third_argument)", "nowhere"},
		{"a token too many", "result = call(first_argument, second_argument,)", "nowhere"},
		{"half a line", "call(first_argument, second_argument)", "nowhere"},
		{"without the end", "result = call(first_argument, second_argument", "nowhere"},
		{"space in a string", "one(\"a b\", two, three)", "nowhere"},
		{"the same string", "one(\"a  b\", two, three)", "robust 5-6"},
		{"too little", "end|= 1", "nowhere"},
	} {
		d := document.New("a.py", []byte(strings.Join(bars(file), "\n")+"\n"))
		f := reflowed(d, bars(c.search), []string{"new"})
		if got := located(f); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	twice := file + "|result = call(|first_argument, second_argument)"
	d := document.New("a.py", []byte(strings.Join(bars(twice), "\n")+"\n"))
	f := reflowed(d, []string{"result = call(first_argument, second_argument)"}, nil)
	if got := located(f); got != "ambiguous [2 7]" {
		t.Errorf("two places: %s", got)
	}
}

func TestReflowGroupsCloseWhereBothHaveALineEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, search, want string }{
		{"joined", "f(a,|b)|c", "f(a, b)|c", "[{0 1 0 2} {1 2 2 3}]"},
		{"broken", "f(a, b)|c", "f(a,|b)|c", "[{0 2 0 1} {2 3 1 2}]"},
		{"equal", "a|b", "a|b", "[{0 1 0 1} {1 2 1 2}]"},
		{"blank line in the block", "a|b", "a||b", "[{0 1 0 1} {1 2 1 1} {2 3 1 2}]"},
		{"blank line in the file", "a||b", "a|b", "[{0 1 0 1} {1 2 2 3}]"},
		{"broken twice", "f(a,|b, c)", "f(a, b,|c)", "[{0 2 0 2}]"},
	} {
		d := document.New("", []byte(strings.Join(bars(c.file), "\n")+"\n"))
		w := d.WordView()
		h := shapeOf(bars(c.search))
		hits := w.WholeLines(bars(c.search), h.tokens)
		if len(hits) != 1 {
			t.Fatalf("%s: hits %v", c.name, hits)
		}
		if got := fmt.Sprint(reflowGroups(w, hits[0], h.ends)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Only the region around a name in equal text is cut into tokens, and the outcome is the same as for the whole file.
func TestReflowRegionsFindWhatTheWholeFileHolds(t *testing.T) {
	t.Parallel()
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{
			"call(first_name, second_name)", "call(first_name,", "    second_name)", "call(", "first_name", ", second_name)",
			"second_name)", "x = \"a  b\"", "x = \"a b\"", "", "\u00a0call(first_name,\u3000second_name)", "first_name_too", "don't", "'", `\`,
		})
		file := strings.Join(rapid.SliceOfN(line, 1, 9).Draw(t, "file"), "\n") + "\n"
		search := rapid.SliceOfN(line, 1, 3).Draw(t, "search")
		if rapid.Bool().Draw(t, "joined") {
			search = []string{strings.Join(search, " ")}
		}
		part, all := document.New("a.json", []byte(file)), document.New("a.json", []byte(file))
		all.WordView()
		f := reflowed(part, search, nil)
		g := reflowed(all, search, nil)
		if fmt.Sprint(f) != fmt.Sprint(g) {
			t.Fatalf("%q in %q: %v, and by the whole file %v", search, file, f, g)
		}
		if g.found() && part.Words == nil {
			found++
		}
	})
	if found == 0 {
		t.Error("nothing was ever found by a region")
	}
}

func TestTextAgreesSpaceAside(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, want string
		end, start int // -1 if it does not agree
	}{
		{"a b c", "ab", 3, -1},
		{"a b c", "b  c ", -1, 2},
		{"ab", "ab", 2, 0},
		{"a\u00a0b", "a b", 4, 0},
		{"a", "ab", -1, -1},
		{"xa", "b", -1, -1},
		{"a", " ", 0, 1},
	} {
		end, ok := continuesWith(c.text, c.want)
		if !ok {
			end = -1
		}
		start, ok := precededBy(c.text, c.want)
		if !ok {
			start = -1
		}
		if end != c.end || start != c.start {
			t.Errorf("%q and %q: ends at %d, begins at %d; want %d and %d", c.text, c.want, end, start, c.end, c.start)
		}
	}
}

package explain

import (
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/parse"
)

// fileOf aligns search with a whole file.
func fileOf(file, search string) (*document.Document, *alignment) {
	d := document.New("a.py", []byte(file))
	return d, newAlignment(d, near{lo: 0, hi: d.Len()}, bars(search))
}

// Space and look-alike characters are shown if and only if they are the difference.
func TestWhatDiffersIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file, search string
		want               string // "" if the lines are listed one by one
	}{
		{"a word", "a = 1\nb = two\n", "a = 1|b = three", "yours has `three`, the file `two`"},
		{"an operator", "a += 1\n", "a -= 1", "yours has `-=`, the file `+=`"},
		{"a word more in the file", "def f(a, b):\n", "def f(a):", "missing in your SEARCH: `, b`"},
		{"a word more in the block", "def f(a):\n", "def f(a, b):", "not in the file: `, b`"},
		{"two places", "f(one, x, two)\n", "f(1, x, 2)", "yours has `1`, the file `one`; yours has `2`, the file `two`"},
		{"space in a string", "say('a  b')\n", "say('a b')", "yours has `·`, the file `··`"},
		{"a tab for spaces", "if x:\n\ty = 1\n", "if x:|    y = 1", "yours has `····`, the file `⇥`"},
		{"another depth", "if x:\n        y = 1\n", "if x:|    y = 1", "yours has `····`, the file `········`"},
		{"trailing space alone", "x = 1  \n", "x = 1", "missing in your SEARCH: `··`"},
		{"a carriage return within", "x = 'a\rb'\nc\n", "x = 'a b'|c", "yours has `·`, the file `␍`"},
		{"a space that does not break", "x = 'a\u00a0b'\n", "x = 'a b'", "yours has `·`, the file `(U+00A0)`"},
		{"quotation marks", "say(\u2018a\u2019)\n", "say('a')", "yours has `'`, the file `\u2018 (U+2018)`; yours has `'`, the file `\u2019 (U+2019)`"},
		{"a letter of another alphabet", "n\u0430me = 1\n", "name = 1", "yours has `name`, the file `n\u0430 (U+0430)me`"},
		{"a line that is not there", "a = 1\nb = 2\n", "a = 1|other(thing)|b = 2", "your line 2 is not in the file: other(thing)"},
		{"a line more in the file", "a = 1\nother(thing)\nb = 2\n", "a = 1|b = 2", "line 2 is not in yours: other(thing)"},
		{"numbered with outer blank lines", "a = 1\nb = 2\n", "||a = 1|b = 3", "your line 4: b = 3"},
		{"many", "a1\nb1\nc1\nd1\ne1\nsame = 1\n", "a2|b2|c2|d2|e2|same = 1", "  2 more lines differ"},
		{"bytes that are no text", "a = 'x\xff'\nb\n", "a = 'y'|b", "the file `x\ufffd`"},
	} {
		d, a := fileOf(c.file, c.search)
		got := a.differences(d, &parse.Operation{})
		if !strings.Contains(got, c.want+"\n") {
			t.Errorf("%s: %q is not in\n%s", c.name, c.want, got)
		}
	}
}

func TestSpaceIsNotShownBesideOtherDifferences(t *testing.T) {
	t.Parallel()
	d, a := fileOf("if x:\n\ty = 1\n\tz = 2 \n", "if x:|    y = 9|    z = 2")
	got := a.differences(d, &parse.Operation{})
	if !strings.Contains(got, "yours has `····`, the file `⇥`; yours has `9`, the file `1`") {
		t.Errorf("the line that differs:\n%s", got)
	}
	if strings.Contains(got, "z = 2") {
		t.Errorf("a line that is the same but for space is told:\n%s", got)
	}
	for _, sign := range []string{"⇥z", "z·"} {
		if strings.Contains(got, sign) {
			t.Errorf("%q in\n%s", sign, got)
		}
	}
}

// The lines that a block probably means begin and end where the block does, even if the file has more or fewer of them.
func TestTheLinesThatAreMeantGrowAndShrink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, search string
		at           int // the start of the window
		lo, hi       int
	}{
		{"the same", "c = 3|d = 4", 2, 2, 4},
		{"a line more in the file", "c = 3|e = 5", 2, 2, 5},
		{"a line fewer", "c = 3|x = 0|d = 4|e = 5", 2, 2, 5},
		{"the first line differs", "x = 0|d = 4|e = 5", 2, 2, 5},
		{"the last line differs", "c = 3|d = 4|x = 0", 2, 2, 5},
		{"a brace outside does not count", "}|c = 3|d = 4", 1, 1, 4},
		{"nothing in common", "x|y", 2, 2, 4},
	} {
		d := document.New("a.py", []byte("}\nb = 2\nc = 3\nd = 4\ne = 5\nf = 6\n}\n"))
		s := bars(c.search)
		a := newAlignment(d, near{lo: c.at, hi: c.at + len(s)}, s)
		if a.lo != c.lo || a.hi != c.hi {
			t.Errorf("%s: lines [%d, %d), want [%d, %d)", c.name, a.lo, a.hi, c.lo, c.hi)
		}
	}
}

func TestALongSearchIsComparedLineByLine(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSuffix(strings.Repeat("x = 1\n", maxAligned+50), "\n"), "\n")
	d := document.New("a.py", []byte(strings.Join(lines, "\n")+"\n"))
	lines[100] = "x = 2"
	a := newAlignment(d, near{lo: 0, hi: d.Len()}, lines)
	if got := a.differences(d, &parse.Operation{}); !strings.HasPrefix(got, "  your line 101: x = 2\n       line 101: x = 1\n") {
		t.Errorf("%s", got)
	}
}

// Cutting a line and joining the pieces gives the same line.
func TestCutsLoseNothing(t *testing.T) {
	t.Parallel()
	for s, n := range map[string]int{"": 0, "a += b1": 5, "  x": 2, "\t é\xff": 3, "f(a,b)": 6, "a->b": 3} {
		got := cuts(s)
		if strings.Join(got, "") != s || len(got) != n || slices.Contains(got, "") {
			t.Errorf("%q: %q, want %d pieces", s, got, n)
		}
	}
}

func TestVeryLongLinesAreComparedWhole(t *testing.T) {
	t.Parallel()
	a, b := strings.Repeat("a b ", 200), strings.Repeat("c d ", 200)
	got := changes("x "+a+"y", "x "+b+"y")
	if len(got) != 1 || !strings.HasPrefix(got[0][0], "a b ") || !strings.HasPrefix(got[0][1], "c d ") {
		t.Errorf("%.100q", got)
	}
}

package edit

import (
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
)

// The name of a file counts for what stands directly below it, and for
// nothing else.
func TestTheNameDirectlyAbove(t *testing.T) {
	t.Parallel()
	for above, want := range map[string]string{
		"":                  "",
		"x.py\n":            "x.py",
		"so\n**a/x.py**:\n": "a/x.py",
		"x.py\n\n":          "", // the name belongs to the prose
		"x.py\nso\n":        "",
		"in x.py\n":         "",
		"x.py\r\n":          "x.py",
		"x.py\n```\n":       "",
		"Makefile\n":        "",
		"y.py\nx.py\n":      "x.py",
	} {
		if got := nameAbove(above+"```\n", len(above)); got != want {
			t.Errorf("%q: %q, want %q", above, got, want)
		}
	}
}

// Each text has one "@"; it stands where an edit would.
func TestAnEditQuotedInAFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"@":                              "",
		"x.md\n```\nso\n@\n```\n":        "x.md",
		"x.md\n```\n@\n```\n":            "", // nothing before it in the fence
		"x.md\n```\n\n@\n```\n":          "",
		"x.md\n```\nso\n```\n@\n":        "",
		"x.md\n````\nso\n```\n@\n````\n": "x.md",
		"x.md\n```\nso\n~~~\n@\n```\n":   "x.md",
		"x.md\n```\nso\n```sh\n@\n```\n": "x.md",
		"```\nso\n@\n```\n":              "",
		"x.py\n```diff\nso\n@\n```\n":    "", // the name says what is changed
		"x.md\n\n```\nso\n@\n```\n":      "",
	} {
		if got := quotedIn(text, strings.IndexByte(text, '@')); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTextBehindTheThoughts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                     "",
		" a \n":                "a",
		"<think>so</think>\na": "a",
		"<think>so</think> <THOUGHT>b</THOUGHT>\n\na\n": "a",
		"<think>\n<EDIT file=x>\n</think>a":             "a",
		"a<think>so</think>":                            "a<think>so</think>",
		"<EDIT file=x>":                                 "<EDIT file=x>",
		"<think>so</think>b<think>c</think>":            "b<think>c</think>",
	} {
		if got := unthought(text, scanTags(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A patch in the prose around edits counts whether it is complete or not; an
// example, a patch in a thought and one outside the range do not.
func TestAPatchInProseIsFound(t *testing.T) {
	t.Parallel()
	const patch = `{"path":"x","oldText":"a","newText":"b"}`
	for text, want := range map[string]bool{
		"":                              false,
		patch:                           false, // no fence
		"```json\n" + patch + "\n```\n": true,
		"~~~\n[" + patch + "]\n~~~\n":   true,
		"```json\n" + patch[:20]:        true,
		"```json\n{\"name\": 1}\n```\n": false,
		"```json\n{\"name\": 1}\n```\n```json\n" + patch + "\n```\n": true,
		"```python\n" + patch + "\n```\n":                            false,
		"```json\n" + patch + " and\n```\n":                          false,
		"<think>\n```json\n" + patch + "\n```\n</think>\n":           false,
	} {
		if got := holdsPatch(text, 0, len(text), scanTags(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		if framed := "```json\n" + text; want && holdsPatch(framed, len(framed), len(framed), nil) {
			t.Errorf("%q: found outside the range", text)
		}
	}
}

func TestWhereAFenceIsClosed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, mark string
		from, want int
	}{
		{"```\na\n```\n", "```", 3, 5},
		{"```\na\n~~~\n", "```", 3, 10},
		{"~~~\na\n~~~~\n", "~~~", 3, 5},
		{"```\na ```\n", "```", 3, 10}, // within a line
		{"```\n```\n```\n", "```", 4, 7},
		{"", "```", 0, 0},
	} {
		if got := closing(c.text, c.mark, c.from); got != c.want {
			t.Errorf("%q from %d: %d, want %d", c.text, c.from, got, c.want)
		}
	}
}

func TestFourHexadecimalDigits(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]rune{
		"u0041": 'A', "u00e9": 'é', "u00E9z": 'é', "uffff": 0xffff, "u0000": 0,
		"": -1, "u": -1, "u004": -1, "U0041": -1, "0041u": -1, "u00g1": -1, "u 041": -1, "u+041": -1, "u\x10\x11\x12\x13": -1,
	} {
		if got, ok := hex4(in); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %x, %v, want %x", in, got, ok, want)
		}
	}
}

// Comments and byte order marks are space; one that is not closed takes the rest.
func TestSpaceInJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		next byte
		at   int
	}{
		"":               {0, 0},
		" \t\r\n":        {0, 4},
		"  a":            {'a', 2},
		"// b\na":        {'a', 5},
		"// b":           {0, 4},
		"/* b */a":       {'a', 7},
		"/*/ b */a":      {'a', 8}, // "/*/" is opened and not closed
		"/* b":           {0, 4},
		"/**/ // c\n\ta": {'a', 11},
		"\ufeff a":       {'a', 4},
		"/a":             {'/', 0},
		"\u00a0a":        {0xc2, 0}, // a space of Unicode is none of JSON
	} {
		r := &jsonReader{text: text}
		if next := r.peek(); next != want.next || r.at != want.at {
			t.Errorf("%q: %q at %d, want %q at %d", text, next, r.at, want.next, want.at)
		}
	}
}

func TestLinesAtWhichATextStands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, text string
		want       []int
	}{
		{"a\nb\na\n", "a", []int{1, 3}},
		{"a\nb\na\n", "c", nil},
		{"xax\nb\n", "a", []int{1}},
		{"aa\na\n", "a", []int{1, 1, 2}},
		{"a\nb\na\nb\n", "a\nb", []int{1, 3}},
		{"a\nba\nb\n", "a\nb", []int{1, 2}},
		{"a\r\nb\r\na\r\nb\r\n", "a\nb", []int{1, 3}},
		{strings.Repeat("a\n", document.Most+3), "a", []int{1, 2, 3, 4, 5}}, // no more than are shown
	} {
		if got := within(document.NewDocument("x", []byte(c.file)), c.text); !slices.Equal(got, c.want) {
			t.Errorf("%q in %q: lines %v, want %v", c.text, c.file, got, c.want)
		}
	}
}

// Lines are counted from 0; the one behind the block is given.
func TestWhereABlockEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file     string
		at, want int
	}{
		{"a\n", 0, 1},
		{"a\n b\n", 0, 2},
		{"a\n b\n\n c\nd\n", 0, 4},
		{"a\n b\n\n\nd\n", 0, 2}, // blank lines at its end are not of it
		{"a\nb\n c\n", 0, 1},
		{"a {\n b\n}\nc\n", 0, 2},
		{"a(\n b,\n) {\n c\n}\nd\n", 0, 4}, // a closing bracket goes on
		{"a(\n)\n b\n", 0, 1},              // but begins no block
		{"x\n  a\n   b\n  c\n   d\n", 1, 3},
		{"x\n  a\n   b\nc\n", 1, 3},
	} {
		if end, ok := bodyEnd(document.NewDocument("x", []byte(c.file)), c.at); !ok || end != c.want {
			t.Errorf("%q from %d: %d, %v, want %d", c.file, c.at, end, ok, c.want)
		}
	}
}

// taken reads the lines of a hunk, divided by "|", each with its mark and
// "\r" where it ends in one, into an operation.
func taken(lines string) *operation {
	op := &operation{kind: opEdit, hunk: &hunk{}}
	for _, l := range strings.Split(lines, "|") {
		text, cr := strings.CutSuffix(l[1:], "\r")
		if l[0] != '+' {
			op.search = append(op.search, text)
		}
		if l[0] != '-' {
			op.replace = append(op.replace, text)
		}
		op.hunk.lineEnds(l[0], cr, len(op.search), len(op.replace))
	}
	return op
}

func TestTheEndsOfTheLinesOfAHunk(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]struct{ old, new string }{
		" a|-b|+c":             {"nn", "nn"},
		" a\r|-b\r|+c\r":       {"rr", "rr"},
		" a|-b\r|+b":           {"nr", "nn"},
		" a|-b|+b\r":           {"nn", "nr"},
		"-a|-b\r|+c|+d\r| e\r": {"nrr", "nrr"},
		"+a\r| b|+c\r":         {"n", "rnr"},
	} {
		op := taken(lines)
		ends := func(cr []bool, n int) (s string) {
			for i := range n {
				s += map[string]string{"\n": "n", "\r\n": "r"}[endsIn(cr, i)]
			}
			return s
		}
		if old, new := ends(op.hunk.oldCR, len(op.search)), ends(op.hunk.newCR, len(op.replace)); old != want.old || new != want.new {
			t.Errorf("%q: old %s, new %s, want %+v", lines, old, new, want)
		}
	}
}

// Only a hunk that spells out its line ends, and agrees with those of the
// file, is written as it stands.
func TestAHunkIsWrittenWithItsLineEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lines, file, want string }{
		{" a|-b\r|+b", "a\nb\r\n", "a\nb\n"},
		{" a|-b|+b\r", "a\nb\n", "a\nb\r\n"},
		{" a\r|-b|+c", "a\r\nb\nd\n", "a\r\nc\nd\n"},
		{" a|+b\r| c", "a\nc\n", "a\nb\r\nc\n"},
		{" a\r|-b", "a\r\nb\n", "a\r\n"},
		{" a|-b|+c", "a\nb\n", ""},        // no end is spelt out
		{" a|-b\r|+b", "a\r\nb\r\n", ""},  // the file has other ends
		{" a|-b\r|+b", "a\nb", ""},        // and here none
		{" a|-b\r|+b", "x\na\nb\r\n", ""}, // stands elsewhere
	} {
		op, d := taken(c.lines), document.NewDocument("x", []byte(c.file))
		at := place{lo: 0, hi: len(op.search), strategy: Exact, search: op.search, replace: op.replace}
		got := ""
		for _, s := range verbatim(op, d, []place{at}) {
			got = c.file[:d.Off[s.lo]] + s.text + c.file[d.Off[s.hi]:]
		}
		if got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.lines, c.file, got, c.want)
		}
		if verbatim(op, d, []place{at, at}) != nil || verbatim(op, d, nil) != nil {
			t.Errorf("%q: written to other than one place", c.lines)
		}
	}
}

// The block replaces "a" and has the path x.py from the block before it.
func TestTheTextAboveABlockIsHeeded(t *testing.T) {
	t.Parallel()
	files := tree{"x.py": "a\n", "y.py": "a\n", "z.py": "c\n", "sub/w.py": "a\n", "Makefile": "a\n", "a b.txt": "a\n"}
	for above, want := range map[string]struct{ path, other string }{
		"":                          {"x.py", ""},
		"And then:\n":               {"x.py", ""},
		"Makefile\n":                {"Makefile", ""},
		"**Makefile**\n\n":          {"Makefile", ""},
		"a b.txt\n```\n":            {"a b.txt", ""},
		"Makefile\nand then\n":      {"x.py", "Makefile"},
		"In y.py:\n":                {"x.py", "y.py"},
		"In `./y.py`, too.\n":       {"x.py", "y.py"},
		"Now w.py.\n":               {"x.py", "sub/w.py"},
		"In z.py:\n":                {"x.py", ""}, // it has no place there
		"In x.py:\n":                {"x.py", ""},
		"In xy.py:\n":               {"x.py", ""},
		"In other/w.py:\n":          {"x.py", ""},
		"Send it to sub/w.py (w)\n": {"x.py", "sub/w.py"},
	} {
		op := &operation{kind: opEdit, path: "x.py", above: above, search: []string{"a"}, replace: []string{"b"}}
		reason := newPlanner(files, "").heed(op)
		if op.path != want.path || (reason == "") != (want.other == "") || !strings.Contains(reason, "speaks of "+want.other) && reason != "" {
			t.Errorf("%q: path %s, %q, want %+v", above, op.path, reason, want)
		}
	}
}

func TestABlockOfNoFileNeedsNoHeed(t *testing.T) {
	t.Parallel()
	op := &operation{kind: opEdit, above: "In y.py:\n", search: []string{"a"}, replace: []string{"b"}}
	if reason := newPlanner(tree{"y.py": "a\n"}, "").heed(op); reason != "" || op.path != "" {
		t.Errorf("path %q, %q: the file is told by the lines", op.path, reason)
	}
	op.above = "../y.py\n"
	if newPlanner(tree{"../y.py": "a\n"}, "").heed(op); op.path != "" {
		t.Errorf("path %q outside the workspace was taken", op.path)
	}
}
